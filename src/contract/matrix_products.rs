//! The arithmetic of a run's matrix products: a type for the program, and its text in event streams.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The precision to which operands of products are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    F32,
    /// f32 in memory, rounded to 10 bits of mantissa.
    Tf32,
    /// tf32 for some shapes and f32 for others, as tuning found faster.
    F32OrTf32,
    Bf16,
    F16,
}

/// Matrix products as a stream's text, with the operand type if the program knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub struct MatrixProducts {
    text: String,
    operands: Option<Operands>,
}

/// The first text for each value is the one that is written. The others occur in streams of earlier versions.
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
    /// Types whose arithmetic units may carry out such products, fastest first.
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
    /// Products with these operands, carried out by the named library.
    pub fn new(operands: Operands, library: Option<&str>) -> Self {
        let known = WORDS.iter().find(|(known, _)| *known == operands);
        let mut text = known.map_or_else(String::new, |(_, text)| (*text).to_string());
        if let Some(library) = library {
            text += &format!(", by {library}");
        }
        MatrixProducts {
            text,
            operands: Some(operands),
        }
    }

    /// Returns `None` if this program does not know the stream's text.
    pub fn operands(&self) -> Option<Operands> {
        self.operands
    }
}

impl From<String> for MatrixProducts {
    fn from(text: String) -> Self {
        let of_operands = text.split_once(", by ").map_or(&*text, |(first, _)| first);
        let known = WORDS.iter().find(|(_, known)| *known == of_operands);
        MatrixProducts {
            operands: known.map(|(operands, _)| *operands),
            text,
        }
    }
}

impl From<MatrixProducts> for String {
    fn from(products: MatrixProducts) -> String {
        products.text
    }
}

impl fmt::Display for MatrixProducts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_precision_reads_back_and_nothing_is_guessed() {
        let of = |text: &str| MatrixProducts::from(text.to_string()).operands();
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
        // Streams of earlier versions contain these texts.
        assert_eq!(of("tf32"), Some(Operands::Tf32));
        assert_eq!(of("f32 operands, by hipBLASLt 1.0"), Some(Operands::F32));
        assert_eq!(of("f32, by burn's plainest product"), Some(Operands::F32));
        assert_eq!(of("f32, tf32 would be faster"), None);
        assert_eq!(of("unknown"), None);
    }
}
