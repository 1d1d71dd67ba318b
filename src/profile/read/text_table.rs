//! Parses tables drawn with characters, as tools print them: `| a | b |` and the box-drawing kind.

/// Returns the cells of a table's line. `None` for a rule or any other line.
pub fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let bar = line.chars().next().filter(|c| is_bar(*c))?;
    let inner = line.strip_prefix(bar)?.trim_end_matches(is_bar);
    let is_rule = inner
        .chars()
        .all(|c| matches!(c, '-' | '=' | '+' | '─' | '═' | ' ') || is_bar(c));
    if is_rule {
        return None;
    }
    Some(inner.split(is_bar).map(str::trim).collect())
}

fn is_bar(c: char) -> bool {
    matches!(c, '|' | '│' | '║' | '┃')
}
