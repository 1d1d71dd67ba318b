//! Courses, orders and small files.

use super::*;

/// A mutant without a problem in `lessons lint` must open, and every step of the changed lesson must work.
#[test]
fn courses_without_a_problem_open() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons");
    let program = |folder: &Path, words: &[&str], say: &str| {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
            .args(words)
            .arg("--lessons")
            .arg(folder.join("course"))
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("TINYLLAMA_BACKEND", "cpu")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A process that ends early does not read all input.
        let _ = child.stdin.take().unwrap().write_all(say.as_bytes());
        child.wait_with_output().unwrap()
    };
    let mut lessons = Vec::new();
    for session in ["foundation", "optimization", "mastery", "advanced"] {
        let entries = fs::read_dir(root.join(session)).unwrap().flatten();
        lessons.extend(entries.map(|entry| entry.path()));
    }
    lessons.sort();
    let first = setting("MUTANTS_SEED", 1);
    let mut passed = 0;
    for number in 0..setting("MUTANTS", MUTANTS as u64) / 2 {
        let mut random = ChaCha8Rng::seed_from_u64(first + number);
        let lesson = lessons.choose(&mut random).unwrap();
        let folder = TempDir::new().unwrap();
        let course = folder.path().join("course");
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .arg(&root)
            .arg(&course)
            .status();
        assert!(copied.unwrap().success());
        let text = changed_words(&fs::read_to_string(lesson).unwrap(), &mut random);
        fs::write(course.join(lesson.strip_prefix(&root).unwrap()), &text).unwrap();
        if !program(folder.path(), &["lessons", "lint"], "")
            .status
            .success()
        {
            continue;
        }
        passed += 1;
        let name = lesson.file_stem().unwrap().to_string_lossy();
        let say = format!("open {name}\n{}quit\n", "hint\nskip\nagain\n".repeat(12));
        let walked = program(folder.path(), &["--plain"], &say);
        let errors = String::from_utf8_lossy(&walked.stderr);
        assert!(
            walked.status.success() && errors.is_empty(),
            "mutant {number} with MUTANTS_SEED={first} of {}: {errors}\n{text}",
            lesson.display()
        );
    }
    println!("{passed} of the mutants are sound courses");
    assert!(passed > 0);
}

#[test]
fn orders_and_small_files() {
    let (folder, place) = seed();
    let order = serde_json::json!({"format": 1, "by": "ann", "action": {"solve": {"at": {"lesson": "welcome", "step": "doctor"},
        "events": [{"predicted": {"at": {"lesson": "a", "step": "b"}, "value": 1.5}}], "run": {"id": "1-x", "stream": "{}"}}}});
    let home = folder.path().to_path_buf();
    try_all("order", &[order.to_string().into_bytes()], move |bytes| {
        fs::write(place.inbox().join("000-order.json"), bytes).unwrap();
        fs::write(home.join(".class.json"), bytes).unwrap();
        let mut session = Session::open(place.clone()).unwrap();
        for notice in session.poll_notices().unwrap() {
            drop(notice.to_string());
        }
        fs::write(place.lock(), bytes).unwrap();
        lock::holder(&place.lock());
    });
    let seeds = contents(&fixtures("recordings")[..1]);
    try_all("index of recordings", &seeds, |bytes| {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("INDEX.yaml"), bytes).unwrap();
        drop(Library::load(recording::RecordingSource::Folder(
            folder.path().to_path_buf(),
        )));
    });
    let calibration = br#"{"version":1,"measured":0,"program":"0","facts":{"backend":"b","device":"d","arch":null,"driver":null,"memory":1},
        "compute":[],"bandwidth":[],"launch":null,"synchronise":null,"notes":[]}"#;
    try_all("calibration", &[calibration.to_vec()], |bytes| {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("calibration")).unwrap();
        let file = folder.path().join("calibration/b.json");
        fs::write(&file, bytes).unwrap();
        drop(Calibration::load_all(folder.path()));
        drop(Baseline::read(&file));
    });
}
