//! Sessions that travel as one file.

use super::*;

#[test]
fn a_session_travels_as_one_file() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let file = folder.path().join("ada.tar.gz");
    archive::export(&place, &file).unwrap();
    assert!(
        archive::export(&place, &file).is_err(),
        "an existing file was overwritten"
    );

    let there = SessionLocation::new(folder.path().join("elsewhere"), "ada");
    assert_eq!(archive::import(&file, &there).unwrap(), []);
    let (mine, theirs) = (
        store::read_only(&place).unwrap().0,
        store::read_only(&there).unwrap().0,
    );
    assert_eq!(mine, theirs);
    assert!(there.runs().join("0001-v1").is_dir());
    assert!(
        archive::import(&file, &there).is_err(),
        "an existing session was overwritten"
    );
}

#[test]
fn file_modes_in_an_archive_do_not_count() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let events = fs::read(place.events()).unwrap();
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    let files = [
        ("events.jsonl", 0o777, &events[..]),
        ("runs/0001-v1/", 0o000, b""),
        ("runs/0001-v1/events.jsonl", 0o4777, b"{}"),
        ("workbench/deep/kernel.hip", 0o666, b"mine"),
    ];
    for (path, mode, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        if path.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        builder.append_data(&mut header, path, content).unwrap();
    }
    let file = folder.path().join("open.tar.gz");
    fs::write(&file, builder.into_inner().unwrap().finish().unwrap()).unwrap();
    let there = SessionLocation {
        folder: folder.path().join("elsewhere"),
        learner: "ada".into(),
    };
    archive::import(&file, &there).unwrap();
    for (path, mode) in [
        ("events.jsonl", 0o600),
        ("runs", 0o700),
        ("runs/0001-v1", 0o700),
        ("runs/0001-v1/events.jsonl", 0o600),
        ("workbench/deep", 0o700),
        ("workbench/deep/kernel.hip", 0o600),
    ] {
        let found = fs::metadata(there.folder.join(path)).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, mode, "{path}");
    }
    Session::open(there).unwrap();
}

#[test]
fn an_archive_with_a_way_out_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    for (path, kind) in [
        ("../evil", tar::EntryType::Regular),
        ("runs/../../evil", tar::EntryType::Regular),
        ("/evil", tar::EntryType::Regular),
        ("bin/sh", tar::EntryType::Regular),
        ("runs/link", tar::EntryType::Symlink),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        // Bypasses the crate, which refuses to write such names.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        ));
        builder.append(&header, std::io::empty()).unwrap();
        let file = folder.path().join("evil.tar.gz");
        fs::write(&file, builder.into_inner().unwrap().finish().unwrap()).unwrap();
        let class = folder.path().join("class");
        fs::create_dir_all(&class).unwrap();
        let there = SessionLocation::new(&class, "eve");
        let refused = archive::import(&file, &there).unwrap_err();
        let SessionError::NoExport { why, .. } = &refused else {
            panic!("{path}: {refused}")
        };
        insta::allow_duplicates! {
            insta::assert_snapshot!(why.replace(path, "[path]"), @"`[path]` does not belong in a session");
        }
        assert_eq!(fs::read_dir(&class).unwrap().count(), 0, "{path}");
    }
}
