//! Tests the state of GPUs from driver files of real machines, and from a folder made for the test.

use std::fs;
use std::path::Path;

use tinyllama_profile::{GpuStatusSource, Sysfs};

/// A `/sys` with one AMD card, one card of another vendor, and a connector.
fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let card = "class/drm/card1/device";
    write(&format!("{card}/vendor"), "0x1002\n");
    write(&format!("{card}/mem_info_vram_used"), "10960896\n");
    write(&format!("{card}/gpu_busy_percent"), "37\n");
    write(&format!("{card}/drm/renderD129/dev"), "226:129\n");
    write(&format!("{card}/hwmon/hwmon4/temp1_input"), "41000\n");
    write(&format!("{card}/hwmon/hwmon4/temp1_label"), "edge\n");
    write(&format!("{card}/hwmon/hwmon4/temp2_input"), "48500\n");
    write(&format!("{card}/hwmon/hwmon4/temp2_label"), "junction\n");
    write(
        &format!("{card}/hwmon/hwmon4/power1_average"),
        "140500000\n",
    );
    write("class/drm/card0/device/vendor", "0x1a03\n");
    write("class/drm/card1-DP-1/status", "disconnected\n");
    let node = "class/kfd/kfd/topology/nodes/4/properties";
    write(
        node,
        "simd_count 416\nmax_waves_per_simd 8\nsimd_per_cu 4\ngfx_target_version 90010\nwave_front_size 64\nlds_size_in_kb 64\ndrm_render_minor 129\n",
    );
    root
}

#[test]
fn a_card_is_read_with_its_sensors() {
    let root = machine();
    let mut source = Sysfs::below(root.path());
    let [gpu] = &source.read()[..] else {
        panic!("one AMD card")
    };
    assert_eq!(
        (gpu.busy, gpu.power, gpu.temperature),
        (Some(37.0), Some(140.5), Some(48.5))
    );
    assert_eq!(gpu.memory_used, Some(10_960_896));
    assert_eq!(gpu.name.as_deref(), Some("gfx90a"));
}

#[test]
fn figures_that_the_driver_does_not_report_are_not_zero() {
    let root = machine();
    let card = root.path().join("class/drm/card1/device");
    fs::remove_file(card.join("gpu_busy_percent")).unwrap();
    fs::remove_dir_all(card.join("hwmon")).unwrap();
    fs::write(card.join("mem_info_vram_used"), "not a number\n").unwrap();
    let gpu = Sysfs::below(root.path()).read().remove(0);
    assert_eq!(
        (gpu.busy, gpu.power, gpu.temperature, gpu.memory_used),
        (None, None, None, None)
    );
    assert!(Sysfs::below(Path::new("/nonexistent")).is_empty());
}
