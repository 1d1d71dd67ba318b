//! `stages`: effects, traces, stages that do not run.

use super::*;

#[test]
fn stages_say_which_effects_show_and_keep_it_for_the_lessons() {
    let bench = Bench::new(&scenario());
    let out = bench.path("kept");
    let out_flag = format!("--out={}", out.display());
    let document = bench.json(&["stages", "--num-steps=12", "--profile", &out_flag]);
    assert_eq!(shown(&document), ["yes"; 7], "{document:#}");
    // The step is no slower, but the kernel that reads the strided tensor is.
    let ratio = number(&document, "/findings/effects/1/ratio");
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
    let naive = text(&document, "/findings/effects/3/text");
    assert!(naive.contains("90.9 %"), "{naive}");
    for stage in 1..=6 {
        let log = std::fs::read_to_string(out.join(format!("stage{stage}.log"))).expect("a log");
        assert!(log.contains("forward"), "{log}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(
                without_figures(line_with("gradient", &log)),
                @"with a gradient    # of # tensors"
            );
        }
        assert!(out.join(format!("stage{stage}.events.jsonl")).is_file());
    }
    let kept = std::fs::read_to_string(text(&document, "/kept")).expect("findings");
    assert!(
        kept.contains("strided_key_value") && kept.contains("Stand-in GPU"),
        "{kept}"
    );

    // All stages run the same program, so there is no symptom and the parts add up.
    let mut nothing = scenario();
    for target in nothing["targets"]
        .as_object_mut()
        .expect("targets")
        .values_mut()
    {
        *target = json!({});
    }
    // The loop itself may take a few per cent between the parts.
    nothing["targets"]["stage3"] = json!({"parts": [0.3, 0.5, 0.15]});
    bench.change(&nothing);
    let document = bench.json(&["stages", &out_flag, "--num-steps=12"]);
    assert!(!shown(&document).contains(&"yes"), "{document:#}");
    assert_eq!(shown(&document)[2], "no", "{document:#}");
}

#[test]
fn stages_are_traced_where_rocprofv3_is_there() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let stand_ins = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_ins");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(stand_ins).chain(std::env::split_paths(&path));
    let out = home.path().join("kept");
    let output = tutor(home.path())
        .args([
            "stages",
            "--profile",
            "--rounds=1",
            "--num-steps=1",
            "--warmup=0",
        ])
        .args(common::SMALL)
        .arg("--out")
        .arg(&out)
        .env("PATH", std::env::join_paths(folders).expect("a path"))
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", stderr(&output));
    for target in ["v1", "stage1", "stage6"] {
        let traces = std::fs::read_dir(out.join(format!("{target}-rocprofv3")))
            .unwrap_or_else(|error| panic!("{target}: {error}: {}", stderr(&output)));
        let names: Vec<String> = traces
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        assert!(
            names.iter().any(|name| name.ends_with("results.db")),
            "{target}: {names:?}"
        );
    }
}

#[test]
fn a_stage_that_does_not_run_leaves_the_others_standing() {
    let mut truth = scenario();
    truth["targets"]
        .as_object_mut()
        .expect("targets")
        .remove("stage2");
    let bench = Bench::new(&truth);
    let output = bench.run(&["stages", "--num-steps=12", "--rounds=3"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = stdout(&output);
    insta::assert_snapshot!(line_with("stage2 did", &shown), @"stage2 did not run: stage2: there is no target `stage2`");
    let line = |name: &str| {
        shown
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap_or_default()
            .to_string()
    };
    assert!(line("strided keys").contains("not measured"), "{shown}");
    assert!(line("naive SwiGLU").contains("yes"), "{shown}");
}
