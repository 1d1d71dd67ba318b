//! Tests reading of damaged files. It returns the sound part and the places of the damage, without a panic and with
//! bounded memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tinyllama_profile::read::formats::{FORMATS, ProfileFormat};
use tinyllama_profile::{GroupBy, Import, KernelParts, ReportOptions, import, report};

/// Counts allocations, to check that damaged input cannot fill the memory.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs one test at a time, so that the peak belongs to that test.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path)
}

/// Samples that differ in their structure. Formats without one here are damaged in their first fixture.
const SAMPLES: &[&str] = &[
    "rocprofv3/kernel_trace.csv",
    "rocprofv3_6.4/kernel_trace.csv",
    "rocprofv3/counter_collection.csv",
    "rocprofv3/hip_api_stats.csv",
    "rocprofv3/hip_trace.csv",
    "rocprofv3/memory_copy_trace.csv",
    "rocprofv3/memory_allocation_trace.csv",
    "rocprofv3/pc_sampling_host_trap.csv",
    "rocprofv3_debug/pc_sampling_stochastic.csv",
    "rocprofv3_debug/stats_ui_output_agent_1_dispatch_2.csv",
    "rocprofv3/summary.txt",
    "nsight_compute/details.csv",
    "nsight_compute/raw.csv",
    "readme_csv/Rocprofv3__OpenMP__README.md_L104.csv",
    "rocprof-compute/kernel_names/MI200/pmc_perf.csv",
    "rocprof-compute/kernel_names/MI200/roofline.csv",
    "rocprof-compute/kernel_names/MI200/sysinfo.csv",
    "rocprof-compute/kernel_names/MI200/timestamps.csv",
    "rocprof-compute/analysis_csv/pc_sampling_summary.csv",
    "rocprof-compute/analysis_text/two_paths.txt",
    "trace_events/graphs_of_hip_7.2.0.json",
    "rocprof-sys/wall_clock_doc_sample.txt",
    "rocprof-sys/wall_clock_doc_L673.json",
    "json/908_results_trim400.json",
    "rocpd/derived_from_908_schema300.db",
    "rocpd/stack_ids.db",
    "rocpd/merged_two_ranks.db",
    "trace_events/merged_ranks.json",
    "trace_events/only_events.json",
];

/// Formats whose tests write their structure.
const WITHOUT_A_FIXTURE: &[&str] = &[
    "rocprof-compute analysis (SQLite)",
    "rocprof-compute analysis, source lines (CSV)",
    "rocprof-compute analysis, instructions of a kernel (CSV)",
    "rocprof-compute analysis, rooflines (CSV)",
    "Nsight Compute source page (CSV)",
    "rocprof-compute top kernels (CSV)",
];

/// All fixtures, as paths below their folder.
fn fixtures() -> Vec<String> {
    let (mut folders, mut files) = (vec![fixture("")], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    let names = files
        .iter()
        .map(|file| file.strip_prefix(fixture("")).unwrap());
    names
        .map(|name| name.to_str().unwrap().to_owned())
        .collect()
}

/// The samples, and the first fixture of each other format.
fn samples() -> &'static [(&'static str, String)] {
    static SAMPLES_BY_FORMAT: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    SAMPLES_BY_FORMAT.get_or_init(|| {
        let mut samples: Vec<(&str, String)> = vec![];
        for name in SAMPLES
            .iter()
            .map(|name| name.to_string())
            .chain(fixtures())
        {
            let import = import(&fixture(&name)).unwrap();
            let Some(read) = import.taken.first() else {
                continue;
            };
            let is_new = samples.iter().all(|(known, _)| *known != read.format.name);
            if is_new
                || SAMPLES.contains(&name.as_str()) && samples.iter().all(|(_, it)| *it != name)
            {
                samples.push((read.format.name, name));
            }
        }
        samples
    })
}

#[test]
fn every_format_has_a_fixture() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let read = |format: &&ProfileFormat| samples().iter().any(|(known, _)| *known == format.name);
    let without = FORMATS.iter().filter(|format| !read(format));
    let without: Vec<&str> = without.map(|format| format.name).collect();
    assert_eq!(without, WITHOUT_A_FIXTURE);
}

fn read(folder: &Path, name: &str, bytes: &[u8]) -> Import {
    let path = folder.join(Path::new(name).file_name().unwrap());
    std::fs::write(&path, bytes).unwrap();
    let import = import(&path).unwrap();
    for damage in &import.damage {
        assert_eq!(damage.location.file, path, "{damage}");
        assert!(!damage.problem.is_empty());
    }
    let told = import.taken.len() + import.passed_over.len() + import.damage.len();
    assert!(told > 0, "{name}: a file was dropped without a word");
    // Showing a profile must handle everything that the reader accepts.
    let options = ReportOptions {
        group: GroupBy::Variant,
        rows: 5,
    };
    for table in report(&import.profile, &KernelParts::default(), options) {
        let text = table.render(80);
        assert!(!text.contains("NaN"), "{name}: {text}");
    }
    import
}

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    (random.next_u64() % bound.max(1) as u64) as usize
}

/// Applies one kind of damage that happens to files.
fn damage(bytes: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let at = below(random, bytes.len());
    match below(random, 8) {
        0 => bytes.truncate(at),
        1 => {
            for _ in 0..=below(random, 16) {
                let at = below(random, bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.next_u64() as u8;
                }
            }
        }
        2 => insert(bytes, at, b"\xff\xfe\x80"),
        3 => insert(bytes, at, b"99999999999999999999999999999999999999"),
        4 => insert(bytes, at, b"-1e400"),
        5 => insert(bytes, at, b"\"\n\","),
        6 => swap_lines(bytes, random),
        _ => double_line(bytes, random),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    let tail = bytes.split_off(at);
    bytes.extend_from_slice(what);
    bytes.extend(tail);
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn swap_lines(bytes: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let mut lines = lines(bytes);
    let (a, b) = (below(random, lines.len()), below(random, lines.len()));
    if a < lines.len() && b < lines.len() {
        lines.swap(a, b);
    }
    *bytes = lines.concat();
}

fn double_line(bytes: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let mut lines = lines(bytes);
    let at = below(random, lines.len());
    if let Some(line) = lines.get(at).cloned() {
        lines.insert(at, line);
    }
    *bytes = lines.concat();
}

fn fuzz(seed: u64, rounds: usize) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let samples = samples().iter().map(|(_, sample)| sample.clone());
    // Files that are named and not read.
    let named = fixtures().into_iter();
    let named = named.filter(|name| name.starts_with("unread/"));
    for sample in &samples.chain(named).collect::<Vec<_>>() {
        let whole = std::fs::read(fixture(sample)).unwrap();
        // Large files take longer and have no other structure.
        let rounds = if whole.len() > 1 << 18 {
            rounds / 5
        } else {
            rounds
        };
        for round in 0..rounds {
            let mut bytes = whole.clone();
            for _ in 0..=below(&mut random, 3) {
                damage(&mut bytes, &mut random);
            }
            println!("seed {seed}, {sample}, round {round}");
            read(folder.path(), sample, &bytes);
        }
    }
}

#[test]
fn nothing_done_to_a_file_makes_reading_panic() {
    fuzz(42, 40);
}

#[test]
fn nor_do_damages_never_seen_before() {
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    fuzz(seed, 10);
}

#[test]
fn a_file_cut_at_any_byte_of_its_last_rows_keeps_the_rows_before() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixture("rocprofv3/kernel_trace.csv")).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').collect();
    // Cuts within the last two rows.
    for cut in ends[ends.len() - 3] + 1..whole.len() {
        let import = read(folder.path(), "kernel_trace.csv", &whole[..cut]);
        let complete = ends.iter().filter(|&&end| end < cut).count() - 1;
        let rows = import.profile.dispatches.len();
        // A row without its line end counts as complete once its last field has begun.
        let start = ends[complete] + 1;
        let commas = |line: &[u8]| line.iter().filter(|byte| **byte == b',').count();
        let end = ends.get(complete + 1).copied().unwrap_or(whole.len());
        let last_field_began = cut > start
            && commas(&whole[start..cut]) == commas(&whole[start..end])
            && whole[cut - 1] != b',';
        assert_eq!(
            rows,
            complete + usize::from(last_field_began),
            "cut at {cut}"
        );
        if rows == complete && whole[cut - 1] != b'\n' {
            let line = import.damage[0].location.line;
            assert_eq!(line, Some(complete as u64 + 2), "cut at {cut}");
        }
    }
}

const HEADER: &str = "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";

fn trace(rows: &[u8]) -> Vec<u8> {
    [HEADER.as_bytes(), rows].concat()
}

#[test]
fn damage_has_file_line_and_column() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let good = b"\"K\",1,\"a, b\",1,100,200\n";
    let cases: [(&[u8], u64, u64, &str); 7] = [
        (
            b"\"K\",1,\"a\",1,200,100\n",
            3,
            6,
            "ends 100 ns before it starts",
        ),
        (b"\"K\",1,\"a\",1,200,-100\n", 3, 6, "not a number from 0"),
        (
            b"\"K\",1,\"a\",1,200,4611686018427387904\n",
            3,
            6,
            "no clock shows such times",
        ),
        (b"\"K\",1,\"a\",1,1e30,100\n", 3, 5, "not a number from 0"),
        (b"\"K\",1,\"\xff\",1,100,200\n", 3, 3, "not UTF-8"),
        (b"\"K\",1,\"a\",1,,200\n", 3, 5, "is empty"),
        (
            b"\"K\",1,a, b,1,100,200\n",
            3,
            7,
            "7 fields where the header names 6",
        ),
    ];
    for (bad, line, column, problem) in cases {
        let import = read(
            folder.path(),
            "trace.csv",
            &trace(&[good, bad, good].concat()),
        );
        let [damage] = &import.damage[..] else {
            panic!("{:?}", import.damage)
        };
        assert_eq!(
            (damage.location.line, damage.location.column),
            (Some(line), Some(column)),
            "{damage}"
        );
        assert!(damage.problem.contains(problem), "{damage}");
        assert_eq!(
            import.profile.dispatches.len(),
            2,
            "rows around the damage are kept"
        );
    }
}

#[test]
fn lines_are_counted_with_either_line_end_and_blank_lines() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let text = String::from_utf8(trace(
        b"\"K\",1,\"a\",1,100,200\n\n\"K\",1,\"a\",1,200,100\n",
    ))
    .unwrap();
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let import = read(folder.path(), "trace.csv", text.as_bytes());
        assert_eq!(
            import.damage[0].location.line,
            Some(4),
            "{}",
            import.damage[0]
        );
    }
}

#[test]
fn json_damage_has_a_line_and_a_column() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let import = read(
        folder.path(),
        "results.json",
        b"{\"rocprofiler-sdk-tool\":[\n {\"agents\": 7}]}",
    );
    assert_eq!(
        import.damage[0].location.line,
        Some(2),
        "{}",
        import.damage[0]
    );
    assert!(import.damage[0].location.column.is_some());

    let whole = std::fs::read(fixture("json/908_results_trim400.json")).unwrap();
    let import = read(folder.path(), "results.json", &whole[..whole.len() / 2]);
    assert!(
        import.damage[0].problem.contains("cut off"),
        "{}",
        import.damage[0]
    );
}

#[test]
fn records_in_json_that_end_before_they_start_are_named() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read_to_string(fixture("json/908_results_trim400.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&whole).unwrap();
    document["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][17]["end_timestamp"] =
        5.into();
    let import = read(
        folder.path(),
        "results.json",
        document.to_string().as_bytes(),
    );
    assert!(
        import.damage[0].to_string().contains("kernel_dispatch[17]"),
        "{}",
        import.damage[0]
    );
    assert_eq!(import.profile.dispatches.len(), 399);
}

#[test]
fn a_database_of_another_generation_is_refused_by_name() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.db");
    let bytes = std::fs::read(fixture("rocpd/derived_from_908_schema300.db")).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let table: String = connection
        .query_row(
            "SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_metadata_%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let change = format!("UPDATE \"{table}\" SET value = '4.1.0' WHERE tag = 'schema_version'");
    assert_eq!(connection.execute(&change, []).unwrap(), 1);
    drop(connection);
    let import = import(&path).unwrap();
    assert!(
        import.damage[0].problem.contains("schema version 4.1.0"),
        "{}",
        import.damage[0]
    );
    assert!(import.profile.dispatches.is_empty());
}

/// Memory limit in bytes for reading a small or hopeless file.
const MODEST: usize = 48 << 20;

#[test]
fn input_without_end_fills_no_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let long = vec![b'a'; 10 << 20];
    let mut open_quote = trace(b"\"K\",1,\"");
    open_quote.extend(b"name,\n".repeat(10 << 17));
    let cases: [(&str, Vec<u8>); 5] = [
        (
            "long_name.csv",
            trace(&[b"\"K\",1,\"", &long[..], b"\",1,100,200\n"].concat()),
        ),
        ("open_quote.csv", open_quote),
        ("header.csv", [b"a,", &long[..]].concat()),
        (
            "string.json",
            [b"{\"rocprofiler-sdk-tool\":[{\"x\":\"", &long[..]].concat(),
        ),
        (
            "wall_clock.txt",
            [b"| LABEL | COUNT | DEPTH |\n>>>", &long[..]].concat(),
        ),
    ];
    for (name, bytes) in cases {
        PEAK.store(NOW.load(Relaxed), Relaxed);
        let before = NOW.load(Relaxed);
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let import = import(&path).unwrap();
        let used = PEAK.load(Relaxed).saturating_sub(before);
        assert!(used < MODEST, "{name}: {} MiB", used >> 20);
        assert!(!import.damage.is_empty(), "{name}");
    }
}

#[test]
fn a_long_name_is_no_damage() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let name = "templated<int, float>".repeat(20_000);
    let row = format!("\"K\",1,\"{name}\",1,100,250\n");
    let import = read(folder.path(), "trace.csv", &trace(row.as_bytes()));
    assert_eq!(import.damage, []);
    assert_eq!(
        import
            .profile
            .kernel_name(import.profile.dispatches[0].variant),
        name
    );
}

#[test]
fn columns_may_stand_in_any_order_and_case_and_some_may_be_missing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|p| p.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let forms = [
        "Kind,Kernel_Name,Start_Timestamp,End_Timestamp,VGPR_Count\nK,a,100,250,8\n",
        "vgpr_count,END_TIMESTAMP,kind,Start_Timestamp,kernel_name\n8,250,K,100,a\n",
        "\u{feff}Kind,Kernel_Name,Start_Timestamp,End_Timestamp,Vgpr_Count\nK,a,100.0,2.5e2,8",
    ];
    for (form, rounded) in forms.iter().zip([false, false, true]) {
        let import = read(folder.path(), "trace.csv", form.as_bytes());
        assert_eq!(import.damage, [], "{form}");
        let dispatch = import.profile.dispatches[0];
        assert_eq!(
            import.profile.variant(dispatch.variant).vgpr,
            Some(8),
            "{form}"
        );
        assert_eq!(import.profile.kernel_name(dispatch.variant), "a");
        let duration = dispatch.time.map(|time| time.duration());
        assert_eq!(duration, (!rounded).then_some(150), "{form}");
    }
}
