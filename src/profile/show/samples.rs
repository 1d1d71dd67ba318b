//! Source lines and instructions at which the program counter was sampled, and what waves waited for there.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::report::with_rest;
use crate::model::{InstructionSamples, NameId, Profile};
use crate::name;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, percent};
use tinyllama_base::untrusted;

/// Samples with the same key, the most frequent key first.
struct SampleCounts<K> {
    key: K,
    samples: u64,
    executed: Option<u64>,
    stalls: BTreeMap<NameId, u64>,
}

/// What the records of a profile count.
#[derive(Clone, Copy)]
struct Counted {
    is_traced: bool,
    title: &'static str,
    column: &'static str,
    notes: &'static [&'static str],
}

const SAMPLES: Counted = Counted {
    is_traced: false,
    title: "the program counter was seen at",
    column: "samples",
    notes: &[],
};

const CYCLES: Counted = Counted {
    is_traced: true,
    title: "traced waves spent their time at",
    column: "cycles",
    notes: &[
        "cycles are latency and idle time of all traced waves; `busy unit`: the hardware could not take the instruction; \
         `idle`: the time since the instruction before, for an operand, the wave's turn or code",
    ],
};

/// Tables of samples and of thread traces, by source line and by instruction.
pub fn tables(profile: &Profile, limit: usize) -> Vec<TextTable> {
    let kinds = [SAMPLES, CYCLES].into_iter();
    let tables = kinds.flat_map(|kind| {
        let records = profile.instructions.iter();
        let records = records.filter(|it| it.executed.is_some() == kind.is_traced);
        let records: Vec<&InstructionSamples> = records.collect();
        [lines, instructions].map(|table| table(profile, kind, &records, limit))
    });
    tables.collect()
}

fn counted<K: Ord + Copy>(
    records: &[&InstructionSamples],
    key: impl Fn(&InstructionSamples) -> Option<K>,
) -> Vec<SampleCounts<K>> {
    let mut counts: BTreeMap<K, SampleCounts<K>> = BTreeMap::new();
    for it in records {
        let Some(key) = key(it) else { continue };
        let entry = counts.entry(key).or_insert(SampleCounts {
            key,
            samples: 0,
            executed: it.executed.and(Some(0)),
            stalls: BTreeMap::new(),
        });
        entry.samples = entry.samples.saturating_add(it.samples);
        let executed = entry.executed.zip(it.executed);
        entry.executed = executed.map(|(sum, more)| sum.saturating_add(more));
        if let Some(stall) = it.stall {
            let sum = entry.stalls.entry(stall).or_default();
            *sum = sum.saturating_add(it.samples);
        }
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_by_key(|it| std::cmp::Reverse(it.samples));
    counts
}

/// Adds number, share, and the most frequent reason why the wave could not go on.
fn with_counts<'a, K: 'a>(
    mut columns: TableColumns<'a, SampleCounts<K>>,
    profile: &'a Profile,
    kind: Counted,
    all: u64,
) -> TableColumns<'a, SampleCounts<K>> {
    if kind.is_traced {
        columns = columns.right("executed", |it| it.executed.map(|it| it.to_string()));
    }
    columns
        .notes(kind.notes)
        .right(kind.column, |it| it.samples.to_string())
        .right("share", move |it| {
            percent(Share(it.samples as f64 / all.max(1) as f64))
        })
        .left("waits for", move |it| {
            let (stall, samples) = it.stalls.iter().max_by_key(|(_, samples)| **samples)?;
            Some(format!("{} ({samples})", profile.name(*stall)))
        })
}

fn total(records: &[&InstructionSamples]) -> u64 {
    let samples = records.iter().map(|it| it.samples);
    samples.fold(0, u64::saturating_add)
}

/// Source lines with their text, if their files are on this machine.
fn lines(
    profile: &Profile,
    kind: Counted,
    records: &[&InstructionSamples],
    limit: usize,
) -> TextTable {
    let (counts, all) = (counted(records, |it| it.line), total(records));
    let mut files = HashMap::new();
    let shown = counts.iter().take(limit);
    let texts = shown.map(|it| (it.key, source(profile.name(it.key), &mut files)));
    let texts: BTreeMap<NameId, Option<String>> = texts.collect();
    let title = format!("Source lines {} ({all} {})", kind.title, kind.column);
    let columns = TableColumns::titled(title, &counts)
        .left("line", |it| file_name(profile.name(it.key)).to_owned())
        .left("source", |it| texts.get(&it.key).cloned().flatten());
    with_rest(with_counts(columns, profile, kind, all), limit)
}

fn instructions(
    profile: &Profile,
    kind: Counted,
    records: &[&InstructionSamples],
    limit: usize,
) -> TextTable {
    let counts = counted(records, |it| Some((it.instruction, it.line)));
    let all = total(records);
    let title = format!("Instructions {} ({all} {})", kind.title, kind.column);
    let columns = TableColumns::titled(title, &counts)
        .left("instruction", |it| {
            name::strip_suffix(profile.name(it.key.0)).to_owned()
        })
        .left("line", |it| {
            Some(file_name(profile.name(it.key.1?)).to_owned())
        });
    with_rest(with_counts(columns, profile, kind, all), limit)
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
