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
        assert_eq!(gpu.arch, "gfx90a");
        assert_eq!(gpu.compute_units, 104);
        assert_eq!(
            (gpu.wave_size, gpu.waves_per_simd, gpu.lds_bytes),
            (64, 8, 64 * 1024)
        );
    }
    assert_eq!(gpus[0].render_minor, 128);
}

#[test]
fn an_mi300_host_shows_every_partition_as_a_node() {
    let gpus = tree("topo-mi300-cpx/topology");
    assert!(gpus.len() > 8, "{} nodes", gpus.len());
    for gpu in &gpus {
        assert_eq!((gpu.arch.as_str(), gpu.wave_size), ("gfx942", 64));
        assert_eq!(gpu.compute_units, 38);
    }
    let mut nodes: Vec<u32> = gpus.iter().map(|gpu| gpu.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), gpus.len());
}
