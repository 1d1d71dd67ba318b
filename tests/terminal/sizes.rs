//! Every screen at four sizes: it opens, has its frame and its keys, and shows what was asked for, also after a storm of
//! resizes.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// A walk through the tutor at one size.
struct Walk {
    terminal: Terminal,
    size: (u16, u16),
    /// Whether each screen has to come back after a hundred other sizes.
    storm: bool,
}

impl Walk {
    /// Sends keys and waits for a screen with all these texts, wherever lines end, and with these keys in its last line.
    fn see(&self, sent: &str, texts: &[&str], keys: &[&str]) {
        self.terminal.send(sent);
        self.shows(sent, texts, keys);
    }

    fn shows(&self, what: &str, texts: &[&str], keys: &[&str]) {
        let what = format!("{what:?}: {texts:?} and {keys:?} at {:?}", self.size);
        let has_all = |terminal: &Terminal| {
            let text = terminal.text();
            let bar = text.lines().last().unwrap_or_default();
            let flowing = flowing(&text);
            // A frame that begins in the first column ends in the last one.
            let mut framed = text
                .lines()
                .filter(|line| line.starts_with(['┌', '└', '│']));
            framed.all(|line| line.chars().count() == usize::from(self.size.0))
                && texts.iter().all(|it| flowing.contains(it))
                && keys.iter().all(|it| bar.contains(it))
        };
        self.terminal.wait_until(&what, has_all);
        if self.storm {
            let mut random = ChaCha8Rng::seed_from_u64(5);
            for _ in 0..99 {
                let longest = if random.random_bool(0.3) { 2 } else { 250 };
                let mut side = || random.random_range(1..=longest);
                self.terminal.resize(side(), side());
            }
            self.terminal.resize(1, 1);
            self.terminal.resize(self.size.0, self.size.1);
            self.terminal.wait_until(&what, has_all);
        }
    }

    /// Presses tab until a section of the figures shows these texts.
    fn section(&self, texts: &[&str]) {
        for _ in 0..24 {
            let found = flowing(&self.terminal.text());
            if texts.iter().all(|text| found.contains(text)) {
                break;
            }
            self.terminal.send("\t");
            let has_moved = |terminal: &Terminal| flowing(&terminal.text()) != found;
            self.terminal.wait_until("the next section", has_moved);
        }
        self.shows("tab", texts, &[]);
    }

    fn open_lesson(&self, title: &str) {
        self.see(":", &["Find"], &["enter go", "esc close"]);
        self.see(&format!("lesson: {title}"), &[title], &[]);
        self.see("\r", &["Step "], &["? help"]);
    }
}

/// The words of a screen without frames, as if its lines had no ends.
pub fn flowing(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || "│┌└┐┘".contains(c));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn walk(size: (u16, u16), storm: bool) {
    let home = home();
    let class = home.path().join("class");
    std::fs::create_dir(&class).unwrap();
    let instructor = |words: &[&str]| {
        let mut command = Process::new(PROGRAM);
        command
            .args(["instructor", "--by", "Teacher", "--class"])
            .arg(&class)
            .args(words);
        let done = command
            .envs(environment(&home))
            .env_remove("TINYLLAMA_LESSONS")
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    let learner = command(&home)
        .env_remove("TINYLLAMA_LESSONS")
        .args(["--learner", "ada", "--class"])
        .arg(&class);
    let terminal = Terminal::start(learner, size.0, size.1);
    let at = Walk {
        terminal,
        size,
        storm,
    };
    at.shows(
        "welcome",
        &["Welcome", "Your first minute"],
        &["enter train the model now"],
    );
    at.see(
        "\x1b",
        &["Foundation", "The baseline"],
        &["enter open", "? help"],
    );
    at.see(
        "?",
        &["Help", "In the outline", "filter lessons and steps"],
        &["esc close"],
    );
    at.see("\x1b", &["Foundation"], &["enter open"]);
    at.see("@", &["No command was run"], &["enter open"]);
    at.see("H", &["Runs so far", "No run was made yet"], &["esc close"]);
    at.see("\x1b", &["Foundation"], &["enter open"]);
    at.see(
        "K",
        &["Kernels", "flash_attention", "cross_entropy"],
        &["esc close"],
    );
    at.see("\x1b", &["Foundation"], &["enter open"]);
    at.see(
        "R",
        &["Your report", "Session report: ada"],
        &["enter write it"],
    );
    at.see("\x1b", &["Foundation"], &["enter open"]);
    at.see(
        "D",
        &["Devices and tools of this machine", "backend"],
        &["esc close"],
    );
    at.see("\x1b", &["Foundation"], &["enter open"]);
    at.see("/", &["Filter"], &["enter take it"]);
    at.see(
        "roofline\r",
        &["with \"roofline\"", "The roofline and its limits"],
        &["enter open"],
    );
    at.see("/", &["Filter"], &["enter take it"]);
    at.see("\r", &["The baseline"], &["enter open"]);
    for lesson in ["first-profile", "first-baseline", "unseen-cases"] {
        instructor(&["unlock", "ada", lesson]);
    }
    instructor(&["message", "--learner", "ada", "Well done so far."]);
    // The message may go on in the next line.
    at.terminal.wait_until("the message", |terminal| {
        let text = terminal.text();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").contains("Message from Teacher")
    });
    at.see(
        "m",
        &["Messages", "Well done so far.", "UTC"],
        &["esc close"],
    );
    at.see("\x1b", &["Foundation"], &["enter open"]);

    at.open_lesson("What you will do, and on what");
    at.shows(
        "read",
        &["Step 1 of ", "A small model that is real"],
        &["? help"],
    );
    at.see(
        "n",
        &["Step 2 of ", "Four places where time goes"],
        &["? help"],
    );
    at.see(
        "n",
        &["Step 3 of ", "The three phases", "What will you see?"],
        &["? help"],
    );
    at.see("n", &["Step 4 of ", "What this machine has"], &["? help"]);
    at.open_lesson("The baseline");
    at.terminal.send("nnnn");
    at.shows(
        "guess",
        &["Step 5 of ", "How long is a step?"],
        &["enter guess"],
    );
    at.see("\r", &["Your guess, in ms"], &["enter take it"]);
    at.see("12\r", &["You guessed 12"], &["? help"]);

    at.see("n", &["Step 6 of ", "Measure the baseline"], &["? help"]);
    let finished = ["finished: 60 measured of 63 steps"];
    at.see("r", &["playing at"], &[]);
    at.see("+++", &finished, &["enter next step", "? help"]);
    // What the recording was made with stays in one line.
    at.shows("run", &["(cuda, sm_90), f32"], &[]);
    let checks = ["passed begins ignorant", "62.2 ms (p10 53.4, p90 72.8)"];
    at.shows("run", &checks, &[]);
    at.shows("run", &["128.0 samples/s", "952.5 MiB"], &[]);
    at.section(&["203.91 G FLOP", "shapes)", "memory, MiB"]);
    at.section(&["KernelBinop", "30.5 %", "1 049"]);
    at.see("F", &["Roofline", "FLOP/s", "f32 vector"], &["esc close"]);
    if size.0 < 76 {
        at.terminal.send("\t");
    }
    at.shows("table", &["the whole step", "43.32", "1.6 %"], &[]);
    at.see("\x1b", &finished, &["? help"]);
    at.see("r", &["playing at"], &[]);
    at.see("+++", &finished, &["enter next step"]);
    let runs = ["Runs so far", "started (UTC)", "62.17 ms", "done"];
    at.see("H", &runs, &["enter open", "t compare marked"]);
    at.see("\r", &["A run of v1", "128.0 samples/s"], &["esc back"]);
    at.see("\x1b", &runs, &["enter open"]);
    at.see(" ", &["•"], &[]);
    at.terminal.send("\x1b[B");
    let compared = ["Runs side by side", "the same recording"];
    at.see("t", &compared, &["esc back"]);
    // No name of a run is cut, and the two differ: by the minute of their start, or by a number.
    let text = at.terminal.text();
    let lines = text
        .lines()
        .filter_map(|line| line.split_once(": recording: "));
    let names: BTreeSet<&str> = lines.map(|(name, _)| name).collect();
    assert_eq!(names.len(), 2, "{size:?}:\n{text}");
    assert!(!text.contains('…'), "{size:?}:\n{text}");
    at.see("\x1b", &runs, &["enter open"]);
    at.see("\x1b", &finished, &["? help"]);
    at.open_lesson("Four cases nobody has seen");
    let none = "0 measurements taken. Take a measurement, then name a suspect.";
    at.see("n", &["Step 2 of ", "Case 1", none], &["? help"]);

    at.open_lesson("First contact with the rocprof tools");
    at.see("n", &["Step 2 of ", "Where does the time go?"], &["? help"]);
    at.see("i", &["Import a profile"], &["enter take it"]);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons/profiles/vcopy-mi200");
    at.terminal.send(&format!("{}\r", sample.display()));
    let whole = "52.32 us on the device in all";
    at.shows("hotspots", &[whole, "vecCopy", "17.44 us"], &[]);
    at.section(&["166.40 us", "idle 68.6 %"]);
    at.section(&["Idle time of", "114.08 us", "unknown"]);
    at.section(&["Active lanes", "GPU busy"]);
    at.section(&["vecCopy on gfx90a", "HBM", "864.2 GB/s", "limits"]);
    let whole = [
        "0.0 % of 17718 GB/s",
        "62.2 % of 1389 GB/s",
        "reads 8.0 MiB,",
    ];
    at.shows("memory chart", &whole, &[]);
    at.section(&["Theoretical occupancy"]);
    drop(at);

    let teacher = command(&home)
        .env_remove("TINYLLAMA_LESSONS")
        .args(["instructor", "--class"])
        .arg(&class);
    let terminal = Terminal::start(teacher, size.0, size.1);
    let at = Walk {
        terminal,
        size,
        storm,
    };
    at.shows("class", &["1 learner", "ada"], &[]);
    at.see("\t", &["position", "ada"], &[]);
    at.see("?", &["Help", "everything known"], &[]);
    at.terminal.escape("everything known");
    at.terminal.wait_for("ada");
    at.see("p", &["Lesson for everyone"], &[]);
    at.terminal.escape("Lesson for everyone");
    at.see("\r", &["Session report: ada"], &[]);
}

#[test]
fn every_screen_at_60_columns() {
    walk((60, 20), false);
}

#[test]
fn every_screen_at_80_columns() {
    walk((80, 24), false);
}

#[test]
fn every_screen_at_120_columns() {
    walk((120, 40), false);
}

#[test]
fn every_screen_at_200_columns() {
    walk((200, 50), false);
}

#[test]
fn every_screen_after_a_storm_of_resizes() {
    walk((80, 24), true);
}
