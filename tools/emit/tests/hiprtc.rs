//! Tests kernels compiled by the hiprtc of the stand-in for HIP, which needs no device.

#[path = "../../../tests/common/stand_in.rs"]
mod stand_in;

use std::path::Path;
use std::process::Command;

use stand_in::environment;

/// Compiles `swiglu` in f32 with the hiprtc in `rocm`. Returns the exit status and the output.
fn compiled_by_hiprtc(rocm: &Path, settings: &[(&str, &str)]) -> (Option<i32>, String) {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tinyllama-emit"))
        .args(["hiprtc", "--only=swiglu", "--dtype=f32", "--arch=gfx90a"])
        .envs(environment(rocm, home.path()))
        .env("HIP_STAND_IN_DEVICES", "0")
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&printed).into_owned();
    (output.status.code(), text)
}

/// Replaces the seconds of a compilation, which no two runs have alike.
fn without_time(said: &str) -> String {
    let parts = said.rsplit_once(" (").zip(said.split_once(" s); "));
    let ((before, _), (_, after)) = parts.unwrap_or_else(|| panic!("{said}"));
    format!("{before} (TIME s); {after}")
}

#[test]
fn hiprtc_compiles_kernels_without_a_device_and_names_those_it_refuses() {
    let Some(stand_in) = stand_in::built() else {
        return;
    };
    let (status, said) = compiled_by_hiprtc(stand_in, &[]);
    assert_eq!(status, Some(0), "{said}");
    insta::assert_snapshot!(without_time(&said), @"gfx90a: 2 of 2 modules compile with hiprtc of HIP 6.4.0 (TIME s); none was run");

    let refused = ("HIP_STAND_IN_FAIL", "hiprtcCompileProgram#2=6");
    let (status, said) = compiled_by_hiprtc(stand_in, &[refused]);
    assert_eq!(status, Some(1), "{said}");
    insta::assert_snapshot!(without_time(&said), @"
    swiglu_backward in f32 (small) does not compile for gfx90a:
    hiprtcCompileProgram failed: HIPRTC_ERROR_COMPILATION (6)
    gfx90a: 1 of 2 modules compile with hiprtc of HIP 6.4.0 (TIME s); none was run
    ");

    let (status, said) = compiled_by_hiprtc(Path::new("/nowhere"), &[]);
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("libamdhip64") && said.contains("ROCM_PATH"),
        "{said}"
    );
}
