//! Formulas in files, such as `ceil(rows * width / 256)` with the sizes of a case.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::{Environment, Error};
use serde::{Deserialize, Deserializer};

/// The functions that a formula may call.
static FUNCTIONS: LazyLock<Environment<'_>> = LazyLock::new(|| {
    let mut functions = Environment::empty();
    functions.add_function("ceil", f64::ceil);
    functions.add_function("floor", f64::floor);
    functions.add_function("min", f64::min);
    functions.add_function("max", f64::max);
    functions
});

/// The text of a formula. Its names are resolved when it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression(String);

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Whole(i64),
            Number(f64),
            Text(String),
        }
        Ok(Expression(match Written::deserialize(deserializer)? {
            Written::Whole(number) => number.to_string(),
            Written::Number(number) => number.to_string(),
            Written::Text(text) => text,
        }))
    }
}

impl From<&str> for Expression {
    fn from(text: &str) -> Self {
        Expression(text.into())
    }
}

impl Expression {
    /// Computes the formula with the values that `names` returns.
    ///
    /// # Errors
    /// Returns the fault of the formula as text.
    pub fn evaluate(&self, names: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
        let about = |error: Error| format!("`{}`: {error}", self.0);
        let formula = FUNCTIONS.compile_expression(&self.0).map_err(about)?;
        let mut values = BTreeMap::new();
        let mut unknown = formula.undeclared_variables(false).into_iter();
        let unknown = unknown.find(|name| match names(name) {
            Some(value) => values.insert(name.clone(), value).is_some(),
            None => FUNCTIONS.globals().all(|(function, _)| function != name),
        });
        if let Some(name) = unknown {
            return Err(format!("`{name}` is not a size of this case"));
        }
        let value = formula
            .eval(values)
            .and_then(f64::try_from)
            .map_err(about)?;
        match value.is_finite() {
            true => Ok(value),
            false => Err(format!("`{}` is not a number", self.0)),
        }
    }

    /// Computes a size: a whole number of at least 0.
    ///
    /// # Errors
    /// Fails like [`Expression::evaluate`], or if the value is not a size.
    pub fn size(&self, names: &dyn Fn(&str) -> Option<f64>) -> Result<usize, String> {
        let value = self.evaluate(names)?;
        match value >= 0.0 && value.fract() == 0.0 && value < 1e12 {
            true => Ok(value as usize),
            false => Err(format!("`{}` is {value}, which is not a size", self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let names = |name: &str| (name == "n").then_some(257.0);
        Expression(text.into()).evaluate(&names)
    }

    #[test]
    fn formulas_are_computed_as_written() {
        for (text, expected) in [
            ("4 * (2 * n + 1)", 2060.0),
            ("ceil(n / 256) - 1", 1.0),
            ("min(n, 8) * max(1, 2)", 16.0),
            ("1e-5", 1e-5),
            ("-n + 257", 0.0),
            ("10 - 2 - 3", 5.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let errors =
            ["m", "ceil(n", "n n", "root(n)", "1 / 0"].map(|text| value(text).unwrap_err());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
