//! Tests the commands that compare runs, on a simulated device with known times.

mod common;
#[path = "analysis/models.rs"]
mod models;
#[path = "analysis/stages.rs"]
mod stages;

use std::path::{Path, PathBuf};
use std::process::Output;

use common::{line_with, stderr, stdout, tutor, without_figures};
use serde_json::{Value, json};

/// A home folder with a simulated device whose times are known.
struct Bench {
    home: tempfile::TempDir,
}

impl Bench {
    fn new(truth: &Value) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(home.path().join("truth.json"), truth.to_string()).expect("written");
        Bench { home }
    }

    fn change(&self, truth: &Value) {
        std::fs::write(self.home.path().join("truth.json"), truth.to_string()).expect("written");
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_ins/training_run");
        tutor(self.home.path())
            .args(arguments)
            .env(
                "TINYLLAMA_LAUNCHER",
                format!("python3 {}", stand_in.display()),
            )
            .env("STAND_IN_TRUTH", self.home.path().join("truth.json"))
            .output()
            .expect("the program starts")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        serde_json::from_str(&stdout(&output)).expect("one JSON document")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn runs(&self) -> Vec<String> {
        let folder = self.path("state/tinyllama-tutor/runs");
        let mut runs: Vec<String> = std::fs::read_dir(folder)
            .expect("runs are kept")
            .map(|entry| {
                entry
                    .expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        runs.sort();
        runs
    }
}

fn number(value: &Value, pointer: &str) -> f64 {
    value
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{pointer} is not a number in {value:#}"))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("{pointer} is not text in {value:#}"))
}

/// v2 takes 0.625 of v1's time, and v3 takes as long as v2. Runs vary by 1 %, steps by 2 %.
fn versions() -> Value {
    json!({
        "targets": {"v1": {}, "v2": {"ms": 6.25}, "v3": {"ms": 6.25}},
        "noise": 0.02, "starts": 0.01,
    })
}

#[test]
fn compare_finds_the_speedup_that_is_there_and_none_that_is_not() {
    let bench = Bench::new(&versions());
    let document = bench.json(&[
        "compare",
        "v1",
        "v2",
        "v1:--seed=7",
        "--rounds=5",
        "--num-steps=40",
    ]);
    let time = &document["rows"][1]["relative_time"];
    let (low, high) = (
        number(time, "/interval/low"),
        number(time, "/interval/high"),
    );
    assert!(low < 0.625 && 0.625 < high && high / low < 1.1, "{time:#}");
    assert_eq!(text(time, "/finding/finding"), "faster");
    assert_eq!(text(time, "/interval/basis"), "rounds");
    let same = text(&document["rows"][2]["relative_time"], "/finding/finding");
    assert!(["no_difference", "too_noisy"].contains(&same), "{same}");
    assert!(document["warnings"].to_string().contains("seed"));
    // Phases come from the run that waits after each of them.
    let forward = number(&document, "/rows/0/phases/forward_ms");
    assert!((2.7..3.3).contains(&forward), "{forward}");
    let rate = number(&document, "/rows/0/flops_per_s");
    assert!((1.7e12..1.9e12).contains(&rate), "{rate}");

    // Runs read again from disk no longer count as taking turns.
    let runs = bench.runs();
    assert_eq!(runs.len(), 18);
    let again = bench.json(&["compare", &runs[0], &runs[1]]);
    assert_eq!(
        text(&again["rows"][1]["relative_time"], "/interval/basis"),
        "steps"
    );

    let mixed = bench.run(&["compare", "v1", &runs[0]]);
    assert_eq!(mixed.status.code(), Some(2), "{}", stderr(&mixed));
    let unknown = bench.run(&["compare", "v1", "v9"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("v9"), "{}", stderr(&unknown));
}

#[test]
fn compare_warns_of_what_does_not_train_and_shows_the_workshop_apart() {
    let mut truth = versions();
    truth["targets"]["v3"] = json!({"ms": 2.0, "with_gradient": 1});
    let bench = Bench::new(&truth);
    let output = bench.run(&["compare", "v1", "v3", "--rounds=1", "--workshop"]);
    let shown = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    insta::assert_snapshot!(
        line_with("v3: 1 of 74", &shown),
        @"warning: v3: 1 of 74 parameters have a gradient. It does not train the model, so its time is no speed-up."
    );
    let claims: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("forward pass") && line.contains("v3"))
        .collect();
    assert!(
        claims.len() == 1 && claims[0].contains("33.3 ms") && claims[0].contains("A.1.1"),
        "{shown}"
    );
}

#[test]
fn ablate_measures_what_each_switch_is_worth() {
    let bench = Bench::new(&json!({
        "targets": {"v2": {}},
        "factors": {"--qkv-fusion=on": 0.9, "--graph-fusion=on": 0.7},
        "noise": 0.02, "starts": 0.01,
    }));
    let document = bench.json(&[
        "ablate",
        "v2",
        "--rounds=2",
        "--switches=qkv-fusion,flash-attention,graph-fusion",
    ]);
    assert_eq!(document["combinations"].as_array().map(Vec::len), Some(8));
    for (at, truth) in [(0, 0.9), (1, 1.0), (2, 0.7)] {
        let effect = &document["main_effects"][at];
        let (low, high) = (
            number(effect, "/interval/low"),
            number(effect, "/interval/high"),
        );
        assert!(
            low < truth && truth < high && high / low < 1.08,
            "{effect:#}"
        );
        assert_eq!(
            text(effect, "/finding/finding") == "faster",
            truth < 1.0,
            "{effect:#}"
        );
    }
    assert_eq!(document["interactions"].as_array().map(Vec::len), Some(3));

    bench.change(&json!({"targets": {"v2": {}}, "refused": ["--flash-attention=on"]}));
    let refused = bench.run(&["ablate", "v2"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("--switches"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn scale_fits_the_growth_and_stops_at_the_memory() {
    let bench = Bench::new(&json!({
        "targets": {"v1": {}}, "growth": [1.5, 0.8], "capacity": 4096, "noise": 0.01, "starts": 0.01,
    }));
    let document = bench.json(&[
        "scale",
        "v1",
        "--seq-len=64,128,256,512",
        "--batch-size=4,16",
    ]);
    let outcomes: Vec<&str> = (0..8)
        .map(|at| text(&document, &format!("/scales/0/cells/{at}/outcome")))
        .collect();
    assert_eq!(
        outcomes
            .iter()
            .filter(|outcome| **outcome == "measured")
            .count(),
        7
    );
    assert_eq!(outcomes[7], "out_of_memory");
    for (at, truth) in [(0, 1.5), (1, 0.8)] {
        let growth = &document["scales"][0]["growths"][at];
        assert!(
            (number(growth, "/exponent") - truth).abs() < 0.1,
            "{growth:#}"
        );
    }
    // A size larger than one that did not fit is not started.
    let runs = bench.runs().len();
    bench.json(&["scale", "v1", "--seq-len=512,1024", "--batch-size=16,32"]);
    assert_eq!(bench.runs().len(), runs + 1);
}

#[test]
fn scale_sets_targets_and_the_workshop_side_by_side() {
    let bench = Bench::new(&json!({
        "targets": {"v1": {}, "v4": {"ms": 2.5}}, "growth": [1.5, 0.8], "noise": 0.01, "starts": 0.005,
    }));
    let document = bench.json(&[
        "scale",
        "v1",
        "v4",
        "--seq-len=128,256",
        "--batch-size=4,8",
        "--rounds=3",
        "--workshop",
    ]);
    let over = document["over_the_first"].as_array().expect("a list");
    assert_eq!(over.len(), 4);
    for at in over {
        let ratio = number(at, "/relative_time/ratio");
        assert!((0.24..0.26).contains(&ratio), "{at:#}");
        assert_eq!(text(at, "/name"), "v4");
        assert_eq!(text(at, "/relative_time/finding/finding"), "faster");
    }
    let claim = |what: &str, version: &str| {
        let claims = document["workshop"].as_array().expect("a list").iter();
        claims
            .filter(|claim| text(claim, "/version") == version)
            .find(|claim| text(claim, "/what").starts_with(what))
            .unwrap_or_else(|| panic!("nothing on {what} of {version}"))
            .clone()
    };
    let linear = claim("time with sequence", "v4");
    assert_eq!(text(&linear, "/workshop"), "O(S)");
    assert!(
        (number(&linear, "/measured") - 1.5).abs() < 0.1,
        "{linear:#}"
    );
    let batch = claim("time from batch 4 to 8, S 128", "v1");
    assert_eq!(text(&batch, "/workshop"), "1.95x");
    assert!(
        (number(&batch, "/measured") - 2_f64.powf(0.8)).abs() < 0.1,
        "{batch:#}"
    );
}

#[test]
fn compare_takes_turns_and_sets_other_programs_beside_the_targets() {
    let bench = Bench::new(&versions());
    let peer = r#"echo a line; echo '{"peer": "other", "variant": "eager", "step_ms": 20.0, "samples_s": 400.0, "peak_mb": 2}'"#;
    let asked = [
        "compare",
        "v1",
        "v2:--seed=1",
        "--rounds=4",
        "--no-phases",
        "--peer",
        peer,
        "--num-steps=40",
    ];
    let document = bench.json(&asked);
    let rows = document["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["relative_time"], Value::Null);
    let rounds = rows[0]["step_ms_of_runs"].as_array().map(Vec::len);
    assert_eq!(
        (rounds, &rows[0]["first_step_ms"]),
        (Some(4), &json!(100.0))
    );
    assert_eq!(text(&rows[1], "/name"), "v2 --seed=1");
    assert_eq!(text(&rows[1], "/relative_time/finding/finding"), "faster");
    let peer = &document["peers"][0];
    assert_eq!(text(peer, "/name"), "other eager");
    let ratio = number(peer, "/relative_time/ratio");
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
    assert_eq!(peer["relative_time"]["interval"], Value::Null);
    assert_eq!(peer["launches_per_step"], Value::Null);
    assert_eq!(peer["peak_bytes"], json!(2 << 20));
    let order = |at: usize| {
        let path = bench
            .path("state/tinyllama-tutor/runs")
            .join(&bench.runs()[at]);
        let record = std::fs::read_to_string(path.join("run.json")).expect("kept");
        record.contains("\"v2\"")
    };
    // The second round starts with the other target.
    assert_eq!([0, 1, 2, 3].map(order), [false, true, true, false]);
    let shown = stdout(&bench.run(&asked));
    let line = |name: &str| {
        let lines = shown.lines().filter(|line| line.starts_with(name));
        lines.map(str::to_owned).collect::<Vec<_>>().join("; ")
    };
    let peers_line = line("other eager");
    assert!(
        peers_line.contains("20.000")
            && peers_line.contains("400.0")
            && peers_line.contains("2.0 MiB"),
        "{shown}"
    );
    assert!(line("v1").contains("0.1 s"), "{shown}");
}

/// Errors that need no run are reported before the first run: an invalid peer, flag or switch.
#[test]
fn mistakes_are_found_before_the_first_run() {
    let bench = Bench::new(&versions());
    for (asked, status, why) in [
        (
            &["compare", "v1", "--peer", "/nowhere/peer"][..],
            2,
            "/nowhere/peer",
        ),
        (&["compare", "v1", "--peer", "echo nothing"], 1, "step_ms"),
        (&["compare", "v1", "--peer", "exit 3"], 1, "exit status: 3"),
        (&["compare", "v1", "v2:--nonsense=1"], 2, "--graph-fusion"),
        (
            &["compare", "v1", "stage2:--qkv-fusion=on"],
            2,
            "stage2 takes no fusion switches",
        ),
        (&["compare", "v1", "--hidden=0"], 2, "hidden"),
        (&["compare", "v1", "--rounds=0"], 2, "from 1 to 1000"),
        (
            &["compare", "v1", "--confidence=100"],
            2,
            "from 50.1 to 99.999",
        ),
        (&["compare", "v1", "--", "--num-stops=3"], 2, "--num-stops"),
        (&["ablate", "v2", "--switches=foo"], 2, "swiglu-fusion"),
        (
            &["ablate", "v2", "--switches=qkv-fusion,qkv-fusion"],
            2,
            "each once",
        ),
        (&["scale", "v1", "--batch-size=4,0"], 2, "from 1 to"),
        (
            &["batch-size", "v1", "--memory=1.5"],
            2,
            "from 0.001 to 1.0",
        ),
        (
            &["regress", "v1", "--against=v2", "--min-speedup=0"],
            2,
            "from 0.001 to",
        ),
    ] {
        let output = bench.run(asked);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{asked:?}: {said}");
        assert!(said.contains(why), "{asked:?}: {said}");
    }
    assert!(
        !bench.path("state/tinyllama-tutor/runs").exists(),
        "{:?}",
        bench.runs()
    );
}

#[test]
fn the_old_name_of_compare_is_answered_with_the_new_one() {
    let bench = Bench::new(&versions());
    let old = bench.run(&[
        "bench",
        "v1",
        "v2:--seed=1 --dtype=f32",
        "--peer",
        "a b",
        "--help",
    ]);
    assert_eq!(old.status.code(), Some(2));
    let said = stderr(&old);
    assert!(
        said.contains("tinyllama-tutor compare v1 'v2:--seed=1 --dtype=f32' --peer 'a b' --help"),
        "{said}"
    );
}

/// Tables fit a terminal of 80 columns, even if the backend does not report some figures.
#[test]
fn tables_fit_a_narrow_terminal_and_leave_out_what_nothing_reported() {
    let bench = Bench::new(&versions());
    let shown = stdout(&bench.run(&["compare", "v1", "v2", "--rounds=1", "--no-phases"]));
    let columns = ["forward", "backward", "optimizer", "achieved", "energy"].join(", ");
    assert!(
        shown.contains(&format!("not reported: {columns}")),
        "{shown}"
    );
}

#[test]
fn batch_size_finds_the_limit_of_the_memory() {
    // 1024 tokens take 400 MB on a device with 1 GB, so a sample of 128 tokens takes 50 MB.
    let bench = Bench::new(&json!({"targets": {"v1": {}}, "growth": [1.0, 0.5]}));
    let document = bench.json(&[
        "batch-size",
        "v1",
        "--memory=0.8",
        "--optimize=memory",
        "--exact",
    ]);
    assert_eq!(number(&document, "/best"), 16.0, "{document:#}");
    let document = bench.json(&["batch-size", "v1", "--memory=0.8"]);
    assert_eq!(
        number(&document, "/best"),
        16.0,
        "throughput grows to the end: {document:#}"
    );
    let nothing = bench.run(&["batch-size", "v1", "--memory=0.001"]);
    assert_eq!(nothing.status.code(), Some(1), "{}", stdout(&nothing));
}

#[test]
fn regress_fails_on_what_got_worse_and_only_on_that() {
    let bench = Bench::new(&versions());
    let file = bench.path("baseline.json");
    let file = file.to_string_lossy().into_owned();
    let baseline = ["--baseline", &file];
    let saved = bench.run(
        &[
            &["regress", "v1", "v2", "--save", "--seed=3", "--rounds=4"],
            &baseline[..],
        ]
        .concat(),
    );
    assert!(saved.status.success(), "{}", stderr(&saved));
    // Without targets, those in the file run again with its flags.
    let same = bench.run(&[&["regress", "--rounds=4"], &baseline[..]].concat());
    assert_eq!(same.status.code(), Some(0), "{}", stdout(&same));

    let mut slower = versions();
    slower["targets"]["v2"] = json!({"ms": 8.0, "launches": 600});
    bench.change(&slower);
    let report = bench.path("junit.xml");
    let ci = ["--ci", &*report.to_string_lossy()].map(String::from);
    let worse = bench.run(&[&["regress", "--rounds=4", &ci[0], &ci[1]], &baseline[..]].concat());
    assert_eq!(worse.status.code(), Some(1), "{}", stdout(&worse));
    let regressions: Vec<String> = stdout(&worse)
        .lines()
        .filter(|line| line.contains("REGRESSION"))
        .map(|line| {
            line.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(regressions, ["v2 step", "v2 throughput", "v2 launches"]);
    let xml = std::fs::read_to_string(report).expect("written");
    assert!(xml.contains("failures=\"3\""), "{xml}");

    let speedup = ["--min-speedup=1.4", "--against=v1", "--rounds=4"];
    let short = bench.run(
        &[
            &["regress", "v2"],
            &speedup[..],
            &["--seed=3"],
            &baseline[..],
        ]
        .concat(),
    );
    assert!(
        stdout(&short).contains("speed-up"),
        "{} {}",
        stdout(&short),
        stderr(&short)
    );

    // A speed-up needs no baseline. A target that a baseline lacks is reported as missing.
    let asked = ["regress", "v2", "--against=v1", "--min-speedup=1.1"];
    let alone = bench.json(&[&asked[..], &["--rounds=4"]].concat());
    assert_eq!(text(&alone, "/outcomes/0/figure"), "speedup", "{alone:#}");
    assert_eq!(alone["baseline"], Value::Null);
    let missing = bench.json(
        &[
            &["regress", "v1", "v3", "--seed=3", "--rounds=1"],
            &baseline[..],
        ]
        .concat(),
    );
    let of_v3 = missing["outcomes"].as_array().expect("a list");
    let of_v3: Vec<&Value> = of_v3
        .iter()
        .filter(|outcome| text(outcome, "/target") == "v3")
        .collect();
    assert_eq!(of_v3.len(), 1, "{missing:#}");
    assert_eq!(text(of_v3[0], "/verdict"), "not_compared");

    slower["device"] = json!("Another GPU");
    bench.change(&slower);
    let elsewhere = bench.run(&[&["regress"], &baseline[..]].concat());
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(
        stderr(&elsewhere).contains("device"),
        "{}",
        stderr(&elsewhere)
    );
}

/// The expected scenario: stage 2 is slower than 3, the parts of 3 do not add up to its total, the forward pass of 4
/// is slow, and 6 has no gradients.
fn scenario() -> Value {
    json!({
        "targets": {
            "v1": {"ms": 12.0},
            "stage1": {"ms": 60.0, "loss": [400.0, 300.0], "waits": false},
            "stage2": {"attention_ms": 1.0, "ms": 20.0, "waits": false},
            "stage3": {"ms": 20.0, "parts": [0.02, 0.03, 0.01], "waits": false},
            "stage4": {"ms": 20.0, "parts": [0.7, 0.2, 0.1]},
            "stage5": {"ms": 8.0},
            "stage6": {"ms": 3.0, "with_gradient": 1, "loss": [6.9, 6.9]},
        },
        "noise": 0.02, "starts": 0.01,
    })
}

fn shown(document: &Value) -> Vec<&str> {
    (0..7)
        .map(|at| text(document, &format!("/findings/effects/{at}/shows")))
        .collect()
}
