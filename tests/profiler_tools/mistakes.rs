//! Failures of tools, wrong flags, and versions that lack something.

use std::collections::BTreeSet;

use super::*;

#[test]
fn known_failures_are_answered_with_their_remedy() {
    let cases: [(&str, &[&str]); 4] = [
        ("kfd", &["rocprofv3", "v1"]),
        ("counters", &["rocprofv3", "v1", "--kind", "counters"]),
        ("arch", &["rocprof-compute", "v1"]),
        ("no-kernels", &["rocprofv3", "v1"]),
    ];
    let mut answers = BTreeSet::new();
    for rocm in VERSIONS {
        for (failure, words) in cases {
            let (document, code) = Machine::failing(rocm, failure).profile(words);
            assert_eq!(code, 1, "{rocm} {failure}: {document:#}");
            let nothing = &document["nothing_recorded"];
            answers.insert(format!("{failure}: {} {nothing}", remedies(&document)));
            let log = document["log"].as_str().unwrap();
            assert!(log.ends_with("profiler.log"), "{log}");
        }
        let (document, code) =
            Machine::failing(rocm, "packages").profile(&["rocprof-compute", "v1"]);
        assert_eq!(code, 1);
        assert!(
            remedies(&document).contains("requirements.txt"),
            "{}",
            remedies(&document)
        );
    }
    let answers: Vec<String> = answers.into_iter().collect();
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn mistakes_made_by_hand_are_understood() {
    use tinyllama_profile::ProfilerEnding;
    use tinyllama_profile::remedies;
    let mistakes: [&[&str]; 6] = [
        &["--kernel-trace", "python", "foo.py"],
        &["--kernel-trace", "-o", "x", "python", "foo.py"],
        &["--output-format", "cvs", "--", "true"],
        &["--metrics", "pmc", "--", "true"],
        &["--stats", "--", "true"],
        &["--kernel-trace", "--stats"],
    ];
    let answers = mistakes.map(|words| {
        let output = Command::new(stand_ins().join("rocprofv3"))
            .args(words)
            .output()
            .unwrap();
        let code = output.status.code().unwrap();
        assert_ne!(code, 0, "{words:?}");
        let found = remedies(
            &String::from_utf8_lossy(&output.stderr),
            &ProfilerEnding::Failed(code),
        );
        let troubles: Vec<String> = found.iter().map(|it| it.trouble.to_string()).collect();
        format!("{}\n    {}", words.join(" "), troubles.join("\n    "))
    });
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_tool_that_is_not_installed_is_explained_with_a_labelled_sample() {
    for tool in ["rocprofv3", "rocprof-sys", "rocprof-compute"] {
        let output = Machine::without_tools().run(&[tool, "v1"]);
        assert_eq!(output.status.code(), Some(3), "{tool}");
        let text = String::from_utf8(output.stdout).unwrap();
        for part in [" -- ", "for ROCm 7.2", "--for-rocm X.Y", "not measured"] {
            assert!(text.contains(part), "{tool}: {part} missing in\n{text}");
        }
        insta::assert_snapshot!(tool, crate::common::without_program(&text, "[tutor]"));
    }
}

#[test]
fn an_old_tool_is_refused_with_the_flag_that_it_lacks() {
    let machine = Machine::with_rocm("6.4");
    let output = machine.run(&["rocprof-compute", "v1", "--kind", "multiplexed"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stderr).unwrap();
    for part in [
        "rocprof-compute 3.1",
        "--iteration-multiplexing",
        "with 3.5",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn old_tools_are_answered_with_the_way_to_the_new_ones() {
    for tool in ["rocprof", "rocprofv2"] {
        for given in [
            &[][..],
            &["v1"],
            &["v1", "--print"],
            &["--stats", "--", "./app", "-n", "3"],
        ] {
            let words: Vec<&str> = std::iter::once(tool).chain(given.iter().copied()).collect();
            let output = Machine::without_tools().run(&words);
            assert_eq!(output.status.code(), Some(0), "{words:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(
                text.contains("rocprofv3 --kernel-trace"),
                "{words:?}: {text}"
            );
        }
    }
}
