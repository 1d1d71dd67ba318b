//! Version 4 with a learner's kernels.

use super::*;

/// Trains a small V4 on the CPU with custom kernels, and returns all output including the losses.
fn trained(home: &Path, kernels: &[(&str, &str)]) -> std::process::Output {
    let mut command = tutor(home);
    command
        .args([
            "run",
            "v4",
            "--backend",
            "cpu",
            "--num-steps",
            "2",
            "--warmup",
            "1",
        ])
        .args([
            "--hidden",
            "32",
            "--layers",
            "2",
            "--heads",
            "4",
            "--kv-heads",
            "2",
            "--ffn",
            "48",
        ])
        .args([
            "--seq-len",
            "16",
            "--batch-size",
            "2",
            "--vocab",
            "300",
            "--repeatability",
            "off",
            "--json",
        ]);
    for (operation, text) in kernels {
        let path = home.join(format!("{operation}.hip"));
        std::fs::write(&path, text).unwrap();
        command
            .arg("--kernel")
            .arg(format!("{operation}={}", path.display()));
    }
    command.output().expect("the program starts")
}

#[test]
fn kernels_of_a_learners_train_version_4_without_a_gpu() {
    if !ready() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let all = ["rmsnorm", "swiglu", "cross-entropy", "adamw"].map(|name| (name, solution(name)));
    let documents = [&[][..], &all].map(|kernels| {
        let output = trained(home.path(), kernels);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).expect("one JSON document")
    });
    let [without, with] = &documents;
    let loss = |document: &Value| document["summary"]["final_loss"].as_f64().expect("a loss");
    assert!((loss(with) - loss(without)).abs() < 1e-4, "{with:#}");
    let device = |document: &Value| document["hello"]["device"].as_str().unwrap().to_owned();
    let added = device(with).replace(&device(without), "[device]");
    insta::assert_snapshot!(added, @"[device], --kernel in the emulator of a GPU");
    assert!(!device(without).contains("emulator"), "{}", device(without));
    let kernels = with["notes"].as_array().expect("notes");
    let kernels: Vec<&str> = kernels
        .iter()
        .filter_map(|note| note.as_str().or(note["message"].as_str()))
        .filter(|note| all.iter().any(|(name, _)| note.contains(name)))
        .collect();
    insta::assert_snapshot!(without_figures(&kernels.join("\n")));
}

#[test]
fn a_kernel_that_is_wrong_in_the_model_only_is_found_before_it_trains() {
    if !ready() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    // The change keeps the results correct in every case of the exercise.
    let late = |name: &str, line: &str, and: &str| {
        solution(name).replacen(line, &format!("{line}{and}"), 1)
    };
    let adamw = late(
        "adamw",
        "second[i] = v;",
        "\n        if (n > 5000) second[i] = 0;",
    );
    let rmsnorm = late(
        "rmsnorm",
        "float squares = 0.0f;",
        "\n    if (rows > 20) squares = 1;",
    );
    let endless = late(
        "adamw",
        "float g = gradients[i];",
        "\n        while (n > 5000) {}",
    );
    for (name, text, words) in [
        ("adamw", &*adamw, &["`second` after an update differs"][..]),
        ("rmsnorm", &rmsnorm, &["the gradient of", "differs by"]),
        (
            "adamw",
            &endless,
            &["your adamw in the model", "did not end"],
        ),
        (
            "adamw",
            find("adamw")
                .unwrap()
                .file("wrong-old-moments.hip")
                .unwrap(),
            &["wrong result"],
        ),
    ] {
        let output = trained(home.path(), &[(name, text)]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for words in words {
            assert!(said.contains(words), "{name}: `{words}` is not in: {said}");
        }
    }
}

#[test]
fn exercises_that_a_cpu_cannot_do_are_refused_with_a_remedy() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("adamw.hip"), solution("adamw")).unwrap();
    let mut large = tutor(home.path());
    large.args([
        "run",
        "v4",
        "--backend",
        "cpu",
        "--config",
        "tiny",
        "--kernel",
    ]);
    large.arg(format!("adamw={}", home.path().join("adamw.hip").display()));
    let large = large.output().unwrap();
    assert_eq!(large.status.code(), Some(2), "{}", stderr(&large));
    assert!(
        stderr(&large).contains("use --config tiny"),
        "{}",
        stderr(&large)
    );
    let mut bench = tutor(home.path());
    bench
        .env("TINYLLAMA_BACKEND", "cpu")
        .args(["workbench", "bench", "adamw", "--file"]);
    let bench = bench.arg(home.path().join("adamw.hip")).output().unwrap();
    assert_eq!(bench.status.code(), Some(3), "{}", stderr(&bench));
    for words in ["AMD", "NVIDIA", "doctor", "workbench check"] {
        assert!(stderr(&bench).contains(words), "{}", stderr(&bench));
    }
    let mut no_compiler = tutor(home.path());
    no_compiler.env("TINYLLAMA_CLANG", "/nowhere");
    no_compiler.args(["workbench", "check", "adamw", "--file"]);
    let said = no_compiler
        .arg(home.path().join("adamw.hip"))
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(3), "{}", stderr(&said));
    assert!(
        stderr(&said).contains("TINYLLAMA_CLANG names it"),
        "{}",
        stderr(&said)
    );
}
