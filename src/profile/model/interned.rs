//! Values that repeat a million times. Each is stored once and known by its number.

use std::collections::HashMap;

/// Values of one kind.
#[derive(Clone, Debug, Default)]
pub struct Interned<T> {
    pub values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    pub fn number_of<Q>(&mut self, value: &Q, own: impl FnOnce(&Q) -> T) -> u32
    where
        T: std::borrow::Borrow<Q>,
        Q: Eq + std::hash::Hash + ?Sized,
    {
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = self.values.len() as u32;
        let value = own(value);
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}
