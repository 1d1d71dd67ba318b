//! Source lines and instructions at which the program counter was sampled, and what waves waited for there.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::report::with_rest;
use crate::profiler::model::{InstructionSamples, NameId, Profile};
use crate::profiler::name;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::percent;
use tinyllama_base::untrusted;

/// Samples with the same key, the most frequent key first.
struct SampleCounts<K> {
    key: K,
    samples: u64,
    stalls: BTreeMap<NameId, u64>,
}

fn counted<K: Ord + Copy>(
    profile: &Profile,
    key: impl Fn(&InstructionSamples) -> Option<K>,
) -> Vec<SampleCounts<K>> {
    let mut counts: BTreeMap<K, SampleCounts<K>> = BTreeMap::new();
    for it in &profile.instructions {
        let Some(key) = key(it) else { continue };
        let entry = counts.entry(key).or_insert(SampleCounts {
            key,
            samples: 0,
            stalls: BTreeMap::new(),
        });
        entry.samples += it.samples;
        if let Some(stall) = it.stall {
            *entry.stalls.entry(stall).or_default() += it.samples;
        }
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_by_key(|it| std::cmp::Reverse(it.samples));
    counts
}

/// Adds number, share, and the most frequent reason why the wave could not go on.
fn with_counts<'a, K: 'a>(
    columns: TableColumns<'a, SampleCounts<K>>,
    profile: &'a Profile,
) -> TableColumns<'a, SampleCounts<K>> {
    let all = total(profile);
    columns
        .right("samples", |it| it.samples.to_string())
        .right("share", move |it| {
            percent(100.0 * it.samples as f64 / all.max(1) as f64)
        })
        .left("waits for", move |it| {
            let (stall, samples) = it.stalls.iter().max_by_key(|(_, samples)| **samples)?;
            Some(format!("{} ({samples})", profile.name(*stall)))
        })
}

fn title(profile: &Profile, what: &str) -> String {
    let all = total(profile);
    format!("{what} the program counter was seen at ({all} samples)")
}

fn total(profile: &Profile) -> u64 {
    let samples = profile.instructions.iter();
    samples.map(|it| it.samples).sum()
}

/// Source lines with their text, if their files are on this machine.
pub fn lines(profile: &Profile, limit: usize) -> TextTable {
    let counts = counted(profile, |it| it.line);
    let mut files = HashMap::new();
    let shown = counts.iter().take(limit);
    let texts = shown.map(|it| (it.key, source(profile.name(it.key), &mut files)));
    let texts: BTreeMap<NameId, Option<String>> = texts.collect();
    let columns = TableColumns::titled(title(profile, "Source lines"), &counts)
        .left("line", |it| file_name(profile.name(it.key)).to_owned())
        .left("source", |it| texts.get(&it.key).cloned().flatten());
    with_rest(with_counts(columns, profile), limit)
}

pub fn instructions(profile: &Profile, limit: usize) -> TextTable {
    let counts = counted(profile, |it| Some((it.instruction, it.line)));
    let columns = TableColumns::titled(title(profile, "Instructions"), &counts)
        .left("instruction", |it| {
            name::strip_suffix(profile.name(it.key.0)).to_owned()
        })
        .left("line", |it| {
            Some(file_name(profile.name(it.key.1?)).to_owned())
        });
    with_rest(with_counts(columns, profile), limit)
}

fn file_name(line: &str) -> &str {
    line.rsplit('/').next().unwrap_or(line)
}

/// Endings of files that are read for a line's text. A profile from elsewhere could name any file.
const SOURCES: &str = "c cc cpp cu cuh cxx h hip hpp py rs";

/// Limit in bytes for such a file.
const LARGEST_SOURCE: u64 = 4 << 20;

fn source(line: &str, files: &mut HashMap<String, Option<String>>) -> Option<String> {
    let (file, number) = line.rsplit_once(':')?;
    let number: usize = number.parse().ok()?;
    let ending = Path::new(file).extension()?.to_str()?;
    SOURCES.split(' ').find(|source| *source == ending)?;
    let content = files.entry(file.to_owned()).or_insert_with(|| {
        let bytes = untrusted::read(Path::new(file), LARGEST_SOURCE).ok()?;
        String::from_utf8(bytes).ok()
    });
    let text = content.as_ref()?.lines().nth(number.checked_sub(1)?)?;
    Some(untrusted::plain(text.trim()).to_string())
}
