//! Kills each command that starts other programs, while one of them works. None may go on without it, and the next start
//! of the program removes the temporary folders.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// A small model, and more steps than anybody waits for.
const ENDLESS: &str = "--hidden=32 --layers=2 --heads=4 --kv-heads=2 --ffn=48 --seq-len=16 --vocab=300 --num-steps=1000000";
/// A launcher that passes no signal on.
const LAUNCHER: &str = "'--launcher=sh -c '\\''\"$@\"; exit $?'\\'' sh'";

/// Calls that start a program, with `ENDLESS` and `LAUNCHER` for the flags above.
const CALLS: &[&str] = &[
    "ablate v2 ENDLESS",
    "batch-size v1 --num-steps=1000000",
    "calibrate",
    "calibrate LAUNCHER",
    "compare v1 v2 ENDLESS",
    "compare v1 v2 LAUNCHER ENDLESS",
    "compare v1 '--peer=sleep 600; true' ENDLESS",
    "doctor",
    "doctor LAUNCHER",
    "doctor --collect=facts.tar.gz -- ENDLESS",
    "lessons verify -- --backend=cpu --num-steps=1000",
    "predict v1 --learn ENDLESS",
    "prepare -- --config=medium",
    "profile all v1 -- ENDLESS",
    "profile rocprof-compute v1 -- ENDLESS",
    "profile rocprof-sys v1 -- ENDLESS",
    "profile rocprofv3 v1 -- ENDLESS",
    "pytorch clocks",
    "regress v1 --baseline=baseline --save ENDLESS",
    "roofline v1 ENDLESS",
    "scale v1 --num-steps=1000000",
    "stages ENDLESS",
    "tune v3 ENDLESS",
    "workbench bench elementwise '--launcher=sh -c \"exec sleep 600\" sh'",
    "workbench check elementwise",
    "workbench machine elementwise",
    "workbench occupancy elementwise",
    "workbench watch elementwise",
];

/// Commands that start no program here, or one that a call above starts in the same way: a run, a compiler. The course
/// without a command is killed by the test above.
const OTHERS: &str = "run trace benchmark diff gradcheck verify kernels completions schema session report runs recordings \
    workbench-list workbench-start workbench-hint workbench-solution workbench-reset \
    lessons-list lessons-show lessons-new lessons-lint \
    instructor-list instructor-ladder instructor-run instructor-show instructor-reset instructor-restore \
    instructor-unlock instructor-solve instructor-pin instructor-message instructor-collect \
    profile-analyze profile-rocprof profile-rocprofv2 profile-import profile-compare profile-tools";

/// Programs that answer questions about themselves; the first also measures a run as its child.
const PROFILER: &str = "#!/bin/sh\ncase \"$*\" in *' -- '*) ;; *) echo 'version: 1.0.0'; exit;; esac\n\
    while [ \"$1\" != -- ]; do shift; done; shift; \"$@\"; exit $?\n";
const COMPILER: &str = "#!/bin/sh\ncase $1 in --version) echo 'clang version 19.1.7';; --print-targets) echo amdgcn;; \
    *) exec sleep 600;; esac\n";
const ENDLESS_PROGRAM: &str = "#!/bin/sh\nexec sleep 600\n";

fn write_programs(folder: &Path) {
    let profilers = [
        "rocprofv3",
        "rocprof-sys-run",
        "rocprof-sys-sample",
        "rocprof-compute",
    ];
    let endless = ["amd-smi", "hipconfig", "python3", "rocminfo"];
    let programs = profilers.map(|name| (name, PROFILER)).into_iter();
    let programs = programs.chain(endless.map(|name| (name, ENDLESS_PROGRAM)));
    for (name, text) in programs.chain([("clang", COMPILER)]) {
        fs::write(folder.join(name), text).unwrap();
        fs::set_permissions(folder.join(name), Permissions::from_mode(0o755)).unwrap();
    }
}

/// Waits, and returns whether it came true at any time.
fn wait_for(is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + terminal::TIMEOUT;
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Names of the commands in a help text.
fn names(command: &[&str]) -> Vec<String> {
    let help = Command::new(PROGRAM).args(command).arg("--help").output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines
        .take_while(|line| !line.is_empty())
        .filter(|line| line.as_bytes()[2] != b' ')
        .filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_is_killed_or_starts_no_program() {
    let others = OTHERS.split_whitespace();
    let calls = CALLS.iter().map(|call| format!("{call} "));
    let listed: Vec<_> = calls
        .chain(others.map(|name| name.replacen('-', " ", 1) + " "))
        .collect();
    let is_listed = |name: &str| listed.iter().any(|call| call.starts_with(name));
    for name in names(&[]) {
        let inner = names(&[&name]);
        let is_killed = |inner: &String| is_listed(&format!("{name} {inner} "));
        let missing: Vec<_> = inner.iter().filter(|inner| !is_killed(inner)).collect();
        let is_whole = OTHERS.split_whitespace().any(|other| other == name);
        assert!(
            is_whole || missing.is_empty() && is_listed(&format!("{name} ")),
            "{name} {missing:?}: kill it too, if it starts programs"
        );
    }
}

#[test]
fn no_command_leaves_a_process_or_a_folder_behind() {
    let mut random = ChaCha8Rng::seed_from_u64(setting("KILLS_SEED", 3));
    for call in CALLS {
        let home = TempDir::new().unwrap();
        let (programs, temporary) = (home.path().join("programs"), home.path().join("tmp"));
        fs::create_dir(&programs).unwrap();
        fs::create_dir(&temporary).unwrap();
        write_programs(&programs);
        let tutor = |line: &str| {
            let line = line
                .replace("ENDLESS", ENDLESS)
                .replace("LAUNCHER", LAUNCHER);
            let path = std::env::var("PATH").unwrap();
            let mut command = Command::new(PROGRAM);
            command
                .args(shlex::split(&line).unwrap())
                .current_dir(home.path())
                .envs(environment(home.path()))
                .env_remove("TINYLLAMA_LESSONS")
                .env("XDG_CACHE_HOME", home.path())
                .env("TMPDIR", &temporary)
                .env("TINYLLAMA_CLANG", programs.join("clang"))
                .env("PATH", format!("{}:{path}", programs.display()))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command
        };
        if call.starts_with("workbench") {
            assert!(
                tutor("workbench start elementwise")
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let mut child = tutor(call).spawn().unwrap();
        let others = || processes(home.path()).len() > 1;
        let has_started = wait_for(others);
        thread::sleep(MOST.mul_f64(random.random_range(0.0..1.0)));
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_started, "`{call}` started nothing");
        assert_eq!(ended, None, "`{call}` ended too early");
        let are_gone = wait_for(|| processes(home.path()).is_empty());
        assert!(are_gone, "`{call}` left {:?}", processes(home.path()));
        assert!(tutor("schema run").status().unwrap().success());
        let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().collect();
        assert!(left.is_empty(), "`{call}` left {left:?}");
    }
}

/// A child without it would be an orphan after a kill at the wrong moment, which the test above may miss.
#[test]
fn every_child_is_told_to_die_with_its_parent() {
    fn check(folder: &Path, found: &mut usize) {
        for path in fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                check(&path, found);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            // The keeper of an allocation ends when its input does, and gives the allocation back first.
            let is_exempt = path.ends_with("keeper.rs")
                || path.ends_with("child.rs")
                || path.display().to_string().contains("/tests");
            let is_process = code
                .lines()
                .any(|line| line.contains("process::") && line.contains("Command"));
            if is_exempt || !is_process {
                continue;
            }
            let count = |what: &str| code.matches(what).count();
            let started = count("Command::new(");
            assert!(
                started
                    <= count("die_with_parent(&mut")
                        + count("die_with_parent(command")
                        + count("self.run(command"),
                "{}",
                path.display()
            );
            *found += started;
        }
    }
    let mut found = 0;
    check(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    assert!(found > 15, "only {found} places start programs");
}
