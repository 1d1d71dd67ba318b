use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::play::{Playhead, Speed};
use tinyllama_contract::event::{Body, Event};
use tinyllama_contract::targets;

fn entry(id: &str, command: &str, date: &str) -> String {
    format!(
        "- {{ id: {id}, target: v1, config: tiny, machine: NVIDIA H200, driver: '580.82', date: {date}, version: 0.1.0, command: '{command}' }}\n"
    )
}

fn folder(index: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(INDEX), index).unwrap();
    folder
}

fn load(folder: &Path) -> Result<Library, RecordingError> {
    Library::load(RecordingSource::Folder(folder.to_path_buf()))
}

fn pack(path: &Path, text: &[u8]) {
    let mut packed = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    packed.write_all(text).unwrap();
    packed.finish().unwrap();
}

fn flags(text: &str) -> Vec<String> {
    shlex::split(text).unwrap()
}

/// Every built-in recording has its target and a summary, keeps its times in order, and names no folder of its machine.
#[test]
fn every_built_in_recording_is_whole() {
    let library = Library::load(RecordingSource::BuiltIn).unwrap();
    for recording in &library.recordings {
        let lines = library.tape(recording).unwrap().lines;
        let events: Vec<Event> = lines
            .iter()
            .filter_map(|(_, line)| serde_json::from_str(line).ok())
            .collect();
        let target = events.iter().find_map(|event| match &event.body {
            tinyllama_contract::event::Body::Hello(hello) => Some(hello.target.clone()),
            _ => None,
        });
        assert_eq!(
            target,
            Some(recording.target.to_string()),
            "{}",
            recording.id
        );
        let is_whole = events.iter().any(|event| {
            matches!(&event.body, tinyllama_contract::event::Body::Summary(summary) if summary.complete)
        });
        assert!(is_whole, "{} has no summary", recording.id);
        assert!(lines.is_sorted_by(|a, b| a.0 <= b.0), "{}", recording.id);
        for path in ["/root/", "/home/", "/tmp/", "/work/"] {
            let names = |line: &str| line.contains(path);
            assert!(
                !lines.iter().any(|(_, line)| names(line)),
                "{} names {path}",
                recording.id
            );
        }
    }
}

#[test]
fn a_run_is_offered_the_recording_of_the_same_switches_and_of_no_others() {
    let index = [
        entry("old", "run v1 --config tiny --num-steps 60", "2026-01-02"),
        entry(
            "new",
            "run v1 --backend cuda --flops --num-steps 60",
            "2026-11-21",
        ),
        entry("long", "run v1 --seq-len 256", "2026-11-21"),
        entry("vulkan", "run v1 --backend vulkan", "2026-11-22"),
    ]
    .concat();
    let folder = folder(&index);
    let library = load(folder.path()).unwrap();
    let found = |target: &str, args: &str| {
        let found = library.of_run(target, &flags(args));
        found.map(|recording| recording.id.as_str())
    };
    assert_eq!(found("v1", "--config tiny --num-steps 30"), Some("new"));
    assert_eq!(found("v1", "--backend vulkan"), Some("vulkan"));
    assert_eq!(found("v1", "--seq-len=256 --num-steps 5"), Some("long"));
    assert_eq!(found("v1", "--seq-len 512"), None);
    assert_eq!(found("v2", "--num-steps 30"), None);
    assert_eq!(found("nonsense", ""), None);
    let new = library.find("new").unwrap();
    assert_eq!(new.label(), "recording: NVIDIA H200, 21 November 2026");
    let unknown = library.find("newer").unwrap_err();
    let known = ["old", "new", "long", "vulkan"].join(", ");
    assert!(unknown.remedy().contains(&known), "{}", unknown.remedy());
}

#[test]
fn a_broken_index_or_stream_is_named_with_its_place() {
    let of = |index: &str| load(folder(index).path()).unwrap_err().to_string();
    let messages = [
        entry("a", "run v1", "yesterday"),
        entry("../a", "run v1", "2026-11-21"),
        entry("a", "run v1", "2026-11-21").repeat(2),
        entry("a", "run v1", "2026-11-21").replace("target: v1", "target: v9"),
        "- { id: a }".to_owned(),
    ]
    .map(|index| {
        let message = of(&index);
        let (_, place) = message.split_once(INDEX).expect("the index's name");
        place.to_owned()
    });
    let names = itertools::join(targets::names(), ", ");
    assert!(messages[3].contains(&names), "{}", messages[3]);
    insta::assert_snapshot!(messages.join("\n").replace(&names, "(every target)"));
    let folder = folder(&entry("a", "run v1", "2026-11-21"));
    let library = load(folder.path()).unwrap();
    let recording = library.find("a").unwrap();
    assert!(
        library
            .tape(recording)
            .unwrap_err()
            .to_string()
            .contains("a.jsonl.gz")
    );
    fs::write(folder.path().join("a.jsonl.gz"), "no gzip").unwrap();
    assert!(matches!(
        library.tape(recording),
        Err(RecordingError::Read { .. })
    ));
    // A small file can unpack to one long line, or to many lines that each take memory.
    for (byte, count) in [(b' ', MOST_BYTES + 1), (b'\n', MOST_LINES as u64 + 1)] {
        pack(
            &folder.path().join("a.jsonl.gz"),
            &vec![byte; count as usize],
        );
        assert!(matches!(
            library.tape(recording),
            Err(RecordingError::TooLarge { .. })
        ));
    }
}

#[test]
fn lines_keep_their_order_and_their_time() {
    let folder = folder(&entry("a", "run v1", "2026-11-21"));
    let text = "{\"t\":0.5,\"event\":\"note\",\"message\":\"one\"}\nplain words\n{\"t\":2.0,\"event\":\"note\",\"message\":\"two\"}\n{\"t\":1.0,\"event\":\"note\",\"message\":\"late\"}\n";
    pack(&folder.path().join("a.jsonl.gz"), text.as_bytes());
    let library = load(folder.path()).unwrap();
    let lines = library.tape(library.find("a").unwrap()).unwrap().lines;
    let times: Vec<f64> = lines.iter().map(|(t, _)| *t).collect();
    assert_eq!(times, [0.5, 0.5, 2.0, 2.0]);
    assert_eq!(
        lines.get(1).map(|(_, line)| line.as_str()),
        Some("plain words")
    );
}

#[test]
fn a_remark_is_told_to_whoever_plays_the_recording_and_called_one() {
    let index =
        entry("a", "run v1", "2026-11-21").replace(" }\n", ", remark: 'mended \"since\"' }\n");
    let folder = folder(&index);
    let text = "{\"t\":0.5,\"event\":\"note\",\"message\":\"one\"}\nplain words\n";
    pack(&folder.path().join("a.jsonl.gz"), text.as_bytes());
    let library = load(folder.path()).unwrap();
    let lines = library.tape(library.find("a").unwrap()).unwrap().lines;
    assert_eq!(lines.len(), 3);
    let event: Event = serde_json::from_str(&lines[1].1).unwrap();
    let Body::Note(note) = event.body else {
        panic!("{:?}", lines[1]);
    };
    insta::assert_snapshot!(note.message, @r#"about this recording: mended "since""#);
    assert_eq!((lines[0].0, lines[1].0, lines[2].0), (0.5, 0.5, 0.5));
}

#[test]
fn a_change_of_speed_counts_from_where_one_is() {
    let at = Duration::from_secs;
    let mut head = Playhead::new(Speed::REAL, at(100));
    assert_eq!(head.wait(30.0, at(100)), at(30));
    assert_eq!(head.wait(30.0, at(110)), at(20));
    head.set_speed_at(Speed::REAL.faster(), at(110));
    assert_eq!(head.position(at(110)), 10.0);
    assert_eq!(head.wait(30.0, at(110)), at(5));
    assert_eq!(head.wait(30.0, at(200)), Duration::ZERO);
    head.set_speed_at(Speed::END, at(112));
    assert_eq!(
        head.position(at(500)),
        18.0,
        "at the end nothing is waited for"
    );
    assert_eq!(head.wait(1e9, at(112)), Duration::ZERO);
    head.advance_to(1000.0, at(112));
    head.set_speed_at(Speed::SIXTEEN, at(112));
    assert_eq!(head.wait(1016.0, at(112)), at(1));
    assert_eq!(Speed::REAL.faster().faster().faster().faster(), Speed::END);
    assert_eq!(Speed::SIXTEEN.slower().slower().slower(), Speed::REAL);
    assert_eq!("x16".parse(), Ok(Speed::SIXTEEN));
    assert_eq!("end".parse(), Ok(Speed::END));
    for (text, shown) in [("100", "100"), ("x0.25", "0.25"), ("2.50x", "2.5")] {
        let speed: Speed = text.parse().unwrap();
        assert_eq!(speed.to_string(), shown);
    }
    let between: Speed = "5".parse().unwrap();
    assert_eq!(between.faster(), Speed::SIXTEEN);
    assert_eq!(between.slower().to_string(), "4");
    for text in ["0", "-1", "nan", "inf", "fast", "", "x", "x4x", "xx4"] {
        assert!(text.parse::<Speed>().is_err(), "{text}");
    }
}
