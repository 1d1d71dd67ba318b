//! Starts runs on another machine through OpenSSH.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::LaunchError;
use super::local_end::{EventWriter, Reconnect, Transport};
use super::settings::Settings;
use tinyllama_contract::flags::UsageError;

/// How long a host may be unreachable during a run.
const PATIENCE: Duration = Duration::from_secs(300);

/// Usual flags of ssh: log in with a key or fail, answer soon, and notice a lost connection.
const USUAL: [&str; 9] = [
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oClearAllForwardings=yes",
    "-oForwardAgent=no",
    "-oForwardX11=no",
    "-oLogLevel=ERROR",
];

pub(super) fn check_host(host: &str) -> Result<(), UsageError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@.-_:%[]".contains(c);
    match host.starts_with('-') || host.is_empty() || !host.chars().all(is_plain) {
        true => Err(UsageError(format!(
            "ssh:{host}: write a host as ssh accepts it, such as ssh:node1 or ssh:me@node1"
        ))),
        false => Ok(()),
    }
}

/// A host, and the time since which it is unreachable.
pub(super) struct Ssh<'a> {
    pub host: &'a str,
    pub settings: &'a Settings,
    pub away: Option<Instant>,
}

impl Ssh<'_> {
    /// Builds the command line of `ssh`. It joins arguments with spaces, and a shell on the other side splits them again,
    /// so every argument is quoted.
    pub(super) fn argv(&self, there: &[OsString]) -> Vec<OsString> {
        let mut argv = vec![OsString::from("ssh")];
        argv.extend(USUAL.map(OsString::from));
        argv.extend(self.settings.ssh.options.iter().map(OsString::from));
        argv.push("--".into());
        argv.push(self.host.into());
        argv.push(quoted_for_shell(there));
        argv
    }
}

fn quoted_for_shell(argv: &[OsString]) -> OsString {
    let quote = |word: &OsString| {
        // Only a zero byte cannot be quoted, and arguments do not contain one.
        shlex::bytes::try_quote(word.as_bytes()).map_or_else(|_| Vec::new(), |it| it.into_owned())
    };
    let argv: Vec<Vec<u8>> = argv.iter().map(quote).collect();
    OsString::from_vec(argv.join(&b' '))
}

/// Passes this program's environment variables on, because ssh does not.
fn variables() -> Vec<OsString> {
    let ours = |name: &OsStr| name.as_bytes().starts_with(b"TINYLLAMA_");
    let pair = |(mut name, value): (OsString, OsString)| {
        name.push("=");
        name.push(value);
        name
    };
    let mut all: Vec<OsString> = env::vars_os()
        .filter(|(name, _)| ours(name))
        .map(pair)
        .collect();
    if !all.is_empty() {
        all.insert(0, "env".into());
    }
    all
}

impl Transport for Ssh<'_> {
    fn name(&self) -> String {
        self.host.to_string()
    }

    fn wait_until_ready(&mut self, events: &mut EventWriter) -> Result<(), LaunchError> {
        events.phase(&format!("connecting to {}", self.host), None);
        Ok(())
    }

    fn command(&self, far: Vec<OsString>) -> Vec<OsString> {
        self.argv(&[variables(), far].concat())
    }

    fn has_stdin(&self) -> bool {
        true
    }

    /// The message on standard input is enough.
    fn cancel(&self) {}

    fn reconnect(&mut self, follow: &[OsString], _: &Path, _: &str) -> Reconnect {
        let since = *self.away.get_or_insert_with(Instant::now);
        match since.elapsed() > PATIENCE {
            true => Reconnect::Never(LaunchError::Lost),
            false => Reconnect::With(self.argv(follow)),
        }
    }

    fn on_output(&mut self) {
        self.away = None;
    }

    fn trouble(&self, said: &str) -> LaunchError {
        let lower = said.to_lowercase();
        let says = |argv: &[&str]| argv.iter().any(|argv| lower.contains(argv));
        let host = self.host.to_string();
        if says(&[
            "permission denied",
            "host key verification",
            "too many authentication",
        ]) {
            LaunchError::Login(host)
        } else if says(&[
            "could not resolve",
            "connection refused",
            "timed out",
            "no route",
            "unreachable",
        ]) {
            LaunchError::Host(host)
        } else if says(&["command not found", "no such file", "not found"]) {
            LaunchError::Program
        } else {
            LaunchError::from_stderr(said)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The other side's shell has to give back every argument unchanged.
    #[test]
    fn no_word_is_taken_apart_or_obeyed_by_the_other_sides_shell() {
        let folder = tempfile::tempdir().unwrap();
        let argv = [
            "printf",
            "%s\\n",
            "a b",
            "it's",
            "\"",
            "$(touch hacked)",
            "`touch hacked`",
            "; touch hacked",
            "*",
            "~",
            "",
            "-rf",
            "&& touch hacked",
            "\\",
            "a\tb",
            "#",
            "!!",
            "é\u{202e}",
        ]
        .map(OsString::from);
        let line = quoted_for_shell(&argv);
        let shell = Command::new("sh")
            .arg("-c")
            .arg(&line)
            .current_dir(folder.path())
            .output();
        let said = String::from_utf8(shell.unwrap().stdout).unwrap();
        let expected: Vec<String> = argv[2..]
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
        assert!(!folder.path().join("hacked").exists());
    }

    #[test]
    fn a_host_is_no_option_and_no_command() {
        for host in [
            "",
            "-oProxyCommand=touch hacked",
            "a b",
            "a;b",
            "$(b)",
            "a\nb",
        ] {
            assert!(check_host(host).is_err(), "{host}");
        }
        for host in ["node1", "me@node1.example", "[::1]"] {
            check_host(host).unwrap();
        }
    }
}
