//! Makes URLs of the course clickable (OSC 8) in terminals that are known to follow them. Elsewhere they are text.

use std::cmp::Reverse;

use ratatui::prelude::{Buffer, Position};

use crate::tui::markdown::links;
use tinyllama_lesson::Course;

/// A URL's index among those of the course, and its cells on the screen.
pub type ScreenLink = (usize, Vec<Position>);

/// URLs that the course's own texts link to, the longest first, so that none is taken for a shorter one.
pub fn urls(course: &Course) -> Vec<String> {
    let steps = course.lessons().flat_map(|lesson| &lesson.steps);
    let texts = steps.map(|step| &step.text);
    let texts = texts.chain(course.reference.values());
    let targets = texts.flat_map(|text| links(text)).map(|(_, target)| target);
    let is_web = |url: &String| {
        let starts = ["https://", "http://"];
        starts.iter().any(|start| url.starts_with(start))
            && url.chars().all(|c| c.is_ascii_graphic())
    };
    let mut urls: Vec<String> = targets.filter(is_web).collect();
    urls.sort_by_key(|url| (Reverse(url.len()), url.clone()));
    urls.dedup();
    urls
}

/// Returns whether the terminal follows links, by the variables of the environment. Within a multiplexer that is unknown.
pub fn are_followed(variable: impl Fn(&str) -> Option<String>) -> bool {
    const TERMS: &str = "alacritty contour foot wezterm xterm-ghostty xterm-kitty";
    const PROGRAMS: &str = "WezTerm ghostty iTerm.app vscode";
    let is = |name, known: &str| {
        let value = variable(name).unwrap_or_default();
        known.split(' ').any(|known| value == known)
    };
    let vte = variable("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
    variable("TERM").is_none_or(|term| term != "dumb")
        && ["TMUX", "STY", "ZELLIJ"]
            .iter()
            .all(|name| variable(name).is_none())
        && (is("TERM", TERMS)
            || is("TERM_PROGRAM", PROGRAMS)
            || variable("WT_SESSION").is_some()
            || vte.is_some_and(|version| version >= 5000))
}

/// Makes links of these URLs in lines of text. One that a line cuts stays text.
pub fn in_lines(text: &str, urls: &[String]) -> String {
    let mut linked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("http") {
        let (before, here) = rest.split_at(at);
        let url = urls.iter().find(|url| here.starts_with(url.as_str()));
        let url = url.map_or("", String::as_str);
        let (shown, behind) = here.split_at(url.len().max("http".len()));
        linked.push_str(before);
        match url {
            "" => linked.push_str(shown),
            _ => linked.push_str(&format!("\x1b]8;;{url}\x1b\\{url}\x1b]8;;\x1b\\")),
        }
        rest = behind;
    }
    linked + rest
}

/// Finds the URLs on the screen, also those that go on in the next row.
pub fn find(buffer: &Buffer, urls: &[String]) -> Vec<ScreenLink> {
    let mut found: Vec<ScreenLink> = Vec::new();
    let starts = buffer.area.positions();
    for start in starts.filter(|start| matched(buffer, "http", *start) == 4) {
        let mut whole = urls.iter().enumerate();
        found.extend(whole.find_map(|(at, url)| Some((at, cells(buffer, url, start)?))));
    }
    found
}

fn cells(buffer: &Buffer, url: &str, start: Position) -> Option<Vec<Position>> {
    let row = |start: Position, count: usize| {
        let columns = (start.x..).take(count);
        columns.map(move |x| Position { x, ..start })
    };
    let here = matched(buffer, url, start);
    let mut cells: Vec<Position> = row(start, here).collect();
    let rest = &url[here..];
    if !rest.is_empty() {
        // Only a URL that is longer than its line was cut.
        let mut behind = row(start, usize::from(buffer.area.right() - start.x)).skip(here);
        let is_text = |at: Position| buffer[at].symbol().chars().any(char::is_alphanumeric);
        let y = start.y + 1;
        let mut below = (buffer.area.x..buffer.area.right()).map(|x| Position { x, y });
        let below = below.find(|at| matched(buffer, rest, *at) == rest.len());
        let below = below.filter(|_| !behind.any(is_text))?;
        cells.extend(row(below, rest.len()));
    }
    Some(cells)
}

/// Number of characters of `text` that stand in the row from `start` on.
fn matched(buffer: &Buffer, text: &str, start: Position) -> usize {
    let cells = (start.x..).map(|x| buffer.cell(Position { x, ..start }));
    let pairs = text.chars().zip(cells);
    let same = pairs.take_while(|(c, cell)| cell.is_some_and(|it| it.symbol().chars().eq([*c])));
    same.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::CourseSource;

    #[test]
    fn only_terminals_that_are_known_get_links() {
        let with = |pairs: &[(&str, &str)]| {
            are_followed(|name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(&[("TERM", "xterm-kitty")]));
        assert!(with(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")]));
        assert!(with(&[
            ("TERM", "xterm-256color"),
            ("TERM_PROGRAM", "WezTerm")
        ]));
        assert!(!with(&[("TERM", "xterm-256color")]));
        assert!(!with(&[("TERM", "linux"), ("VTE_VERSION", "4900")]));
        assert!(!with(&[
            ("TERM", "tmux-256color"),
            ("TMUX", "/tmp/t"),
            ("VTE_VERSION", "7600")
        ]));
        assert!(!with(&[("TERM", "dumb"), ("VTE_VERSION", "7600")]));
        assert!(!with(&[]));
    }

    #[test]
    fn urls_of_the_course_are_found_on_the_screen_whole_or_cut() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let urls = urls(&course);
        assert!(
            urls.iter().any(|url| url == "https://ui.perfetto.dev"),
            "{urls:?}"
        );
        let urls = ["https://a.dev/docs/", "https://a.dev"].map(String::from);
        let lines = [
            "│see https://a.dev/docs/ and│",
            "│https://a.dev, http://a.dev│",
            "│  then https://a.de        │",
            "│  v/docs/ or               │",
            "│https://a.de ends          │",
        ];
        let buffer = Buffer::with_lines(lines);
        let found = find(&buffer, &urls);
        let places: Vec<_> = found
            .iter()
            .map(|(at, cells)| (*at, cells[0].x, cells[0].y, cells.len()))
            .collect();
        assert_eq!(places, [(0, 5, 0, 19), (1, 1, 1, 13), (0, 8, 2, 19)]);
        assert_eq!(found[2].1.last(), Some(&Position { x: 9, y: 3 }));
    }
}
