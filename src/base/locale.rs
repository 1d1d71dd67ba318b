//! Reads from the environment which characters and colours the terminal supports.

/// Returns a variable's value if it is set and not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// True if the locale uses UTF-8. The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set decides. `lookup` reads a
/// variable.
pub fn is_utf8(lookup: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| lookup(name).filter(|value| !value.is_empty()))
        .is_some_and(|locale| locale.to_lowercase().replace('-', "").contains("utf8"))
}

/// True if `NO_COLOR` is set and not empty.
pub fn no_color(lookup: impl Fn(&str) -> Option<String>) -> bool {
    lookup("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// The tutor sets this variable for commands whose output it shows: the size of the terminal in columns and rows,
/// such as `80x24`.
pub const SCREEN: &str = "TINYLLAMA_SCREEN";

/// Size in columns and rows of the tutor's terminal that shows this program's output; `None` outside the tutor.
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
