//! Versions, and the flags that appeared and disappeared with them.

use std::fmt;
use std::str::FromStr;

/// Major and minor number. Flags do not change with patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolVersion(pub u32, pub u32);

impl fmt::Display for ToolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for ToolVersion {
    type Err = ();

    /// Parses `7.0.2-13`, `v6.4.1` or `3.2.0 (release)`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim().trim_start_matches('v');
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        let mut next = || parts.next().and_then(|part| part.parse().ok()).ok_or(());
        Ok(ToolVersion(next()?, next()?))
    }
}

/// One spelling of a flag, and the versions that accept it.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    pub word: &'static str,
    pub present_since: ToolVersion,
    /// The first version without it.
    pub removed_in: Option<ToolVersion>,
}

impl Spelling {
    pub fn is_in(&self, version: ToolVersion) -> bool {
        version >= self.present_since && self.removed_in.is_none_or(|until| version < until)
    }
}

/// The meaning of a flag, independent of its spelling.
#[derive(Clone, Copy, Debug)]
pub struct ToolFlag {
    /// The newest spelling first.
    pub spellings: &'static [Spelling],
    /// One line for a learner.
    pub explanation: &'static str,
    /// How the output differs without the flag, if a task can do without it.
    pub without: &'static str,
}

impl ToolFlag {
    pub fn names(&self) -> String {
        let names: Vec<&str> = self
            .spellings
            .iter()
            .map(|spelling| spelling.word)
            .collect();
        names.join(" or ")
    }

    /// Returns the spelling in `version`.
    pub fn spelling_in(&self, version: ToolVersion) -> Option<&'static str> {
        let spelling = self.spellings.iter().find(|one| one.is_in(version))?;
        Some(spelling.word)
    }

    /// The first version that had the flag, under any name.
    pub fn present_since(&self) -> Option<ToolVersion> {
        self.spellings
            .iter()
            .map(|spelling| spelling.present_since)
            .min()
    }
}

/// Defines flags. Each has a constant, its spellings with the first version and the version that ends it (the newest
/// spelling first), an explanation, and how the output differs without it.
macro_rules! flags {
    (@) => { None };
    (@ $until:tt) => { Some($crate::commands::version::ToolVersion $until) };
    ($($(#[$about:meta])* $name:ident = $($word:literal $since:tt $(until $until:tt)?),+: $does:literal $(, or $without:literal)?;)+) => {
        $($(#[$about])* const $name: $crate::commands::version::ToolFlag =
            $crate::commands::version::ToolFlag {
                spellings: &[$($crate::commands::version::Spelling {
                    word: $word,
                    present_since: $crate::commands::version::ToolVersion $since,
                    removed_in: $crate::commands::version::flags!(@ $($until)?),
                }),+],
                explanation: $does,
                without: concat!($($without)?),
            };)+
    };
}

pub(super) use flags;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_tools_print_them() {
        assert_eq!("7.0.2-13".parse(), Ok(ToolVersion(7, 0)));
        assert_eq!("v6.4.1".parse(), Ok(ToolVersion(6, 4)));
        assert_eq!("3.2.0 (release)".parse(), Ok(ToolVersion(3, 2)));
        assert_eq!("release".parse::<ToolVersion>(), Err(()));
        assert!(
            ToolVersion(7, 2) < ToolVersion(7, 13),
            "versions are no decimals"
        );
    }

    #[test]
    fn a_flag_is_written_as_its_version_writes_it() {
        flags! { FLAG = "--roofline" (3, 10), "--roof-only" (2, 0) until (3, 10): ""; }
        let written =
            [(1, 9), (2, 0), (3, 9), (3, 10)].map(|(a, b)| FLAG.spelling_in(ToolVersion(a, b)));
        let old = Some("--roof-only");
        assert_eq!(written, [None, old, old, Some("--roofline")]);
    }
}
