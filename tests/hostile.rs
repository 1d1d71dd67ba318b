//! Tests untrusted text, courses and folders: no terminal obeys them, and no file outside is changed.

mod class;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use class::{MadeUp, course, make_up, place};
use tempfile::TempDir;
use tinyllama_base::untrusted::is_hidden;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_session::{KernelTime, Session, SessionEvent, StepRef};

/// Sets a title and the clipboard, hides text, and adds a line.
const EVIL: &str = "x\u{1b}]0;title\u{7}\u{1b}]52;c;eA==\u{7}\u{1b}[8m\u{9b}8m\u{202e}\r| y";

fn tutor(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(args)
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("USER", "ada")
        .env_remove("TINYLLAMA_CLASS")
        .env_remove("TINYLLAMA_LESSONS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// Returns a command's output. It fails if a terminal would obey any of it.
fn said(folder: &Path, args: &[&str], input: &str) -> String {
    let output = tutor(folder, args, input);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let obeyed = |c: char| c.is_control() && c != '\n' || is_hidden(c);
    assert!(!text.contains(obeyed), "{args:?}: {text:?}");
    text
}

/// Checks that no file below a folder has anything that a terminal obeys when somebody prints it.
fn assert_files_are_plain(folder: &Path, count: usize) {
    let files: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
    assert_eq!(files.len(), count, "{files:?}");
    for file in files {
        let text = fs::read_to_string(file.path()).unwrap();
        let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || is_hidden(c);
        let found = text.char_indices().find(|(_, c)| obeyed(*c));
        let around = found.map(|(at, _)| text[at.saturating_sub(40)..].chars().take(60));
        let around = around.map(Iterator::collect::<String>);
        assert_eq!(around, None, "{}", file.path().display());
    }
}

/// A copy of the small course with one passage replaced.
fn course_with(folder: &Path, from: &str, to: &str) -> Result<Course, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
    copy(&source, folder, &|text| text.replace(from, to));
    Course::load(&CourseSource::Folder(folder.to_path_buf()))
        .map_err(|problems| problems.to_string())
}

fn copy(from: &Path, to: &Path, change: &dyn Fn(&str) -> String) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target, change),
            false => fs::write(target, change(&fs::read_to_string(entry.path()).unwrap())).unwrap(),
        }
    }
}

#[test]
fn sessions_and_classes_cannot_command_a_terminal() {
    let folder = TempDir::new().unwrap();
    let class = folder.path().join("class");
    let bob = place(&class, "bob");
    let mut session = Session::open(bob.clone()).unwrap();
    session.record_opening(EVIL, EVIL).unwrap();
    let at = StepRef::new("welcome", EVIL);
    let events = [
        SessionEvent::Created {
            format: 1,
            version: EVIL.into(),
            learner: EVIL.into(),
            host: EVIL.into(),
            session: EVIL.into(),
        },
        SessionEvent::StepEntered { at: at.clone() },
        SessionEvent::StepSkipped {
            at: at.clone(),
            note: EVIL.into(),
        },
        SessionEvent::Reflected {
            at: at.clone(),
            text: EVIL.into(),
        },
        SessionEvent::Message {
            from: EVIL.into(),
            text: EVIL.into(),
        },
        SessionEvent::Note { text: EVIL.into() },
        SessionEvent::KernelTimed {
            exercise: EVIL.into(),
            sha256: EVIL.into(),
            timed: KernelTime {
                device: EVIL.into(),
                milliseconds: 1.0,
                gigabytes_per_s: 1.0,
                gigaflops_per_s: 1.0,
            },
        },
        SessionEvent::KernelChecked {
            at: None,
            exercise: EVIL.into(),
            passed: false,
            findings: vec![EVIL.into()],
            sha256: EVIL.into(),
            text: None,
        },
        SessionEvent::Pinned {
            lesson: Some(EVIL.into()),
            by: EVIL.into(),
        },
    ];
    session.record_all(events.to_vec()).unwrap();
    session
        .start_run("1-v1", Some(at), EVIL, vec!["run".into(), EVIL.into()])
        .unwrap();
    let evil = MadeUp {
        device: EVIL.into(),
        ..MadeUp::new("v1", 20.0)
    };
    make_up(&mut session, "2-v1", None, &evil, 1);
    drop(session);
    fs::write(
        class.join(".class.json"),
        serde_json::json!({"lesson": EVIL, "by": EVIL}).to_string(),
    )
    .unwrap();
    let in_class = ["--class", "class"];
    let with = |args: &[&'static str]| [args, &in_class[..]].concat();
    for args in [
        with(&["session", "show", "--learner", "bob"]),
        with(&["session", "verify", "--learner", "bob"]),
        with(&["instructor", "list"]),
        with(&["instructor", "show", "bob"]),
        with(&[
            "report",
            "--learner",
            "bob",
            "-o",
            "out",
            "--format",
            "md,html,json",
        ]),
        with(&["report", "--learner", "bob", "--card"]),
        with(&["runs", "list", "--learner", "bob"]),
        vec!["report", "verify", "out/session.json"],
        vec!["report", "verify", "class/bob"],
        vec!["report", "merge", "class", "-o", "merged"],
    ] {
        for args in [args.clone(), [&args[..], &["--json"]].concat()] {
            let text = said(folder.path(), &args, "");
            assert!(text.len() > 10, "{args:?}: {text}");
        }
    }
    assert_files_are_plain(&folder.path().join("out"), 3);
    assert_files_are_plain(&folder.path().join("merged"), 6);
    let shown = said(folder.path(), &["report", "verify", "class/bob"], "");
    assert!(shown.contains("x^[]0;title^G"), "it is seen: {shown}");
    let markdown = fs::read_to_string(folder.path().join("out/report.md")).unwrap();
    assert!(
        !markdown.contains(|c: char| c.is_control() && c != '\n'),
        "{markdown:?}"
    );
    let text = said(
        folder.path(),
        &with(&["--plain", "--learner", "bob"]),
        "messages\nquit\n",
    );
    assert!(text.contains("^[]52;c;"), "{text}");
}

#[test]
fn profiles_cannot_command_a_terminal_or_break_a_table() {
    let folder = TempDir::new().unwrap();
    let row = |name: &str| {
        format!("\"KERNEL_DISPATCH\",1,1,1,1,1,\"{name}\",1,100,250,0,0,8,0,16,64,1,1,64,1,1\n")
    };
    let head = "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n";
    let name = format!("evil\n{EVIL}").replace(' ', "");
    let damaged = row("b").replace("250", &format!("\"{EVIL}\""));
    fs::write(
        folder.path().join("a_kernel_trace.csv"),
        format!("{head}{}{damaged}", row(&name)),
    )
    .unwrap();
    let text = said(
        folder.path(),
        &["profile", "import", "a_kernel_trace.csv"],
        "",
    );
    assert!(text.lines().any(|line| line.contains("evil x^[")), "{text}");
    assert!(text.contains("damaged"), "{text}");
    said(
        folder.path(),
        &[
            "profile",
            "compare",
            "a_kernel_trace.csv",
            "a_kernel_trace.csv",
        ],
        "",
    );

    // Unknown columns neither hide launches nor become counters.
    let head = head.replace("\"Kind\"", "\"Queue_Name\",\"Context_Id\",\"Kind\"");
    let row = format!("compute,7,{}", row("rms_norm"));
    fs::write(
        folder.path().join("b_kernel_trace.csv"),
        format!("{head}{row}"),
    )
    .unwrap();
    let text = said(
        folder.path(),
        &["profile", "import", "b_kernel_trace.csv"],
        "",
    );
    assert!(
        text.contains("skipped: Queue_Name, Context_Id") && text.contains("rms_norm"),
        "{text}"
    );
    assert!(
        !text.contains("damaged") && !text.contains("Counters of"),
        "{text}"
    );

    // A truncated table, and ranges that have the names of calls.
    let stats = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\"a\",1,600,600,60.0\n";
    fs::write(folder.path().join("c_kernel_stats.csv"), stats).unwrap();
    let text = said(
        folder.path(),
        &["profile", "import", "c_kernel_stats.csv"],
        "",
    );
    assert!(
        text.contains("was cut") && text.contains("60.0 %"),
        "{text}"
    );
    let refused = tutor(
        folder.path(),
        &[
            "profile",
            "import",
            "c_kernel_stats.csv",
            "--perfetto",
            "out",
        ],
        "",
    );
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let calls = "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\
        \"HIP_RUNTIME_API\",\"hipLaunchKernel\",1,1,1,100,200\n\"MARKER_CORE_API\",\"hipLaunchKernel\",1,1,2,50,900\n";
    fs::write(folder.path().join("d_hip_api_trace.csv"), calls).unwrap();
    let output = tutor(
        folder.path(),
        &["profile", "import", "d_hip_api_trace.csv", "--json"],
        "",
    );
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["calls"][0]["total_ns"], 100.0);
    assert_eq!(value["markers"][0]["total_ns"], 850.0);
    assert_eq!(value["launches"]["calls"]["count"], 1);
}

#[test]
fn courses_cannot_command_a_terminal_or_reach_outside() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("course");
    let title = course_with(
        &root,
        "\ntitle: ",
        &format!("\ntitle: \"{}\" #", r"x\e]0;title\a\e[8m"),
    );
    title.unwrap();
    for args in [
        &["lessons", "list", "--lessons", "course"][..],
        &["lessons", "lint", "--lessons", "course"],
    ] {
        said(folder.path(), args, "");
    }
    let text = said(
        folder.path(),
        &["--plain", "--lessons", "course"],
        "outline\nnext\nquit\n",
    );
    assert!(text.contains("x^[]0;title^G"), "{text}");
    let id = Course::load(&CourseSource::Folder(root.clone()))
        .unwrap()
        .lessons()
        .next()
        .unwrap()
        .id
        .clone();
    said(
        folder.path(),
        &["lessons", "show", &id, "--lessons", "course"],
        "",
    );

    for (flags, refused) in [
        ("--trace /tmp/x", true),
        ("--data=/etc/passwd --sample 9", true),
        ("--events", true),
        ("--num-steps 3 --seed 1", false),
    ] {
        let root = folder.path().join(format!("course-{}", flags.len()));
        let changed = course_with(&root, "flags: ", &format!("flags: \"{flags}\" #"));
        match changed {
            Err(why) if refused => {
                let flag = flags.split([' ', '=']).next().unwrap();
                let why = why.replace(&*root.to_string_lossy(), "[course]");
                let (why, _) = why.split_once("; it may give: ").unwrap();
                insta::allow_duplicates! {
                    insta::assert_snapshot!(
                        why.replace(flag, "[flag]"),
                        @"[course]/basics/first.yaml:33:12: a course may not give `[flag]` to a run, since it could name files outside the session"
                    );
                }
            }
            changed => assert!(!refused && changed.is_ok(), "{flags}: {changed:?}"),
        }
    }
    // The built-in course stays within these limits.
    assert!(course().lessons().count() > 10);
}

#[test]
fn stored_files_belong_to_their_learner_alone_after_any_first_command() {
    let folder = TempDir::new().unwrap();
    tutor(folder.path(), &["doctor"], "");
    said(folder.path(), &["--plain"], "quit\n");
    fn files_open(path: &Path) -> Vec<PathBuf> {
        let found = fs::symlink_metadata(path).unwrap();
        let mut open = Vec::new();
        if found.permissions().mode() & 0o077 != 0 {
            open.push(path.to_owned());
        }
        if found.is_dir() {
            let entries = fs::read_dir(path).unwrap().flatten();
            open.extend(entries.flat_map(|entry| files_open(&entry.path())));
        }
        open
    }
    let state = folder.path().join("state/tinyllama-tutor");
    assert!(state.join("events.jsonl").exists() && state.join("lock").exists());
    assert_eq!(files_open(&state), Vec::<PathBuf>::new(), "open to others");
}
