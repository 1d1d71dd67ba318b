//! What the queues of a device waited for: every idle nanosecond between two kernels has a cause. Sequences of kernels that
//! recur, with the idle time that one kernel instead of them would save.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::intervals::Intervals;
use super::launch_calls::{LaunchCalls, NOT_PAIRED};
use crate::model::{NameId, ProcessId, Profile, TimeSpan};
use crate::name;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{NOT_REPORTED, Share, percent, plural, time};

/// Nanoseconds that a device may take between a launch, or the end of the kernel before it, and the start of a kernel. On
/// gfx1100 a dependent kernel of a HIP graph costs 3.9 us (ROCm/rocm-systems#10834).
const START: i64 = 10_000;

/// Kernels further apart than these nanoseconds belong to no sequence.
const APART: i64 = 100_000;

/// Kernels of a sequence, and its occurrences at least.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=6;
const RECURS: u64 = 3;

/// Longest gaps and best sequences in the tables.
const SHOWN: usize = 5;

/// Causes of idle time, in the order of [`IdleGap::causes`].
pub const CAUSES: [&str; 5] = [
    "the host: no launch call yet",
    "the launch: the call, and up to 10 us to the device",
    "a copy",
    "another kernel, and up to 10 us after it",
    "unknown",
];

/// Indices of the first three of [`CAUSES`].
pub const BY_HOST: usize = 0;
pub const BY_LAUNCH: usize = 1;
pub const BY_COPY: usize = 2;

/// Time between two kernels of a queue in which the queue was idle.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleGap {
    pub time: TimeSpan,
    /// Names of the kernels before and after.
    pub before: NameId,
    pub after: NameId,
    /// Nanoseconds by cause; their sum is the gap.
    pub causes: [i64; 5],
}

/// Kernels that follow one another again and again on a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSequence {
    pub kernels: Vec<NameId>,
    pub times: u64,
    /// Nanoseconds that the queue was idle between them, over all occurrences.
    pub idle_ns: i64,
}

/// Idle time of all queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdleTime {
    pub queues: usize,
    /// Nanoseconds from the first kernel to the last, over all queues.
    pub span_ns: i64,
    /// Longest first.
    pub gaps: Vec<IdleGap>,
    /// Those with the most idle time first.
    pub sequences: Vec<KernelSequence>,
    /// False if no launch call of any kernel is in the profile.
    pub knows_calls: bool,
    /// True if launch calls are in the profile, and no number pairs one with its kernel.
    pub pairs_nothing: bool,
}

/// A kernel on its queue, with the call that launched it.
struct Work {
    time: TimeSpan,
    name: NameId,
    call: Option<TimeSpan>,
}

/// What ran on a device beside a queue.
struct Device {
    copies: Intervals,
    /// Copies and kernels.
    busy: Intervals,
    /// Calls in which the host copies or waits for the device.
    waits: Intervals,
    copies_or_waits: Intervals,
}

pub fn idle(profile: &Profile) -> IdleTime {
    let calls = LaunchCalls::new(profile);
    let mut queues: BTreeMap<_, Vec<Work>> = BTreeMap::new();
    for (launch, time) in profile.timed() {
        let lane = profile.lane(launch.lane);
        let queue = ((lane.process, lane.agent), lane.queue.or(lane.stream));
        queues.entry(queue).or_default().push(Work {
            time,
            name: profile.variant(launch.variant).kernel,
            call: calls.call_of(launch),
        });
    }
    let mut idle = IdleTime {
        queues: queues.len(),
        knows_calls: queues.values().flatten().any(|work| work.call.is_some()),
        pairs_nothing: calls.pairs_nothing(),
        ..IdleTime::default()
    };
    let mut devices = BTreeMap::new();
    for ((device, _), work) in &queues {
        let times: &mut Vec<TimeSpan> = devices.entry(*device).or_default();
        times.extend(work.iter().map(|work| work.time));
    }
    let devices: BTreeMap<_, Device> = devices
        .into_iter()
        .map(|(at, kernels)| (at, device(profile, at, kernels)))
        .collect();
    let mut sequences = HashMap::new();
    for ((at, _), work) in &mut queues {
        work.sort_by_key(|work| (work.time.start, work.time.end));
        let gaps = gaps(work, &devices[at]);
        if let (Some(first), Some(last)) = (work.first(), work.iter().map(|it| it.time.end).max()) {
            idle.span_ns = idle.span_ns.saturating_add(last - first.time.start);
        }
        count_sequences(work, &mut sequences);
        idle.gaps.extend(gaps);
    }
    idle.gaps
        .sort_by_key(|gap| std::cmp::Reverse(gap.time.duration()));
    idle.sequences = best(sequences);
    idle
}

fn device(profile: &Profile, at: (ProcessId, Option<u64>), kernels: Vec<TimeSpan>) -> Device {
    let (process, agent) = at;
    let copies = profile.copies.iter().filter(|copy| {
        let ends = [copy.source, copy.destination];
        let touches = ends.contains(&agent) || ends == [None; 2] || agent.is_none();
        touches && profile.lane(copy.lane).process == process
    });
    let copies = Intervals::new(copies.map(|copy| copy.time).collect());
    let waits = profile.calls.iter().filter(|call| {
        let function = profile.name(call.function).to_ascii_lowercase();
        let is_wait = ["memcpy", "synchronize"]
            .iter()
            .any(|it| function.contains(it));
        is_wait && profile.lane(call.lane).process == process
    });
    let waits = Intervals::new(waits.map(|call| call.time).collect());
    Device {
        busy: copies.union(&Intervals::new(kernels)),
        copies_or_waits: copies.union(&waits),
        copies,
        waits,
    }
}

fn gaps(work: &[Work], device: &Device) -> Vec<IdleGap> {
    let mut gaps = Vec::new();
    let Some(mut last) = work.first() else {
        return gaps;
    };
    for next in &work[1..] {
        if next.time.start > last.time.end {
            let time = TimeSpan {
                start: last.time.end,
                end: next.time.start,
            };
            gaps.push(IdleGap {
                time,
                before: last.name,
                after: next.name,
                causes: causes(time, next.call, device),
            });
        }
        if next.time.end > last.time.end {
            last = next;
        }
    }
    gaps
}

/// Divides a gap before a kernel that `call` launched.
fn causes(gap: TimeSpan, call: Option<TimeSpan>, device: &Device) -> [i64; 5] {
    let TimeSpan { start, end } = gap;
    // Without a call, the whole gap is treated as the time after it.
    let within = |moment: Option<i64>| moment.map_or(start, |moment| moment.clamp(start, end));
    let called = within(call.map(|call| call.start));
    let returned = within(call.map(|call| call.end));
    // A host that copies, or waits while a copy runs, cannot launch because of the copy.
    let waits_alone =
        device.copies_or_waits.overlap(start, called) - device.copies.overlap(start, called);
    let held = device.waits.overlap(start, called) - waits_alone;
    let copy = device.copies.overlap(returned, end);
    let kernel = device.busy.overlap(returned, end) - copy;
    let rest = end - returned - copy - kernel;
    let starting = call.map_or(0, |_| rest.min(START));
    let (launch, after_kernel) = match returned > start {
        true => (starting, 0),
        false => (0, starting),
    };
    [
        called - start - held,
        returned - called + launch,
        held + copy,
        kernel + after_kernel,
        rest - starting,
    ]
}

/// Occurrences of a sequence, their idle nanoseconds, and where the last one ends.
type Occurrences = (u64, i64, usize);

fn count_sequences(work: &[Work], found: &mut HashMap<Vec<NameId>, Occurrences>) {
    let names: Vec<NameId> = work.iter().map(|work| work.name).collect();
    let gap = |pair: &[Work]| pair[1].time.start - pair[0].time.end;
    // Positions begin anew on each queue.
    found.values_mut().for_each(|it| it.2 = 0);
    for length in LENGTHS {
        for (at, kernels) in names.windows(length).enumerate() {
            let of = &work[at..at + length];
            if repeats(kernels) || of.windows(2).any(|pair| gap(pair) > APART) {
                continue;
            }
            // At most five gaps, none longer than `APART`.
            let idle: i64 = of.windows(2).map(|pair| gap(pair).max(0)).sum();
            match found.get_mut(kernels) {
                Some(seen) if seen.2 > at => {}
                Some(seen) => *seen = (seen.0 + 1, seen.1.saturating_add(idle), at + length),
                None => drop(found.insert(kernels.to_vec(), (1, idle, at + length))),
            }
        }
    }
}

/// Returns whether a sequence of more than two kernels is a shorter one several times.
fn repeats(kernels: &[NameId]) -> bool {
    let length = kernels.len();
    let is_period = |period: &usize| {
        length.is_multiple_of(*period) && kernels[*period..] == kernels[..length - *period]
    };
    length > 2 && (1..length).any(|period| is_period(&period))
}

/// The sequences with the most idle time. Those of the same kernels in another order or number are left out.
fn best(found: HashMap<Vec<NameId>, Occurrences>) -> Vec<KernelSequence> {
    let recurring = found
        .into_iter()
        .filter(|(_, seen)| seen.0 >= RECURS && seen.1 > 0);
    let mut all: Vec<_> = recurring
        .map(|(kernels, (times, idle_ns, _))| KernelSequence {
            kernels,
            times,
            idle_ns,
        })
        .collect();
    all.sort_by(|a, b| (b.idle_ns, &a.kernels).cmp(&(a.idle_ns, &b.kernels)));
    let mut taken: Vec<(BTreeSet<NameId>, KernelSequence)> = Vec::new();
    for sequence in all {
        let set: BTreeSet<NameId> = sequence.kernels.iter().copied().collect();
        if !taken
            .iter()
            .any(|(other, _)| set.is_subset(other) || other.is_subset(&set))
        {
            taken.push((set, sequence));
        }
        if taken.len() == SHOWN {
            break;
        }
    }
    taken.into_iter().map(|(_, sequence)| sequence).collect()
}

impl IdleTime {
    /// Idle nanoseconds by cause.
    pub fn by_cause(&self) -> [i64; 5] {
        let mut sums = [0; 5];
        for gap in &self.gaps {
            sums.iter_mut()
                .zip(gap.causes)
                .for_each(|(sum, ns)| *sum = i64::saturating_add(*sum, ns));
        }
        sums
    }

    /// Idle nanoseconds altogether. Times of a damaged file may add up to more than a number holds.
    pub fn whole(&self) -> i64 {
        self.by_cause().into_iter().fold(0, i64::saturating_add)
    }

    /// The sums as a sentence; `None` without a gap.
    pub fn line(&self) -> Option<String> {
        let sums = self.by_cause();
        let parts = sums.iter().zip(CAUSES).filter(|(ns, _)| **ns > 0);
        let parts = itertools::join(
            parts.map(|(ns, cause)| format!("{} for {cause}", time(*ns as f64))),
            "; ",
        );
        let whole = time(self.whole() as f64);
        (!self.gaps.is_empty()).then(|| format!("The queues were idle for {whole}: {parts}"))
    }
}

/// Sums by cause, the longest gaps, and the sequences that recur.
pub fn tables(profile: &Profile) -> Vec<TextTable> {
    let idle = idle(profile);
    if idle.gaps.is_empty() {
        return Vec::new();
    }
    let short = |kernel: NameId| name::short(profile.name(kernel)).to_owned();
    let sums = idle.by_cause();
    let whole = idle.whole();
    let share = |part: i64, of: i64| percent(Share(part as f64 / of.max(1) as f64));
    let causes: Vec<usize> = (0..CAUSES.len()).collect();
    let title = format!(
        "Idle time of {} by cause: {} of {}, {}",
        plural(idle.queues, "queue"),
        time(whole as f64),
        time(idle.span_ns as f64),
        share(whole, idle.span_ns),
    );
    // Without launch calls, nothing is known of the first two causes.
    let known = |at: usize, text: String| match at < 2 && !idle.knows_calls {
        true => NOT_REPORTED.to_owned(),
        false => text,
    };
    let columns = TableColumns::titled(title, &causes)
        .left("waits for", |at| CAUSES[*at].to_owned())
        .right("time", |at| known(*at, time(sums[*at] as f64)))
        .right("of the idle time", |at| known(*at, share(sums[*at], whole)))
        .right("gaps", |at| {
            let gaps = idle.gaps.iter().filter(|gap| gap.causes[*at] > 0);
            known(*at, gaps.count().to_string())
        });
    let mut by_cause = TextTable::from(columns);
    if idle.pairs_nothing {
        by_cause.note(NOT_PAIRED);
    } else if !idle.knows_calls {
        by_cause.note(
            "the host's launch calls are not reported, so its share is unknown: they are in a runtime trace (profile rocprofv3 \
             --kind runtime)",
        );
    }
    let gaps = TableColumns::titled("Longest gaps of a queue", &idle.gaps)
        .first(SHOWN)
        .left("after", |gap| short(gap.before))
        .left("before", |gap| short(gap.after))
        .right("time", |gap| time(gap.time.duration() as f64))
        .left("waits for", move |gap| {
            let parts = gap
                .causes
                .iter()
                .zip(["host", "launch", "copy", "kernel", "unknown"]);
            let parts = parts.filter(|(ns, _)| **ns > 0);
            itertools::join(
                parts.map(|(ns, cause)| format!("{cause} {}", time(*ns as f64))),
                ", ",
            )
        });
    let sequences = TableColumns::titled("Sequences of kernels that recur", &idle.sequences)
        .left("kernels", |it| itertools::join(it.kernels.iter().map(|kernel| short(*kernel)), " > "))
        .right("times", |it| it.times.to_string())
        .right("one kernel saves at most", |it| time(it.idle_ns as f64))
        .note("idle time between the kernels; a trace does not report the bytes they write and read again");
    [by_cause, gaps.into(), sequences.into()].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::import;

    /// Reads kernels (queue, name, correlation, start, end), calls (function, correlation, start, end) and copies (start,
    /// end) as rocprofv3 writes them. Times are microseconds.
    fn profile(
        kernels: &[(u8, &str, u8, i64, i64)],
        calls: &[(&str, u8, i64, i64)],
        copies: &[(i64, i64)],
    ) -> Profile {
        let folder = tempfile::tempdir().unwrap();
        let mut text =
            "Kind,Agent_Id,Queue_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"
                .to_owned();
        for (queue, name, correlation, start, end) in kernels {
            text +=
                &format!("KERNEL_DISPATCH,4,{queue},{name},{correlation},{start}000,{end}000\n");
        }
        std::fs::write(folder.path().join("v1_kernel_trace.csv"), text).unwrap();
        let mut text =
            "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
                .to_owned();
        for (function, correlation, start, end) in calls {
            text += &format!("HIP_RUNTIME_API,{function},7,7,{correlation},{start}000,{end}000\n");
        }
        std::fs::write(folder.path().join("v1_hip_api_trace.csv"), text).unwrap();
        let mut text = "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n".to_owned();
        for (start, end) in copies {
            text += &format!("MEMORY_COPY,MEMORY_COPY_HOST_TO_DEVICE,0,4,9,{start}000,{end}000\n");
        }
        std::fs::write(folder.path().join("v1_memory_copy_trace.csv"), text).unwrap();
        import(folder.path()).unwrap().profile
    }

    /// Five gaps, of 4, 60, 100, 100 and 280 us, divided by hand.
    #[test]
    fn every_idle_microsecond_has_one_cause() {
        let kernels = [
            (1, "a", 1, 1000, 1100),
            // Launched long before: the 4 us are the device's.
            (1, "b", 2, 1104, 1200),
            // 30 us without a call, 20 in the call, 10 on the way.
            (1, "c", 3, 1260, 1300),
            // 50 us of a copy that holds the host, 10 without a call, 5 in the call, 10 on the way, 25 unknown.
            (1, "a", 4, 1400, 1500),
            // Launched long before: 60 us of the other queue's kernel, 10 after it, 30 unknown.
            (1, "d", 6, 1600, 1650),
            (2, "x", 5, 1210, 1220),
            // 50 us of the copy, 220 without a call, 5 in the call, 5 of the other queue's kernel.
            (2, "x", 7, 1500, 1560),
        ];
        let launch = "hipLaunchKernel";
        let calls = [
            (launch, 1, 900, 910),
            (launch, 2, 920, 930),
            (launch, 3, 1230, 1250),
            ("hipMemcpy", 9, 1295, 1352),
            (launch, 4, 1360, 1365),
            (launch, 6, 1000, 1001),
            (launch, 7, 1490, 1495),
        ];
        let found = idle(&profile(&kernels, &calls, &[(1300, 1350)]));
        let us = |ns: [i64; 5]| ns.map(|ns| ns / 1000);
        let mut gaps = found.gaps.iter();
        assert_eq!(us(gaps.next().unwrap().causes), [220, 5, 50, 5, 0]);
        assert_eq!(us(gaps.next().unwrap().causes), [10, 15, 50, 0, 25]);
        assert_eq!(us(gaps.next().unwrap().causes), [0, 0, 0, 70, 30]);
        assert_eq!(us(gaps.next().unwrap().causes), [30, 30, 0, 0, 0]);
        assert_eq!(us(gaps.next().unwrap().causes), [0, 0, 0, 4, 0]);
        assert_eq!(us(found.by_cause()), [260, 50, 100, 79, 55]);
        assert_eq!((found.queues, found.span_ns), (2, 650_000 + 350_000));
    }

    #[test]
    fn times_of_several_queues_may_add_up_to_more_than_a_number_holds() {
        let far = (1 << 62) / 1000 - 10;
        let queues: Vec<_> = (1..4)
            .flat_map(|queue| {
                [
                    (queue, "a", 2 * queue, 1, 2),
                    (queue, "b", 2 * queue + 1, far, far + 1),
                ]
            })
            .collect();
        let found = idle(&profile(&queues, &[], &[]));
        assert_eq!((found.span_ns, found.whole()), (i64::MAX, i64::MAX));
        assert!(found.line().is_some());
    }

    #[test]
    fn without_the_hosts_calls_only_copies_and_kernels_are_known() {
        let kernels = [(1, "a", 1, 100, 200), (1, "b", 2, 300, 400)];
        let found = profile(&kernels, &[], &[(210, 240)]);
        assert_eq!(idle(&found).by_cause(), [0, 0, 30_000, 0, 70_000]);
        let table = &tables(&found)[0];
        assert!(table.notes[0].contains("not reported"));
        assert_eq!(table.rows[0][1], "not reported");
        assert_eq!(table.rows[2][1], "30.00 us");
    }

    /// The sequence a, b, c three times with 2 and 3 us between its kernels, and 200 us between the three.
    #[test]
    fn recurring_sequences_save_at_most_the_time_between_their_kernels() {
        let mut kernels = Vec::new();
        for start in [0, 400, 800] {
            kernels.push((1, "a", 1, start, start + 50));
            kernels.push((1, "b", 2, start + 52, start + 100));
            kernels.push((1, "c", 3, start + 103, start + 200));
        }
        let profile = profile(&kernels, &[], &[]);
        let found = idle(&profile).sequences;
        let [sequence] = found.as_slice() else {
            panic!("{found:?}");
        };
        let names: Vec<&str> = sequence
            .kernels
            .iter()
            .map(|it| profile.name(*it))
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!((sequence.times, sequence.idle_ns), (3, 15_000));
    }
}
