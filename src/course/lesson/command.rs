//! Commands of the tutor that a step may run. The list is closed, and they only use files of the session.

/// Placeholder for the folder of the session.
pub const SESSION: &str = "{session}";

/// A command that a step may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: &'static str,
    pub takes: Takes,
}

/// The flags of `run` that a command passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    None,
    /// Flags that select the device.
    Device,
    All,
}

const fn takes(name: &'static str, takes: Takes) -> Command {
    Command { name, takes }
}

pub const COMMANDS: [Command; 14] = [
    takes("doctor", Takes::None),
    takes("calibrate", Takes::Device),
    takes("roofline", Takes::All),
    takes("ablate", Takes::All),
    takes("scale", Takes::All),
    takes("predict", Takes::All),
    takes("tune", Takes::All),
    takes("stages", Takes::All),
    takes("diff", Takes::None),
    takes("batch-size", Takes::All),
    takes("regress", Takes::All),
    takes("kernels", Takes::None),
    takes("benchmark gemm", Takes::All),
    takes("compare", Takes::All),
];

/// Flags of these commands that name files or programs, or change the output.
const OUTSIDE: [&str; 14] = [
    "--launcher",
    "--data",
    "--trace",
    "--out",
    "--ci",
    "--svg",
    "--record",
    "--code-objects",
    "--collect",
    "--driver",
    "--peer",
    "--counters",
    "--measure",
    "--json",
];

impl Command {
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
    pub fn words(self, flags: &[String], session: &str) -> Result<Vec<String>, String> {
        self.check(flags)?;
        let flags = flags.iter().map(|flag| flag.replace(SESSION, session));
        let mut words: Vec<String> = self.name.split(' ').map(str::to_owned).collect();
        words.push("--json".into());
        words.extend(flags);
        Ok(words)
    }

    /// Checks the flags of the command.
    ///
    /// # Errors
    /// The same as [`Command::words`].
    pub fn check(self, flags: &[String]) -> Result<(), String> {
        for flag in flags {
            let name = flag.split('=').next().unwrap_or_default();
            if OUTSIDE.contains(&name) {
                return Err(format!("a step's command takes no `{name}`"));
            }
            let inside = flag.replace(&format!("{SESSION}/"), "");
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

    fn words(line: &str) -> Vec<String> {
        shlex::split(line).unwrap()
    }

    #[test]
    fn only_listed_commands_run_and_none_reaches_out_of_the_session() {
        let regress = Command::parse("regress").unwrap();
        let line = regress.words(&words("v1 --baseline {session}/base.json --save"), "/s");
        assert_eq!(
            line.unwrap(),
            words("regress --json v1 --baseline /s/base.json --save")
        );
        for flags in [
            "--baseline /etc/passwd",
            "--baseline={session}/../x",
            "--baseline ~/x",
            "--launcher rm",
            "--data=x",
            "v1:--trace=a/b",
        ] {
            assert!(regress.check(&words(flags)).is_err(), "{flags}");
        }
        for name in ["session", "run", "shell", "instructor", "benchmark"] {
            assert!(Command::parse(name).is_err(), "{name}");
        }
    }
}
