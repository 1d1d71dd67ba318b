//! What was not written by this program: the one way in for files of others, the one way out for their words.
//!
//! Profiles, courses, reports and sessions come from other machines and other people. Whoever reads such a file opens it
//! here; whoever shows its words sends them through here.

use std::fmt::{self, Display, Formatter, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file; what is no UTF-8 in it is replaced.
pub fn read_text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

/// A text on one line, without anything that a terminal would take for a command.
pub fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Text that stays text in Markdown: on one line, with nothing in it taken for a table, HTML or emphasis.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '|' | '<' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Text as HTML shows it: nothing in it can become an element, an attribute's end or a control character.
pub struct Html<'a>(pub &'a str);

impl Display for Html<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                // Right-to-left overrides would let a name rearrange what stands beside it.
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
                c if c.is_control() => {}
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_learner_wrote_cannot_become_markup() {
        assert_eq!(
            markdown("a|b <script>\n# [x](y)"),
            "a\\|b \\<script> \\# \\[x\\](y)"
        );
        let evil = "</td><script>alert('1')</script>\" onload=\"x\u{202e}\u{0}&amp;";
        assert_eq!(
            Html(evil).to_string(),
            "&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x&amp;amp;"
        );
        assert_eq!(plain("a\u{1b}[31m\nb"), "a [31m b");
    }
}
