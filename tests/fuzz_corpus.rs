//! Passes the inputs that fuzzing found to their readers: a small set that covers the code, and whatever once failed.

use std::fs;
use std::path::Path;

#[path = "fuzz/readers.rs"]
mod readers;

#[test]
fn every_reader_takes_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    for (name, read) in readers::READERS {
        let folder = corpus.join(name);
        let inputs = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut count = 0;
        for input in inputs {
            let path = input.unwrap().path();
            println!("{}", path.display());
            read(&fs::read(path).unwrap());
            count += 1;
        }
        assert!(count > 0, "{name}");
    }
}

#[test]
fn every_reader_has_its_target() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/fuzz_targets");
    let mut names: Vec<&str> = readers::READERS.iter().map(|(name, _)| *name).collect();
    for name in &names {
        let target = fs::read_to_string(targets.join(format!("{name}.rs"))).unwrap();
        assert!(target.contains(&format!("tinyllama_fuzz::{name}(bytes)")));
    }
    names.sort_unstable();
    let mut files: Vec<String> = fs::read_dir(targets)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        names
            .iter()
            .map(|name| format!("{name}.rs"))
            .collect::<Vec<_>>()
    );
}
