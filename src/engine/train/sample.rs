//! Lets the trained model continue a text, token by token.

use anyhow::Result;

use super::data::BYTE_TOKENS;
use crate::train::{Engine, Sample};

/// Bytes of the text that the model gets before it continues.
pub const PROMPT_BYTES: usize = 32;

/// Continues `prompt` by `length` bytes and always takes the most likely one.
///
/// The model sees at most `window` bytes of context. Its vocabulary may be larger than the bytes it was trained on.
/// Tokens that are no byte are never chosen.
///
/// # Errors
/// Errors of the device when logits are read back.
pub fn continue_text(
    engine: &mut dyn Engine,
    prompt: &[u8],
    window: usize,
    length: usize,
) -> Result<Sample> {
    let mut tokens: Vec<i32> = prompt.iter().map(|byte| i32::from(*byte)).collect();
    for _ in 0..length {
        let start = tokens.len().saturating_sub(window);
        let next = most_likely(engine, &tokens[start..])?;
        tokens.push(next);
    }
    let bytes: Vec<u8> = tokens[prompt.len()..]
        .iter()
        .filter_map(|token| u8::try_from(*token).ok())
        .collect();
    Ok(Sample {
        prompt: String::from_utf8_lossy(prompt).into_owned(),
        continuation: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn most_likely(engine: &mut dyn Engine, tokens: &[i32]) -> Result<i32> {
    let logits = engine.logits(tokens)?;
    let vocabulary = logits.len() / tokens.len();
    let best = logits[logits.len() - vocabulary..]
        .iter()
        .take(BYTE_TOKENS)
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or(0, |(token, _)| token);
    Ok(best as i32)
}
