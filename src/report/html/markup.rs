//! Tables and sections of text that was made safe for HTML.

pub use crate::base::foreign::Html as Text;

/// How a cell looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Text,
    /// To the right, for figures that are compared.
    Number,
    Code,
    /// Code that stays on one line.
    Id,
    /// In the colour of its verdict; the word itself stays.
    Verdict,
}

/// A table with a caption for those who cannot see it; nothing when there are no rows.
pub fn table(
    caption: &str,
    columns: &[(&str, Cell)],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut body = String::new();
    for row in rows {
        body.push_str("<tr>");
        for (cell, (_, kind)) in row.iter().zip(columns) {
            body.push_str(&cell_markup(cell, *kind));
        }
        body.push_str("</tr>\n");
    }
    if body.is_empty() {
        return String::new();
    }
    let head: String = columns
        .iter()
        .map(|(name, kind)| {
            let class = if *kind == Cell::Number {
                " class=\"n\""
            } else {
                ""
            };
            format!("<th scope=\"col\"{class}>{}</th>", Text(name))
        })
        .collect();
    format!(
        "<div class=\"scroll\"><table><caption>{}</caption><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n",
        Text(caption)
    )
}

fn cell_markup(cell: &str, kind: Cell) -> String {
    let text = Text(cell);
    match kind {
        Cell::Text => format!("<td>{text}</td>"),
        Cell::Number => format!("<td class=\"n\">{text}</td>"),
        Cell::Code => format!("<td><code>{text}</code></td>"),
        Cell::Id => format!("<td class=\"id\"><code>{text}</code></td>"),
        Cell::Verdict => format!("<td class=\"{}\">{text}</td>", verdict_class(cell)),
    }
}

pub fn verdict_class(verdict: &str) -> &'static str {
    match verdict {
        "passed" | "done" | "right" | "yes" => "passed",
        "not yet" | "wrong" | "no" => "missed",
        _ => "undecided",
    }
}

/// `<h2>` with an anchor, then the content; nothing without content.
pub fn section(id: &str, title: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    format!(
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n{content}</section>\n",
        Text(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        let evil = "</td><script>alert('1')</script>\" onload=\"x\u{202e}\u{0}&amp;";
        let shown = Text(evil).to_string();
        assert_eq!(
            shown,
            "&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x&amp;amp;"
        );
        let table = table("<c>", &[("<h>", Cell::Verdict)], [vec![evil.to_string()]]);
        assert!(
            !table.contains("<script") && !table.contains("<c>") && !table.contains("<h>"),
            "{table}"
        );
    }
}
