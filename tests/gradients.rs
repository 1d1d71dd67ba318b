//! Tests on the CPU backend that every target computes the same as V1: loss, gradients, ten steps of training.

mod common;

use common::{run, stderr, stdout, without_figures};
use serde_json::Value;
use tinyllama_contract::model::Backward;
use tinyllama_contract::targets::{ALL, Target};

/// Sequence lengths and head counts that do not divide evenly.
const SHAPES: &[&[&str]] = &[
    &["--seq-len=1", "--heads=4", "--kv-heads=2", "--hidden=32"],
    &["--seq-len=7", "--heads=6", "--kv-heads=3", "--hidden=36"],
    &["--seq-len=129", "--heads=2", "--kv-heads=1", "--hidden=16"],
    &["--seq-len=16", "--heads=4", "--kv-heads=4", "--hidden=32"],
];

const REST: &[&str] = &["--layers=2", "--ffn=48", "--batch-size=3", "--vocab=61"];

#[test]
fn gradients_agree_with_f64_on_fresh_input_and_awkward_shapes() {
    for shape in SHAPES {
        let output = run(&[&["gradcheck", "--json"], *shape, REST].concat());
        let text = stdout(&output);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{shape:?}: {text}{}",
            stderr(&output)
        );
        let report: Value = serde_json::from_str(&text).unwrap();
        let comparisons = report["comparisons"].as_array().unwrap();
        let compared = |target: &Target| comparisons.iter().any(|one| one["target"] == target.name);
        // All versions, and a target for each other computation that stages train with.
        for target in Target::versions().chain(Target::stages()) {
            let same = |other: &&Target| {
                let mut recipe = other.recipe;
                recipe.initialisation = target.recipe.initialisation;
                compared(other) && recipe == target.recipe
            };
            let has_gradients = target.recipe.backward == Backward::Complete;
            assert!(
                !has_gradients || ALL.iter().any(|other| same(&other)),
                "{target}"
            );
        }
        assert!(Target::versions().all(|version| compared(&version)));
        for comparison in comparisons {
            assert_eq!(
                comparison["with_gradient"], comparison["tensors"],
                "{comparison}"
            );
            let worst = comparison["worst_difference"].as_f64().unwrap();
            assert!(worst < 1e-4, "{comparison}");
        }
    }
}

#[test]
fn the_naive_kernel_and_its_plain_products_have_gradients_too() {
    {
        let flags = ["stage4"];
        let start = ["gradcheck", "--json", "--tuning=off"];
        let output = run(&[&start[..], &flags, SHAPES[1], REST].concat());
        let text = stdout(&output);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{flags:?}: {text}{}",
            stderr(&output)
        );
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["library"], "plain");
    }
}

#[test]
fn reduced_precision_is_told_from_f32() {
    let shape = SHAPES[1];
    let output = run(&[&["gradcheck", "--json", "--dtype=bf16"], shape, REST].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let worst = report["comparisons"][0]["worst_difference"]
        .as_f64()
        .unwrap();
    assert!(worst > 1e-4, "operands were not rounded to bf16: {worst}");
}

#[test]
fn ten_steps_of_every_target_stay_together() {
    let flags = ["verify", "--json", "--num-steps=10", "--learning-rate=1e-2"];
    let output = run(&[&flags[..], SHAPES[1], REST].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    // The report says what was compared, and how closely.
    assert_eq!(
        (&report["steps"], &report["dtype"]),
        (&10.into(), &"f32".into())
    );
    assert!(report["device"].is_string() && report["passed"] == true);
    let tolerance = report["tolerance"].as_f64().unwrap();
    let targets = report["targets"].as_array().unwrap();
    let named: Vec<&Value> = targets.iter().map(|target| &target["target"]).collect();
    assert!(
        named
            .into_iter()
            .eq(Target::versions().map(|version| version.name))
    );
    for target in targets {
        let worst = target["worst_difference"].as_f64().unwrap();
        assert!(target["passed"] == true && worst <= tolerance, "{target}");
    }
    let losses = targets[2]["losses"].as_array().unwrap();
    let (first, last) = (losses[0].as_f64().unwrap(), losses[9].as_f64().unwrap());
    assert!(last < first - 0.05, "v3 does not learn: {losses:?}");
}

/// Runs V4's schedule through burn's client. On a GPU this path is for Vulkan and `--gemm cubek`.
#[test]
fn v4_through_burn_computes_what_v4_on_the_host_does() {
    let through_burn = ["v4", "--gemm=cubek", "--json"];
    for command in [&["gradcheck"][..], &["verify", "--num-steps=10"]] {
        let output = run(&[command, &through_burn[..], SHAPES[1], REST].concat());
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        assert!(text.contains("\"v4\""), "{text}");
    }
    let document = |flags: &[&str]| -> Value {
        let output = run(&[&["run", "v4", "--json"], flags, SHAPES[1], REST].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let flags = ["--num-steps=6", "--profile-steps=1", "--flops"];
    let host = document(&flags);
    let burn = document(&[&flags[..], &["--gemm=cubek"]].concat());
    let losses = |run: &Value| -> Vec<f64> {
        let steps = run["steps"].as_array().unwrap();
        steps.iter().map(|s| s["loss"].as_f64().unwrap()).collect()
    };
    let (ours, theirs) = (losses(&burn), losses(&host));
    assert_eq!(ours.len(), 9);
    assert!(ours[8] < ours[0], "{ours:?}");
    for (a, b) in ours.iter().zip(&theirs) {
        assert!((a - b).abs() <= 1e-5 * b, "{ours:?} {theirs:?}");
    }
    assert_eq!(burn["summary"]["repeatability"]["identical"], true);
    // The table has a row for each of the host's launches, and for each operation that burn executes.
    let rows = |run: &Value| run["kernels"]["kernels"].as_array().map(Vec::len);
    assert!(rows(&burn).is_some_and(|rows| rows > 10));
    assert_eq!(rows(&burn), rows(&host));
    assert!(burn["summary"]["launches_per_step"].is_null());
    let notes = |run: &Value| without_figures(&format!("{:#}", run["notes"]));
    insta::assert_snapshot!("notes_through_burn", notes(&burn));
    insta::assert_snapshot!("notes_on_the_host", notes(&host));
}

#[test]
fn the_kernels_are_listed_and_checked_on_a_cpu() {
    let listed = run(&["kernels"]);
    assert!(stdout(&listed).contains("flash_attention"));
    let checked = run(&["kernels", "--check", "--backend=cpu", "--json"]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    let rows: Value = serde_json::from_str(&stdout(&checked)).unwrap();
    let compared = |row: &Value| row["comparisons"].as_u64().is_some_and(|count| count > 3);
    assert!(
        rows.as_array()
            .is_some_and(|rows| rows.len() == 8 && rows.iter().all(compared))
    );
    let unknown = run(&["kernels", "flash_attenion"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("flash_attention"));
}
