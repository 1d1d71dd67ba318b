//! Circles: sets of files each of which leads to every other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::arrows::Arrows;

/// Returns every set of at least two files that lead to each other, the largest first.
pub fn circles(arrows: &Arrows) -> Vec<Vec<PathBuf>> {
    let files: Vec<&Path> = arrows.keys().map(PathBuf::as_path).collect();
    let numbers: BTreeMap<&Path, usize> = files
        .iter()
        .enumerate()
        .map(|(i, &file)| (file, i))
        .collect();
    let targets: Vec<Vec<usize>> = arrows
        .values()
        .map(|to| {
            to.keys()
                .filter_map(|file| numbers.get(file.as_path()).copied())
                .collect()
        })
        .collect();
    let reached: Vec<Vec<bool>> = (0..files.len())
        .map(|from| reachable(&targets, from))
        .collect();
    let mut is_taken = vec![false; files.len()];
    let mut circles = Vec::new();
    for a in 0..files.len() {
        if is_taken[a] {
            continue;
        }
        let circle: Vec<usize> = (a..files.len())
            .filter(|&b| reached[a][b] && reached[b][a])
            .collect();
        for &b in &circle {
            is_taken[b] = true;
        }
        if circle.len() > 1 {
            circles.push(
                circle
                    .into_iter()
                    .map(|i| files[i].to_owned())
                    .collect::<Vec<_>>(),
            );
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// Returns for each file whether `from` leads to it.
fn reachable(targets: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut reached = vec![false; targets.len()];
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for &to in &targets[file] {
            if !std::mem::replace(&mut reached[to], true) {
                open.push(to);
            }
        }
    }
    reached
}

/// Returns the folders of files. A module's file counts as one of the module's folder if others of that folder are there.
pub fn folders(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let folder = |file: &PathBuf| {
        let own = file.with_extension("");
        let is_front = files.iter().any(|other| other.starts_with(&own));
        match is_front {
            true => own,
            false => file.parent().map(Path::to_owned).unwrap_or_default(),
        }
    };
    files.iter().map(folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::arrows;
    use crate::modules::Crate;

    /// The arrows of a crate with these files, as `from to` without folders and endings.
    fn arrows_of(files: &[(&str, &str)]) -> (tempfile::TempDir, Arrows) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let code = Crate::read(&folder.path().join("lib.rs")).unwrap();
        let arrows = arrows(&code);
        (folder, arrows)
    }

    fn shown(folder: &Path, arrows: &Arrows) -> Vec<String> {
        let name = |file: &Path| file.strip_prefix(folder).unwrap().display().to_string();
        let pairs = arrows
            .iter()
            .flat_map(|(from, to)| to.keys().map(move |to| (from, to)));
        pairs
            .map(|(from, to)| format!("{} {}", name(from), name(to)))
            .collect()
    }

    #[test]
    fn an_arrow_leads_to_the_file_that_defines_the_name() {
        let (folder, arrows) = arrows_of(&[
            (
                "lib.rs",
                "mod a; mod b; pub use b::inner::Thing; use std::fmt;",
            ),
            (
                "a.rs",
                "use crate::Thing; fn f() -> Thing { crate::b::help(vec![super::b::inner::CONST]) }",
            ),
            ("b/mod.rs", "pub mod inner; pub fn help(_: Vec<u8>) {}"),
            (
                "b/inner.rs",
                "pub struct Thing; pub const CONST: u8 = { 1 };",
            ),
        ]);
        assert_eq!(
            shown(folder.path(), &arrows),
            ["a.rs b/inner.rs", "a.rs b/mod.rs"]
        );
        assert!(circles(&arrows).is_empty());
    }

    #[test]
    fn tests_and_comments_make_no_arrow_and_macros_do() {
        let (folder, arrows) = arrows_of(&[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "//! [`crate::b::B`]\n#[cfg(test)] mod tests { use crate::b::B; }\npub struct A;",
            ),
            (
                "b.rs",
                "make! { pub struct B; fn f() { println!(\"{}\", crate::a::A) } }",
            ),
        ]);
        assert_eq!(shown(folder.path(), &arrows), ["b.rs a.rs"]);
    }

    #[test]
    fn a_method_hides_no_module_of_its_name() {
        let (folder, arrows) = arrows_of(&[
            ("lib.rs", "mod a; mod parse;"),
            (
                "a.rs",
                "use crate::parse; struct A; impl A { fn parse() { parse::parse() } }",
            ),
            ("parse.rs", "pub fn parse() {}"),
        ]);
        assert_eq!(shown(folder.path(), &arrows), ["a.rs parse.rs"]);
    }

    #[test]
    fn a_circle_has_the_files_that_lead_to_each_other_and_no_other() {
        let (folder, arrows) = arrows_of(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::*; fn f(_: B) {}"),
            ("b.rs", "pub struct B; use crate::c::inner::C;"),
            ("c.rs", "pub mod inner;"),
            ("c/inner.rs", "pub struct C; use crate::a::f;"),
            ("d.rs", "use crate::a::f;"),
        ]);
        let found = circles(&arrows);
        let names: Vec<Vec<_>> = found
            .iter()
            .map(|circle| {
                circle
                    .iter()
                    .map(|file| file.strip_prefix(folder.path()).unwrap().to_str().unwrap())
                    .collect()
            })
            .collect();
        assert_eq!(names, [["a.rs", "b.rs", "c/inner.rs"]]);
        assert_eq!(folders(&found[0]).len(), 2);
        let front = [folder.path().join("c.rs"), folder.path().join("c/inner.rs")];
        assert_eq!(folders(&front).len(), 1, "a module and its folder");
        let beside = [folder.path().join("c.rs"), folder.path().join("d.rs")];
        assert_eq!(
            folders(&beside).len(),
            1,
            "a module with a folder, and its neighbour"
        );
    }
}
