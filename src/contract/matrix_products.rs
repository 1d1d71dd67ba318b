//! How the matrix products of a run are carried out: a type for the program, and the words that streams carry.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operands of products are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    F32,
    /// f32 in memory, rounded to 10 bits of mantissa.
    Tf32,
    /// Rounded to tf32 or not, whatever tuning found faster for a shape.
    F32OrTf32,
    Bf16,
    F16,
}

/// Products in the words of a stream, with what the program has to know of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub struct MatrixProducts {
    words: String,
    operands: Option<Operands>,
}

/// The first of each is written; the others are in streams of earlier programs.
const WORDS: [(Operands, &str); 9] = [
    (Operands::F32, "f32"),
    (Operands::Tf32, "tf32 operands"),
    (
        Operands::F32OrTf32,
        "f32, operands rounded to tf32 where tuning finds it faster",
    ),
    (Operands::Bf16, "bf16 operands"),
    (Operands::F16, "f16 operands"),
    (Operands::F32, "f32 operands"),
    (Operands::Tf32, "tf32"),
    (Operands::Bf16, "bf16"),
    (Operands::F16, "f16"),
];

impl Operands {
    /// Types whose arithmetic units may carry such products out, the fastest first.
    pub fn units(self) -> &'static [&'static str] {
        match self {
            Operands::F32 => &["f32"],
            Operands::Tf32 => &["tf32"],
            Operands::F32OrTf32 => &["tf32", "f32"],
            Operands::Bf16 => &["bf16"],
            Operands::F16 => &["f16"],
        }
    }
}

impl MatrixProducts {
    /// Products of these operands, by the library that is named so.
    pub fn new(operands: Operands, library: Option<&str>) -> Self {
        let known = WORDS.iter().find(|(known, _)| *known == operands);
        let mut words = known.map_or_else(String::new, |(_, words)| (*words).to_string());
        if let Some(library) = library {
            words += &format!(", by {library}");
        }
        MatrixProducts {
            words,
            operands: Some(operands),
        }
    }

    /// `None` where a stream says it in words that this program does not know.
    pub fn operands(&self) -> Option<Operands> {
        self.operands
    }
}

impl From<String> for MatrixProducts {
    fn from(words: String) -> Self {
        let of_operands = words
            .split_once(", by ")
            .map_or(&*words, |(first, _)| first);
        let known = WORDS.iter().find(|(_, known)| *known == of_operands);
        MatrixProducts {
            operands: known.map(|(operands, _)| *operands),
            words,
        }
    }
}

impl From<MatrixProducts> for String {
    fn from(products: MatrixProducts) -> String {
        products.words
    }
}

impl fmt::Display for MatrixProducts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_nothing_is_guessed() {
        let of = |words: &str| MatrixProducts::from(words.to_string()).operands();
        for (operands, _) in WORDS {
            for library in [None, Some("cuBLASLt 13.1.0")] {
                let written = MatrixProducts::new(operands, library);
                let text = serde_json::to_string(&written).unwrap();
                assert_eq!(
                    serde_json::from_str::<MatrixProducts>(&text).unwrap(),
                    written
                );
                assert_eq!(of(&written.to_string()), Some(operands));
            }
        }
        // Recorded by earlier programs.
        assert_eq!(of("tf32"), Some(Operands::Tf32));
        assert_eq!(of("f32 operands, by hipBLASLt 1.0"), Some(Operands::F32));
        assert_eq!(of("f32, by burn's plainest product"), Some(Operands::F32));
        assert_eq!(of("f32, tf32 would be faster"), None);
        assert_eq!(of("unknown"), None);
    }
}
