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

/// What rocprofv3 writes into its database of the process that it profiled.
const TOKEN: &str = "hf_SecretTokenOfAda";

#[test]
fn the_environment_in_a_profile_does_not_travel_unasked() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let profiles = place.runs().join("0001-v1/profiles/hotspots");
    fs::create_dir_all(&profiles).unwrap();
    let database = profiles.join("1_results.db");
    let statements = format!(
        "CREATE TABLE rocpd_metadata (id, tag, value);
         INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '3'), (2, 'guid', 'g');
         CREATE TABLE rocpd_info_node_a (id INTEGER PRIMARY KEY, hostname);
         INSERT INTO rocpd_info_node_a VALUES (1, 'host_of_ada');
         CREATE TABLE rocpd_info_process_a (id INTEGER PRIMARY KEY, command, environment NOT NULL);
         INSERT INTO rocpd_info_process_a VALUES (1, './train --key {TOKEN}', '{{\"HF_TOKEN\": \"{TOKEN}\"}}');
         CREATE VIEW processes AS SELECT command FROM rocpd_info_process_a;
         CREATE TABLE kernels (name, start, \"end\", dispatch_id);
         INSERT INTO kernels VALUES ('gemm', 100, 250, 1);"
    );
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute_batch(&statements).unwrap();
    drop(connection);
    let packed = profiles.join("2_results.db.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &fs::read(&database).unwrap()).unwrap();
    fs::write(&packed, encoder.finish().unwrap()).unwrap();

    let file = folder.path().join("ada.tar.gz");
    let withheld = archive::export(&place, &file).unwrap();
    let path = Path::new("runs/0001-v1/profiles/hotspots");
    assert_eq!(withheld.rewritten, [path.join("1_results.db")]);
    assert_eq!(withheld.left_out[0].0, path.join("2_results.db.gz"));
    let lines = withheld.lines().join("\n");
    assert!(
        lines.contains("environment") && lines.contains("2_results.db.gz was left out"),
        "{lines}"
    );

    let mut content = Vec::new();
    let mut unpacked = flate2::read::GzDecoder::new(fs::File::open(&file).unwrap());
    std::io::Read::read_to_end(&mut unpacked, &mut content).unwrap();
    let has = |bytes: &[u8], text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(
        has(&content, "1_results.db") && has(&content, "gemm"),
        "the profile itself travels"
    );
    for secret in [TOKEN, "host_of_ada", "./train"] {
        assert!(
            has(&fs::read(&database).unwrap(), secret),
            "{secret} is looked for in vain"
        );
        assert!(!has(&content, secret), "{secret} is in the archive");
    }
    // What was taken out is no part of what a session proves.
    let there = SessionLocation::new(folder.path().join("elsewhere"), "ada");
    assert_eq!(archive::import(&file, &there).unwrap(), []);
    let import = tinyllama_profile::import(&there.folder.join(path)).unwrap();
    assert_eq!(
        (import.profile.dispatches.len(), import.damage.len()),
        (1, 0)
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
