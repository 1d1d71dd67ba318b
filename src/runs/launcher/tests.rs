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
    let command = argv_of(&parsed("srun --comment='a b'").unwrap());
    assert_eq!(command, [&["srun", "--comment=a b"], &own[..]].concat());
    for wrong in ["srun 'a", "", " ", "''", "'' --gres=gpu:1"] {
        assert!(parsed(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_launcher_goes_to_another_process_of_this_program_whole() {
    let mut launcher = parsed("slurm").unwrap();
    launcher.settings.container = ["apptainer", "exec", "it's \"the\" image"]
        .map(String::from)
        .to_vec();
    let back = Launcher::from_settings(Some(&launcher.json()), None).unwrap();
    assert_eq!(
        (back.kind, back.settings),
        (launcher.kind, launcher.settings)
    );
    assert!(Launcher::from_settings(Some(r#"{"to":{"ssh":"node"}}"#), None).is_err());
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
