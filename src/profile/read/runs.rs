//! Tells runs apart whose files lie in one folder, or whose tables stand in one file.
//!
//! Processes that had work on a device at the same time belong to one run, as ranks do. A process that only has a summary
//! belongs to the run of its folder if the profiler named both after process numbers. Every other process is a run of its
//! own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::{
    LaneId, NameId, ProcessId, Profile, ProfiledProcess, ProfilerStatistic, StatisticKind, TimeSpan,
};
use crate::name;

/// Processes of one run.
#[derive(Debug)]
struct Run {
    processes: Vec<ProcessId>,
    /// From its first kernel to its last. `None` if it only has summaries.
    time: Option<TimeSpan>,
}

/// Names the runs if there are several, and says so.
pub fn separate(profile: &mut Profile) {
    let runs = runs(profile);
    if runs.len() < 2 {
        return;
    }
    let mut names = BTreeSet::new();
    for (at, run) in runs.iter().enumerate() {
        let labels: Vec<String> = run
            .processes
            .iter()
            .map(|it| profile.process_label(*it))
            .collect();
        let mut name = match labels.as_slice() {
            [first, others @ ..] if !others.is_empty() => {
                format!("{first} and {} more", others.len())
            }
            labels => labels.concat(),
        };
        if name.is_empty() || names.contains(&name) {
            name = format!("run {}", at + 1);
        }
        names.insert(name.clone());
        for process in &run.processes {
            profile.runs.insert(*process, name.clone());
        }
    }
    let names = itertools::join(names, ", ");
    profile.notes.push(format!(
        "these are {} runs ({names}): kernels are listed by run, and tables without a run add them up",
        runs.len()
    ));
}

fn runs(profile: &Profile) -> Vec<Run> {
    let mut times: BTreeMap<ProcessId, TimeSpan> = BTreeMap::new();
    for (launch, time) in profile.timed() {
        let process = profile.lane(launch.lane).process;
        let whole = times.entry(process).or_insert(time);
        whole.start = whole.start.min(time.start);
        whole.end = whole.end.max(time.end);
    }
    let mut timed: Vec<(ProcessId, TimeSpan)> = times.into_iter().collect();
    timed.sort_by_key(|(process, time)| (time.start, *process));
    let mut runs: Vec<Run> = Vec::new();
    for (process, time) in timed {
        match runs.last_mut() {
            Some(Run {
                processes,
                time: Some(run),
            }) if time.start <= run.end => {
                processes.push(process);
                run.end = run.end.max(time.end);
            }
            _ => runs.push(Run {
                processes: vec![process],
                time: Some(time),
            }),
        }
    }
    let lanes = profile.timed().map(|(launch, _)| launch.lane);
    let summarised = profile.only_summarised(StatisticKind::Kernel, lanes);
    let summarised: BTreeSet<ProcessId> = summarised.map(|row| row.process).collect();
    for process in summarised {
        let own = profile.process(process);
        let is_beside = |run: &&mut Run| {
            let mut processes = run.processes.iter();
            is_number(own) && processes.all(|it| is_beside(profile.process(*it), own))
        };
        let mut beside = runs.iter_mut().filter(is_beside);
        match (beside.next(), beside.next()) {
            (Some(run), None) => run.processes.push(process),
            _ => runs.push(Run {
                processes: vec![process],
                time: None,
            }),
        }
    }
    runs
}

/// Returns whether a profiler named a file after the number of its process.
fn is_number(process: &ProfiledProcess) -> bool {
    process.label.parse::<u32>().is_ok()
}

fn is_beside(process: &ProfiledProcess, own: &ProfiledProcess) -> bool {
    is_number(process) && process.folder == own.folder
}

/// Calls and nanoseconds by name.
type Sums = BTreeMap<String, (u64, f64)>;

/// Takes out summaries of what is recorded one by one in another file, or summarised in another.
pub fn drop_repeated_summaries(profile: &mut Profile) {
    drop_sums_of_workloads(profile);
    let mut repeating = BTreeSet::new();
    let kinds: BTreeSet<StatisticKind> = profile.statistics.iter().map(|row| row.kind).collect();
    for kind in kinds {
        let recorded = recorded(profile, kind);
        let mut known: Vec<(Option<ProcessId>, Sums)> = Vec::new();
        if recorded.len() > 1 {
            known.push((None, all_of(recorded.values())));
        }
        known.extend(recorded.into_iter().map(|(it, sums)| (Some(it), sums)));
        let mut summaries: BTreeMap<ProcessId, Sums> = BTreeMap::new();
        for row in profile.summary(kind) {
            let sums = summaries.entry(row.process).or_default();
            add(sums, profile.name(row.name), row.calls, row.total_ns);
        }
        let mut repeated = BTreeSet::new();
        for (process, sums) in summaries {
            match known.iter().find(|(_, other)| is_same(other, &sums)) {
                Some((owner, _)) => {
                    repeated.insert(process);
                    if *owner != Some(process) {
                        repeating.insert(profile.process_label(process));
                    }
                }
                None => known.push((Some(process), sums)),
            }
        }
        profile
            .statistics
            .retain(|row| row.kind != kind || !repeated.contains(&row.process));
    }
    if !repeating.is_empty() {
        let names = itertools::join(repeating, ", ");
        profile.notes.push(format!(
            "sums in {names} are those of another file, and count once"
        ));
    }
}

/// Takes out sums that lie in the folder of a workload whose launches have times. They are of other replays, or of all.
fn drop_sums_of_workloads(profile: &mut Profile) {
    let processes = profile
        .timed()
        .map(|(launch, _)| profile.lane(launch.lane).process);
    let replayed = processes
        .map(|it| profile.process(it))
        .filter(|it| it.pass.is_some());
    let workloads: BTreeSet<String> = replayed.map(|it| it.folder.clone()).collect();
    let is_of_workload = |row: &ProfilerStatistic| {
        let process = profile.process(row.process);
        process.pass.is_none() && workloads.contains(&process.folder)
    };
    let rows = profile.statistics.iter().copied();
    profile.statistics = rows.filter(|row| !is_of_workload(row)).collect();
}

fn add(sums: &mut Sums, full_name: &str, calls: u64, ns: f64) {
    let entry = sums.entry(name::short(full_name).to_owned()).or_default();
    entry.0 = entry.0.saturating_add(calls);
    entry.1 += ns;
}

/// What is recorded one by one, by process.
fn recorded(profile: &Profile, kind: StatisticKind) -> BTreeMap<ProcessId, Sums> {
    let mut sums: HashMap<(ProcessId, NameId), (u64, f64)> = HashMap::new();
    let mut add_one = |lane: LaneId, name: NameId, time: TimeSpan| {
        let entry = sums.entry((profile.lane(lane).process, name)).or_default();
        *entry = (entry.0 + 1, entry.1 + time.duration() as f64);
    };
    match kind {
        StatisticKind::Kernel => profile.timed().for_each(|(launch, time)| {
            add_one(launch.lane, profile.variant(launch.variant).kernel, time);
        }),
        StatisticKind::Api => {
            let calls = profile.calls.iter();
            calls.for_each(|call| add_one(call.lane, call.function, call.time));
        }
        StatisticKind::MemoryCopy => {
            let copies = profile.copies.iter();
            copies.for_each(|copy| add_one(copy.lane, copy.direction, copy.time));
        }
        StatisticKind::MemoryAllocation => {
            let all = profile.allocations.iter();
            all.for_each(|one| add_one(one.lane, one.operation, one.time));
        }
        StatisticKind::Domain => {}
    }
    let mut by_process: BTreeMap<ProcessId, Sums> = BTreeMap::new();
    for ((process, id), (calls, ns)) in sums {
        let sums = by_process.entry(process).or_default();
        add(sums, profile.name(id), calls, ns);
    }
    by_process
}

fn all_of<'a>(parts: impl Iterator<Item = &'a Sums>) -> Sums {
    let mut all = Sums::new();
    for (name, (calls, ns)) in parts.flatten() {
        add(&mut all, name, *calls, *ns);
    }
    all
}

/// Sums that agree to this share are of the same things. Profilers add up the same nanoseconds, so nothing else comes as near.
const ROUNDING: f64 = 1e-6;

fn is_same(a: &Sums, b: &Sums) -> bool {
    let totals = |sums: &Sums| {
        let sums = sums.values();
        sums.fold((0u64, 0.0), |all, it| {
            (all.0.saturating_add(it.0), all.1 + it.1)
        })
    };
    let (a_totals, b_totals) = (totals(a), totals(b));
    a.len() == b.len()
        && a_totals.0 == b_totals.0
        && (a_totals.1 - b_totals.1).abs() <= ROUNDING * a_totals.1
}
