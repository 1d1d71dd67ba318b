//! Versions, and the flags that appeared and disappeared with them.

use std::fmt;
use std::str::FromStr;

/// Major and minor number. Flags do not change with patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Version {
    type Err = ();

    /// Parses `7.0.2-13`, `v6.4.1` or `3.2.0 (release)`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim().trim_start_matches('v');
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        let mut next = || parts.next().and_then(|part| part.parse().ok()).ok_or(());
        Ok(Version(next()?, next()?))
    }
}

/// One spelling of a flag, and the versions that accept it.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    pub word: &'static str,
    pub since: Version,
    /// The first version without it.
    pub until: Option<Version>,
}

impl Spelling {
    pub const fn new(word: &'static str, since: Version) -> Self {
        Spelling {
            word,
            since,
            until: None,
        }
    }

    pub const fn until(mut self, version: Version) -> Self {
        self.until = Some(version);
        self
    }

    pub fn is_in(&self, version: Version) -> bool {
        version >= self.since && self.until.is_none_or(|until| version < until)
    }
}

/// The meaning of a flag, independent of its spelling.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The newest spelling first.
    pub spellings: &'static [Spelling],
    /// One line for a learner.
    pub explanation: &'static str,
}

impl Flag {
    pub fn words(&self) -> String {
        let words: Vec<&str> = self
            .spellings
            .iter()
            .map(|spelling| spelling.word)
            .collect();
        words.join(" or ")
    }

    /// Returns the spelling in `version`.
    pub fn spelling_in(&self, version: Version) -> Option<&'static str> {
        let spelling = self.spellings.iter().find(|one| one.is_in(version))?;
        Some(spelling.word)
    }

    /// The first version that had the flag, under any name.
    pub fn since(&self) -> Option<Version> {
        self.spellings.iter().map(|spelling| spelling.since).min()
    }
}

/// Defines flags. Each has a constant, its spellings with the first version and the version that ends it (the newest
/// spelling first), and an explanation.
macro_rules! flags {
    ($($(#[$about:meta])* $name:ident = $($word:literal $since:ident $(until $until:ident)?),+: $does:literal;)+) => {
        $($(#[$about])* const $name: $crate::profiler::commands::version::Flag =
            $crate::profiler::commands::version::Flag {
                spellings: &[$($crate::profiler::commands::version::Spelling::new($word, $since)$(.until($until))?),+],
                explanation: $does,
            };)+
    };
}

pub(super) use flags;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_tools_print_them() {
        assert_eq!("7.0.2-13".parse(), Ok(Version(7, 0)));
        assert_eq!("v6.4.1".parse(), Ok(Version(6, 4)));
        assert_eq!("3.2.0 (release)".parse(), Ok(Version(3, 2)));
        assert_eq!("release".parse::<Version>(), Err(()));
        assert!(Version(7, 2) < Version(7, 13), "versions are no decimals");
    }

    #[test]
    fn a_flag_is_written_as_its_version_writes_it() {
        const FLAG: Flag = Flag {
            spellings: &[
                Spelling::new("--roofline", Version(3, 10)),
                Spelling::new("--roof-only", Version(2, 0)).until(Version(3, 10)),
            ],
            explanation: "",
        };
        let written =
            [(1, 9), (2, 0), (3, 9), (3, 10)].map(|(a, b)| FLAG.spelling_in(Version(a, b)));
        let old = Some("--roof-only");
        assert_eq!(written, [None, old, old, Some("--roofline")]);
    }
}
