//! The training data: random tokens, or the bytes of a text.

use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use thiserror::Error;

use crate::model::ModelConfig;
use crate::train::DataSource;

/// Number of byte values, which are the tokens of a text.
pub const BYTE_TOKENS: usize = 256;

/// Separates the random numbers of batches from those of the weights, which use the seed itself.
const DATA_STREAM: u64 = 1;

/// Why a text cannot be trained on.
#[derive(Debug, Error)]
pub enum DataError {
    // Not called `source`: a chain of errors would name it twice.
    #[error("cannot read {path}: {why}")]
    Unreadable { path: PathBuf, why: std::io::Error },
    #[error("{path} is empty: training needs at least {needed} bytes (--seq-len + 1)")]
    Empty { path: PathBuf, needed: usize },
    #[error(
        "{path} holds {length} bytes: training needs at least {needed} (--seq-len + 1); use a longer text or \
         a smaller --seq-len"
    )]
    TooShort {
        path: PathBuf,
        length: usize,
        needed: usize,
    },
    #[error(
        "{path} is not UTF-8 text: line {line}, byte {byte} of the file is 0x{value:02x}; \
         convert it first, for example with `iconv -t UTF-8`"
    )]
    NotText {
        path: PathBuf,
        line: usize,
        byte: usize,
        value: u8,
    },
    #[error(
        "a text needs a token for each of its {BYTE_TOKENS} byte values: --vocab {vocabulary} is too small"
    )]
    VocabularyTooSmall { vocabulary: usize },
}

/// Input tokens and the token that follows each, one position later. Both are `[B, S]`, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub tokens: Vec<i32>,
    pub targets: Vec<i32>,
}

/// A source of batches. The same seed gives the same batches.
#[derive(Debug)]
pub struct Data {
    kind: DataKind,
    random: ChaCha8Rng,
    batch_size: usize,
    sequence_length: usize,
}

#[derive(Debug)]
enum DataKind {
    Synthetic(Batch),
    Text { path: PathBuf, bytes: Vec<u8> },
}

impl Data {
    /// Creates one batch of uniformly random tokens that is returned every time: a model with correct gradients memorises it.
    pub fn synthetic(config: &ModelConfig, seed: u64) -> Self {
        let mut random = random(seed);
        // Token 0 stands for padding and is left out, as in the workshop's data set.
        let mut draw = || 1 + below(&mut random, config.vocabulary - 1) as i32;
        let row = config.sequence_length + 1;
        let (mut tokens, mut targets) = (Vec::new(), Vec::new());
        for _ in 0..config.batch_size {
            let sample: Vec<i32> = (0..row).map(|_| draw()).collect();
            tokens.extend_from_slice(&sample[..row - 1]);
            targets.extend_from_slice(&sample[1..]);
        }
        Data {
            kind: DataKind::Synthetic(Batch { tokens, targets }),
            random,
            batch_size: config.batch_size,
            sequence_length: config.sequence_length,
        }
    }

    /// Draws random windows from a UTF-8 text; every byte is a token.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is too short or is not UTF-8, or if the vocabulary has fewer than 256 tokens.
    pub fn text(path: &Path, config: &ModelConfig, seed: u64) -> Result<Self, DataError> {
        if config.vocabulary < BYTE_TOKENS {
            return Err(DataError::VocabularyTooSmall {
                vocabulary: config.vocabulary,
            });
        }
        let bytes = std::fs::read(path).map_err(|why| DataError::Unreadable {
            path: path.into(),
            why,
        })?;
        let needed = config.sequence_length + 1;
        check_text(path, &bytes, needed)?;
        Ok(Data {
            kind: DataKind::Text {
                path: path.into(),
                bytes,
            },
            random: random(seed),
            batch_size: config.batch_size,
            sequence_length: config.sequence_length,
        })
    }

    /// Returns the next batch.
    pub fn next_batch(&mut self) -> Batch {
        match &self.kind {
            DataKind::Synthetic(batch) => batch.clone(),
            DataKind::Text { bytes, .. } => {
                let length = self.sequence_length;
                let (mut tokens, mut targets) = (Vec::new(), Vec::new());
                for _ in 0..self.batch_size {
                    let start = below(&mut self.random, bytes.len() - length);
                    let window = &bytes[start..=start + length];
                    tokens.extend(window[..length].iter().map(|byte| i32::from(*byte)));
                    targets.extend(window[1..].iter().map(|byte| i32::from(*byte)));
                }
                Batch { tokens, targets }
            }
        }
    }

    /// Describes the data for the event stream.
    pub fn source(&self) -> DataSource {
        match &self.kind {
            DataKind::Synthetic(_) => DataSource::Synthetic,
            DataKind::Text { path, bytes } => DataSource::Text {
                path: path.display().to_string(),
                bytes: bytes.len() as u64,
                order_0_entropy: order_0_entropy(bytes),
            },
        }
    }

    /// Returns the beginning of the text as a prompt for sampling; `None` for random tokens.
    pub fn prompt(&self, length: usize) -> Option<&[u8]> {
        match &self.kind {
            DataKind::Synthetic(_) => None,
            DataKind::Text { bytes, .. } => Some(&bytes[..length.min(bytes.len())]),
        }
    }
}

fn check_text(path: &Path, bytes: &[u8], needed: usize) -> Result<(), DataError> {
    if bytes.is_empty() {
        return Err(DataError::Empty {
            path: path.into(),
            needed,
        });
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        let byte = error.valid_up_to();
        return Err(DataError::NotText {
            path: path.into(),
            line: 1 + bytes[..byte].iter().filter(|b| **b == b'\n').count(),
            byte,
            value: bytes[byte],
        });
    }
    if bytes.len() < needed {
        return Err(DataError::TooShort {
            path: path.into(),
            length: bytes.len(),
            needed,
        });
    }
    Ok(())
}

/// Computes -Σ p ln p over single bytes, in nats. A model that knows only byte frequencies reaches this loss.
pub fn order_0_entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u64; BYTE_TOKENS];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let p = *count as f64 / bytes.len() as f64;
            -p * p.ln()
        })
        .sum()
}

fn random(seed: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(DATA_STREAM);
    random
}

/// Returns a number in `0..bound`. The bias of the remainder is below 2⁻⁴⁰ for every bound used here.
fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    (random.next_u64() % bound as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;
    use std::io::Write;

    fn file(contents: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(contents).unwrap();
        file
    }

    #[test]
    fn targets_are_the_tokens_one_position_later() {
        let config = Preset::Tiny.config();
        let path = file("Mary had a little lamb. ".repeat(40).as_bytes());
        let mut data = Data::text(path.path(), &config, 7).unwrap();
        let batch = data.next_batch();
        assert_eq!(batch.tokens.len(), config.tokens());
        for row in 0..config.batch_size {
            let row = row * config.sequence_length..(row + 1) * config.sequence_length;
            assert_eq!(
                batch.tokens[row.clone()][1..],
                batch.targets[row][..config.sequence_length - 1]
            );
        }
        assert_ne!(batch, data.next_batch());
    }

    #[test]
    fn random_tokens_stay_in_the_vocabulary_and_repeat_with_the_seed() {
        let mut config = Preset::Tiny.config();
        config.vocabulary = 2;
        let batch = Data::synthetic(&config, 1).next_batch();
        assert!(batch.tokens.iter().all(|token| *token == 1));
        config.vocabulary = 1000;
        let batch = Data::synthetic(&config, 1).next_batch();
        assert!(batch.tokens.iter().all(|token| (1..1000).contains(token)));
        assert_eq!(batch, Data::synthetic(&config, 1).next_batch());
        assert_ne!(batch, Data::synthetic(&config, 2).next_batch());
    }

    #[test]
    fn unusable_texts_are_refused_with_their_place() {
        let config = Preset::Tiny.config();
        let refuse = |contents: &[u8]| {
            let path = file(contents);
            Data::text(path.path(), &config, 0).unwrap_err().to_string()
        };
        assert!(refuse(b"").contains("is empty"));
        assert!(refuse(b"short").contains("5 bytes"));
        let mut latin = b"two\nlines ".to_vec();
        latin.push(0xe9);
        let message = refuse(&latin);
        assert!(
            message.contains("line 2, byte 10") && message.contains("0xe9"),
            "{message}"
        );
        let missing = Data::text(Path::new("no-such-file"), &config, 0).unwrap_err();
        assert!(missing.to_string().contains("no-such-file"));
    }

    #[test]
    fn the_entropy_of_a_fair_coin_is_ln_2() {
        let entropy = order_0_entropy(b"abababab");
        assert!((entropy - std::f64::consts::LN_2).abs() < 1e-12);
        assert_eq!(order_0_entropy(b"aaaa"), 0.0);
    }
}
