//! Limits for courses on the machine that opens them. A course is data and can come from anybody. Its runs may only
//! read and write their own session, and its files may be no larger or deeper than a course needs.

use std::path::{Component, Path};

use super::aliases;
use tinyllama_contract::flags::parse_flags;

/// The flags that a course may give to a run: they name no file and do not change where the run sends its reports.
const FLAGS: [&str; 39] = [
    "--config",
    "--hidden",
    "--layers",
    "--heads",
    "--kv-heads",
    "--ffn",
    "--seq-len",
    "--batch-size",
    "--vocab",
    "--num-steps",
    "--warmup",
    "--learning-rate",
    "--seed",
    "--dtype",
    "--qkv-fusion",
    "--flash-attention",
    "--swiglu-fusion",
    "--graph-fusion",
    "--block-size",
    "--ultra",
    "--graph",
    "--matmul-precision",
    "--tuning",
    "--gemm",
    "--block",
    "--backend",
    "--device",
    "--sync",
    "--deterministic",
    "--repeatability",
    "--diagnose",
    "--profile-steps",
    "--flops",
    "--fix",
    "--gpus",
    "--batch-per-gpu",
    "--overlap",
    "--bucket-mb",
    "--check-ranks",
];

/// Opening brackets without their closing ones. Markdown in a text has some.
const DEEPEST: usize = 500;

/// Says why a course may not give these flags to a run; `None` if it may.
pub fn refused_flag(flags: &[String]) -> Option<String> {
    let flags = parse_flags(flags);
    let flag = flags.iter().find(|flag| !FLAGS.contains(&flag.name()))?;
    Some(format!(
        "a course may not give `{}` to a run, since it could name files outside the session; it may give: {}",
        flag.name(),
        FLAGS.join(", ")
    ))
}

/// Returns whether a path stays below the folder that it is relative to.
pub(super) fn stays_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let plain = |part: Component| matches!(part, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b"."));
    !path.is_empty() && !path.contains(char::is_control) && parts.all(plain)
}

/// Says why a text must not reach the YAML reader: the reader would take minutes or all memory for it.
pub(super) fn refused_text(text: &str) -> Option<&'static str> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > DEEPEST {
        return Some("opens hundreds of brackets without closing them");
    }
    aliases::explode(text)
        .then_some("repeats parts of itself with anchors and aliases, which a course does not need")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command};
    use tinyllama_contract::flags::RunFlags;

    /// Every flag of `run` is either allowed for courses or in this list, so that a new flag requires a decision.
    #[test]
    fn every_flag_of_run_is_open_to_a_course_or_known_to_be_closed() {
        const CLOSED: [&str; 6] = [
            "--data", "--trace", "--sample", "--events", "--json", "--kernel",
        ];
        let run = RunFlags::augment_args(Command::new("run"));
        let known: Vec<String> = run
            .get_arguments()
            .filter_map(|flag| Some(format!("--{}", flag.get_long()?)))
            .collect();
        for flag in &known {
            let open = FLAGS.contains(&flag.as_str());
            assert_ne!(open, CLOSED.contains(&flag.as_str()), "{flag}");
        }
        for flag in FLAGS {
            assert!(
                known.iter().any(|known| known == flag),
                "`run` has no flag {flag}"
            );
        }
        let args = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        assert_eq!(refused_flag(&args("--config tiny --seed=3 --flops")), None);
        for line in [
            "--trace x",
            "--config tiny --data=/etc/passwd",
            "stray",
            "-x",
            "--seed 3 --json",
        ] {
            assert!(refused_flag(&args(line)).is_some(), "{line}");
        }
    }

    #[test]
    fn paths_out_of_a_folder_and_texts_that_explode_are_told() {
        for path in ["a.rs", "workbench/a.rs", "a/b/c"] {
            assert!(stays_below(path), "{path}");
        }
        for path in [
            "",
            "/etc/passwd",
            "../../.bashrc",
            "a/../../b",
            "./a",
            "a/.ssh/x",
            ".bashrc",
            "a\nb",
        ] {
            assert!(!stays_below(path), "{path}");
        }
        assert!(refused_text(&"{a: ".repeat(100_000)).is_some());
        assert!(refused_text(&"[".repeat(100_000)).is_some());
        for name in ["a", "_a", "-", "_", "0-Z"] {
            for count in [400, 20_000] {
                let anchor = format!("&{name} {}", "x".repeat(1000));
                let aliases = format!("*{name} , ").repeat(count);
                let bomb = format!("a: {anchor}\nb: [{aliases}]");
                assert!(refused_text(&bomb).is_some(), "{name}");
                let bomb = format!("objectives: [{anchor} , {aliases}]");
                assert!(refused_text(&bomb).is_some(), "{name}");
            }
        }
        // Lists of lists, each ten times the one before. The YAML reader itself may stop first.
        let levels = (1..9).map(|n| format!("- &l{n} [{}]\n", format!("*l{}, ", n - 1).repeat(10)));
        let lists: String = ["- &l0 [x]\n".to_string()]
            .into_iter()
            .chain(levels)
            .collect();
        let read = serde_yaml::from_str::<serde_yaml::Value>(&lists);
        assert!(refused_text(&lists).is_some() || read.is_err());
        assert_eq!(
            refused_text("base: &base {a: 1}\nsteps: [*base, *base]\n"),
            None
        );
        let text = "text: |\n  *so* [link](x) & *more* {{ live }} - [ ] box\n".repeat(300);
        assert_eq!(refused_text(&text), None);
    }
}
