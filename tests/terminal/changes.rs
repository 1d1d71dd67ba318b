//! What instructors change, as learners and instructors see it.

use std::collections::BTreeSet;

use super::sizes::flowing;
use super::*;

/// A class with these learners, each of whom has opened the tutor once.
pub struct TestClass {
    home: TempDir,
    folder: PathBuf,
}

impl TestClass {
    pub fn with(learners: &[&str]) -> Self {
        let home = home();
        let folder = home.path().join("class");
        std::fs::create_dir(&folder).unwrap();
        let class = Self { home, folder };
        for learner in learners {
            let mut tutor = class.process(&["--plain", "--learner", learner]);
            let mut tutor = tutor.stdin(Stdio::piped()).spawn().unwrap();
            tutor.stdin.take().unwrap().write_all(b"quit\n").unwrap();
            let done = tutor.wait_with_output().unwrap();
            assert!(done.status.success(), "{learner}: {done:?}");
        }
        class
    }

    pub fn process(&self, words: &[&str]) -> Process {
        let mut process = Process::new(PROGRAM);
        process
            .args(words)
            .envs(environment(&self.home))
            .env_remove("TINYLLAMA_LESSONS")
            .env("TINYLLAMA_CLASS", &self.folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process
    }

    fn instructor(&self, words: &[&str]) -> String {
        let words = [&["instructor", "--by", "Teacher"], words].concat();
        let done = self.process(&words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    pub fn terminal(&self, words: &[&str], columns: u16, rows: u16) -> Terminal {
        let command = command(&self.home)
            .args(words)
            .env_remove("TINYLLAMA_LESSONS")
            .env("TINYLLAMA_CLASS", &self.folder);
        Terminal::start(command, columns, rows)
    }
}

fn wait_for_words(terminal: &Terminal, text: &str) {
    terminal.wait_until(text, |terminal| flowing(&terminal.text()).contains(text));
}

/// A lesson's title and a step's do not fit the frame of a narrow screen together.
#[test]
fn a_presented_step_has_its_whole_title_at_60_columns() {
    let class = TestClass::with(&["ada"]);
    class.instructor(&["pin", "swiglu-and-graph-fusion"]);
    let terminal = class.terminal(&["instructor"], 60, 20);
    terminal.wait_for("1 learner");
    terminal.send("v");
    wait_for_words(&terminal, "A gate and a chain of small operations");
    let text = terminal.text();
    let lesson = "┌ Fusing what lies between the matrix products (1 of ";
    assert!(text.contains(lesson), "{text}");
}

#[test]
fn a_pinned_lesson_is_marked_has_a_key_and_stays_among_the_messages() {
    let class = TestClass::with(&[]);
    let terminal = class.terminal(&["--learner", "ada"], 80, 24);
    terminal.wait_for("Your first minute");
    terminal.escape("Your first minute");
    terminal.wait_for("Foundation");
    class.instructor(&["pin", "memory"]);
    let asked = "Teacher asks everyone to work on the lesson \"Where the memory goes\" now.";
    wait_for_words(&terminal, asked);
    wait_for_words(&terminal, "C goes there.");
    let marked = |terminal: &Terminal| {
        let text = terminal.text();
        let mut lines = text.lines();
        lines.any(|it| it.contains("→") && it.contains("goes   your class is here"))
    };
    terminal.wait_until("a sign in the outline", marked);
    // Another key takes the notice away, and the order is still to be found.
    terminal.send("jk");
    terminal.wait_for("1 unread message");
    terminal.send("m");
    terminal.wait_for("Messages");
    wait_for_words(&terminal, asked);
    terminal.escape("Messages");
    terminal.send("C");
    terminal.wait_for("Step 1 of ");
    assert!(
        terminal.text().contains("Where the memory goes"),
        "{}",
        terminal.text()
    );

    // Whoever stands on a later step of a lesson that is emptied stands on its first one.
    terminal.send("n");
    terminal.wait_for("Step 2 of ");
    terminal.send("n");
    terminal.wait_for("Step 3 of ");
    class.instructor(&["reset", "ada", "--lesson", "memory"]);
    wait_for_words(
        &terminal,
        "Teacher reset the lesson \"Where the memory goes\".",
    );
    terminal.wait_for("Step 1 of ");
}

#[test]
fn learners_have_the_letters_of_their_names_and_the_list_keeps_its_columns() {
    let names = [
        "Łucja Żółkiewska",
        "bo",
        "carla-maria.von-und-zu-hohenstein-langenfeld",
    ];
    let class = TestClass::with(&names);
    let list = class.instructor(&["list"]);
    let lines: Vec<Vec<char>> = list.lines().map(|line| line.chars().collect()).collect();
    let head: String = lines[0].iter().collect();
    let position = head.find("position").expect("the heading is ASCII");
    assert_eq!(lines.len(), 4, "{list}");
    for line in &lines[1..] {
        assert_eq!(&line[position - 2..position], [' '; 2], "{list}");
        assert_ne!(line[position], ' ', "{list}");
    }
    for name in names {
        assert!(list.contains(name), "{list}");
    }
    class.instructor(&["unlock", "memory", "--learner", "Łucja Żółkiewska"]);
}

#[test]
fn twelve_long_names_keep_their_columns_and_differ_at_80_columns() {
    let names = [
        "alexander",
        "andreas",
        "antonia",
        "aurelia",
        "barnabas",
        "beatrice",
        "benedikt",
        "cecilia",
        "clemens",
        "cordula",
        "dominik",
        "dorothea",
    ];
    let names = names.map(|middle| format!("maximilian-{middle:-<9}-mustermann"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let class = TestClass::with(&names);
    let terminal = class.terminal(&["instructor", "list"], 80, 40);
    terminal.wait_for("skipped");
    let at_end = |terminal: &Terminal| terminal.text().matches("max").count() == 24;
    terminal.wait_until("two tables of twelve rows", at_end);
    let text = terminal.text();
    let rows: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let head = rows
        .iter()
        .position(|line| line.starts_with("learner"))
        .unwrap();
    let first: Vec<&str> = rows[head + 1..head + 13].to_vec();
    let column = rows[head].find("position").unwrap();
    let shown: BTreeSet<&str> = first.iter().map(|row| row[..column].trim()).collect();
    assert_eq!(shown.len(), 12, "{text}");
    for row in &first {
        assert!(
            row[column..].starts_with("not begun") || row[column..].contains('/'),
            "{text}"
        );
    }
    assert!(rows[head + 13].starts_with("learner"), "{text}");
}

#[test]
fn a_command_from_the_palette_is_about_the_open_session_and_its_failure_is_logged() {
    let class = TestClass::with(&["ada"]);
    let terminal = class.terminal(&["--learner", "ada"], 80, 24);
    terminal.wait_for("Step 1 of ");
    for (command, said) in [("session path", "class/ada"), ("runs show nope", "error: ")] {
        terminal.send(":");
        terminal.wait_for("Find");
        terminal.send(&format!("{command}\r"));
        terminal.wait_for(said);
        terminal.wait_for("Enter returns to the tutor.");
        terminal.send("\r");
        terminal.wait_for("Step 1 of ");
    }
    terminal.send("@");
    terminal.wait_for("exit status: 2 in ");
    terminal.wait_for("ok in ");
}

#[test]
fn keys_of_the_instructors_bar_are_set_off_from_their_words() {
    let class = TestClass::with(&["ada"]);
    let terminal = class.terminal(&["instructor"], 120, 30);
    terminal.wait_for("enter report");
    let [key, word, other] =
        ["enter report", "report", "tab figures"].map(|text| terminal.colour_of(text).unwrap());
    assert_ne!(key, vt100::Color::Default);
    assert_eq!(key, other);
    assert_eq!(word, vt100::Color::Default);
}

#[test]
fn a_message_without_a_name_goes_to_everyone_and_says_so() {
    let said = TestClass::with(&[]).instructor(&["message", "Hello"]);
    insta::assert_snapshot!(said, @"The class has no learner yet, so nothing was sent.");
    let class = TestClass::with(&["ada", "bob"]);
    let said = class.instructor(&["message", "Coffee", "at", "three"]);
    insta::assert_snapshot!(said, @"
    To everyone in the class, 2 learners:
    ada gets this message: Message from Teacher: Coffee at three
    bob gets this message: Message from Teacher: Coffee at three
    ");
    let one = class.instructor(&["message", "--learner", "bob", "You too"]);
    assert!(!one.contains("everyone") && !one.contains("ada"), "{one}");
    let terminal = class.terminal(&["--learner", "ada"], 80, 24);
    terminal.wait_for("1 unread message");
    terminal.send("m");
    terminal.wait_for("Coffee at three");
    assert!(!terminal.text().contains("You too"), "{}", terminal.text());
}
