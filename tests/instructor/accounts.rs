//! A class of real accounts: what its documents describe from the first folder to the class report, and what a learner may
//! try against the others.

use super::*;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown, lchown};
use std::path::PathBuf;
use tinyllama_session::StepStatus;

/// The learner who keeps to the rules, and the one who does not.
const HANA: u32 = ADA;
const BOB: u32 = EVE;

struct Accounts {
    root: TempDir,
    class: PathBuf,
}

impl Accounts {
    /// The documented setup: an instructor owns the folder, `chgrp GROUP DIR; chmod 3773 DIR`. `None` if this process
    /// cannot become several users.
    fn new() -> Option<Self> {
        let root = TempDir::new().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        let class = root.path().join("class");
        fs::create_dir(&class).unwrap();
        if chown(&class, Some(TEACHER), Some(STAFF)).is_err() {
            eprintln!("SKIPPED: only root can try this as several users");
            return None;
        }
        fs::set_permissions(&class, Permissions::from_mode(0o3773)).unwrap();
        let accounts = Self { root, class };
        if accounts.start(HANA, &["session", "path"], "").is_none() {
            eprintln!("SKIPPED: this program cannot be started as another user from where it lies");
            return None;
        }
        Some(accounts)
    }

    fn home(&self, user: u32) -> PathBuf {
        let home = self.root.path().join(format!("home-{user}"));
        if !home.exists() {
            fs::create_dir(&home).unwrap();
            fs::set_permissions(&home, Permissions::from_mode(0o700)).unwrap();
            chown(&home, Some(user), Some(user)).unwrap();
        }
        home
    }

    /// A shell command of a user. The teacher is in the group of instructors. Hana's files are her own by default.
    fn shell(&self, user: u32, script: &str) -> Command {
        let umask = if user == HANA {
            "umask 077; "
        } else {
            "umask 022; "
        };
        let group = if user == TEACHER { STAFF } else { user };
        let lessons = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &format!("{umask}{script}"), "sh"])
            .uid(user)
            .gid(group)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap())
            .env("HOME", self.home(user))
            .env("USER", self.name(user))
            .env("TINYLLAMA_CLASS", &self.class)
            .env("TINYLLAMA_LESSONS", lessons)
            .env("TINYLLAMA_BACKEND", "cpu")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.home(user));
        command
    }

    fn name(&self, user: u32) -> &'static str {
        match user {
            HANA => "hana",
            BOB => "bob",
            _ => "teacher",
        }
    }

    fn start(&self, user: u32, args: &[&str], input: &str) -> Option<Output> {
        let mut command = self.shell(user, "exec \"$@\"");
        command
            .arg(env!("CARGO_BIN_EXE_tinyllama-tutor"))
            .args(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().ok()?;
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        // The shell's status for a program that it may not start.
        (output.status.code() != Some(126)).then_some(output)
    }

    /// Runs the program and returns its output, after a check of its status.
    fn run(&self, user: u32, args: &[&str], input: &str, expected: i32) -> String {
        let output = self.start(user, args, input).unwrap();
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(
            output.status.code(),
            Some(expected),
            "{user} {args:?}: {text}"
        );
        text
    }

    /// Opens the tutor as lines.
    fn lines(&self, user: u32, input: &str) -> String {
        self.run(user, &["--plain"], input, 0)
    }

    fn teach(&self, args: &[&str]) -> String {
        self.run(TEACHER, &[&["instructor"], args].concat(), "", 0)
    }

    /// Runs a script as a user, which has to succeed.
    fn does(&self, user: u32, script: &str) {
        let script = script.replace("CLASS", &self.class.display().to_string());
        let output = self.shell(user, &script).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    }

    /// Whether a user succeeds with a script.
    fn can(&self, user: u32, script: &str) -> bool {
        let script = script.replace("CLASS", &self.class.display().to_string());
        self.shell(user, &script).output().unwrap().status.success()
    }

    fn records(&self, learner: &str) -> SessionState {
        let scan = scan(&place(&self.class, learner).events()).unwrap();
        SessionState::from_records(&scan.records)
    }
}

/// What a learner has done, without times: a tutor that is opened enters a step and counts seconds.
fn done(state: &SessionState) -> Vec<String> {
    let steps = state.lessons.iter().flat_map(|(lesson, steps)| {
        let done = steps
            .iter()
            .filter(|(_, it)| it.status == StepStatus::Done || !it.runs.is_empty());
        done.map(move |(step, it)| format!("{lesson}/{step} {:?} {:?}", it.status, it.runs))
    });
    steps.collect()
}

const WORK: &str = "open first\nnext\n12\nrun\nopen first\nnext\nnext\nnext\nquit\n";

fn unpacked(archive: &Path) -> Vec<String> {
    let file = fs::File::open(archive).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().unwrap();
    let names = entries.map(|entry| entry.unwrap().path().unwrap().display().to_string());
    names.collect()
}

#[test]
fn the_whole_life_of_a_class() {
    let Some(class) = Accounts::new() else { return };
    // The instructor prepares; a cache of this machine is what a GPU would have made.
    class.does(
        TEACHER,
        "mkdir -p .cache/tinyllama-tutor/modules; echo code > .cache/tinyllama-tutor/modules/one",
    );
    let prepared = class.run(TEACHER, &["prepare"], "", 0);
    assert!(!prepared.contains("warning"), "{prepared}");
    // Everyone takes it, whatever the instructor's umask made of it.
    class.run(HANA, &["prepare"], "", 0);
    class.does(
        HANA,
        "test $(cat .cache/tinyllama-tutor/modules/one) = code",
    );
    class.does(HANA, "echo mine > .cache/tinyllama-tutor/modules/two");
    class.run(HANA, &["prepare"], "", 0);
    assert!(
        !class.can(TEACHER, "find CLASS/.prepared | grep two"),
        "a learner put code there"
    );

    // Two learners join; one keeps her files from everybody by her umask.
    for learner in [HANA, BOB] {
        let lines = class.lines(learner, WORK);
        assert!(lines.contains("The loss fell."), "{lines}");
    }
    class.run(HANA, &["workbench", "start", "1"], "", 0);
    let list = class.teach(&["list"]);
    assert!(
        list.contains("hana") && list.contains("bob") && !list.contains("warning"),
        "{list}"
    );

    // What the instructor asks for, reaches the one who is named.
    let before = class.records("hana");
    assert!(done(&before).len() >= 2, "{before:?}");
    class.teach(&["reset", "hana", "--whole-course"]);
    let lines = class.lines(HANA, "quit\n");
    assert!(lines.contains("reset everything"), "{lines}");
    assert_eq!(done(&class.records("hana")), [""; 0]);
    class.teach(&["restore", "hana"]);
    class.lines(HANA, "quit\n");
    assert_eq!(done(&class.records("hana")), done(&before));
    assert_eq!(class.records("bob").backups.len(), 0);
    class.teach(&["pin", "second"]);
    class.teach(&["message", "Coffee"]);
    for learner in [HANA, BOB] {
        let lines = class.lines(learner, "messages\nquit\n");
        assert!(lines.contains("Coffee"), "{lines}");
    }

    // Everything that the program made can be collected, and makes the class report.
    let collected = class.teach(&["collect", "-o", "hand-ins"]);
    assert!(!collected.contains("without"), "{collected}");
    let files = fs::read_dir(class.home(TEACHER).join("hand-ins")).unwrap();
    let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let of_hana = files
        .iter()
        .find(|file| file.display().to_string().contains("hana-"))
        .unwrap();
    // Orders of the class's owner count beside the class folder, and only there.
    let file = of_hana.display().to_string();
    let verify = |more: &[&str], status| {
        let args = [&["report", "verify", &file], more].concat();
        class.run(TEACHER, &args, "", status)
    };
    let unchecked = "orders of an instructor";
    let alone = verify(&[], 2);
    assert!(alone.contains(unchecked), "{alone}");
    let session = class.class.join("hana").display().to_string();
    let beside = verify(&["--against", &session], 0);
    assert!(!beside.contains(unchecked), "{beside}");
    assert!(class.can(TEACHER, "cat CLASS/.orders/*"));
    for script in [
        "touch CLASS/.orders/of-mine.json",
        "ls CLASS/.orders",
        "cat CLASS/.orders/*",
    ] {
        assert!(!class.can(BOB, script), "{script}");
    }

    let names = unpacked(of_hana);
    for part in [
        "events.jsonl",
        "run.json",
        "stderr.log",
        "backups/reset-1/backup.json",
        "workbench/",
    ] {
        assert!(
            names.iter().any(|name| name.contains(part)),
            "{part}: {names:?}"
        );
    }
    for from in [class.class.display().to_string(), "hand-ins".into()] {
        let merged = class.run(TEACHER, &["report", "merge", &from, "-o", "page"], "", 0);
        assert!(!merged.contains("Permission denied"), "{merged}");
    }
    assert!(
        class
            .run(TEACHER, &["instructor", "show", "hana"], "", 0)
            .contains("Session report: hana")
    );

    // A learner reads, moves and removes nothing of another's, and root does not become one.
    for script in [
        "ls CLASS/hana",
        "cat CLASS/hana/events.jsonl",
        "mv CLASS/hana CLASS/x",
        "touch CLASS/hana/inbox/x",
        "ls CLASS",
    ] {
        assert!(!class.can(BOB, script), "{script}");
    }
    let as_root = class
        .start(0, &["--plain", "--learner", "hana"], "")
        .unwrap();
    assert_eq!(as_root.status.code(), Some(3), "{as_root:?}");
    assert!(String::from_utf8_lossy(&as_root.stderr).contains("belongs to another user"));
}

#[test]
fn what_a_learner_prepared_first_reaches_nobody() {
    let Some(class) = Accounts::new() else { return };
    class.does(TEACHER, "mkdir -p .cache/tinyllama-tutor/modules .ssh; echo code > .cache/tinyllama-tutor/modules/one");
    // The device's folder has the name that the program gives it.
    class.run(TEACHER, &["prepare"], "", 0);
    let device = fs::read_dir(class.class.join(".prepared"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .file_name();
    let device = device.to_str().unwrap().to_owned();
    fs::remove_dir_all(class.class.join(".prepared")).unwrap();
    class.does(BOB, &format!("mkdir -p CLASS/.prepared/{device}/modules key; chmod -R 777 CLASS/.prepared; echo KEY > key/authorized_keys; ln -s $PWD/key CLASS/.prepared/{device}/modules/d; echo evil > CLASS/.prepared/{device}/modules/two"));
    let said = class.run(TEACHER, &["prepare"], "", 0);
    assert!(
        said.contains("warning") && said.contains(".prepared"),
        "{said}"
    );
    class.does(
        BOB,
        &format!(
            "ln -sfn {}/.ssh CLASS/.prepared/{device}/modules/d",
            class.home(TEACHER).display()
        ),
    );
    class.run(TEACHER, &["prepare"], "", 0);
    class.run(HANA, &["prepare"], "", 0);
    for user in [TEACHER, HANA] {
        let found = class
            .shell(user, "find . -name d -o -name two -o -name authorized_keys")
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{user}");
    }
    assert!(!class.can(
        TEACHER,
        &format!("test -e CLASS/.prepared/{device}/modules/one")
    ));
    // The instructor moves it away, and shares; a learner's file or link beside the instructor's is not taken.
    class.does(TEACHER, "mv CLASS/.prepared CLASS/.of-bob");
    assert!(!class.run(TEACHER, &["prepare"], "", 0).contains("warning"));
    fs::write(
        class
            .class
            .join(format!(".prepared/{device}/modules/three")),
        "evil",
    )
    .unwrap();
    chown(
        class
            .class
            .join(format!(".prepared/{device}/modules/three")),
        Some(BOB),
        None,
    )
    .unwrap();
    class.run(HANA, &["prepare"], "", 0);
    class.does(HANA, "test -e .cache/tinyllama-tutor/modules/one && test ! -e .cache/tinyllama-tutor/modules/three");
}

#[test]
fn an_order_takes_effect_on_the_one_whom_it_names() {
    let Some(class) = Accounts::new() else { return };
    for learner in [HANA, BOB] {
        class.lines(learner, "open first\nnext\n12\nquit\n");
    }
    let before = done(&class.records("hana"));
    assert!(!before.is_empty());
    class.does(
        BOB,
        "rmdir CLASS/bob/inbox; ln -s ../hana/inbox CLASS/bob/inbox",
    );
    let list = class.teach(&["list"]);
    assert!(
        list.contains("warning") && list.contains("bob/inbox"),
        "{list}"
    );
    for order in [
        &["reset", "bob", "--whole-course"][..],
        &["message", "--learner", "bob", "secret"],
    ] {
        let args = [&["instructor"], order].concat();
        let refused = class.start(TEACHER, &args, "").unwrap();
        assert_ne!(refused.status.code(), Some(0), "{refused:?}");
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("a link"),
            "{refused:?}"
        );
    }
    let all = class
        .start(TEACHER, &["instructor", "message", "for all"], "")
        .unwrap();
    assert_eq!(all.status.code(), Some(1), "{all:?}");
    let lines = class.lines(HANA, "messages\nquit\n");
    assert!(
        lines.contains("for all") && !lines.contains("secret"),
        "{lines}"
    );
    assert_eq!(done(&class.records("hana")), before);

    // An order that comes into another inbox by any way is not taken.
    class.does(BOB, "rm CLASS/bob/inbox");
    class.lines(BOB, "quit\n");
    class.teach(&["reset", "bob", "--whole-course"]);
    let order = fs::read_dir(class.class.join("bob/inbox"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let copy = class.class.join("hana/inbox").join(order.file_name());
    fs::copy(order.path(), &copy).unwrap();
    chown(&copy, Some(TEACHER), None).unwrap();
    let lines = class.lines(HANA, "quit\n");
    assert!(lines.contains("for another session"), "{lines}");
    assert_eq!(done(&class.records("hana")), before);
    class.lines(BOB, "quit\n");
    assert_eq!(done(&class.records("bob")), [""; 0]);
}

#[test]
fn files_of_strangers_stop_nobody_and_the_instructor_hears_of_them() {
    let Some(class) = Accounts::new() else { return };
    class.lines(HANA, "quit\n");
    for name in [".site.toml", ".class.json", ".prepared"] {
        let path = format!("CLASS/{name}");
        for made in [
            "touch P",
            "touch P; chmod 0 P",
            "mkdir P",
            "mkfifo P",
            "ln -s /dev/zero P",
            "echo 'launcher = \"touch /tmp/owned\"' > P",
        ] {
            class.does(BOB, &made.replace('P', &path));
            class.lines(HANA, "quit\n");
            class.run(HANA, &["doctor"], "", 0);
            let list = class.teach(&["list"]);
            assert!(
                list.contains("warning") && list.contains(name),
                "{made}: {list}"
            );
            class.does(BOB, &format!("rm -rf {path}"));
        }
    }
    assert!(!Path::new("/tmp/owned").exists());
    // An account that nobody here uses, but that every system has.
    class.does(BOB, "mkdir CLASS/daemon");
    let list = class.teach(&["list"]);
    assert!(
        list.contains("warning") && list.contains("not to daemon"),
        "{list}"
    );
    class.does(BOB, "rmdir CLASS/daemon");
    // The owner's own file counts again, and only the owner can pin.
    class.teach(&["pin", "second"]);
    class.lines(HANA, "quit\n");
    assert_eq!(class.records("hana").pinned.as_deref(), Some("second"));
    let refused = class.start(0, &["instructor", "pin", "first"], "").unwrap();
    assert_eq!(refused.status.code(), Some(0), "root: {refused:?}");
    let mode = fs::metadata(class.class.join(".class.json"))
        .unwrap()
        .mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn a_learner_hands_in_nothing_of_others_and_hides_nobody() {
    let Some(class) = Accounts::new() else { return };
    for learner in [HANA, BOB] {
        class.lines(learner, WORK);
    }
    let secret = class.home(TEACHER).join("secret");
    class.does(TEACHER, "echo SECRET > secret; chmod 644 secret");
    // Root makes what only an old kernel lets a learner make.
    let hard = class.class.join("bob/workbench/hard");
    fs::hard_link(&secret, &hard).unwrap();
    let out = secret.display();
    class.does(BOB, &format!("cd CLASS/bob && ln -s ../../hana/events.jsonl workbench/log && ln -s {out} backups/secret && ln -s ../../hana/runs runs/hers && mkfifo runs/pipe && chmod 0 runs/*/stderr.log"));
    let collected = class.teach(&["collect", "-o", "one"]);
    assert!(
        collected.contains("runs/") && collected.contains("stderr.log was left out: "),
        "{collected}"
    );
    assert!(collected.contains("workbench/hard"), "{collected}");
    let file = fs::read_dir(class.home(TEACHER).join("one")).unwrap();
    let file = file
        .map(|entry| entry.unwrap().path())
        .find(|path| path.display().to_string().contains("bob-"));
    let names = unpacked(&file.unwrap());
    for absent in [
        "workbench/log",
        "backups/secret",
        "runs/hers",
        "runs/pipe",
        "workbench/hard",
    ] {
        assert!(
            names.iter().all(|name| !name.contains(absent)),
            "{absent}: {names:?}"
        );
    }
    let shown = class.run(TEACHER, &["instructor", "show", "bob"], "", 0);
    assert!(!shown.contains("SECRET"), "{shown}");

    // Another's log, a pipe, or nothing readable in the place of his own: he is named, and the others are there.
    class.does(BOB, "mv CLASS/bob/events.jsonl CLASS/bob/mine");
    for log in [
        "ln -s ../hana/events.jsonl L",
        &format!("ln -s {out} L"),
        "mkfifo L",
        "mkdir L",
        "cp CLASS/bob/mine L; chmod 0 L",
        "ln -s L L",
    ] {
        class.does(BOB, &log.replace(" L", " CLASS/bob/events.jsonl"));
        let list = class.teach(&["list"]);
        let bob = list
            .lines()
            .find(|line| line.contains("bob"))
            .unwrap_or_else(|| panic!("{log}: {list}"));
        assert!(
            bob.contains("not begun") && list.contains("hana") && !list.contains("SECRET"),
            "{log}: {list}"
        );
        class.run(TEACHER, &["instructor", "show", "bob"], "", 3);
        let collected = class
            .start(TEACHER, &["instructor", "collect", "-o", "two"], "")
            .unwrap();
        assert_eq!(collected.status.code(), Some(1), "{log}: {collected:?}");
        class.does(BOB, "rm -rf CLASS/bob/events.jsonl");
    }
    let two = fs::read_dir(class.home(TEACHER).join("two"))
        .unwrap()
        .count();
    assert_eq!(two, 1, "hana's is collected in spite of bob");

    // A link in the place of a whole folder is nobody's session.
    lchown(class.class.join("bob/mine"), Some(BOB), None).unwrap();
    class.does(
        BOB,
        "mv CLASS/bob/mine CLASS/bob/events.jsonl; mv CLASS/bob bob; ln -s $PWD/bob CLASS/bob",
    );
    let list = class.teach(&["list"]);
    assert!(list.contains("hana") && !list.contains("bob"), "{list}");
    let refused = class.start(BOB, &["--plain"], "quit\n").unwrap();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
}
