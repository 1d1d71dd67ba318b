//! Starts runs as steps of a Slurm allocation: the one that contains this process, or one that the session holds.

mod allocation;
mod events;
pub mod keeper;
mod queue;
pub mod step;

use std::env;
use std::ffi::OsString;

use super::settings::Settings;

const JOB: &str = "SLURM_JOB_ID";
const STEP: &str = "SLURM_STEP_ID";

/// One process on one node.
const ONE: [&str; 2] = ["--nodes=1", "--ntasks=1"];

/// Returns whether this process is inside an allocation.
pub(super) fn is_inside() -> bool {
    env::var_os(JOB).is_some_and(|job| !job.is_empty())
}

/// Requested resources, as arguments of `sbatch` and `srun`: one argument each, even with spaces in it.
fn resource_flags(settings: &Settings) -> Vec<OsString> {
    let slurm = &settings.slurm;
    let cpus = slurm.cpus.map(|cpus| cpus.to_string());
    let flags = [
        ("partition", &slurm.partition),
        ("account", &slurm.account),
        ("qos", &slurm.qos),
        ("time", &slurm.time),
        ("gres", &slurm.gres),
        ("cpus-per-task", &cpus),
    ];
    let given = flags
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("--{flag}={}", value.as_ref()?)));
    given
        .chain(slurm.options.iter().cloned())
        .map(OsString::from)
        .collect()
}

/// Command that starts a program with the terminal as its own job or step, before the program.
pub(super) fn job_prefix(settings: &Settings) -> Vec<OsString> {
    let mut argv = vec![OsString::from("srun")];
    argv.extend(ONE.map(OsString::from));
    if !is_inside() {
        argv.extend(resource_flags(settings));
    }
    argv.extend(wrap(settings));
    argv
}

/// Command that loads modules and enters a container on the compute node, before the program.
fn wrap(settings: &Settings) -> Vec<OsString> {
    /// `module` is a function of the login shell. Names stay separate arguments.
    const LOAD: &str =
        "while [ \"$1\" != -- ]; do module load \"$1\" || exit 3; shift; done; shift; exec \"$@\"";
    let mut argv: Vec<OsString> = Vec::new();
    if !settings.modules.is_empty() {
        argv.extend(["bash", "-lc", LOAD, "modules"].map(OsString::from));
        argv.extend(settings.modules.iter().map(OsString::from));
        argv.push("--".into());
    }
    argv.extend(settings.container.iter().map(OsString::from));
    argv
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Defines `module` as sites do, with names that a shell would interpret.
    #[test]
    fn modules_and_containers_are_words_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let hostile = ["rocm/6.3", "$(touch hacked)", "a b; touch hacked"];
        let settings = Settings {
            modules: hostile.map(String::from).to_vec(),
            container: vec!["env".into(), "IN=it's in".into()],
            ..Settings::default()
        };
        let profile = "module() { printf '%s\\n' \"$2\" >> loaded; }; export -f module\n";
        std::fs::write(folder.path().join(".bash_profile"), profile).unwrap();
        let argv = wrap(&settings);
        let output = Command::new(&argv[0])
            .args(&argv[1..])
            .args(["sh", "-c", "echo \"$IN\" \"$1\"", "-", "a  b"])
            .env("HOME", folder.path())
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "it's in a  b\n",
            "{output:?}"
        );
        let loaded = std::fs::read_to_string(folder.path().join("loaded")).unwrap();
        assert_eq!(loaded.lines().collect::<Vec<_>>(), hostile);
        assert!(!folder.path().join("hacked").exists());
    }
}
