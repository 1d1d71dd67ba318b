//! Tests bash's completion script in the way bash calls it.

mod common;

use std::fs;
use std::process::Command;

use common::{run, stderr, stdout};

/// The candidates that bash would offer for the last word of `line`.
fn offered(line: &str) -> Vec<String> {
    let script = run(&["completions", "bash"]);
    assert!(script.status.success(), "{}", stderr(&script));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("completions.bash");
    fs::write(&path, script.stdout).unwrap();
    let ask = r#"source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        ask=$(complete -p tinyllama-tutor); ask=${ask#*-F }; ask=${ask%% *}
        "$ask" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let output = Command::new("bash")
        .args(["-c", ask, "bash"])
        .arg(&path)
        .arg("tinyllama-tutor")
        .args(line.split(' '))
        .output()
        .expect("bash is there");
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_flags_and_their_values_after_a_subcommand() {
    assert_eq!(offered("run v1 --con"), ["--config"]);
    assert_eq!(offered("run v1 --config "), ["tiny", "small", "medium"]);
    assert_eq!(offered("ru"), ["run", "runs"]);
    assert!(offered("batch-size v1 --me").contains(&"--memory".to_owned()));
}

#[test]
fn bash_completes_the_names_of_targets_lessons_and_recordings() {
    for (line, name) in [
        ("run ", "v1"),
        ("run ", "stage3"),
        ("recordings play v1", "v1"),
        ("lessons show first-b", "first-baseline"),
        ("instructor reset ada --lesson first-b", "first-baseline"),
        ("kernels --source rms", "rmsnorm"),
    ] {
        let found = offered(line);
        assert!(found.contains(&name.to_owned()), "{line}: {found:?}");
    }
}
