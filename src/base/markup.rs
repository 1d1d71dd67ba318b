//! Text made safe for HTML and SVG.

use std::fmt::{self, Display, Formatter, Write};

/// Text as HTML shows it: nothing in it can become an element, an attribute's end or a control character.
pub struct Text<'a>(pub &'a str);

impl Display for Text<'_> {
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
