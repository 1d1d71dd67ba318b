//! Tables and sections of text that was made safe for HTML.

pub use crate::base::foreign::Html as Text;
use crate::report::table::{Cell, Table};

/// A table with a caption for those who cannot see it; nothing when there are no rows.
pub fn table<T>(caption: &str, table: &Table<T>) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let mut body = String::new();
    for row in &table.rows {
        body.push_str("<tr>");
        for (cell, (_, kind)) in row.iter().zip(&table.columns) {
            body.push_str(&cell_markup(cell, *kind));
        }
        body.push_str("</tr>\n");
    }
    let head: String = table
        .columns
        .iter()
        .map(|(name, kind)| {
            let class = match kind {
                Cell::Number => " class=\"n\"",
                _ => "",
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

/// `<li>` for each of them.
pub fn items(texts: &[String]) -> String {
    let item = |text: &String| format!("<li>{}</li>", Text(text));
    texts.iter().map(item).collect()
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
        let table = table(
            "<c>",
            &Table::of([evil]).verdict("<h>", |evil| evil.to_string()),
        );
        assert!(
            !table.contains("<script") && !table.contains("<c>") && !table.contains("<h>"),
            "{table}"
        );
    }
}
