//! Tests that the tutor never claims to have stored what it could not store: with full disks, and with folders that
//! disappear while it is open.

#[path = "common/small_disk.rs"]
mod small_disk;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use small_disk::SmallDisk;
use tempfile::TempDir;
use tinyllama_session::{Session, SessionError, SessionEvent, SessionLocation};
use tinyllama_ui::plain::FAREWELL;

/// Whether the tutor claims that it stored everything.
fn is_saved(said: &str) -> bool {
    said.contains(FAREWELL.split('.').next().unwrap())
}

struct Plain {
    child: Child,
    said: String,
}

impl Plain {
    fn start(state: &Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
            .arg("--plain")
            .env("XDG_STATE_HOME", state)
            .env("USER", "ada")
            .env_remove("TINYLLAMA_CLASS")
            .env_remove("TINYLLAMA_LESSONS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut plain = Self {
            child,
            said: String::new(),
        };
        plain.read_to_prompt();
        plain
    }

    fn read_to_prompt(&mut self) {
        let output = self.child.stdout.as_mut().unwrap();
        let mut byte = [0];
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\n> ") && output.read(&mut byte).unwrap() > 0 {
            bytes.push(byte[0]);
        }
        self.said.push_str(&String::from_utf8_lossy(&bytes));
    }

    fn enter(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.read_to_prompt();
    }

    /// Returns the exit status, all output, and the error stream.
    fn end(mut self) -> (Option<i32>, String, String) {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        (
            output.status.code(),
            self.said + &String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }
}

#[test]
fn a_folder_that_is_gone_is_told_and_ends_with_a_status() {
    let state = TempDir::new().unwrap();
    let whole = Plain::start(state.path());
    let (status, said, _) = {
        let mut plain = whole;
        plain.enter("quit");
        plain.end()
    };
    assert_eq!(status, Some(0));
    assert!(is_saved(&said), "{said}");
    for (leaving, moved) in [(Some("quit"), false), (None, false), (Some("quit"), true)] {
        let mut plain = Plain::start(state.path());
        let folder = state.path().join("tinyllama-tutor");
        match moved {
            true => fs::rename(&folder, state.path().join("elsewhere")).unwrap(),
            false => fs::remove_dir_all(&folder).unwrap(),
        }
        if let Some(line) = leaving {
            plain.enter(line);
        }
        let (status, said, errors) = plain.end();
        assert_eq!(status, Some(3), "{said}{errors}");
        assert!(!is_saved(&said), "{said}");
        let errors = errors.replace(&*folder.to_string_lossy(), "[session]");
        // How many events were lost depends on the time that passed.
        let at = errors.find("not kept").unwrap_or_default();
        insta::assert_snapshot!("gone", &errors[at..]);
        let _ = fs::remove_dir_all(&folder);
    }
}

#[test]
fn a_folder_that_comes_back_gets_what_was_missing() {
    let folder = TempDir::new().unwrap();
    let place = SessionLocation::new(folder.path(), "ada");
    let note = |text: &str| SessionEvent::Note { text: text.into() };
    let mut session = Session::open(place.clone()).unwrap();
    let away = folder.path().join("away");
    fs::rename(&place.folder, &away).unwrap();
    let written = "while it was away";
    let error = session.record(note(written)).unwrap_err();
    assert!(matches!(error, SessionError::Gone { .. }), "{error}");
    let error = session.finish().unwrap_err();
    assert!(
        matches!(error, SessionError::NotKept { events: 1, .. }),
        "{error}"
    );
    fs::rename(&away, &place.folder).unwrap();
    session.finish().unwrap();
    drop(session);
    assert_eq!(Session::open(place).unwrap().state().notes, [written]);
}

#[test]
fn a_full_disk_is_told_and_an_existing_session_still_opens() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: this process may not mount a small disk");
        return;
    };
    let mut plain = Plain::start(disk.path());
    let fill = |disk: &Path| {
        let mut ballast = fs::File::create(disk.join("ballast")).unwrap();
        while ballast.write_all(&[0; 512]).is_ok() {}
    };
    fill(disk.path());
    // Each line adds a record with its time, until the rest of the log's last page is full.
    for _ in 0..40 {
        plain.enter("messages");
    }
    plain.enter("quit");
    let (status, said, errors) = plain.end();
    assert_eq!(status, Some(3), "{said}{errors}");
    assert!(
        !is_saved(&said) && errors.contains("not kept"),
        "{said}{errors}"
    );

    let mut plain = Plain::start(disk.path());
    assert!(plain.said.contains("help"), "it opens");
    plain.enter("outline");
    fs::remove_file(disk.path().join("ballast")).unwrap();
    plain.enter("quit");
    let (status, said, errors) = plain.end();
    assert_eq!(status, Some(0), "{said}{errors}");
    assert!(is_saved(&said), "{said}");
}

#[test]
fn an_export_that_fails_leaves_nothing_that_blocks_the_next() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: this process may not mount a small disk");
        return;
    };
    let folder = TempDir::new().unwrap();
    let place = SessionLocation::new(folder.path(), "ada");
    let mut session = Session::open(place.clone()).unwrap();
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        char::from(b'a' + (state >> 59) as u8 % 26)
    });
    let text: String = noise.take(400_000).collect();
    session
        .record_all(vec![SessionEvent::Note { text }])
        .unwrap();
    drop(session);
    let archive = disk.path().join("ada.tar.gz");
    let export = || tinyllama_session::archive::export(&place, &archive);
    assert!(export().is_err(), "128 KiB do not hold it");
    assert!(!archive.exists());
    fs::remove_dir_all(&place.folder).unwrap();
    drop(Session::open(place.clone()).unwrap());
    export().unwrap();
}

#[test]
fn a_trace_that_a_full_disk_cuts_leaves_the_one_before() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: this process may not mount a small disk");
        return;
    };
    let path = disk.path().join("trace.json");
    let trace = || {
        Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
            .args([
                "trace",
                "v1",
                "--config=tiny",
                "--batch-size=1",
                "--num-steps=1",
            ])
            .args(["--backend=cpu", "--output"])
            .arg(&path)
            .output()
            .unwrap()
    };
    let ballast = disk.path().join("ballast");
    let fill = || {
        let mut file = fs::File::create(&ballast).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
    };
    fill();
    let output = trace();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("cannot write the trace"), "{errors}");
    assert!(!path.exists(), "a torn file");

    fs::remove_file(&ballast).unwrap();
    fs::write(&path, "an older trace").unwrap();
    fill();
    assert_ne!(trace().status.code(), Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), "an older trace");

    fs::remove_file(&ballast).unwrap();
    let output = trace();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(&path).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
}
