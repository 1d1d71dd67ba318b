//! Refuses circles of files that use each other, unless they are small and lie in one folder.
//!
//! ```sh
//! cargo run -p tinyllama-circles              # the workspace in the current folder; exit status 1 if a circle is refused
//! cargo run -p tinyllama-circles -- arrows    # every arrow between two files of a crate, with the names that make it
//! ```
//!
//! An arrow leads from a file to the file that defines what it uses: a `pub use` in between counts for neither. Test
//! modules are left out. The compiler refuses circles of crates, but none of files. A person who changes one file of a circle
//! has to know all of it, so a circle may not cross folders, and within one it has at most [`MOST_FILES`] files.
//!
//! It is a program, not a test, because it reads the sources and needs no crate of the workspace. It parses tokens with
//! `proc-macro2` instead of syntax with `syn`: macros hide nothing from it, and it builds in four seconds.

mod arrows;
mod circles;
mod modules;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arrows::{Arrows, arrows};
use circles::{circles, folders};
use modules::Crate;

/// Most files of a circle.
const MOST_FILES: usize = 12;

fn main() -> ExitCode {
    let lists_arrows = std::env::args().nth(1).is_some_and(|word| word == "arrows");
    let result = roots(Path::new("")).and_then(|roots| {
        let mut refused = 0;
        for root in roots {
            let arrows = arrows(&Crate::read(&root)?);
            if lists_arrows {
                print_arrows(&arrows);
            } else {
                refused += refuse(&root, &arrows);
            }
        }
        Ok(refused)
    });
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Returns the root files of the workspace's crates.
fn roots(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let manifest = folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)
        .map_err(|error| format!("{}: {error}", manifest.display()))?;
    let members = text
        .lines()
        .find_map(|line| line.strip_prefix("members = ["));
    let members =
        members.ok_or_else(|| format!("{}: no members in one line", manifest.display()))?;
    let mut roots = Vec::new();
    for member in members.split('"').skip(1).step_by(2) {
        let member = folder.join(member.trim_start_matches('.'));
        let places = ["lib.rs", "src/lib.rs", "src/main.rs"].map(|file| member.join(file));
        let root = places.into_iter().find(|place| place.is_file());
        roots.push(root.ok_or_else(|| format!("{}: no lib.rs or main.rs", member.display()))?);
    }
    Ok(roots)
}

fn print_arrows(arrows: &Arrows) {
    for (from, targets) in arrows {
        for (to, names) in targets {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            println!(
                "{} -> {}: {}",
                from.display(),
                to.display(),
                names.join(", ")
            );
        }
    }
}

/// Prints the circles that are refused, and returns their number.
fn refuse(root: &Path, arrows: &Arrows) -> usize {
    let mut refused = 0;
    for circle in circles(arrows) {
        let folders = folders(&circle);
        let fault = match (folders.len(), circle.len()) {
            (1, ..=MOST_FILES) => continue,
            (1, files) => format!("{files} files, more than {MOST_FILES}"),
            (folders, files) => format!("{files} files of {folders} folders"),
        };
        refused += 1;
        println!("{}: a circle of {fault}:", root.display());
        for from in &circle {
            for (to, names) in arrows[from].iter().filter(|(to, _)| circle.contains(to)) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                println!(
                    "  {} -> {}: {}",
                    from.display(),
                    to.display(),
                    names.join(", ")
                );
            }
        }
    }
    refused
}
