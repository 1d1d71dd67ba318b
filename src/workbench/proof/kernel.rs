//! Follows the whole numbers of a kernel as polynomials, and collects what its branches say at each place.

use std::collections::HashMap;

use super::ir::{Function, Instruction, Module};
use super::poly::{Poly, Symbol};
use super::symbols::{Places, SymbolKind, Symbols};

/// Nested values that are followed, and values in all.
const DEEPEST: u32 = 150;
const MOST_VALUES: u32 = 20_000;

/// A value with what it depends on, in order: a need has to be shown before the value and later steps may be used.
#[derive(Clone, Debug, Default)]
pub struct Value {
    pub poly: Poly,
    pub steps: Vec<Step>,
}

impl From<Poly> for Value {
    fn from(poly: Poly) -> Value {
        let steps = vec![];
        Value { poly, steps }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// At least 0, or the machine computes another number.
    Need(Poly),
    /// At least 0 by definition of its symbols.
    Known(Poly),
}

/// What a condition says: every one of `naturals` is at least 0, and `different` is not 0.
#[derive(Clone, Debug, Default)]
struct Claim {
    steps: Vec<Step>,
    naturals: Vec<Poly>,
    different: Option<Poly>,
}

impl Claim {
    /// What may be at least 0: of two numbers that differ, either difference.
    fn possible(&self) -> Vec<Poly> {
        let either = self
            .different
            .iter()
            .flat_map(|one| [one.clone(), one.times(-1)]);
        let either = either.map(|one| one.plus_number(-1));
        self.naturals.iter().cloned().chain(either).collect()
    }
}

pub struct Kernel<'a> {
    pub module: &'a Module<'a>,
    pub function: &'a Function<'a>,
    pub symbols: Symbols,
    values: HashMap<&'a str, Value>,
    /// What is at least 0 whenever control reaches a block.
    pub facts: Vec<Vec<Poly>>,
    sides: [Poly; 6],
    places: [Poly; 6],
    depth: u32,
    followed: u32,
}

impl<'a> Kernel<'a> {
    /// `arguments` has one polynomial for each parameter that is a whole number or an array.
    pub fn new(
        module: &'a Module<'a>,
        function: &'a Function<'a>,
        symbols: Symbols,
        (sides, places): Places,
        arguments: Vec<Option<Poly>>,
    ) -> Kernel<'a> {
        let arguments = function.parameters.iter().zip(arguments);
        let values = arguments.filter_map(|(name, poly)| Some((*name, poly?.into())));
        let values = values.collect();
        let facts = vec![vec![]; function.blocks.len()];
        let mut kernel = Kernel {
            module,
            function,
            symbols,
            values,
            facts,
            sides,
            places,
            depth: 0,
            followed: 0,
        };
        for &block in &function.order {
            kernel.facts[block] = kernel.facts_at(block);
        }
        kernel
    }

    /// Takes the steps of a value into `facts`. Returns whether every need was shown.
    pub fn admits(&self, steps: &[Step], facts: &mut Vec<Poly>) -> bool {
        let mut with = facts.clone();
        for step in steps {
            match step {
                Step::Need(need) if !self.symbols.holds(need, &with) => return false,
                Step::Need(_) => {}
                Step::Known(fact) => self.symbols.note(&mut with, fact),
            }
        }
        *facts = with;
        true
    }

    fn facts_at(&mut self, block: usize) -> Vec<Poly> {
        let function = self.function;
        if block == 0 {
            return self.symbols.facts.clone();
        }
        let back = function.back_edges(block);
        let mut entries = function.blocks[block].predecessors.clone();
        entries.retain(|from| function.order.contains(from) && !back.contains(from));
        let [entry] = entries[..] else {
            return self.facts[function.dominator[block]].clone();
        };
        let mut facts = self.facts[entry].clone();
        let claims = self.claims_of_edge(entry, block);
        let _ = self.learn(&claims, &mut facts);
        if let [latch] = back[..] {
            for fact in self.facts_of_rounds(block, latch, &facts) {
                self.symbols.note(&mut facts, &fact);
            }
        }
        facts
    }

    /// What the jump back to the header of a loop says, by induction over the rounds: it holds before the first round, and
    /// if it holds in one round, the jump makes it hold in the next.
    fn facts_of_rounds(&mut self, header: usize, latch: usize, entry: &[Poly]) -> Vec<Poly> {
        let blocks = self.function.loop_of(header);
        let claims = self.claims_of_edge(latch, header);
        let round = self.symbols.add(SymbolKind::Round(header));
        let symbols = &self.symbols;
        let steady = |symbol: Symbol| symbol == round || !symbols.varies(symbol, &blocks);
        let mut said: Vec<Poly> = claims.iter().flat_map(Claim::possible).collect();
        said.retain(|one| one.symbols().all(steady));
        said.retain(|one| symbols.holds(&one.with(round, &Poly::number(-1)), entry));
        loop {
            let before = Poly::symbol(round).plus_number(-1);
            let hypotheses = said.iter().map(|one| one.with(round, &before));
            let hypotheses: Vec<Poly> = hypotheses.collect();
            let learned = self.learn(&claims, &mut [entry, &hypotheses].concat());
            let count = said.len();
            said.retain(|one| learned.contains(one));
            if said.len() == count {
                return hypotheses;
            }
        }
    }

    /// Adds what claims say to `facts`, as far as their numbers are certain there. Returns it, too.
    fn learn(&self, claims: &[Claim], facts: &mut Vec<Poly>) -> Vec<Poly> {
        let mut learned = vec![];
        for claim in claims {
            if !self.admits(&claim.steps, facts) {
                continue;
            }
            let mut certain = claim.possible();
            // Of two numbers that differ, one is the larger.
            let apart = |one: &Poly| self.symbols.holds(&one.plus_number(1), facts);
            certain.retain(|one| claim.different.is_none() || apart(one));
            certain.iter().for_each(|one| self.symbols.note(facts, one));
            learned.extend(certain);
        }
        learned
    }

    fn claims_of_edge(&mut self, from: usize, to: usize) -> Vec<Claim> {
        let block = &self.function.blocks[from];
        let branch = block
            .instructions
            .last()
            .filter(|last| last.operation == "br");
        match (branch, &block.successors[..]) {
            (Some(branch), &[yes, no]) if yes != no => {
                self.claims(last_word(branch.operands[0]), to == yes)
            }
            _ => vec![],
        }
    }

    /// What a condition says if it is `truth`.
    fn claims(&mut self, name: &'a str, truth: bool) -> Vec<Claim> {
        let Some((_, instruction)) = self.instruction(name) else {
            return vec![];
        };
        let operands = &instruction.operands;
        match (instruction.operation, &operands[..]) {
            ("and", [a, b]) if truth => self.both(last_word(a), b, truth),
            ("or", [a, b]) if !truth => self.both(last_word(a), b, truth),
            ("select", [a, b, c]) if truth && *c == "i1 false" => {
                self.both(last_word(a), last_word(b), truth)
            }
            ("select", [a, b, c]) if !truth && *b == "i1 true" => {
                self.both(last_word(a), last_word(c), truth)
            }
            ("xor", [a, "true"]) => self.claims(last_word(a), !truth),
            ("icmp", [a, b]) => self.comparison(a, b, truth).into_iter().collect(),
            _ => vec![],
        }
    }

    fn both(&mut self, a: &'a str, b: &'a str, truth: bool) -> Vec<Claim> {
        let mut claims = self.claims(a, truth);
        claims.extend(self.claims(b, truth));
        claims
    }

    fn comparison(&mut self, a: &'a str, b: &'a str, truth: bool) -> Option<Claim> {
        let [relation, kind, a] = a.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let bits = bits(kind)?;
        let signed = !relation.starts_with('u');
        let (a, b) = (self.number(a, bits, signed), self.number(b, bits, signed));
        let mut steps = a.steps;
        steps.extend(b.steps);
        let (less, more) = (&b.poly - &a.poly, &a.poly - &b.poly);
        let (naturals, different) = match (relation.trim_start_matches(['s', 'u']), truth) {
            ("lt", true) | ("ge", false) => (vec![less.plus_number(-1)], None),
            ("le", true) | ("gt", false) => (vec![less], None),
            ("gt", true) | ("le", false) => (vec![more.plus_number(-1)], None),
            ("ge", true) | ("lt", false) => (vec![more], None),
            ("eq", true) | ("ne", false) => (vec![less, more], None),
            _ => (vec![], Some(less)),
        };
        Some(Claim {
            steps,
            naturals,
            different,
        })
    }

    fn instruction(&self, name: &str) -> Option<(usize, &'a Instruction<'a>)> {
        let (block, at) = *self.function.values.get(name)?;
        Some((block, &self.function.blocks[block].instructions[at]))
    }

    /// A value as a number of so many bits, with or without a sign.
    fn number(&mut self, name: &'a str, bits: u32, signed: bool) -> Value {
        let mut value = self.value(name);
        let all = 1i128 << bits;
        let least = if signed { -all / 2 } else { 0 };
        let above = value.poly.plus_number(-least);
        let below = &Poly::number(all - 1) - &above;
        value.steps.extend([above, below].map(Step::Need));
        value
    }

    /// The value of a name or a number. It is right up to multiples of 2 to the power of its bits.
    pub fn value(&mut self, name: &'a str) -> Value {
        if let Ok(number) = name.parse::<i64>() {
            return Poly::number(number.into()).into();
        }
        if let Some(known) = self.values.get(name) {
            return known.clone();
        }
        let Some((block, instruction)) = self.instruction(name) else {
            return self.unknown(0, "a value that is not followed");
        };
        self.depth += 1;
        self.followed += 1;
        let found = match instruction.operation {
            _ if self.depth > DEEPEST || self.followed > MOST_VALUES => None,
            "phi" => self.phi(name, block, instruction),
            _ => self.compute(instruction),
        };
        self.depth -= 1;
        let reason = match instruction.operation {
            "load" | "atomicrmw" | "cmpxchg" => "a number from memory",
            "phi" => "a value that differs between branches or rounds",
            _ => "a value that is not followed",
        };
        let value = found
            .filter(|value| value.poly.is_small())
            .unwrap_or_else(|| self.named_unknown(name, block, reason));
        self.values.insert(name, value.clone());
        value
    }

    fn unknown(&mut self, block: usize, reason: &'static str) -> Value {
        // Two unknown values are never taken for one.
        self.symbols
            .kinds
            .push(SymbolKind::Unknown { block, reason });
        Poly::symbol(self.symbols.kinds.len() - 1).into()
    }

    fn named_unknown(&mut self, name: &'a str, block: usize, reason: &'static str) -> Value {
        let value = self.unknown(block, reason);
        self.values.insert(name, value.clone());
        value
    }

    fn compute(&mut self, instruction: &'a Instruction<'a>) -> Option<Value> {
        let operands = &instruction.operands;
        let first = *operands.first()?;
        let (kind, a) = first.rsplit_once(' ').unwrap_or(("", first));
        let constant = |value: &Value| value.poly.as_number();
        match (instruction.operation, &operands[..]) {
            ("freeze" | "bitcast" | "addrspacecast" | "ptrtoint" | "inttoptr" | "trunc", _) => {
                Some(self.value(cast(first)?.1))
            }
            ("sext" | "zext", _) => {
                let (kind, from) = cast(first)?;
                Some(self.number(from, bits(kind)?, instruction.operation == "sext"))
            }
            ("call", _) => self.call(instruction),
            ("getelementptr", [_, base, index]) => {
                let size = self.module.size_of(first)?;
                let (kind, index) = index.rsplit_once(' ')?;
                // An address that leaves 64 bits comes back to the same place.
                let index = match kind {
                    "i64" => self.value(index),
                    _ => self.number(index, bits(kind)?, true),
                };
                let base = self.value(last_word(base));
                combined(base, index, |base, index| base + &index.times(size))
            }
            (operation, [_, b]) => {
                let bits = bits(kind)?;
                let (a, b) = (self.value(a), self.value(b));
                let power = constant(&b).and_then(|shift| {
                    Some(1i128 << u32::try_from(shift).ok().filter(|one| *one < bits)?)
                });
                match operation {
                    "add" => combined(a, b, |a, b| a + b),
                    "or" if instruction.flags.contains(&"disjoint") => combined(a, b, |a, b| a + b),
                    "xor" if constant(&b) == Some(-1) => combined(b, a, |ones, a| ones - a),
                    "sub" => Some(self.with_remainders(combined(a, b, |a, b| a - b)?)),
                    "mul" => combined(a, b, |a, b| a * b),
                    "shl" => combined(a, Poly::number(power?).into(), |a, b| a * b),
                    "lshr" | "ashr" => Some(self.divide(a, Poly::number(power?), bits)?.0),
                    "and" => {
                        let mask = constant(&b)?;
                        let power = if mask < 0 { -mask } else { mask + 1 };
                        let whole = a.poly.clone();
                        let divided = self.divide(a, Poly::number(power), bits);
                        let (_, rest) = divided.filter(|_| power.count_ones() == 1)?;
                        let cleared = &whole - &rest.poly;
                        let poly = if mask < 0 { cleared } else { rest.poly };
                        Some(Value { poly, ..rest })
                    }
                    "udiv" | "sdiv" | "urem" | "srem" => {
                        let divisor = b.poly.clone();
                        let number = combined(a, b, |a, _| a.clone())?;
                        let both = self.divide(number, divisor, bits)?;
                        Some(if operation.ends_with("div") {
                            both.0
                        } else {
                            both.1
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Quotient and remainder of numbers that are at least 0, with or without a sign.
    fn divide(&mut self, a: Value, divisor: Poly, bits: u32) -> Option<(Value, Value)> {
        if !a.poly.is_small() || !divisor.is_small() {
            return None;
        }
        let division = self.symbols.divide(&a.poly, &divisor);
        let most = Poly::number((1 << (bits - 1)) - 1);
        let mut steps = a.steps;
        let inside = [a.poly.clone(), &most - &a.poly, &most - &divisor];
        steps.extend(inside.into_iter().chain(division.needs).map(Step::Need));
        steps.extend(division.facts.into_iter().map(Step::Known));
        let of = |poly: Poly| Value {
            poly,
            steps: steps.clone(),
        };
        Some((of(division.quotient), of(division.remainder)))
    }

    /// Writes x - d (x / d) as the remainder of x by d.
    fn with_remainders(&self, value: Value) -> Value {
        let mut kinds = self.symbols.kinds.iter().enumerate();
        let found = kinds.find_map(|(symbol, kind)| {
            let SymbolKind::Quotient { number, divisor } = kind else {
                return None;
            };
            let rest = number - &(divisor * &Poly::symbol(symbol));
            let remainder = self.symbols.remainder(symbol);
            remainder.filter(|_| rest == value.poly).map(Poly::symbol)
        });
        let poly = found.unwrap_or(value.poly);
        Value { poly, ..value }
    }

    fn call(&mut self, instruction: &Instruction<'a>) -> Option<Value> {
        let (name, side) = instruction.callee()?.rsplit_once(['.', '_'])?;
        let side = ["x", "y", "z"].iter().position(|one| *one == side)?;
        let poly = match name {
            "llvm.amdgcn.workitem.id" => &self.places[side],
            "llvm.amdgcn.workgroup.id" => &self.places[3 + side],
            "__tutor_block_size" => &self.sides[side],
            "__tutor_grid_size" => &self.sides[3 + side],
            _ => return None,
        };
        Some(poly.clone().into())
    }

    /// A value that depends on where control came from. In the header of a loop it may grow by the same step each round.
    fn phi(
        &mut self,
        name: &'a str,
        block: usize,
        instruction: &'a Instruction<'a>,
    ) -> Option<Value> {
        let incoming = instruction.operands.iter().filter_map(|one| {
            let (_, one) = one.trim_end_matches(" ]").split_once("[ ")?;
            let (value, from) = one.split_once(", %")?;
            let mut blocks = self.function.blocks.iter();
            // The first block may have no label.
            let from = blocks.position(|block| block.label == from);
            Some((value, from.unwrap_or_default()))
        });
        let incoming: Vec<_> = incoming.collect();
        let back = self.function.back_edges(block);
        match incoming[..] {
            [(one, _)] => Some(self.value(one)),
            [a, b] if back.len() == 1 => {
                let ((first, _), (next, _)) = if back.contains(&a.1) { (b, a) } else { (a, b) };
                let blocks = self.function.loop_of(block);
                let before = self.values.clone();
                let start = self.value(first);
                let here = self.named_unknown(name, block, "");
                let next = self.value(next);
                self.values = before;
                let step = &next.poly - &here.poly;
                let mut steps = next.steps.iter();
                let varies =
                    |poly: &Poly| poly.symbols().any(|one| self.symbols.varies(one, &blocks));
                if varies(&step) || steps.any(|(Step::Need(one) | Step::Known(one))| varies(one)) {
                    return None;
                }
                let round = Poly::symbol(self.symbols.add(SymbolKind::Round(block)));
                combined(start, next, |start, _| start + &(&round * &step))
            }
            _ => None,
        }
    }
}

/// Computes with two values. `None` if one is too large to compute with.
fn combined(a: Value, b: Value, compute: impl Fn(&Poly, &Poly) -> Poly) -> Option<Value> {
    let poly = (a.poly.is_small() && b.poly.is_small()).then(|| compute(&a.poly, &b.poly))?;
    let mut steps = a.steps;
    for step in b.steps {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    Some(Value { poly, steps })
}

pub fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or(text)
}

/// Type and name of `i32 %7 to i64` or `i32 %7`.
fn cast(text: &str) -> Option<(&str, &str)> {
    text.split(" to ").next()?.rsplit_once(' ')
}

fn bits(kind: &str) -> Option<u32> {
    kind.strip_prefix('i')?
        .parse()
        .ok()
        .filter(|bits| (8..=64).contains(bits))
}
