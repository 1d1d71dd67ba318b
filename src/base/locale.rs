//! What the environment says of the terminal's characters and colours.

/// A variable that is set and not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether the locale has UTF-8: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set decides. `lookup` reads a variable.
pub fn is_utf8(lookup: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| lookup(name).filter(|value| !value.is_empty()))
        .is_some_and(|locale| locale.to_lowercase().replace('-', "").contains("utf8"))
}

/// Whether `NO_COLOR` asks for none.
pub fn no_color(lookup: impl Fn(&str) -> Option<String>) -> bool {
    lookup("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Set by the tutor for commands whose output it shows: columns and rows of its own terminal, such as `80x24`.
pub const SCREEN: &str = "TINYLLAMA_SCREEN";

/// The terminal of the tutor that shows this program's output; none where no tutor does.
pub fn screen() -> Option<(u16, u16)> {
    let text = variable(SCREEN)?;
    let (columns, rows) = text.split_once('x')?;
    Some((columns.parse().ok()?, rows.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_that_is_set_decides() {
        let utf8 = |variables: &[(&str, &str)]| {
            is_utf8(|name| {
                let (_, value) = variables.iter().find(|(key, _)| *key == name)?;
                Some((*value).to_string())
            })
        };
        assert!(utf8(&[("LANG", "de_DE.UTF-8")]));
        assert!(!utf8(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]));
        assert!(utf8(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]));
        assert!(!utf8(&[]));
    }
}
