//! Tests training end to end with the real program on the CPU backend.

mod common;

use common::{SMALL, run, run_v1, stderr, stdout, without_figures};
use serde_json::Value;

fn document(arguments: &[&str]) -> Value {
    let output = run_v1(&[&["--json"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("one JSON document")
}

fn losses(document: &Value) -> Vec<f64> {
    let steps = document["steps"].as_array().expect("steps");
    steps
        .iter()
        .map(|step| step["loss"].as_f64().expect("a finite loss"))
        .collect()
}

#[test]
fn the_tiny_preset_starts_at_the_loss_of_a_guess_and_learns() {
    let output = run(&[
        "run",
        "v1",
        "--config",
        "tiny",
        "--batch-size=2",
        "--num-steps",
        "5",
        "--json",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let losses = losses(&document);
    // ln 1000 = 6.91 for equally likely tokens; the initial weights add a little.
    assert!((losses[0] - 1000f64.ln()).abs() < 0.1, "{losses:?}");
    assert!(losses.last().unwrap() + 0.2 < losses[0], "{losses:?}");
    assert_eq!(document["summary"]["parameters"], 2_617_600);
    assert_eq!(document["summary"]["parameters_with_gradient"], 38);
}

#[test]
fn a_text_is_learned_beyond_its_letter_frequencies() {
    let output = run(&[
        "run",
        "v1",
        "--json",
        "--data",
        concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"),
        "--vocab=256",
        "--hidden=64",
        "--layers=2",
        "--heads=4",
        "--kv-heads=2",
        "--ffn=128",
        "--seq-len=32",
        "--batch-size=8",
        "--num-steps=300",
        "--learning-rate=3e-3",
        "--sample=20",
        "--repeatability=off",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let entropy = document["hello"]["data"]["order_0_entropy"]
        .as_f64()
        .unwrap();
    let losses = losses(&document);
    let last = &losses[losses.len() - 20..];
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    assert!(mean < entropy, "{mean} is not below the entropy {entropy}");
    let continuation = document["sample"]["continuation"].as_str().unwrap();
    assert!(!continuation.is_empty());
}

#[test]
fn the_same_seed_gives_the_same_losses_in_every_bit() {
    let flags = ["--deterministic", "--num-steps=8", "--learning-rate=1e-2"];
    let (a, b) = (document(&flags), document(&flags));
    assert_eq!(losses(&a), losses(&b));
    assert_eq!(a["summary"]["repeatability"]["identical"], true);
    let other = document(&[&flags[..], &["--seed=43"]].concat());
    assert_ne!(losses(&a), losses(&other));
}

#[test]
fn figures_that_the_cpu_does_not_report_are_null_and_never_zero() {
    let document = document(&["--num-steps=2", "--profile-steps=1"]);
    for step in document["steps"].as_array().unwrap() {
        for field in ["launches", "bytes_reserved"] {
            assert!(step[field].is_null(), "{field}: {}", step[field]);
        }
        // Parameters, moments and gradients.
        let held = 16 * document["summary"]["parameters"].as_u64().unwrap();
        assert!(step["bytes_in_use"].as_u64() > Some(held), "{step}");
    }
    assert!(document["summary"]["launches_per_step"].is_null());
    assert!(document["kernels"].is_null());
    insta::assert_snapshot!(without_figures(&format!("{:#}", document["notes"])));
}

#[test]
fn own_kernels_are_counted_and_timed_on_a_cpu() {
    let flags = ["--num-steps=2", "--profile-steps=1", "--flops", "--json"];
    let run = run(&[&["run", "v3"], SMALL, &flags].concat());
    let document: Value = serde_json::from_str(&stdout(&run)).unwrap();
    let rows = document["kernels"]["kernels"].as_array().unwrap();
    let launches = |kernel: &str| -> f64 {
        let of = rows.iter().filter(|row| row["name"] == kernel);
        of.map(|row| row["launches_per_step"].as_f64().unwrap())
            .sum()
    };
    // Two layers: a norm before each half and a last one, an attention, an activation; one loss and one update.
    for (kernel, count) in [
        ("rmsnorm_forward", 5.0),
        ("rmsnorm_backward", 5.0),
        ("rope_turn", 4.0),
        ("flash_attention_forward", 2.0),
        ("flash_attention_backward", 2.0),
        ("swiglu_forward", 2.0),
        ("swiglu_backward", 2.0),
        ("cross_entropy_rows", 1.0),
        ("adamw_step", 1.0),
    ] {
        assert_eq!(launches(kernel), count, "{kernel}: {rows:?}");
    }
    let all = document["kernels"]["launches_per_step"].as_f64();
    for step in document["steps"].as_array().unwrap() {
        assert_eq!(step["launches"].as_f64(), all, "{step}");
    }
    // The parts of a step also have burn's operations, which nobody times.
    let parts = document["parts"]["parts"].as_array().unwrap();
    assert!(
        parts.iter().all(|part| part["device_ms"].is_null()),
        "{parts:?}"
    );
}

#[test]
fn phases_of_a_step_add_up_when_synchronised() {
    let document = document(&["--num-steps=4"]);
    for step in document["steps"].as_array().unwrap() {
        let get = |name: &str| step[name].as_f64().unwrap();
        let sum = get("forward_ms") + get("backward_ms") + get("optimizer_ms");
        assert!(
            (sum / get("total_ms") - 1.0).abs() < 0.02,
            "{sum} of {}",
            get("total_ms")
        );
        assert_eq!(step["synchronized"], true);
    }
    let whole = self::document(&["--num-steps=1", "--sync=step"]);
    assert!(whole["steps"][0]["forward_ms"].is_null());
}

#[test]
fn reduced_precision_stays_close_to_f32() {
    let flags = ["--num-steps=6", "--learning-rate=1e-2", "--seed=2"];
    let full = losses(&document(&flags));
    let reduced = losses(&document(&[&flags[..], &["--dtype=bf16"]].concat()));
    for (a, b) in full.iter().zip(&reduced) {
        assert!(((a - b) / b).abs() < 1e-2, "{full:?} against {reduced:?}");
    }
    assert_ne!(
        full, reduced,
        "bf16 changed nothing: the flag does not reach the products"
    );
}

#[test]
fn work_is_counted_and_a_trace_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let document = document(&[
        "--num-steps=2",
        "--flops",
        "--trace",
        path.to_str().unwrap(),
    ]);
    assert!(document["parts"]["flops_per_step"].as_f64().unwrap() > 1e6);
    assert!(document["parts"]["achieved_flops_per_s"].as_f64().unwrap() > 0.0);
    let trace: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let names: Vec<&str> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|e| e["name"].as_str())
        .collect();
    for name in ["forward", "backward", "optimizer"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn a_graph_on_a_cpu_is_refused_with_what_to_do() {
    let output = run_v1(&["--graph=on"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    insta::assert_snapshot!(stderr(&output));
}
