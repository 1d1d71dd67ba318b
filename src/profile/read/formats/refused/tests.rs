use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::read::import;

fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = root.map(|folder| folder.join("tests/fixtures"));
    folders.find(|folder| folder.is_dir()).unwrap().join(name)
}

/// Kinds with a file in that form.
const FILES: &[(&str, &str)] = &[
    ("rocminfo", "unread/machine/rocminfo.txt"),
    ("rocminfo that failed", "unread/machine/rocminfo_failed.txt"),
    (
        "node of the AMD driver (KFD)",
        "kfd/testdata/topo-mi210-xgmi-pcie/nodes/2/properties",
    ),
    (
        "rocm_agent_enumerator",
        "unread/machine/rocm_agent_enumerator.txt",
    ),
    ("rocm-smi", "unread/smi/rocm-smi.json"),
    ("rocm-smi", "unread/smi/rocm-smi.csv"),
    ("rocm-smi", "rocprofv3/rocm-smi.txt"),
    ("amd-smi", "unread/smi/amd-smi.txt"),
    ("amd-smi", "unread/smi/amd-smi.csv"),
    ("amd-smi", "unread/smi/amd-smi_overview.txt"),
    ("amd-smi", "unread/smi/amd-smi_static.txt"),
    ("amd-smi", "unread/smi/amd-smi_static.json"),
    ("amd-smi", "unread/smi/amd-smi_metric.json"),
    ("nvidia-smi", "unread/smi/nvidia-smi.txt"),
    (
        "rocprof-compute native counters (CSV)",
        "unread/compute/9_native_counter_collection.csv",
    ),
    (
        "rocprofv3 counters over time (CSV)",
        "rocm_2026/streaming_performance_monitor.csv",
    ),
    ("rocpd package (YAML)", "unread/rocprofv3/index.yaml"),
    ("rocprofv3's list of counters", "rocprofv3/list-avail.txt"),
    ("rocprofv3's doctor", "unread/rocprofv3/doctor.json"),
    ("input file of a profiler", "unread/rocprofv3/input.yaml"),
    ("input file of a profiler", "unread/compute/pmc_perf_0.txt"),
    (
        "thread trace for a viewer (JSON)",
        "unread/rocprofv3/ui_output_agent_1_dispatch_2/occupancy.json",
    ),
    ("log of rocprof-compute", "unread/compute/log.txt"),
    (
        "settings of rocprof-compute (profiling_config.yaml)",
        "rocprof-compute/vcopy/MI300X_A1_rocpd/profiling_config.yaml",
    ),
    (
        "page or picture",
        "unread/compute/empirRoof_gpu-0_FP32.html",
    ),
    (
        "rocprof-sys settings or metadata",
        "unread/rocprof-sys/metadata-4711.json",
    ),
    (
        "rocprof-sys settings or metadata",
        "unread/rocprof-sys/rocprof-sys.cfg",
    ),
    (
        "rocprof-sys settings or metadata",
        "unread/rocprof-sys/peak_rss-4711.txt",
    ),
    (
        "raw output of the first rocprof",
        "unread/first/hip_api_trace.txt",
    ),
    (
        "raw output of the first rocprof",
        "unread/first/hcc_ops_trace.txt",
    ),
    (
        "raw output of the first rocprof",
        "unread/first/rpl_data_261128_101500_4711/input0.xml",
    ),
    (
        "statistics of the first rocprof without their header (CSV)",
        "unread/first/statistics_without_header.csv",
    ),
    (
        "table without a header (CSV)",
        "unread/first/launches_without_header.csv",
    ),
    (
        "execution trace of PyTorch (JSON)",
        "unread/pytorch/execution_trace.json",
    ),
    (
        "event stream of a run of this tutor",
        "unread/tutor/events.jsonl",
    ),
    ("index of profiles of this tutor", "unread/tutor/index.json"),
    ("log of a profiler", "unread/tutor/profiler.log"),
];

/// Kinds that are known by their first bytes or their name.
const HEADS: &[(&str, &str, &[u8])] = &[
    (
        "list of dispatches (CSV)",
        "pmc_dispatch_info.csv",
        b"Dispatch_ID,Kernel_Name,GPU_ID\n0,vecCopy,2\n",
    ),
    (
        "thread trace (.att)",
        "4711_shader_engine_0.att",
        b"\x11\x00\x00\x22",
    ),
    ("OTF2 trace", "v1_results.otf2", b"\x01OTF2\x00"),
    ("Perfetto trace", "v1_results.pftrace", b"\x0a\x00\x00\x12"),
    ("Perfetto trace", "renamed.bin", b"\x0a\x00\x00\x12"),
    ("page or picture", "roofline.pdf", b"%PDF-1.7\n"),
    (
        "pickle of Python",
        "snapshot.pickle",
        b"\x80\x04\x95\x00\x00",
    ),
    ("report of Nsight Compute", "a.ncu-rep", b"NVR\0\x01"),
    ("report of Nsight Systems", "a.nsys-rep", b"\x00\x01\x02"),
    (
        "file compressed with zstd",
        "a.csv.zst",
        b"\x28\xb5\x2f\xfd\x00",
    ),
    ("zip archive", "a.zip", b"PK\x03\x04\x00"),
    ("Parquet or Arrow table", "a.parquet", b"PAR1\x00"),
    (
        "compiled code (ELF)",
        "gfx942_code_object_id_1.out",
        b"\x7fELF\x00",
    ),
    ("text in UTF-16", "a.csv", b"\xff\xfea\0"),
];

fn reason(path: &Path) -> String {
    let import = import(path).unwrap();
    assert_eq!(import.damage, [], "{}", path.display());
    assert!(import.taken.is_empty(), "{:?}", import.taken);
    import.passed_over[0].reason.clone()
}

/// Packed forms, which are made here.
fn packed(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    use std::io::Write;
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    tar.append_data(&mut header, "a.csv", &b"a"[..]).unwrap();
    let files = [
        (
            "file compressed with gzip twice",
            "a.csv.gz",
            gzip(&gzip(b"a,b\n1,2\n")),
        ),
        (
            "database compressed with gzip",
            "a.db.gz",
            gzip(b"SQLite format 3\0 and so on"),
        ),
        ("archive of tar", "a.tar", tar.into_inner().unwrap()),
    ];
    let write = |(kind, name, bytes): (&'static str, &str, Vec<u8>)| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        (kind, path)
    };
    files.into_iter().map(write).collect()
}

#[test]
fn every_kind_is_named_with_what_it_holds_and_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut forms: Vec<(&str, PathBuf)> = packed(folder.path());
    forms.extend(FILES.iter().map(|(kind, name)| (*kind, fixture(name))));
    forms.extend(HEADS.iter().map(|(kind, name, bytes)| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (*kind, path)
    }));
    for (kind, path) in &forms {
        let reason = reason(path);
        assert!(
            reason.starts_with(&format!("{kind}: ")),
            "{}: {reason}",
            path.display()
        );
    }
    // This one is made in the test below.
    let database = "first rocprof's database without launches (SQLite)";
    let tried = forms.iter().map(|(kind, _)| *kind).chain([database]);
    let tried: BTreeSet<&str> = tried.collect();
    let known: BTreeSet<&str> = REFUSED.iter().map(|kind| kind.name).collect();
    assert_eq!(
        tried, known,
        "a kind without a form in this test, or one that is gone"
    );
    assert_eq!(known.len(), REFUSED.len(), "names are unique");
    for kind in REFUSED {
        assert!(
            kind.next_step.ends_with('.') || kind.next_step.ends_with(':'),
            "{}",
            kind.name
        );
    }
}

#[test]
fn a_database_and_a_folder_of_the_first_rocprof_without_launches_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let tables =
        "CREATE TABLE HIP (BeginNs, EndNs, Name); CREATE TABLE HSA (BeginNs, EndNs, Name);";
    database.execute_batch(tables).unwrap();
    assert!(reason(&path).starts_with("first rocprof's database without launches (SQLite): "));
    let raw = import(&fixture("unread/first/rpl_data_261128_101500_4711")).unwrap();
    let [left] = &raw.left_out()[..] else {
        panic!("{:?}", raw.left_out())
    };
    assert!(
        left.reason.starts_with("raw output of the first rocprof: "),
        "{left}"
    );
    assert_eq!(left.files, 2);
}

#[test]
fn hundreds_of_files_with_one_reason_are_one_entry() {
    let import = import(&fixture("unread/rocprofv3/ui_output_agent_1_dispatch_2")).unwrap();
    let [left] = &import.left_out()[..] else {
        panic!("{:?}", import.left_out())
    };
    assert_eq!(left.files, 4);
    assert!(
        left.path.ends_with("ui_output_agent_1_dispatch_2"),
        "{left}"
    );
}

#[test]
fn what_no_profiler_writes_says_so_and_what_to_name() {
    let folder = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8], &str); 5] = [
        ("a.json", b"{\"a\": 1}", "JSON"),
        ("a.csv", b"a,b\n1,2\n", "CSV"),
        ("a.txt", b"nothing of this\n", "text"),
        ("a.bin", b"\x01\0\0", "binary"),
        ("a.db", b"", "empty"),
    ];
    for (name, bytes, form) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let reason = reason(&path);
        assert!(reason.contains(form), "{name}: {reason}");
        assert!(reason.contains("profiler"), "{name}: {reason}");
    }
}
