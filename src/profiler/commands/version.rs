//! Versions, and the flags that came and went with them.

use std::fmt;
use std::str::FromStr;

/// Major and minor: flags do not change with patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Version {
    type Err = ();

    /// `7.0.2-13`, `v6.4.1`, `3.2.0 (release)`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim().trim_start_matches('v');
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        let mut next = || parts.next().and_then(|part| part.parse().ok()).ok_or(());
        Ok(Version(next()?, next()?))
    }
}

/// A flag with the versions that know it.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    pub name: &'static str,
    pub since: Version,
    /// The first version without it.
    pub until: Option<Version>,
    /// One line for a learner.
    pub explanation: &'static str,
}

impl Flag {
    pub const fn new(name: &'static str, since: Version, explanation: &'static str) -> Self {
        Flag {
            name,
            since,
            until: None,
            explanation,
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

/// Flags: the constant, the word, the version it came with, the one that took it away, and what it does.
macro_rules! flags {
    ($($(#[$about:meta])* $name:ident = $word:literal, $since:ident $(until $until:ident)?: $does:literal;)+) => {
        $($(#[$about])* const $name: $crate::profiler::commands::version::Flag =
            $crate::profiler::commands::version::Flag::new($word, $since, $does)$(.until($until))?;)+
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
    fn a_flag_is_there_from_its_first_version_up_to_its_last() {
        let flag = Flag::new("--kernel-names", Version(3, 0), "").until(Version(3, 5));
        let is_in = [(2, 0), (3, 0), (3, 4), (3, 5)].map(|(a, b)| flag.is_in(Version(a, b)));
        assert_eq!(is_in, [false, true, true, false]);
    }
}
