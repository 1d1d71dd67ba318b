//! Polynomials with whole coefficients over symbols, and a prover that shows them to be at least 0.

use std::collections::{BTreeMap, HashSet};
use std::ops::{Add, Mul, Sub};

pub type Symbol = usize;

/// Sorted symbols of a product. The empty product is 1.
pub type Monomial = Vec<Symbol>;

/// Larger polynomials are not computed with, so that no file keeps the proof busy or exceeds its numbers.
const MOST_TERMS: usize = 48;
const MOST_FACTORS: usize = 8;
const LARGEST: i128 = 1 << 56;

/// Sums that one proof may look at.
const MOST_TRIED: u32 = 300;

/// A sum of products of symbols, each with its coefficient, which is never 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Poly(pub BTreeMap<Monomial, i128>);

impl Poly {
    pub fn term(coefficient: i128, symbols: &[Symbol]) -> Poly {
        let mut symbols = symbols.to_vec();
        symbols.sort_unstable();
        Poly::default().plus([(symbols, coefficient)])
    }

    pub fn number(value: i128) -> Poly {
        Poly::term(value, &[])
    }

    pub fn symbol(symbol: Symbol) -> Poly {
        Poly::term(1, &[symbol])
    }

    fn plus(mut self, terms: impl IntoIterator<Item = (Monomial, i128)>) -> Poly {
        for (monomial, coefficient) in terms {
            let sum = coefficient + self.0.get(&monomial).copied().unwrap_or_default();
            match sum {
                0 => self.0.remove(&monomial),
                _ => self.0.insert(monomial, sum),
            };
        }
        self
    }

    pub fn plus_number(&self, value: i128) -> Poly {
        self + &Poly::number(value)
    }

    pub fn times(&self, factor: i128) -> Poly {
        self * &Poly::number(factor)
    }

    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.0.keys().flatten().copied()
    }

    pub fn constant(&self) -> i128 {
        self.0.get(&vec![]).copied().unwrap_or_default()
    }

    /// The value of a polynomial without symbols.
    pub fn as_number(&self) -> Option<i128> {
        self.symbols().next().is_none().then(|| self.constant())
    }

    pub fn is_small(&self) -> bool {
        let small = |(monomial, coefficient): (&Monomial, &i128)| {
            monomial.len() <= MOST_FACTORS && coefficient.abs() < LARGEST
        };
        self.0.len() <= MOST_TERMS && self.0.iter().all(small)
    }

    /// Splits into a quotient and a rest: the terms that `coefficient` times `symbols` divides, and the others.
    pub fn split(&self, coefficient: i128, symbols: &Monomial) -> (Poly, Poly) {
        let (mut quotient, mut rest) = (Poly::default(), Poly::default());
        for (monomial, &own) in &self.0 {
            match without(monomial, symbols) {
                Some(left) if own % coefficient == 0 => {
                    quotient = quotient.plus([(left, own / coefficient)])
                }
                _ => rest = rest.plus([(monomial.clone(), own)]),
            }
        }
        (quotient, rest)
    }

    /// Puts `value` in the place of `symbol`.
    pub fn with(&self, symbol: Symbol, value: &Poly) -> Poly {
        self.0
            .iter()
            .fold(Poly::default(), |sum, (monomial, &coefficient)| {
                let (these, others): (Monomial, Monomial) =
                    monomial.iter().partition(|one| **one == symbol);
                let power = these
                    .iter()
                    .fold(Poly::term(coefficient, &others), |product, _| {
                        &product * value
                    });
                &sum + &power
            })
    }

    /// Rounds `self >= 0` down to what whole numbers allow: 8 k <= 31 becomes k <= 3.
    pub fn tightened(&self) -> Poly {
        let constant = self.constant();
        let others = self.plus_number(-constant);
        match others.0.values().fold(0, |all, one| gcd(all, *one)) {
            0 | 1 => self.clone(),
            divisor => others
                .split(divisor, &vec![])
                .0
                .plus_number(constant.div_euclid(divisor)),
        }
    }

    /// Shows that the polynomial is at least 0 wherever every one of `facts` is. `natural` says of a symbol that it is
    /// never negative. Multiples of facts, each at least 0, are taken away until no term can be negative; what has fewest
    /// such terms left is tried first. A `false` means that no proof was found.
    pub fn is_natural(&self, facts: &[Poly], natural: &dyn Fn(Symbol) -> bool) -> bool {
        if let Some(number) = self.as_number() {
            return number >= 0;
        }
        let mut open = vec![(0, 0, self.clone())];
        let mut seen = HashSet::new();
        for _ in 0..MOST_TRIED {
            let best = open.iter().enumerate().min_by_key(|(_, (cost, ..))| *cost);
            let Some(best) = best.map(|(at, _)| at) else {
                return false;
            };
            let (_, depth, poly) = open.swap_remove(best);
            let Some(rests) = poly.rests(facts, natural) else {
                return true;
            };
            for rest in rests.into_iter().filter(Poly::is_small) {
                if seen.insert(rest.clone()) {
                    let doubtful = rest.0.iter().filter(|term| is_doubtful(*term, natural));
                    let doubt = doubtful
                        .map(|(one, of)| 1 + one.len() as u32 + of.unsigned_abs().ilog2() / 8);
                    let doubt: u32 = doubt.sum();
                    open.push((depth + doubt, depth + 1, rest));
                }
            }
        }
        false
    }

    /// What is left after a multiple of each fact that takes away one term. Of the longest terms that may be negative, it is
    /// the one with fewest such facts. `None` if no term may be negative.
    fn rests(&self, facts: &[Poly], natural: &dyn Fn(Symbol) -> bool) -> Option<Vec<Poly>> {
        let doubtful = self.0.iter().filter(|term| is_doubtful(*term, natural));
        let longest = doubtful.clone().map(|(monomial, _)| monomial.len()).max()?;
        let doubtful = doubtful.filter(|(monomial, _)| monomial.len() == longest);
        let rests = doubtful.map(|(monomial, coefficient)| {
            let parts = facts
                .iter()
                .flat_map(|fact| fact.0.iter().map(move |(part, own)| (fact, part, own)));
            let of_sign = parts.filter(|(_, _, own)| own.signum() == coefficient.signum());
            let rests = of_sign.filter_map(|(fact, part, own)| {
                let factor =
                    without(monomial, part).filter(|all| all.iter().all(|one| natural(*one)))?;
                let shared = gcd(*own, *coefficient);
                let scale = own.abs() / shared;
                let many = coefficient.abs() / shared;
                let taken = fact
                    .0
                    .iter()
                    .map(|(one, of)| (product(one, &factor), -of * many));
                // A whole number is at least 0 as soon as `scale` times it is more than -scale.
                let scaled = match scale {
                    1 => self.clone(),
                    _ => self.times(scale).plus_number(scale - 1),
                };
                Some(scaled.plus(taken))
            });
            rests.collect::<Vec<_>>()
        });
        rests.min_by_key(Vec::len)
    }
}

/// Whether a term may be negative.
pub fn is_doubtful(
    (monomial, coefficient): (&Monomial, &i128),
    natural: &dyn Fn(Symbol) -> bool,
) -> bool {
    *coefficient < 0 || !monomial.iter().all(|symbol| natural(*symbol))
}

/// The factors of `monomial` that are left without those of `part`, if it has all of them.
fn without(monomial: &Monomial, part: &Monomial) -> Option<Monomial> {
    let mut left = monomial.clone();
    for symbol in part {
        left.remove(left.iter().position(|one| one == symbol)?);
    }
    Some(left)
}

fn product(a: &Monomial, b: &Monomial) -> Monomial {
    let mut product = [a.as_slice(), b.as_slice()].concat();
    product.sort_unstable();
    product
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

impl Add for &Poly {
    type Output = Poly;

    fn add(self, other: &Poly) -> Poly {
        self.clone().plus(other.0.clone())
    }
}

impl Sub for &Poly {
    type Output = Poly;

    fn sub(self, other: &Poly) -> Poly {
        self.clone().plus(
            other
                .0
                .iter()
                .map(|(monomial, coefficient)| (monomial.clone(), -coefficient)),
        )
    }
}

impl Mul for &Poly {
    type Output = Poly;

    fn mul(self, other: &Poly) -> Poly {
        let products = self.0.iter().flat_map(|(a, x)| {
            let products = other.0.iter();
            products.map(move |(b, y)| (product(a, b), x.saturating_mul(*y)))
        });
        Poly::default().plus(products)
    }
}
