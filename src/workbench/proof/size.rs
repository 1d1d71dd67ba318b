//! Looks for the smallest sizes at which an index that was not proven leaves its array, or two threads share it.

use std::collections::{BTreeMap, HashMap};

use itertools::Itertools as _;

use super::distinct::Index;
use super::poly::{Poly, Symbol};
use super::symbols::{SymbolKind, Symbols};
use crate::exercise::NamedSizes;

/// Values that a size takes in the search, around the sizes of wavefronts and workgroups.
const VALUES: [u32; 12] = [1, 2, 3, 4, 17, 33, 65, 129, 257, 513, 1025, 2049];

/// Rounds of a loop, threads of a launch, and threads in all that the search looks at.
const ROUNDS: i128 = 4;
const MOST_THREADS: i128 = 2048;
const MOST_TRIED: u32 = 400_000;

/// An index that two threads may share, or that may be `past` its array's elements.
pub struct Suspect<'a> {
    pub indices: Vec<&'a Index>,
    pub past: Option<&'a Poly>,
}

/// Numbers of all symbols, for one thread.
type Numbers = Vec<Option<i128>>;

struct Search<'a> {
    symbols: &'a Symbols,
    suspect: &'a Suspect<'a>,
    sides: &'a [Poly; 6],
    tried: u32,
}

/// Returns sizes at which the suspect goes wrong, none of which can be lowered alone. `others` are the sizes that it does
/// not depend on.
pub fn smallest(
    symbols: &Symbols,
    suspect: &Suspect<'_>,
    sides: &[Poly; 6],
    others: &NamedSizes,
) -> Option<NamedSizes> {
    let known = suspect.indices.iter().flat_map(|one| one.poly.symbols());
    if known
        .into_iter()
        .any(|one| matches!(symbols.kinds[one], SymbolKind::Unknown { .. }))
    {
        return None;
    }
    let mut search = Search {
        symbols,
        suspect,
        sides,
        tried: 0,
    };
    let sizes = symbols.kinds.iter().filter_map(|kind| match kind {
        SymbolKind::Size(name) => Some(name.clone()),
        _ => None,
    });
    let names: Vec<String> = sizes.collect();
    let values = names.iter().map(|_| VALUES.into_iter());
    let mut all: Vec<Vec<u32>> = values.multi_cartesian_product().collect();
    all.sort_by_key(|values| values.iter().map(|one| u64::from(*one)).product::<u64>());
    let named = |values: &[u32]| -> NamedSizes {
        let values = names
            .iter()
            .cloned()
            .zip(values.iter().map(|one| f64::from(*one)));
        others.clone().into_iter().chain(values).collect()
    };
    let mut found = all
        .into_iter()
        .find(|values| search.goes_wrong(&named(values)))?;
    search.tried = 0;
    for at in 0..found.len() {
        let lower = (1..found[at]).find(|value| {
            let mut lower = found.clone();
            lower[at] = *value;
            search.goes_wrong(&named(&lower))
        });
        found[at] = lower.unwrap_or(found[at]);
    }
    Some(named(&found))
}

impl Search<'_> {
    fn goes_wrong(&mut self, sizes: &NamedSizes) -> bool {
        let none: Numbers = vec![None; self.symbols.kinds.len()];
        let uniform = self.filled(none, sizes, &BTreeMap::new());
        let sides = self
            .sides
            .iter()
            .map(|side| value(side, &uniform))
            .collect::<Option<Vec<_>>>();
        let Some(sides) = sides.filter(|sides| sides.iter().product::<i128>() <= MOST_THREADS)
        else {
            return false;
        };
        let mut writers: HashMap<i128, Vec<(Symbol, i128)>> = HashMap::new();
        for index in &self.suspect.indices {
            let (of_sizes, facts): (Vec<_>, Vec<_>) = index
                .facts
                .iter()
                .partition(|fact| value(fact, &uniform).is_some());
            if of_sizes
                .into_iter()
                .any(|fact| value(fact, &uniform) < Some(0))
            {
                return false;
            }
            let needed = self.closure(&index.poly);
            let mut moving: Vec<Symbol> = (0..self.symbols.kinds.len()).collect();
            moving.retain(|symbol| match self.symbols.kinds[*symbol] {
                SymbolKind::Thread(_) => true,
                SymbolKind::Round(_) => needed.contains(symbol),
                _ => false,
            });
            let ranges = moving
                .iter()
                .map(|symbol| match self.symbols.kinds[*symbol] {
                    SymbolKind::Thread(side) => 0..sides[side],
                    _ => 0..ROUNDS,
                });
            for places in ranges.multi_cartesian_product() {
                self.tried += 1;
                if self.tried > MOST_TRIED {
                    return false;
                }
                let numbers = self.filled(
                    uniform.clone(),
                    sizes,
                    &moving.iter().copied().zip(places.iter().copied()).collect(),
                );
                let mut facts = facts.iter().map(|fact| value(fact, &numbers));
                let happens = facts.all(|value| value.is_none_or(|value| value >= 0));
                let Some(element) = value(&index.poly, &numbers).filter(|_| happens) else {
                    continue;
                };
                let mut thread: Vec<(Symbol, i128)> = moving.iter().copied().zip(places).collect();
                thread.retain(|(one, _)| matches!(self.symbols.kinds[*one], SymbolKind::Thread(_)));
                let wrong = match self.suspect.past.map(|elements| value(elements, &numbers)) {
                    Some(count) => element < 0 || count.is_some_and(|count| element >= count),
                    None => *writers.entry(element).or_insert_with(|| thread.clone()) != thread,
                };
                if wrong {
                    return true;
                }
            }
        }
        false
    }

    /// Symbols that a polynomial depends on, those within quotients too.
    fn closure(&self, poly: &Poly) -> Vec<Symbol> {
        let mut all: Vec<Symbol> = poly.symbols().collect();
        let mut at = 0;
        while let Some(&symbol) = all.get(at) {
            if let SymbolKind::Quotient { number, divisor }
            | SymbolKind::Remainder { number, divisor } = &self.symbols.kinds[symbol]
            {
                all.extend(number.symbols().chain(divisor.symbols()));
            }
            at += 1;
        }
        all
    }

    /// Computes the symbols that follow from sizes and places. A symbol only depends on earlier ones.
    fn filled(
        &self,
        mut numbers: Numbers,
        sizes: &NamedSizes,
        places: &BTreeMap<Symbol, i128>,
    ) -> Numbers {
        for (symbol, kind) in self.symbols.kinds.iter().enumerate() {
            numbers[symbol] = numbers[symbol].or_else(|| match kind {
                SymbolKind::Size(name) => sizes.get(name).map(|value| *value as i128),
                SymbolKind::Bound { of: [a, b], larger } => {
                    let (a, b) = (value(a, &numbers)?, value(b, &numbers)?);
                    Some(if *larger { a.max(b) } else { a.min(b) })
                }
                SymbolKind::Quotient { number, divisor } => {
                    value(number, &numbers)?.checked_div_euclid(value(divisor, &numbers)?)
                }
                SymbolKind::Remainder { number, divisor } => {
                    value(number, &numbers)?.checked_rem_euclid(value(divisor, &numbers)?)
                }
                _ => places.get(&symbol).copied(),
            });
        }
        numbers
    }
}

/// The value of a polynomial, if all of its symbols have one.
fn value(poly: &Poly, numbers: &Numbers) -> Option<i128> {
    poly.0
        .iter()
        .try_fold(0i128, |sum, (monomial, coefficient)| {
            let product = monomial.iter().try_fold(*coefficient, |product, symbol| {
                product.checked_mul(numbers[*symbol]?)
            })?;
            sum.checked_add(product)
        })
}
