//! Shows that two threads never write one element: an index is taken apart into digits, as the number of a thread is made of
//! them. Equal indices have equal digits, and these name the thread.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use itertools::Itertools as _;

use super::poly::{Monomial, Poly, Symbol};
use super::symbols::{SymbolKind, Symbols};

/// An index, with what holds where it is used.
#[derive(Clone, Debug)]
pub struct Index {
    pub poly: Poly,
    pub facts: Vec<Poly>,
    /// Answers of [`Index::holds`].
    pub shown: RefCell<HashMap<Poly, bool>>,
}

impl Index {
    pub fn new(poly: Poly, facts: Vec<Poly>) -> Index {
        Index {
            poly,
            facts,
            shown: RefCell::default(),
        }
    }

    /// Whether a polynomial is at least 0 where the index is used.
    pub fn holds(&self, symbols: &Symbols, poly: &Poly) -> bool {
        let known = self.shown.borrow().get(poly).copied();
        known.unwrap_or_else(|| {
            let shown = symbols.holds(poly, &self.facts);
            self.shown.borrow_mut().insert(poly.clone(), shown);
            shown
        })
    }
}

/// Returns whether two different threads never have equal indices.
pub fn are_distinct(symbols: &Symbols, both: [&Index; 2]) -> bool {
    let Some(mut equal) = equal_symbols(symbols, both.map(|one| &one.poly), both) else {
        return true;
    };
    let known = |equal: &BTreeSet<Symbol>, symbol: Symbol| {
        let zero = Poly::symbol(symbol).times(-1);
        let mentions = |index: &Index| {
            index
                .facts
                .iter()
                .any(|fact| fact.symbols().contains(&symbol))
        };
        let is_zero = |index: &&Index| mentions(index) && index.holds(symbols, &zero);
        equal.contains(&symbol) || both.iter().all(is_zero)
    };
    // Quotient and remainder together are the number. Numbers of later quotients may contain earlier ones.
    for (symbol, kind) in symbols.kinds.iter().enumerate().rev() {
        if let SymbolKind::Quotient { number, divisor } = kind
            && !symbols.is_uniform(symbol)
            && divisor.symbols().all(|one| symbols.is_uniform(one))
            && known(&equal, symbol)
            && symbols
                .remainder(symbol)
                .is_some_and(|one| known(&equal, one))
        {
            let Some(found) = equal_symbols(symbols, [number, number], both) else {
                return true;
            };
            equal.extend(found);
        }
    }
    let threads = |(_, kind): &(Symbol, &SymbolKind)| matches!(kind, SymbolKind::Thread(_));
    let mut threads = symbols.kinds.iter().enumerate().filter(threads);
    threads.all(|(symbol, _)| known(&equal, symbol))
}

/// Symbols that are equal in two threads if the polynomials are. `None` if the polynomials are never equal.
fn equal_symbols(symbols: &Symbols, of: [&Poly; 2], both: [&Index; 2]) -> Option<BTreeSet<Symbol>> {
    let is_uniform = |monomial: &Monomial| monomial.iter().all(|one| symbols.is_uniform(*one));
    let [a, b] = without_common(of, &is_uniform);
    let terms = a.0.iter().chain(&b.0);
    if terms.clone().all(|(monomial, _)| is_uniform(monomial)) {
        let apart = |one: Poly| both[0].holds(symbols, &one.plus_number(-1));
        return (!apart(&a - &b) && !apart(&b - &a)).then(BTreeSet::new);
    }
    if let (true, [one], 1) = (a == b, &a.symbols().collect::<Vec<_>>()[..], a.0.len()) {
        return Some(BTreeSet::from([*one]));
    }
    // The largest stride comes first.
    let strides = terms.flat_map(|(monomial, coefficient)| {
        let uniform = monomial
            .iter()
            .copied()
            .filter(|one| symbols.is_uniform(*one));
        let factors: Monomial = uniform.collect();
        [
            (factors.len(), coefficient.abs(), factors.clone()),
            (factors.len(), 1, factors),
        ]
    });
    let strides: BTreeSet<_> = strides.collect();
    for (_, coefficient, factors) in strides.iter().rev().filter(|one| (one.0, one.1) != (0, 1)) {
        let most = Poly::term(*coefficient, factors).plus_number(-1);
        let [(high_a, low_a), (high_b, low_b)] =
            [&a, &b].map(|one| one.split(*coefficient, factors));
        let digits = [&low_a, &low_b].into_iter().zip(both);
        let mut inside = digits
            .map(|(low, index)| index.holds(symbols, low) && index.holds(symbols, &(&most - low)));
        if inside.all(|one| one) {
            let mut equal = equal_symbols(symbols, [&high_a, &high_b], both)?;
            equal.extend(equal_symbols(symbols, [&low_a, &low_b], both)?);
            return Some(equal);
        }
    }
    Some(BTreeSet::new())
}

/// Takes away what both have in all threads. If all other terms are negative, they change their sign.
fn without_common([a, b]: [&Poly; 2], is_uniform: &dyn Fn(&Monomial) -> bool) -> [Poly; 2] {
    let common = |(monomial, coefficient): &(&Monomial, &i128)| {
        !monomial.is_empty() && is_uniform(monomial) && b.0.get(*monomial) == Some(*coefficient)
    };
    let common = Poly(
        a.0.iter()
            .filter(common)
            .map(|(one, of)| (one.clone(), *of))
            .collect(),
    );
    let both = [a, b].map(|one| one - &common);
    let mut terms = both.iter().flat_map(|one| &one.0);
    let sign = if terms.all(|(one, of)| one.is_empty() || *of < 0) {
        -1
    } else {
        1
    };
    let both = both.map(|one| one.times(sign));
    let least = both.iter().map(Poly::constant).min().unwrap_or_default();
    both.map(|one| one.plus_number(if sign < 0 || least < 0 { -least } else { 0 }))
}
