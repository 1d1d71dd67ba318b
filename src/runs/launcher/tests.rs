use std::process::Command;

use super::*;

fn parsed(flag: &str) -> Result<Launcher, UsageError> {
    Ok(Launcher {
        kind: LauncherKind::parse(flag)?,
        ..Launcher::local("/a path/it's/tutor".into())
    })
}

fn argv_of(launcher: &Launcher) -> Vec<String> {
    let argv = launcher.command(["run", "v1", "--data=a b"]);
    argv.iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn every_kind_keeps_the_programs_words_apart() {
    let own = ["/a path/it's/tutor", "run", "v1", "--data=a b"];
    assert_eq!(argv_of(&parsed("local").unwrap()), own);
    assert_eq!(argv_of(&parsed("").unwrap()), own);
    let command = argv_of(&parsed("srun --comment='a b'").unwrap());
    assert_eq!(command, [&["srun", "--comment=a b"], &own[..]].concat());
    let ssh = argv_of(&parsed("ssh:me@node").unwrap());
    assert_eq!(ssh[..3], ["/a path/it's/tutor", "launch", "near"]);
    assert_eq!(ssh[4..], [&["--"], &own[..]].concat());
    for wrong in ["srun 'a", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b"] {
        assert!(parsed(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_launcher_goes_to_another_process_of_this_program_whole() {
    let mut launcher = parsed("ssh:node").unwrap();
    launcher.settings.container = ["apptainer", "exec", "it's \"the\" image"]
        .map(String::from)
        .to_vec();
    let back = Launcher::from_settings(Some(&launcher.json()), None).unwrap();
    assert_eq!(
        (back.kind, back.settings),
        (launcher.kind, launcher.settings)
    );
    assert!(Launcher::from_settings(Some(r#"{"to":{"ssh":"-x"}}"#), None).is_err());
}

#[test]
fn a_variable_reaches_every_run_and_the_program_may_lie_elsewhere() {
    let mut launcher = parsed("local")
        .unwrap()
        .with_variable("TINYLLAMA_TUNING", "off");
    launcher.settings.program = Some("/shared/tutor".into());
    assert_eq!(
        argv_of(&launcher)[..3],
        ["env", "TINYLLAMA_TUNING=off", "/shared/tutor"]
    );
}

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
