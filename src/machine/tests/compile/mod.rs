//! Calls clang.

use std::process::Command;

/// Returns the assembly. `None` if this machine has no clang and the environment does not require one.
pub fn assembly(source: &str, architecture: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let (header, file) = (
        folder.path().join("device.h"),
        folder.path().join("kernel.hip"),
    );
    std::fs::write(
        &header,
        include_str!("../../../workbench/compiled/device.h"),
    )
    .unwrap();
    std::fs::write(&file, format!("#line 1 \"kernel.hip\"\n{source}")).unwrap();
    let compiler = std::env::var("TINYLLAMA_CLANG").unwrap_or_else(|_| "clang++-19".into());
    let compiled = Command::new(compiler)
        .args([
            "-x",
            "hip",
            "--offload-device-only",
            "-S",
            "-O3",
            "-gline-tables-only",
        ])
        .args([
            "-nogpuinc",
            "-nogpulib",
            "-fdeclspec",
            "-std=c++17",
            "-Wno-everything",
        ])
        .arg(format!("--offload-arch={architecture}"))
        .arg("-include")
        .args([&header, &file])
        .args(["-o", "-"])
        .output();
    let Ok(compiled) = compiled else {
        assert!(
            std::env::var_os("HIP_STAND_IN_REQUIRED").is_none(),
            "no clang++-19"
        );
        return None;
    };
    let log = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{architecture}: {log}");
    Some(String::from_utf8(compiled.stdout).unwrap())
}

/// Returns values that look random, of both signs.
pub fn values(count: usize) -> Vec<f32> {
    (0..count as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0)
        .collect()
}
