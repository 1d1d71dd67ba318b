//! Reads timelines of events in JSON, the form of Chrome's tracing: what `torch.profiler` exports (`export_chrome_trace`),
//! such traces of several ranks merged by other programs, and the first rocprof's `results.json`.
//!
//! PyTorch names categories after CUDA on AMD's GPUs too, but the functions in them are HIP's. The document is an object
//! with `traceEvents`, or only the array of events. Keys and events may stand in any order.

mod document;
mod event;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use itertools::Itertools;

use self::document::EventTrace;
use self::event::{EventSubject, TimedEvent, whole};
use super::ProfileFormat;
use crate::model::{
    Agent, ApiCall, Dispatch, LaunchVariant, MemoryCopy, ProcessId, Profile, TraceLane,
};
use crate::name;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "timeline of events (JSON)",
    recognises: |file| {
        let is_list = file.has_keys(&["ph", "name"]) && !file.has_keys(&["traceEvents"]);
        is_list || file.has_keys(&["traceEvents"])
    },
    read,
};

/// Brackets around an event: the document and its list.
const EVENTS: usize = 2;

/// Domain of ranges that a program marked with `record_function`, and of the profiler's own steps.
const MARKED: &str = "MARKER (user_annotation)";

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let document: EventTrace = reading.json(EVENTS)?;
    for device in document.devices {
        reading.profile.add_agent(Agent {
            number: Some(device.id),
            gpu: true,
            name: device.name,
            compute_units: device.compute_units,
        });
    }
    for (at, problem) in document.damaged {
        reading.damaged_record("traceEvents", at, problem)?;
    }
    let lanes = EventLanes::new(&document.events, &document.process_names, reading);
    let rows = document.events.len() as u64;
    let graphs = document.events.iter();
    let graphs = graphs
        .filter(|event| event.name.contains("GraphLaunch"))
        .count();
    if let Some(hip) = document.hip.filter(|_| graphs > 0) {
        let note = lost_kernels(hip, graphs);
        reading.profile.notes.extend(note);
    }
    for event in document.events {
        add(event, &lanes, reading.profile);
    }
    Ok(rows)
}

/// What is known of versions of HIP whose ROCTracer loses kernels of graphs (ROCm/legacy-rocm-build#6102). ROCm 7.2.1 to 7.2.4
/// have the same HIP, and packages of PyTorch for 7.2.4 came with libraries of 7.2.0.
fn lost_kernels(hip: u64, graphs: usize) -> Option<String> {
    const PER_MAJOR: u64 = 10_000_000;
    const PER_MINOR: u64 = 100_000;
    /// The HIP of ROCm 7.2.1 to 7.2.4.
    const PATCH: u64 = 53_211;
    let (version, patch) = (hip / PER_MINOR, hip % PER_MINOR);
    if version != 7 * PER_MAJOR / PER_MINOR + 2 || patch > PATCH {
        return None;
    }
    let release = match patch == PATCH {
        true => "which ROCm 7.2.1 to 7.2.4 have",
        false => "which is older than ROCm 7.2.2",
    };
    let graphs = match graphs {
        1 => "1 graph is launched".to_owned(),
        graphs => format!("{graphs} graphs are launched"),
    };
    Some(format!(
        "HIP 7.2.{patch} wrote this trace, {release}. With ROCm 7.2.0 and 7.2.1, traces of PyTorch lose kernels of graphs, and \
         {graphs} here. ROCm 7.2.2 and later record them all; before that, switch graphs off to see every kernel"
    ))
}

/// Which processes and devices the events belong to. Programs that merge the traces of ranks give each rank other process
/// numbers and leave the numbers of devices as they were.
struct EventLanes {
    of_file: ProcessId,
    ranks: HashMap<String, ProcessId>,
    /// Numbers of devices that several processes have.
    shared: BTreeSet<u64>,
}

impl EventLanes {
    fn new(
        events: &[TimedEvent],
        names: &HashMap<String, String>,
        reading: &mut FileImport<'_>,
    ) -> Self {
        let of_file = reading.process();
        let ranks = names.iter();
        let ranks = ranks.filter_map(|(pid, name)| Some((pid, rank(name)?)));
        let ranks: BTreeMap<&String, u64> = ranks.collect();
        let several = ranks.values().collect::<BTreeSet<_>>().len() > 1;
        let ranks = ranks.into_iter().sorted_by_key(|(_, rank)| *rank);
        let pass = reading.profile.process(of_file).pass.clone();
        let file = reading.path.to_string_lossy();
        let ranks = ranks.filter(|_| several).map(|(pid, rank)| {
            let label = format!("rank {rank}");
            (
                pid.clone(),
                reading.profile.process_id(&label, &file, pass.clone()),
            )
        });
        let mut lanes = EventLanes {
            of_file,
            ranks: ranks.collect(),
            shared: BTreeSet::new(),
        };
        let mut owners: BTreeMap<(ProcessId, u64), &str> = BTreeMap::new();
        let is_kernel = |event: &&TimedEvent| event.subject == EventSubject::Kernel;
        for event in events.iter().filter(is_kernel) {
            let Some(device) = event.details.device() else {
                continue;
            };
            let key = (lanes.process(&event.pid), device);
            let owner = owners.entry(key).or_insert(&event.pid);
            if *owner != event.pid {
                lanes.shared.insert(device);
            }
        }
        lanes
    }

    fn process(&self, pid: &str) -> ProcessId {
        self.ranks.get(pid).copied().unwrap_or(self.of_file)
    }

    /// The lane of a device's work.
    fn device(&self, event: &TimedEvent) -> TraceLane {
        let device = event.details.device();
        let is_shared = device.is_some_and(|device| self.shared.contains(&device));
        TraceLane {
            process: self.process(&event.pid),
            agent: match is_shared {
                true => event.pid.parse().ok().or(device),
                false => device,
            },
            queue: whole(&event.details.queue),
            stream: event.details.stream(),
            thread: None,
        }
    }
}

/// Finds the number in the name of a process such as `RANK 1 - GPU` or `[rank3] python`.
fn rank(name: &str) -> Option<u64> {
    let lower = name.to_lowercase();
    let (_, rest) = lower.split_once("rank")?;
    let rest = rest.trim_start_matches([' ', ':', '=', '_', '-', '#']);
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

fn add(event: TimedEvent, lanes: &EventLanes, profile: &mut Profile) {
    let (details, time) = (&event.details, event.time);
    let correlation = whole(&details.correlation);
    match event.subject {
        EventSubject::Kernel => {
            let lane = profile.lane_id(lanes.device(&event));
            let kernel = profile.name_id(name::strip_suffix(&event.name));
            let launch = Dispatch {
                variant: profile.variant_id(details.variant(LaunchVariant::unknown(kernel))),
                lane,
                id: None,
                correlation,
                time: Some(time),
            };
            profile.dispatches.push(launch);
        }
        EventSubject::Copy => {
            let lane = lanes.device(&event);
            let copy = MemoryCopy {
                time,
                lane: profile.lane_id(lane),
                direction: profile.name_id(&event.name),
                source: None,
                destination: lane.agent,
                bytes: whole(&details.bytes),
            };
            profile.copies.push(copy);
        }
        EventSubject::Call(_) | EventSubject::Marked => {
            let domain = match &event.subject {
                EventSubject::Call(category) => category,
                _ => MARKED,
            };
            let lane = TraceLane {
                process: lanes.process(&event.pid),
                thread: event.tid.parse().ok(),
                ..TraceLane::default()
            };
            let call = ApiCall {
                time,
                domain: profile.name_id(domain),
                function: profile.name_id(&event.name),
                lane: profile.lane_id(lane),
                correlation,
            };
            profile.calls.push(call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::{Path, PathBuf};

    use crate::model::Profile;
    use crate::read::{Import, import};
    use crate::show::copies::copies;
    use crate::show::hotspots::{GroupBy, hotspots};
    use crate::show::launches::launch_overhead;
    use crate::show::parts::KernelParts;
    use crate::show::timeline;

    fn fixture(name: &str) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.join("tests/fixtures").join(name)
    }

    fn kernels(profile: &Profile) -> Vec<(String, u64, f64)> {
        let found = hotspots(profile, GroupBy::ShortName, &KernelParts::default());
        let kernels = found.kernels.into_iter();
        kernels
            .map(|kernel| (kernel.name, kernel.calls, kernel.total_ns))
            .collect()
    }

    fn of_bytes(bytes: &[u8]) -> Import {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        std::fs::write(&path, bytes).unwrap();
        import(&path).unwrap()
    }

    /// The names of the processes stand last, both ranks use the same numbers, and there is no `schemaVersion`.
    #[test]
    fn merged_ranks_are_two_devices_with_their_own_calls() {
        let import = import(&fixture("trace_events/merged_ranks.json")).unwrap();
        assert_eq!((import.taken[0].rows, import.damage.len()), (7, 0));
        let profile = import.profile;
        assert_eq!(
            kernels(&profile),
            [
                ("gemm".into(), 2, 61_250.0),
                ("ncclDevKernel_Generic".into(), 2, 60_000.0)
            ]
        );
        let queueing = launch_overhead(&profile).queueing.unwrap();
        assert_eq!((queueing.count, queueing.total_ns), (2, 50_000.0));
        let busy: Vec<u64> = timeline::activity(&profile)
            .iter()
            .map(|it| it.busy_ns)
            .collect();
        // The copy of 10 us keeps the first device busy too.
        assert_eq!(busy, [80_250, 51_000]);
        // At least one device had work from 20 to 100 us and from 110 to 120 us.
        assert_eq!(timeline::any_busy(&profile), 80_000 + 10_000);
        let label = timeline::device_label(
            &profile,
            profile.lane(profile.dispatches[0].lane).process,
            Some(0),
        );
        assert_eq!(label, "agent 0, rank 0");
        let copied = &copies(&profile)[0];
        assert_eq!(
            (copied.direction.as_str(), copied.bytes),
            ("Memcpy HtoD (Host -> Device)", Some(4096))
        );
    }

    /// As PyTorch before 2.0 names categories. The list has no end, one number is not JSON, and some are texts.
    #[test]
    fn a_list_of_events_needs_no_document_around_it() {
        let import = import(&fixture("trace_events/only_events.json")).unwrap();
        assert_eq!((import.damage.len(), import.taken[0].rows), (0, 4));
        let profile = import.profile;
        assert_eq!(
            kernels(&profile),
            [
                ("softmax_kernel".into(), 1, 6_250.0),
                ("relu_kernel".into(), 1, 4_000.0)
            ]
        );
        assert_eq!(profile.lane(profile.dispatches[0].lane).agent, Some(9));
        assert_eq!(
            launch_overhead(&profile).queueing.unwrap().total_ns,
            10_000.0
        );
    }

    #[test]
    fn events_may_stand_behind_any_amount_of_metadata() {
        let events = std::fs::read_to_string(fixture("trace_events/merged_ranks.json")).unwrap();
        let metadata = format!(
            "\"nodes\": [{}0],",
            "{\"inputs\": [1, 2, 3]},".repeat(100_000)
        );
        let import = of_bytes(events.replacen('{', &format!("{{{metadata}"), 1).as_bytes());
        assert_eq!(
            (import.profile.dispatches.len(), import.damage.len()),
            (4, 0)
        );
    }

    #[test]
    fn a_trace_that_was_cut_off_has_its_whole_events() {
        let whole = std::fs::read(fixture("trace_events/merged_ranks.json")).unwrap();
        let cut = whole.iter().position(|byte| *byte == b'M').unwrap();
        let plain = of_bytes(&whole[..cut]);
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        encoder.write_all(&whole).unwrap();
        let packed = encoder.finish().unwrap();
        let packed = of_bytes(&packed[..cut]);
        for import in [plain, packed] {
            assert_eq!(
                (import.profile.dispatches.len(), import.taken[0].rows),
                (2, 3)
            );
            let [damage] = &import.damage[..] else {
                panic!("{:?}", import.damage)
            };
            assert!(
                damage.problem.contains("cut off") && damage.problem.contains("is read"),
                "{damage}"
            );
        }
    }

    /// Sums of the first rocprof's own file: one kernel, six copies and 135 calls.
    #[test]
    fn the_first_rocprofs_timeline_and_database_have_the_same_kernels() {
        for name in ["rocm_2026/v1_results.json", "rocm_2026/v1_results.db"] {
            let import = import(&fixture(name)).unwrap();
            assert_eq!(import.damage, [], "{name}");
            let profile = import.profile;
            assert_eq!(
                kernels(&profile),
                [("elementwise_kernel".into(), 1, 5_280.0)],
                "{name}"
            );
            let copies: (usize, u64) = (
                profile.copies.len(),
                profile.copies.iter().map(|copy| copy.time.duration()).sum(),
            );
            assert_eq!(copies, (6, 686_681), "{name}");
            assert_eq!(profile.calls.len(), 135, "{name}");
            assert_eq!(
                profile.lane(profile.dispatches[0].lane).agent,
                Some(2),
                "{name}"
            );
        }
    }
}
