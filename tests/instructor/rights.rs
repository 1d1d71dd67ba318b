//! Owners, groups and modes of a class folder.

use super::*;

#[test]
fn rights_are_those_of_the_file_system() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let class = folder.path().join("class");
    fs::create_dir(&class).unwrap();
    if std::os::unix::fs::chown(&class, Some(TEACHER), Some(STAFF)).is_err() {
        eprintln!("SKIPPED: only root can try this as several users");
        return;
    }
    fs::set_permissions(&class, Permissions::from_mode(0o3773)).unwrap();
    let Some(opened) = as_user(&class, ADA, ADA, "open", "ada") else {
        eprintln!("SKIPPED: this program cannot be started as another user from where it lies");
        return;
    };
    assert!(opened.contains("opened, 0 notices"), "{opened}");
    let run = |user, group, role, learner| as_user(&class, user, group, role, learner).unwrap();
    // Another learner cannot read or do anything.
    assert!(run(EVE, EVE, "look", "ada").contains("PermissionDenied"));
    assert!(run(EVE, EVE, "send", "ada").contains("Err"));
    assert!(run(EVE, EVE, "open", "ada").contains("refused"));
    // An instructor can read and give orders, but writes nothing except the order.
    assert!(run(TEACHER, STAFF, "look", "ada").contains("Ok("));
    assert!(run(TEACHER, STAFF, "send", "ada").contains("Waits"));
    let refused = run(TEACHER, STAFF, "open", "ada");
    assert!(
        refused.contains("refused: NotYours") && refused.contains(&format!("owner: {ADA} ")),
        "{refused}"
    );
    assert!(run(ADA, ADA, "open", "ada").contains("opened, 1 notices"));
    // A folder that another user created under a learner's name is not used.
    run(EVE, EVE, "squat", "bob");
    assert!(run(ADA, ADA, "open", "bob").contains("refused"));
    // A pin is ignored if it does not belong to the owner of the class.
    fs::write(
        class.join(".class.json"),
        r#"{"lesson":"memory","by":"Eve"}"#,
    )
    .unwrap();
    std::os::unix::fs::chown(class.join(".class.json"), Some(EVE), None).unwrap();
    assert_eq!(class_file::read(&class).unwrap(), None);
    std::os::unix::fs::chown(class.join(".class.json"), Some(TEACHER), None).unwrap();
    assert!(class_file::read(&class).unwrap().is_some());
}

#[test]
fn a_class_that_does_not_keep_its_learners_apart_is_refused_by_the_first_command() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let class = folder.path().join("class");
    fs::create_dir(&class).unwrap();
    if std::os::unix::fs::chown(&class, Some(TEACHER), Some(STAFF)).is_err() {
        eprintln!("SKIPPED: only root can try this as several users");
        return;
    }
    let open = |group, learner: &str| {
        let user = if learner == "ada" { ADA } else { EVE };
        program_as(user, group, &class, &["--plain", "--learner", learner])
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    // Folders for a learners' group without and with the sticky bit, and a folder that everyone may write into.
    for (mode, group, why) in [
        (0o2775, STAFF, "no sticky bit"),
        (0o3773, STAFF, "you are in the group"),
        (0o777, ADA, "everybody may write"),
    ] {
        fs::set_permissions(&class, Permissions::from_mode(mode)).unwrap();
        let Some(output) = open(group, "ada") else {
            eprintln!("SKIPPED: this program cannot be started as another user from where it lies");
            return;
        };
        let text = said(&output);
        assert_eq!(status(&output), 3, "{mode:o}: {text}");
        assert!(text.contains(why) && text.contains("chmod 3773"), "{text}");
        assert!(!class.join("ada").exists(), "{mode:o}");
    }
    let warned = program_as(TEACHER, STAFF, &class, &["instructor", "list"]).unwrap();
    let warning = said(&warned).replace(&*class.to_string_lossy(), "[class]");
    insta::assert_snapshot!(warning);

    // The permissions that the documents describe.
    fs::set_permissions(&class, Permissions::from_mode(0o3773)).unwrap();
    let opened = open(ADA, "ada").unwrap();
    assert_eq!(status(&opened), 0, "{}", said(&opened));
    assert_eq!(status(&open(EVE, "eve").unwrap()), 0);
    let eve = |args: &[&str]| program_as(EVE, EVE, &class, args).unwrap();
    assert_ne!(status(&eve(&["session", "show", "--learner", "ada"])), 0);
    assert_ne!(
        status(&eve(&["instructor", "reset", "ada", "--whole-course"])),
        0
    );
    let moved = Command::new("mv")
        .args([class.join("ada"), class.join("x")])
        .uid(EVE)
        .gid(EVE)
        .output()
        .unwrap();
    assert!(!moved.status.success(), "{moved:?}");
    let listed = program_as(TEACHER, STAFF, &class, &["instructor", "list"]).unwrap();
    assert!(!said(&listed).contains("warning"), "{}", said(&listed));
    assert!(String::from_utf8_lossy(&listed.stdout).contains("ada"));
}

/// The documents name the same permissions that the program requires.
#[test]
fn the_documents_name_the_rights_that_keep_learners_apart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in ["README.md", "docs/guide/cluster.md", "docs/design/trust.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        assert!(text.contains("chmod 3773"), "{page}");
        assert!(!text.contains("2775"), "{page}");
    }
    let help = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(["instructor", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("chmod 3773"), "{help}");
}
