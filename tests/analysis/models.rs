//! `predict`, `tune` and `roofline`.

use super::*;

#[test]
fn predict_learns_from_kept_runs_and_says_how_far_it_may_be_off() {
    // The step time grows with the counted work, on top of the host's constant time.
    let bench = Bench::new(&json!({
        "targets": {"v1": {}}, "growth": [1.0, 1.0], "host_ms": 2.0, "noise": 0.01, "starts": 0.01,
    }));
    let nothing = bench.run(&["predict", "v1"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("--learn"), "{}", stderr(&nothing));
    let document = bench.json(&[
        "predict",
        "v1",
        "--learn",
        "--seq-len=256",
        "--batch-size=32",
    ]);
    let ms = number(&document, "/step_ms");
    assert!((65.0..95.0).contains(&ms), "80 ms: {document:#}");
    assert!(number(&document, "/low_ms") <= ms && ms <= number(&document, "/high_ms"));
    assert!(
        number(&document, "/model/median_error") < 0.25,
        "{document:#}"
    );
    assert_eq!(document["seen"], json!(false));
    // The simulated device uses 400 MB for 1024 tokens; parameters are small.
    assert!(number(&document, "/peak_bytes") > 1e9);
}

#[test]
fn tune_finds_what_is_faster_and_refuses_what_is_wrong_or_noise() {
    let truth = json!({
        "targets": {"v3": {}}, "noise": 0.01, "starts": 0.005,
        "factors": {
            "--block-size=rmsnorm=128": 0.8, "--block-size=swiglu=64": 0.9, "--block-size=swiglu=256": 0.5,
        },
        "wrong": ["--block-size=swiglu=256"],
        "refused": ["--block-size=rmsnorm=64"],
    });
    let bench = Bench::new(&truth);
    let space = [
        "tune",
        "v3",
        "--kernels=rmsnorm,swiglu",
        "--sizes=64,128,256",
        "--most=4",
    ];
    let document = bench.json(&space);
    assert_eq!(
        document["winner"],
        json!(["--block-size=rmsnorm=128", "--block-size=swiglu=64"]),
        "{document:#}"
    );
    let tried = document["tried"].as_array().unwrap().iter();
    let wrong = tried
        .filter(|tried| !tried["wrong"].is_null())
        .map(|tried| format!("{}: {}", tried["flags"], tried["wrong"]));
    insta::assert_snapshot!(without_figures(&wrong.collect::<Vec<_>>().join("\n")));
    let kept = std::fs::read_to_string(text(&document, "/kept")).expect("kept");
    assert!(kept.contains("rmsnorm=128"), "{kept}");

    bench.change(&json!({"targets": {"v3": {}}, "noise": 0.02, "starts": 0.02}));
    let document = bench.json(&space);
    assert_eq!(document["winner"], json!([]), "{document:#}");

    // The command refuses a search that could only find noise.
    bench.change(&json!({"targets": {"v3": {}}, "backend": "cpu"}));
    for (wrong, why) in [
        (["tune", "v4"], "no kernel whose block size"),
        (["tune", "v3"], "name a GPU"),
    ] {
        let output = bench.run(&wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}

#[test]
fn roofline_stands_under_the_calibrated_ceilings() {
    let bench = Bench::new(&json!({"targets": {"v3": {}}}));
    let calibrated = bench.run(&["calibrate"]);
    assert!(
        stdout(&calibrated).contains("20.0 TFLOP/s"),
        "{}",
        stderr(&calibrated)
    );
    let picture = bench.path("roofline.svg");
    let svg = format!("--svg={}", picture.display());
    let document = bench.json(&["roofline", "v3", &svg]);
    let points = document["points"].as_array().expect("points");
    let find = |name: &str, grain: &str| {
        points
            .iter()
            .find(|point| point["name"] == name && point["grain"] == grain)
            .unwrap_or_else(|| panic!("no {name} in {document:#}"))
    };
    // 3 GFLOP and 10 MB in 1 ms give 300 FLOP/byte and 3 of 40 TFLOP/s.
    let ffn = find("ffn", "part");
    assert!((number(ffn, "/intensity") - 300.0).abs() < 1e-6);
    assert!((number(ffn, "/share") - 3.0 / 40.0).abs() < 1e-6, "{ffn:#}");
    // 40 MFLOP and 84 MB in 1 ms give 84 of 1000 GB/s.
    let optimizer = find("optimizer", "part");
    assert!(
        (number(optimizer, "/share") - 0.084).abs() < 1e-6,
        "{optimizer:#}"
    );
    let drawn = std::fs::read_to_string(picture).expect("written");
    assert!(
        drawn.contains("<circle") && drawn.contains("memory 1.00 TB/s (measured)"),
        "{drawn}"
    );
    assert_eq!(document["stale"], json!([]));

    // The kernel does not use the matrix units, and the vector units reach half of the rate of products.
    let naive = find("swiglu_naive forward", "kernel");
    assert_eq!(number(naive, "/attainable"), 20e12, "{naive:#}");

    bench.run(&["compare", "v3", "--rounds=1", "--no-phases"]);
    let runs = bench.runs();
    let uncounted = bench.run(&["roofline", runs.last().expect("a run")]);
    assert_eq!(uncounted.status.code(), Some(2), "{}", stdout(&uncounted));
    assert!(
        stderr(&uncounted).contains("--flops"),
        "{}",
        stderr(&uncounted)
    );

    bench.change(&json!({"targets": {"v3": {}}, "driver": "2.0"}));
    let document = bench.json(&["roofline", "v3"]);
    assert!(
        document["stale"].to_string().contains("driver"),
        "{document:#}"
    );
}
