//! The symbols of a proof: sizes of an exercise, threads, rounds of loops, quotients. Formulas of an exercise become
//! polynomials over them.

use std::collections::BTreeMap;

use super::poly::{Poly, Symbol, is_doubtful};
use crate::exercise::{ArgumentType, Exercise, LaunchText};
use tinyllama_base::Expression;

/// The most elements of an array, and threads along a side of the grid, for which a proof holds.
pub const LARGEST: i128 = 1 << 30;

#[derive(Clone, Debug, PartialEq)]
pub enum SymbolKind {
    /// A size of the exercise, equal for all threads.
    Size(String),
    /// The smaller or larger of two sizes.
    Bound {
        of: [Poly; 2],
        larger: bool,
    },
    /// Place of a thread in its workgroup (0 to 2 for x to z), or of the workgroup in the grid (3 to 5).
    Thread(usize),
    /// Rounds that the loop of this block has finished.
    Round(usize),
    Quotient {
        number: Poly,
        divisor: Poly,
    },
    Remainder {
        number: Poly,
        divisor: Poly,
    },
    /// Address of an argument's first element.
    Array(usize),
    /// A value that the proof cannot follow, computed in a block.
    Unknown {
        block: usize,
        reason: &'static str,
    },
}

/// The symbols so far, and what holds of them everywhere.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    pub kinds: Vec<SymbolKind>,
    pub facts: Vec<Poly>,
    wave: u32,
}

/// The sides of a workgroup and of the grid, and the place of a thread along each.
pub type Places = ([Poly; 6], [Poly; 6]);

/// A quotient and its remainder. `facts` hold of them where all of `needs` are at least 0.
pub struct Division {
    pub quotient: Poly,
    pub remainder: Poly,
    pub needs: Vec<Poly>,
    pub facts: Vec<Poly>,
}

impl Symbols {
    /// Symbols for the sizes of an exercise. A size that is the same in all cases is a number.
    pub fn of_exercise(exercise: &Exercise, wave: u32) -> Option<Symbols> {
        let mut symbols = Symbols {
            wave,
            ..Symbols::default()
        };
        for name in exercise.bench.keys() {
            if symbols.size(exercise, name).as_number().is_none() {
                let size = symbols.size(exercise, name);
                symbols
                    .facts
                    .extend([size.plus_number(-1), &Poly::number(LARGEST) - &size]);
            }
        }
        for formula in &exercise.sizes {
            let natural = symbols.formula(exercise, formula)?;
            symbols.facts.push(natural);
        }
        Some(symbols)
    }

    pub fn add(&mut self, kind: SymbolKind) -> Symbol {
        self.kinds
            .iter()
            .position(|known| *known == kind)
            .unwrap_or_else(|| {
                self.kinds.push(kind);
                self.kinds.len() - 1
            })
    }

    /// Whether a symbol is never negative.
    pub fn is_natural(&self, symbol: Symbol) -> bool {
        !matches!(
            self.kinds[symbol],
            SymbolKind::Array(_) | SymbolKind::Unknown { .. }
        )
    }

    /// Whether a symbol has one value in all threads.
    pub fn is_uniform(&self, symbol: Symbol) -> bool {
        match &self.kinds[symbol] {
            SymbolKind::Size(_) | SymbolKind::Bound { .. } => true,
            SymbolKind::Quotient { number, divisor }
            | SymbolKind::Remainder { number, divisor } => number
                .symbols()
                .chain(divisor.symbols())
                .all(|one| self.is_uniform(one)),
            _ => false,
        }
    }

    /// Whether a symbol changes between the rounds of a loop over `blocks`.
    pub fn varies(&self, symbol: Symbol, blocks: &[usize]) -> bool {
        match &self.kinds[symbol] {
            SymbolKind::Round(block) | SymbolKind::Unknown { block, .. } => blocks.contains(block),
            SymbolKind::Quotient { number, divisor }
            | SymbolKind::Remainder { number, divisor } => number
                .symbols()
                .chain(divisor.symbols())
                .any(|one| self.varies(one, blocks)),
            _ => false,
        }
    }

    pub fn holds(&self, poly: &Poly, facts: &[Poly]) -> bool {
        poly.is_natural(facts, &|symbol| self.is_natural(symbol))
    }

    /// The remainder next to a quotient.
    pub fn remainder(&self, quotient: Symbol) -> Option<Symbol> {
        let SymbolKind::Quotient { number, divisor } = self.kinds[quotient].clone() else {
            return None;
        };
        let remainder = SymbolKind::Remainder { number, divisor };
        self.kinds.iter().position(|kind| *kind == remainder)
    }

    /// Adds a fact that says more than those before it, in the place of those that say less.
    pub fn note(&self, facts: &mut Vec<Poly>, fact: &Poly) {
        let fact = fact.tightened();
        let implies =
            |more: &Poly, less: &Poly| (less - more).as_number().is_some_and(|least| least >= 0);
        let obvious = fact
            .0
            .iter()
            .all(|term| !is_doubtful(term, &|one| self.is_natural(one)));
        if !obvious && !facts.iter().any(|known| implies(known, &fact)) {
            facts.retain(|known| !implies(&fact, known));
            facts.push(fact);
        }
    }

    /// Divides whole numbers. What the divisor divides leaves the quotient: (256 b + t) / 64 is 4 b + t / 64.
    pub fn divide(&mut self, number: &Poly, divisor: &Poly) -> Division {
        let single = divisor.0.iter().next().filter(|_| divisor.0.len() == 1);
        let split = single.filter(|(_, coefficient)| **coefficient > 0);
        let (whole, rest) = split.map_or(
            (Poly::default(), number.clone()),
            |(monomial, coefficient)| number.split(*coefficient, monomial),
        );
        if rest == Poly::default() {
            return Division {
                quotient: whole,
                remainder: rest,
                needs: vec![],
                facts: vec![],
            };
        }
        let (number, divisor) = (rest, divisor.clone());
        let needs = vec![number.clone(), divisor.plus_number(-1)];
        let quotient = self.add(SymbolKind::Quotient {
            number: number.clone(),
            divisor: divisor.clone(),
        });
        let remainder = self.add(SymbolKind::Remainder {
            number: number.clone(),
            divisor: divisor.clone(),
        });
        let [quotient, remainder] = [quotient, remainder].map(Poly::symbol);
        let same = &(&(&divisor * &quotient) + &remainder) - &number;
        let mut facts = vec![
            same.clone(),
            same.times(-1),
            &divisor.plus_number(-1) - &remainder,
        ];
        // A number of at most 255 has quotients by 64 of at most 3.
        let mut facts_of_all = self.facts.iter();
        let most = facts_of_all.find_map(|fact| (fact + &number).as_number());
        if let (Some(most), Some(by)) = (most, divisor.as_number()) {
            facts.push(&Poly::number(most / by) - &quotient);
        }
        Division {
            quotient: &whole + &quotient,
            remainder,
            needs,
            facts,
        }
    }

    fn size(&mut self, exercise: &Exercise, name: &str) -> Poly {
        let of = |case: &BTreeMap<String, f64>| {
            case.get(name).copied().filter(|value| value.fract() == 0.0)
        };
        let bench = of(&exercise.bench);
        match bench.filter(|_| exercise.cases.iter().all(|case| of(case) == bench)) {
            Some(value) => Poly::number(value as i128),
            None => Poly::symbol(self.add(SymbolKind::Size(name.to_owned()))),
        }
    }

    /// The polynomial of a formula, whose value has to be whole.
    pub fn formula(&mut self, exercise: &Exercise, formula: &Expression) -> Option<Poly> {
        let mut reader = Reader {
            symbols: self,
            exercise,
            rest: formula.text(),
        };
        let (number, divisor) = reader.sum().filter(|_| reader.rest.trim().is_empty())?;
        let (quotient, remainder) = self.divide_sizes(&number, &divisor)?;
        self.facts.push(remainder.times(-1));
        Some(quotient)
    }

    fn divide_sizes(&mut self, number: &Poly, divisor: &Poly) -> Option<(Poly, Poly)> {
        let division = self.divide(number, divisor);
        let mut needs = division.needs.iter();
        let sound = needs.all(|need| self.holds(need, &self.facts));
        self.facts.extend(division.facts);
        sound.then_some((division.quotient, division.remainder))
    }

    /// What the kernel gets as the argument `at` this position: a number or an address. The length of an array comes
    /// with it.
    pub fn argument(&mut self, exercise: &Exercise, name: &str, at: usize) -> Option<(Poly, Poly)> {
        let argument = exercise.argument(name)?;
        let Some(size) = &argument.size else {
            let whole = argument.kind == ArgumentType::Int;
            let number = argument.value.as_ref().filter(|_| whole)?;
            return Some((self.formula(exercise, number)?, Poly::default()));
        };
        let length = self.formula(exercise, size)?;
        self.facts.push(&Poly::number(LARGEST) - &length);
        Some((Poly::symbol(self.add(SymbolKind::Array(at))), length))
    }

    /// The three sides of a grid or a workgroup.
    pub fn sides(&mut self, exercise: &Exercise, sides: &[Expression]) -> Option<[Poly; 3]> {
        let mut three = [(); 3].map(|()| Poly::number(1));
        for (side, formula) in three.iter_mut().zip(sides) {
            *side = self.formula(exercise, formula)?;
        }
        Some(three)
    }

    /// Places of a thread along the sides of its workgroup and of the grid. A side of 1 has the place 0.
    pub fn places(&mut self, exercise: &Exercise, launch: &LaunchText) -> Option<Places> {
        let block = self.sides(exercise, &launch.block)?;
        let grid = self.sides(exercise, &launch.grid)?;
        let threads = block
            .iter()
            .zip(&grid)
            .map(|(threads, blocks)| threads * blocks);
        self.facts
            .extend(threads.map(|threads| &Poly::number(LARGEST) - &threads));
        let sides: [Poly; 6] = [block, grid].concat().try_into().ok()?;
        let mut places = [(); 6].map(|()| Poly::default());
        for (at, (side, place)) in sides.iter().zip(&mut places).enumerate() {
            if side.as_number() != Some(1) {
                *place = Poly::symbol(self.add(SymbolKind::Thread(at)));
                let most = side.plus_number(-1);
                self.facts.extend([&most - place, most]);
            }
        }
        Some((sides, places))
    }
}

/// Reads `ceil(rows * width / 256)`. A value is a quotient of two polynomials.
struct Reader<'a> {
    symbols: &'a mut Symbols,
    exercise: &'a Exercise,
    rest: &'a str,
}

type Ratio = (Poly, Poly);

impl Reader<'_> {
    fn takes(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Option<Ratio> {
        let mut sum = self.product()?;
        loop {
            let adds = self.takes('+');
            if !adds && !self.takes('-') {
                return Some(sum);
            }
            let (number, divisor) = self.product()?;
            let added = (&number * &sum.1).times(if adds { 1 } else { -1 });
            sum = (&(&sum.0 * &divisor) + &added, &sum.1 * &divisor);
        }
    }

    fn product(&mut self) -> Option<Ratio> {
        let mut product = self.factor()?;
        loop {
            let multiplies = self.takes('*');
            if !multiplies && !self.takes('/') {
                return Some(product);
            }
            let (number, divisor) = self.factor()?;
            let (above, below) = if multiplies {
                (number, divisor)
            } else {
                (divisor, number)
            };
            product = (&product.0 * &above, &product.1 * &below);
        }
    }

    fn factor(&mut self) -> Option<Ratio> {
        if self.takes('(') {
            return self.sum().filter(|_| self.takes(')'));
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let one = Poly::number(1);
        if let Ok(number) = word.parse::<u32>() {
            return Some((Poly::number(number.into()), one));
        }
        if !self.takes('(') {
            let size = match word {
                "wave" => Poly::number(self.symbols.wave.into()),
                _ => self.symbols.size(self.exercise, word),
            };
            return (!word.is_empty()).then_some((size, one));
        }
        let (number, divisor) = self.sum()?;
        let value = if self.takes(',') {
            let (other, below) = self.sum()?;
            if below != one || divisor != one {
                return None;
            }
            let (of, larger) = ([number, other], word == "max");
            let bound = self.symbols.add(SymbolKind::Bound {
                of: of.clone(),
                larger,
            });
            let bound = Poly::symbol(bound);
            let sign = if larger { -1 } else { 1 };
            let facts = of.map(|one| (&one - &bound).times(sign));
            self.symbols.facts.extend(facts);
            bound
        } else {
            let up = divisor.plus_number(-1).times((word == "ceil").into());
            let above = &number + &up;
            self.symbols.divide_sizes(&above, &divisor)?.0
        };
        self.takes(')').then_some((value, one))
    }
}
