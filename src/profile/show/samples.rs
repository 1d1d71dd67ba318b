//! Source lines and instructions at which the program counter was sampled, and what waves waited for there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::report::with_rest;
use crate::model::{InstructionSamples, NameId, Profile};
use crate::name;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, percent, plural};
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
        "cycles are latency and idle time of all traced waves; `memory`: a wait for loads, stores or LDS; `other waves`: a \
         barrier; `busy unit`: the hardware could not take the instruction; `idle`: the time since the instruction before, \
         for an operand, the wave's turn or code",
    ],
};

/// Tables of samples and of thread traces, by source line and by instruction. Each kernel has its own.
pub fn tables(profile: &Profile, limit: usize) -> Vec<TextTable> {
    let mut tables = Vec::new();
    for kind in [SAMPLES, CYCLES] {
        let records = profile.instructions.iter();
        let records = records.filter(|it| it.executed.is_some() == kind.is_traced);
        let kernels = by_kernel(records);
        let names = kernels.iter().map(|(kernel, _)| {
            kernel.map_or("code of an unknown kernel", |kernel| profile.name(kernel))
        });
        let names = name::distinct_names(&names.collect::<Vec<_>>());
        for ((_, records), &kernel) in kernels.iter().zip(&names).take(KERNELS_SHOWN) {
            let kernel = Some(kernel).filter(|_| kernels.len() > 1);
            let both =
                [lines, instructions].map(|table| table(profile, (kind, kernel), records, limit));
            tables.extend(both);
        }
        let hidden = kernels.len().saturating_sub(KERNELS_SHOWN);
        if let Some(last) = tables.last_mut().filter(|_| hidden > 0) {
            last.note(format!(
                "{} with fewer {}; --json has them",
                plural(hidden, "more kernel"),
                kind.column
            ));
        }
    }
    tables
}

/// Number of kernels whose tables are shown.
const KERNELS_SHOWN: usize = 5;

/// The records of each kernel, the one with the most samples first.
fn by_kernel<'a>(
    records: impl Iterator<Item = &'a InstructionSamples>,
) -> Vec<(Option<NameId>, Vec<&'a InstructionSamples>)> {
    let mut kernels: BTreeMap<Option<NameId>, Vec<&InstructionSamples>> = BTreeMap::new();
    for record in records {
        kernels.entry(record.kernel).or_default().push(record);
    }
    let mut kernels: Vec<_> = kernels.into_iter().collect();
    kernels.sort_by_key(|(_, records)| std::cmp::Reverse(total(records)));
    kernels
}

/// The title of a table, with the kernel if several have tables.
fn title(what: &str, (kind, kernel): (Counted, Option<&str>), all: u64) -> String {
    let kernel = kernel.map_or(String::new(), |kernel| format!(" of {kernel}"));
    format!("{what}{kernel} {} ({all} {})", kind.title, kind.column)
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
    (kind, kernel): (Counted, Option<&str>),
    records: &[&InstructionSamples],
    limit: usize,
) -> TextTable {
    let (counts, all) = (counted(records, |it| it.line), total(records));
    let mut files = HashMap::new();
    let shown = counts.iter().take(limit);
    let texts = shown.map(|it| (it.key, source(profile.name(it.key), &mut files)));
    let texts: BTreeMap<NameId, Option<String>> = texts.collect();
    let title = title("Source lines", (kind, kernel), all);
    let columns = TableColumns::titled(title, &counts)
        .left("line", |it| file_name(profile.name(it.key)).to_owned())
        .left("source", |it| texts.get(&it.key).cloned().flatten());
    with_rest(with_counts(columns, profile, kind, all), limit)
}

fn instructions(
    profile: &Profile,
    (kind, kernel): (Counted, Option<&str>),
    records: &[&InstructionSamples],
    limit: usize,
) -> TextTable {
    let counts = counted(records, |it| {
        Some((it.code_object, it.address, it.instruction, it.line))
    });
    let all = total(records);
    let title = title("Instructions", (kind, kernel), all);
    let columns = TableColumns::titled(title, &counts)
        .left("instruction", |it| profile.name(it.key.2).to_owned())
        .left("line", |it| {
            Some(file_name(profile.name(it.key.3?)).to_owned())
        });
    let mut columns = with_counts(columns, profile, kind, all);
    let objects: BTreeSet<Option<u64>> = counts.iter().map(|it| it.key.0).collect();
    if objects.len() > 1 {
        columns = columns.right("code object", |it| it.key.0.map(|it| it.to_string()));
    }
    if counts.iter().any(|it| it.key.1.is_some()) {
        columns = columns.right("address", |it| {
            it.key.1.map(|address| format!("{address:#x}"))
        });
    }
    with_rest(columns, limit)
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
