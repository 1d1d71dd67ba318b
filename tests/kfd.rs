//! Reads real KFD trees of two hosts with AMD GPUs.

use std::path::PathBuf;

use tinyllama_base::kfd::{KfdGpu, gpus};

fn tree(name: &str) -> Vec<KfdGpu> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/kfd/testdata")
        .join(name);
    gpus(&path).expect("the tree can be read")
}

#[test]
fn a_host_with_eight_mi210() {
    let gpus = tree("topo-mi210-xgmi-pcie");
    assert_eq!(gpus.len(), 8);
    for gpu in &gpus {
        assert_eq!(gpu.arch.as_deref(), Some("gfx90a"));
        assert_eq!(gpu.compute_units, 104);
        assert_eq!(
            (gpu.wave_size, gpu.waves_per_simd, gpu.lds_bytes),
            (64, 8, 64 * 1024)
        );
    }
    assert_eq!(gpus[0].render_minor, Some(128));
}

#[test]
fn an_mi300_host_shows_every_partition_as_a_node() {
    let gpus = tree("topo-mi300-cpx/topology");
    assert!(gpus.len() > 8, "{} nodes", gpus.len());
    for gpu in &gpus {
        assert_eq!((gpu.arch.as_deref(), gpu.wave_size), (Some("gfx942"), 64));
        assert_eq!(gpu.compute_units, 38);
    }
    let mut nodes: Vec<u32> = gpus.iter().map(|gpu| gpu.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), gpus.len());
}

/// What `doctor --machine` says of a path below the fixtures, and its exit code.
fn described(path: &str) -> (String, i32) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(["doctor", "--machine", path])
        .current_dir(root.join("tests/fixtures"))
        .env_remove("COLUMNS")
        .output()
        .expect("the program starts");
    let said = [output.stdout, output.stderr].concat();
    let code = output.status.code().expect("it ends by itself");
    (String::from_utf8(said).expect("text"), code)
}

#[test]
fn another_machine_is_described_by_its_rocminfo() {
    let (said, code) = described("unread/machine/rocminfo.txt");
    assert_eq!(code, 0, "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn another_machine_is_described_by_a_copy_of_its_topology() {
    let (said, code) = described("kfd/testdata/topo-mi210-xgmi-pcie");
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.matches("gfx90a").count(), 8, "{said}");
    assert_eq!(said.matches("compute units 104").count(), 8, "{said}");
    // The folder above and a folder inside lead to the same machine.
    for path in [
        "kfd/testdata/topo-mi300-cpx",
        "kfd/testdata/topo-mi300-cpx/topology/nodes",
    ] {
        let (said, code) = described(path);
        assert_eq!(code, 0, "{said}");
        assert!(
            said.contains("gfx942") && said.contains("compute units 38"),
            "{said}"
        );
    }
}

#[test]
fn what_describes_no_machine_is_refused_with_what_would() {
    let cases = [
        ("rocprofv3/rocm-smi.txt", "rocminfo > FILE"),
        ("rocprofv3", "/sys/class/kfd/kfd/topology"),
        ("no-such-file", "cannot be read"),
    ];
    for (path, told) in cases {
        let (said, code) = described(path);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(path) && said.contains(told), "{said}");
    }
}
