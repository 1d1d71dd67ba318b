//! Disks that are full or read-only.

use super::*;

#[test]
fn running_out_of_space_is_said_and_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let child = child(folder.path(), 0);
    // A limit on file size makes a write fail in the middle of a line, as a full disk does.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -S -f 20; exec \"$@\"", "sh"])
        .arg(child.get_program())
        .args(child.get_args());
    for (key, value) in child.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    let output = shell.stderr(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("failed 1 "), "{text}");
    let promised = acknowledged(&text);
    assert!(
        promised.len() > 5 && promised.last().is_some_and(|last| last == "room again"),
        "{text}"
    );
    let session = Session::open(place(folder.path())).unwrap();
    assert_eq!(session.damage, []);
    // The failed event stayed in memory, and the store wrote it before the last one.
    let mut expected = promised.clone();
    expected.insert(promised.len() - 1, (promised.len() - 1).to_string());
    assert_eq!(session.state().notes, expected);
}

#[test]
fn a_full_and_then_a_read_only_disk_are_said_and_lose_nothing() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: this process may not mount a small disk");
        return;
    };
    let place = place(disk.path());
    let mut session = Session::open(place.clone()).unwrap();
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 60 << 10]).unwrap();
    let text = "x".repeat(1000);
    let mut written = 0;
    let error = loop {
        match session.record(note(&text)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 200, "the disk never filled up");
    };
    let full = error.remedy();
    assert_eq!(session.unsaved(), 1);
    // The file is also intact while the disk is full.
    let kept = scan(&place.events()).unwrap();
    assert_eq!((kept.damage.len(), kept.torn_bytes), (0, 0));
    fs::remove_file(&ballast).unwrap();
    session.save().unwrap();
    assert_eq!(session.unsaved(), 0);
    drop(session);
    disk.make_read_only();
    let error = Session::open(place.clone()).unwrap_err();
    let remedies = format!("{full}\n{}", error.remedy());
    insta::assert_snapshot!(remedies.replace(&disk.path().display().to_string(), "[disk]"));
    let (state, damage) = store::read_only(&place).unwrap();
    assert_eq!((state.notes.len(), damage.len()), (written + 1, 0));
}
