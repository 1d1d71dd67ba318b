//! Tests `doctor --driver` on the stand-in for HIP and on a machine without a device.

#[path = "common/mod.rs"]
mod common;
#[path = "common/stand_in.rs"]
mod stand_in;

use std::path::Path;
use std::process::Output;

use common::{stderr, stdout, tutor};
use serde_json::Value;
use stand_in::{Record, environment};

/// The result of `doctor --driver --quick --json` with the stand-in as the GPU, and the calls that the stand-in
/// received.
struct Tried {
    output: Output,
    document: Value,
    record: Record,
}

fn attempt(rocm: &Path, settings: &[(&str, &str)]) -> Tried {
    let home = tempfile::tempdir().unwrap();
    let mut command = tutor(home.path());
    command
        .args(["doctor", "--driver", "--quick", "--json", "--backend=rocm"])
        .envs(environment(rocm, home.path()));
    if let Some(built) = stand_in::built() {
        command.env("HIP_STAND_IN_CACHE", built.join("cache"));
    }
    let output = command.envs(settings.iter().copied()).output().unwrap();
    Tried {
        document: serde_json::from_str(&stdout(&output)).unwrap_or_default(),
        record: Record::read(home.path()),
        output,
    }
}

impl Tried {
    fn status(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn findings(&self) -> &[Value] {
        let findings = self.document["drivers"][0]["findings"].as_array();
        findings.map_or(&[], Vec::as_slice)
    }

    /// Status of the finding with this topic and name.
    fn status_of(&self, topic: &str, name: &str) -> &str {
        let line = self
            .findings()
            .iter()
            .find(|finding| finding["topic"] == topic && finding["name"] == name);
        line.map_or("no such line", |line| line["status"].as_str().unwrap())
    }

    fn with_status(&self, status: &str) -> Vec<&Value> {
        let findings = self.findings().iter();
        findings.filter(|line| line["status"] == status).collect()
    }
}

#[test]
fn every_trial_passes_with_waves_of_64_and_of_32_and_everything_is_given_back() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    for (architecture, rounds) in [("gfx942", true), ("gfx1100", false)] {
        let tried = attempt(rocm, &[("HIP_STAND_IN_ARCH", architecture)]);
        assert_eq!(tried.status(), Some(0), "{:#}", tried.document);
        assert_eq!(tried.document["passed"], true);
        let device = &tried.document["drivers"][0]["device"];
        assert_eq!(device["arch"], architecture);
        assert_eq!(tried.record.problems(), Vec::<String>::new());
        let topics = [
            "probe", "memory", "copies", "modules", "launches", "events", "streams", "graphs",
            "products",
        ];
        for topic in topics {
            let ok = tried.with_status("ok");
            assert!(ok.iter().any(|line| line["topic"] == topic), "{topic}");
        }
        assert!(tried.with_status("broken").is_empty());
        // A feature that the device lacks is reported without a remedy.
        for line in tried.with_status("absent") {
            assert!(line["remedy"].is_null(), "{line}");
        }
        let tf32 = tried.status_of("products", "tf32 12x20x28 (a b)");
        assert_eq!(tf32, if rounds { "ok" } else { "absent" });
    }
}

#[test]
fn kernels_that_compute_something_else_are_found() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    // Every block reads index 0.
    let planted = [
        ("HIP_STAND_IN_PLANT", "blocks"),
        // Memory accesses are not checked, as on a real device.
        ("HIP_STAND_IN_CHECK", "none"),
    ];
    let tried = attempt(rocm, &planted);
    assert_eq!(tried.status(), Some(1), "{:#}", tried.document);
    assert_eq!(tried.document["passed"], false);
    for (topic, name) in [
        ("launches", "numbers are those of the host"),
        ("streams", "one waits for another"),
        ("graphs", "two branches fork and join"),
    ] {
        assert_eq!(tried.status_of(topic, name), "broken", "{name}");
    }
    assert_eq!(tried.status_of("products", "f32 12x20x28 (a b)"), "ok");
    for line in tried.with_status("broken") {
        assert!(!line["remedy"].as_str().unwrap().is_empty());
    }
}

#[test]
fn missing_drivers_are_named_with_what_to_install() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let nowhere = attempt(Path::new("/nowhere"), &[]);
    let no_device = attempt(rocm, &[("HIP_STAND_IN_DEVICES", "0")]);
    let old = attempt(&rocm.join("before-6"), &[]);
    for (tried, words) in [
        (nowhere, ["libamdhip64.so", "ROCM_PATH"]),
        (no_device, ["no device", "rocminfo"]),
        (old, ["hipGetDevicePropertiesR0600", "ROCm 6"]),
    ] {
        assert_eq!(tried.status(), Some(3), "{:#}", tried.document);
        let [line] = tried.findings() else {
            panic!("{:#}", tried.document);
        };
        assert_eq!(line["status"], "absent");
        let told = format!("{} {}", line["detail"], line["remedy"]);
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    }

    // Either matrix library can replace the other. Without both, everything else is still tested.
    let less = |libraries: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let lib = folder.path().join("lib");
        std::fs::create_dir(&lib).unwrap();
        for entry in std::fs::read_dir(rocm.join("lib")).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            if !libraries.contains(&name.to_str().unwrap()) {
                std::os::unix::fs::symlink(entry.path(), lib.join(name)).unwrap();
            }
        }
        attempt(folder.path(), &[])
    };
    let other = less(&["libhipblaslt.so"]);
    assert_eq!(other.status(), Some(0), "{:#}", other.document);
    assert!(
        other
            .with_status("ok")
            .iter()
            .any(|line| line["detail"] == "rocBLAS")
    );
    assert_eq!(other.record.problems(), Vec::<String>::new());
    let neither = less(&["libhipblaslt.so", "librocblas.so"]);
    assert_eq!(neither.status(), Some(3), "{:#}", neither.document);
    assert_eq!(neither.status_of("products", "the library"), "absent");
    assert_eq!(
        neither.status_of("graphs", "replays equal single launches"),
        "ok"
    );
    let no_compiler = less(&["libhiprtc.so"]);
    assert_eq!(no_compiler.status(), Some(3), "{:#}", no_compiler.document);
    assert_eq!(
        no_compiler.status_of("modules", "kernels compile"),
        "absent"
    );
    assert_eq!(
        no_compiler.status_of("products", "f32 12x20x28 (a b)"),
        "ok"
    );
}

#[test]
fn every_failure_is_named_and_everything_is_freed() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    // Calls that can fail. Each fails once at its first use and once at a later one.
    let calls = [
        ("hipMalloc", 2),
        ("hipHostMalloc", 2),
        ("hipMemcpyHtoDAsync", 1),
        ("hipMemcpyDtoHAsync", 1),
        ("hipMemcpyDtoDAsync", 1),
        ("hipMemsetD8Async", 1),
        ("hipMemGetInfo", 1),
        ("hipStreamCreateWithFlags", 1),
        ("hipStreamSynchronize", 719),
        ("hipStreamWaitEvent", 1),
        ("hipEventCreateWithFlags", 1),
        ("hipEventRecord", 1),
        ("hipEventElapsedTime", 1),
        ("hiprtcCompileProgram", 6),
        ("hipModuleLoadData", 1),
        ("hipModuleGetFunction", 1),
        ("hipFuncGetAttribute", 1),
        ("hipModuleLaunchKernel", 719),
        ("hipStreamBeginCapture", 1),
        ("hipStreamEndCapture", 901),
        ("hipGraphGetNodes", 1),
        ("hipGraphInstantiateWithFlags", 1),
        ("hipGraphLaunch", 719),
        ("hipblasLtMatmulAlgoGetHeuristic", 6),
        ("hipblasLtMatmul", 6),
    ];
    let whole = attempt(rocm, &[]);
    for (call, code) in calls {
        let made = whole.record.count(call);
        assert!(made > 0, "{call} is not asked for");
        // The later use comes before algorithms are chosen, because that choice survives most failures.
        for nth in [1, made.min(2).max(made.div_ceil(4))] {
            let failure = format!("{call}#{nth}={code}");
            let tried = attempt(rocm, &[("HIP_STAND_IN_FAIL", &failure)]);
            let said = stderr(&tried.output);
            assert!(!said.contains("panicked"), "{failure}: {said}");
            let problems = tried.record.problems();
            assert_eq!(problems, Vec::<String>::new(), "{failure}: {said}");
            // Two parts survive a failed call: the choice of an algorithm, which captures and times it, and the test
            // that expects a failure.
            let excused = ["hipblasLtMatmul", "hipMalloc", "hipStreamEndCapture"].contains(&call)
                || nth > 1
                    && ["Event", "Graph", "Capture"]
                        .iter()
                        .any(|part| call.contains(part));
            let status = tried.status();
            assert!(
                status == Some(1) || (excused && status == Some(0)),
                "{failure}: {status:?} {:#}",
                tried.document
            );
        }
    }
}

#[test]
fn without_a_device_nothing_is_called_right_and_wrong_use_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let doctor = |arguments: &[&str]| {
        let mut command = tutor(home.path());
        command.args(["doctor"]).args(arguments);
        // Hides any ROCm on this machine.
        command
            .env("ROCM_PATH", "/nowhere")
            .env("HIP_PATH", "/nowhere");
        command.output().unwrap()
    };
    for wrong in [
        &["--driver", "--backend=cpu"][..],
        &["--driver", "--backend=vulkan"],
        &["--driver", "--collect"],
        &["--quick"],
        &["--device=0"],
    ] {
        assert_eq!(doctor(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let output = doctor(&["--driver", "--backend=rocm"]);
    if output.status.code() == Some(3) {
        let text = stdout(&output);
        assert!(
            text.contains("not there") && text.contains("ROCM_PATH"),
            "{text}"
        );
    }
}
