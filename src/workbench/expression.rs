//! Formulas of exercises: `ceil(rows * width / 256)` with the sizes of a case.

use serde::{Deserialize, Deserializer};

/// A formula as it is written; its names are known when it is evaluated.
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

impl Expression {
    /// # Errors
    /// What is wrong with the formula, in words.
    pub fn evaluate(&self, names: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
        let mut reader = Reader {
            rest: &self.0,
            names,
        };
        let value = reader.sum()?;
        match reader.rest.trim_start() {
            "" if value.is_finite() => Ok(value),
            "" => Err(format!("`{}` is no number", self.0)),
            rest => Err(format!("`{}`: unexpected `{rest}`", self.0)),
        }
    }

    /// A size: a whole number, not negative.
    ///
    /// # Errors
    /// As [`Expression::evaluate`], or where it is none.
    pub fn size(&self, names: &dyn Fn(&str) -> Option<f64>) -> Result<usize, String> {
        let value = self.evaluate(names)?;
        match value >= 0.0 && value.fract() == 0.0 && value < 1e12 {
            true => Ok(value as usize),
            false => Err(format!("`{}` is {value}, which is no size", self.0)),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    names: &'a dyn Fn(&str) -> Option<f64>,
}

impl Reader<'_> {
    fn take(&mut self, symbol: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn need(&mut self, symbol: char) -> Result<(), String> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(format!("`{symbol}` is missing before `{}`", self.rest)),
        }
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.factor()?;
        loop {
            if self.take('*') {
                value *= self.factor()?;
            } else if self.take('/') {
                value /= self.factor()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn factor(&mut self) -> Result<f64, String> {
        if self.take('-') {
            return Ok(-self.factor()?);
        }
        if self.take('(') {
            let value = self.sum()?;
            self.need(')')?;
            return Ok(value);
        }
        let text = self.rest.trim_start();
        let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        // The sign of an exponent belongs to a number.
        let mut before = ' ';
        let end = text
            .find(|c: char| {
                let exponent = number && matches!(before, 'e' | 'E') && matches!(c, '-' | '+');
                before = c;
                !(c.is_ascii_alphanumeric() || c == '_' || c == '.' || exponent)
            })
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        if number {
            return word.parse().map_err(|_| format!("`{word}` is no number"));
        }
        if !self.take('(') {
            return (self.names)(word).ok_or_else(|| format!("`{word}` is no size of this case"));
        }
        let first = self.sum()?;
        let value = match word {
            "ceil" => first.ceil(),
            "floor" => first.floor(),
            "min" | "max" => {
                self.need(',')?;
                let second = self.sum()?;
                if word == "min" {
                    first.min(second)
                } else {
                    first.max(second)
                }
            }
            _ => return Err(format!("`{word}` is no function")),
        };
        self.need(')')?;
        Ok(value)
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
    fn mistakes_are_said() {
        for (text, words) in [
            ("m", "`m` is no size"),
            ("ceil(n", "`)` is missing"),
            ("n n", "unexpected `n`"),
            ("root(n)", "no function"),
            ("1 / 0", "is no number"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
