//! This project's kernels: their sources as they were when the program was built, and what those sources say they cost.

use include_dir::{Dir, include_dir};

use super::entry::{KernelEntry, PassCost, SourceFile, Tunable};

static SOURCES: Dir = include_dir!("$CARGO_MANIFEST_DIR/kernels/src");

/// A kernel's facts beside its sources; formulas are those of its `forward_cost` and `backward_cost`.
struct Facts {
    name: &'static str,
    summary: &'static str,
    launches: &'static str,
    shape: &'static str,
    /// Pass, bytes, operations.
    costs: &'static [[&'static str; 3]],
    /// Name and meaning.
    tunables: &'static [[&'static str; 2]],
}

const UNITS: [&str; 2] = ["units_per_cube", "units of a cube (threads of a workgroup)"];
const TEAM: [[&str; 2]; 2] = [
    ["units_per_row", "units that share a row; a power of two"],
    ["rows_per_cube", "rows a cube holds at a time"],
];

/// In the order a training step meets them.
const KERNELS: [Facts; 8] = [
    Facts {
        name: "rmsnorm",
        summary: "x / sqrt(mean(x^2) + eps) * weight, one team of units a row",
        launches: "1 forward, 2 backward",
        shape: "R rows (tokens) of W features, s bytes an element",
        costs: &[
            ["forward", "(2 R W + W) s", "4 R W + 3 R"],
            ["backward", "(3 R W + 2 W) s", "11 R W + 8 R"],
        ],
        tunables: &[
            TEAM[0],
            TEAM[1],
            [
                "backward_cubes",
                "cubes of the backward kernel; each team writes one partial row",
            ],
        ],
    },
    Facts {
        name: "add_rmsnorm",
        summary: "residual sum and its norm in one pass over memory",
        launches: "1 forward, 2 backward",
        shape: "R rows (tokens) of W features, s bytes an element",
        costs: &[
            ["forward", "(4 R W + W) s", "5 R W + 3 R"],
            ["backward", "(4 R W + 2 W) s", "12 R W + 8 R"],
        ],
        tunables: &[TEAM[0], TEAM[1]],
    },
    Facts {
        name: "rope",
        summary: "turns pairs of queries and keys by their position, in place",
        launches: "1 forward, 1 backward",
        shape: "N elements turned of s bytes, S positions, D features a head",
        costs: &[["either way", "2 N s + 4 S D", "3 N"]],
        tunables: &[UNITS],
    },
    Facts {
        name: "flash_attention",
        summary: "causal attention over grouped heads; scores never leave the chip",
        launches: "1 forward, 2 backward; 1 for the log-sum-exp alone",
        shape: "Q query and K key elements of s bytes, H rows of all heads, D features a head, P pairs of query and visible key",
        costs: &[
            ["forward", "(2 Q + 2 K) s + 4 H", "4 D P"],
            ["backward", "(4 Q + 4 K) s + 4 H", "10 D P"],
        ],
        tunables: &[
            [
                "units_x",
                "units that share a row of the tile; a power of two",
            ],
            ["units_y", "rows of units in a cube"],
            ["rows_per_unit", "rows each unit works on"],
            ["columns_per_unit", "columns each unit works on"],
        ],
    },
    Facts {
        name: "swiglu",
        summary: "silu(gate) * up, element by element",
        launches: "1 forward, 1 backward",
        shape: "R rows of F hidden features, s bytes an element",
        costs: &[
            ["forward", "3 R F s", "6 R F"],
            ["backward", "5 R F s", "12 R F"],
        ],
        tunables: &[UNITS],
    },
    Facts {
        name: "swiglu_naive",
        summary: "the mistake of stage 4: one unit computes a whole output's dot products",
        launches: "1 forward, 1 backward by swiglu",
        shape: "R rows of W features in, F out, s bytes an element",
        costs: &[["forward", "(R W + 2 W F + 3 R F) s", "4 R F W + 6 R F"]],
        tunables: &[UNITS],
    },
    Facts {
        name: "cross_entropy",
        summary: "softmax, loss and gradient from one reading of the logits",
        launches: "2 forward with the gradient, 0 backward",
        shape: "R rows (tokens) of C classes, s bytes a logit, t bytes a target",
        costs: &[
            ["loss only", "R C s + R (t + 8)", "4 R C + 3 R"],
            ["with gradient", "2 R C s + R (t + 4)", "7 R C + 4 R"],
            ["gradient only", "2 R C s + R (t + 4)", "3 R C + R"],
        ],
        tunables: &TEAM,
    },
    Facts {
        name: "adamw",
        summary: "updates every parameter in place with one launch",
        launches: "1",
        shape: "N parameters, gradients of g bytes, copies of c bytes",
        costs: &[["step", "N (24 + g + c)", "15 N"]],
        tunables: &[
            ["units", "units of a cube (threads of a workgroup)"],
            [
                "vectors_per_unit",
                "vectors each unit updates, one after the other",
            ],
            ["parameters_per_launch", "parameters of one launch at most"],
        ],
    },
];

/// Every kernel of this project.
pub fn kernels() -> Vec<KernelEntry> {
    KERNELS.iter().map(entry).collect()
}

fn entry(facts: &Facts) -> KernelEntry {
    KernelEntry {
        name: facts.name.to_owned(),
        summary: facts.summary.to_owned(),
        launches: facts.launches.to_owned(),
        shape: facts.shape.to_owned(),
        costs: facts
            .costs
            .iter()
            .map(|[pass, bytes, flops]| PassCost {
                pass: (*pass).to_owned(),
                bytes: (*bytes).to_owned(),
                flops: (*flops).to_owned(),
            })
            .collect(),
        tunables: facts
            .tunables
            .iter()
            .map(|[name, means]| Tunable {
                name: (*name).to_owned(),
                means: (*means).to_owned(),
            })
            .collect(),
        files: files(facts.name),
    }
}

/// Rust files of the kernel's folder: device code first, then what launches it, checks last.
fn files(kernel: &str) -> Vec<SourceFile> {
    let mut files: Vec<SourceFile> = SOURCES
        .get_dir(kernel)
        .into_iter()
        .flat_map(Dir::files)
        .filter_map(|file| {
            Some(SourceFile {
                name: file.path().file_name()?.to_str()?.to_owned(),
                language: "rust".to_owned(),
                text: file.contents_utf8()?.to_owned(),
            })
        })
        .collect();
    let rank = |file: &SourceFile| match file.name.as_str() {
        "mod.rs" => 2,
        "launch.rs" => 3,
        "reference.rs" => 4,
        "check.rs" => 5,
        _ if file.text.contains("#[cube") => 0,
        _ => 1,
    };
    files.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name)));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that is added, renamed or loses a tunable must not stay as it was in this list.
    #[test]
    fn the_list_is_that_of_the_sources() {
        let mut folders: Vec<&str> = SOURCES
            .dirs()
            .filter(|folder| folder.get_file(folder.path().join("launch.rs")).is_some())
            .filter(|folder| {
                folder
                    .get_file(folder.path().join("reference.rs"))
                    .is_some()
            })
            .filter_map(|folder| folder.path().to_str())
            .collect();
        let mut listed: Vec<&str> = KERNELS.iter().map(|facts| facts.name).collect();
        folders.sort_unstable();
        listed.sort_unstable();
        assert_eq!(folders, listed);
        for facts in &KERNELS {
            let files = files(facts.name);
            assert!(files[0].text.contains("#[cube"), "{}", facts.name);
            let owner = if facts.name == "add_rmsnorm" {
                "rmsnorm"
            } else {
                facts.name
            };
            let sources: String = super::files(owner)
                .into_iter()
                .map(|file| file.text)
                .collect();
            for [tunable, _] in facts.tunables {
                assert!(
                    sources.contains(&format!("pub {tunable}: usize")),
                    "{} has no {tunable}",
                    facts.name
                );
            }
        }
        let catalog = SOURCES
            .get_file("catalog.rs")
            .unwrap()
            .contents_utf8()
            .unwrap();
        for facts in &KERNELS {
            let launches = format!("launches: \"{}\"", facts.launches);
            let at = catalog.find(&format!("name: \"{}\"", facts.name)).unwrap();
            assert!(
                catalog[at..]
                    .lines()
                    .take(6)
                    .any(|line| line.contains(&launches)),
                "{}: {launches}",
                facts.name
            );
        }
    }
}
