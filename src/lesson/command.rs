//! Commands of the tutor that a step may run. The list is closed, and they only use files of the session.

/// Placeholder for the folder of the session.
pub const SESSION: &str = "{session}";

/// Checks whether the run command takes these flags for this target. The error is the message that it would print.
pub type CommandCheck<'a> = &'a dyn Fn(&str, &[String]) -> Result<(), String>;

/// A command that a step may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LessonCommand {
    pub name: &'static str,
    pub takes: AcceptedFlags,
}

/// The flags of `run` that a command passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedFlags {
    None,
    /// Flags that select the device.
    Device,
    All,
}

const fn takes(name: &'static str, takes: AcceptedFlags) -> LessonCommand {
    LessonCommand { name, takes }
}

pub const COMMANDS: &[LessonCommand] = &[
    takes("doctor", AcceptedFlags::None),
    takes("calibrate", AcceptedFlags::Device),
    takes("roofline", AcceptedFlags::All),
    takes("ablate", AcceptedFlags::All),
    takes("scale", AcceptedFlags::All),
    takes("predict", AcceptedFlags::All),
    takes("tune", AcceptedFlags::All),
    takes("stages", AcceptedFlags::All),
    takes("diff", AcceptedFlags::None),
    takes("batch-size", AcceptedFlags::All),
    takes("regress", AcceptedFlags::All),
    takes("kernels", AcceptedFlags::None),
    takes("benchmark gemm", AcceptedFlags::All),
    takes("compare", AcceptedFlags::All),
    takes("pytorch", AcceptedFlags::None),
    takes("workbench machine", AcceptedFlags::None),
];

/// Flags of these commands that name files or programs, or change the output.
const OUTSIDE: [&str; 14] = [
    "--launcher",
    "--data",
    "--trace",
    "--out",
    "--ci",
    "--svg",
    "--collect",
    "--driver",
    "--peer",
    "--class",
    "--machine",
    "--counters",
    "--measure",
    "--json",
];

impl LessonCommand {
    /// Finds the command with this name.
    ///
    /// # Errors
    /// A message with the names of all commands.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = COMMANDS.iter().copied().find(|known| known.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = COMMANDS.iter().map(|known| known.name).collect();
            format!("no step runs `{name}`; there are: {}", names.join(", "))
        })
    }

    /// The arguments of the program for this command, with its document on the standard output. `flags` may only name
    /// files of the session; [`SESSION`] in them is replaced by its folder.
    ///
    /// # Errors
    /// A message with the argument that leads out of the session.
    pub fn args(self, flags: &[String], session: &str) -> Result<Vec<String>, String> {
        self.check(flags)?;
        let flags = flags.iter().map(|flag| flag.replace(SESSION, session));
        let mut args: Vec<String> = self.name.split(' ').map(str::to_owned).collect();
        args.push("--json".into());
        args.extend(flags);
        Ok(args)
    }

    /// Checks the flags of the command.
    ///
    /// # Errors
    /// The same as [`LessonCommand::args`].
    pub fn check(self, flags: &[String]) -> Result<(), String> {
        for flag in flags {
            let name = flag.split('=').next().unwrap_or_default();
            if OUTSIDE.contains(&name) {
                return Err(format!("a step's command takes no `{name}`"));
            }
            let inside = flag.replace(&format!("{SESSION}/workbench/"), "");
            let inside = inside.replace(&format!("{SESSION}/"), "");
            if inside.contains(['/', '\\', '~']) || inside.contains("..") {
                return Err(format!(
                    "`{flag}` names a place outside the session; write its files as `{SESSION}/NAME`"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        shlex::split(line).unwrap()
    }

    #[test]
    fn only_listed_commands_run_and_none_reaches_out_of_the_session() {
        let regress = LessonCommand::parse("regress").unwrap();
        let line = regress.args(&args("v1 --baseline {session}/base.json --save"), "/s");
        assert_eq!(
            line.unwrap(),
            args("regress --json v1 --baseline /s/base.json --save")
        );
        let machine = LessonCommand::parse("workbench machine").unwrap();
        let line = machine.args(&args("swiglu --file {session}/workbench/swiglu.hip"), "/s");
        assert_eq!(
            line.unwrap(),
            args("workbench machine --json swiglu --file /s/workbench/swiglu.hip")
        );
        for flags in [
            "--baseline /etc/passwd",
            "--baseline={session}/../x",
            "--baseline ~/x",
            "--launcher rm",
            "--data=x",
            "--file={session}/workbench/../x",
            "v1:--trace=a/b",
        ] {
            assert!(regress.check(&args(flags)).is_err(), "{flags}");
        }
        for name in ["session", "run", "shell", "instructor", "benchmark"] {
            assert!(LessonCommand::parse(name).is_err(), "{name}");
        }
    }
}
