//! Styles named by their meaning, and the glyphs of the terminal's character set.
//!
//! The theme uses the 16 colours of the terminal's palette, so it respects a learner's light or dark theme.
//! Under `NO_COLOR` it uses attributes alone. Colour never carries a meaning alone: a verdict has a word and
//! a glyph, too.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::{Marker, border};
use tinyllama_base::factor;
use tinyllama_tutor_core::document::Tone;

/// Styles and glyphs; cheap to copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Theme {
    /// Uses bold, dim, underlined and reversed instead of the terminal's 16 colours.
    pub is_mono: bool,
    pub glyphs: Glyphs,
}

impl Theme {
    /// A theme without colours if `no_color`, and without characters outside ASCII if `ascii`.
    pub fn new(no_color: bool, ascii: bool) -> Self {
        Self {
            is_mono: no_color,
            glyphs: match ascii {
                true => Glyphs::ASCII,
                false => Glyphs::UNICODE,
            },
        }
    }

    /// A ratio with its sign, such as `2.31×`.
    pub fn ratio(&self, value: f64) -> String {
        format!("{}{}", factor(value), self.glyphs.times)
    }

    /// Running text.
    pub fn text(&self) -> Style {
        Style::new()
    }

    /// Less important text: units, times, labels of axes.
    pub fn muted(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// A title.
    pub fn heading(&self) -> Style {
        self.coloured(Color::Cyan, Modifier::BOLD, Modifier::UNDERLINED)
    }

    /// A word that matters in running text.
    pub fn emphasis(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Passed, faster, within bounds.
    pub fn good(&self) -> Style {
        self.coloured(Color::Green, Modifier::empty(), Modifier::BOLD)
    }

    /// Not yet, undecided, worth a look.
    pub fn warning(&self) -> Style {
        self.coloured(Color::Yellow, Modifier::empty(), Modifier::UNDERLINED)
    }

    /// The style of what failed, is slower, or lies out of bounds.
    pub fn bad(&self) -> Style {
        self.coloured(Color::Red, Modifier::BOLD, Modifier::UNDERLINED)
    }

    /// Keys, links and other things that the learner can act upon.
    pub fn accent(&self) -> Style {
        self.coloured(Color::Cyan, Modifier::empty(), Modifier::BOLD)
    }

    /// Code within a sentence.
    pub fn code(&self) -> Style {
        self.coloured(Color::Magenta, Modifier::empty(), Modifier::BOLD)
    }

    /// The line or choice that a key would act upon.
    pub fn selection(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The style of a text with this meaning.
    pub fn tone(&self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => self.text(),
            Tone::Muted => self.muted(),
            Tone::Emphasis => self.emphasis(),
            Tone::Good => self.good(),
            Tone::Warning => self.warning(),
            Tone::Bad => self.bad(),
        }
    }

    /// The `n`th series of a plot; tell series apart by [`Theme::marker`] or a label as well.
    pub fn series(&self, n: usize) -> Style {
        const COLOURS: [Color; 6] = [
            Color::Cyan,
            Color::Yellow,
            Color::Magenta,
            Color::Green,
            Color::Blue,
            Color::Red,
        ];
        const ATTRIBUTES: [Modifier; 3] = [Modifier::BOLD, Modifier::empty(), Modifier::DIM];
        match self.is_mono {
            false => Style::new().fg(COLOURS[n % COLOURS.len()]),
            true => Style::new().add_modifier(ATTRIBUTES[n % ATTRIBUTES.len()]),
        }
    }

    /// The marker for points of the `n`th series of a plot.
    pub fn marker(&self, n: usize) -> Marker {
        const LETTERS: [char; 6] = ['*', '+', 'x', 'o', '#', '@'];
        if self.glyphs.unicode {
            Marker::Braille
        } else {
            Marker::Custom(LETTERS[n % LETTERS.len()])
        }
    }

    fn coloured(&self, colour: Color, with_colour: Modifier, without: Modifier) -> Style {
        match self.is_mono {
            false => Style::new().fg(colour).add_modifier(with_colour),
            true => Style::new().add_modifier(with_colour | without),
        }
    }
}

/// Characters other than letters. Each is one column wide in every locale that is not East Asian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// True if characters outside ASCII may be written.
    pub unicode: bool,
    pub border: border::Set<'static>,
    /// Done, passed.
    pub check: &'static str,
    /// Failed, wrong.
    pub cross: &'static str,
    /// Not decided.
    pub undecided: &'static str,
    /// Not open yet.
    pub locked: &'static str,
    /// Skipped by the learner.
    pub skipped: &'static str,
    /// The learner's position.
    pub here: &'static str,
    pub bullet: &'static str,
    pub arrow: &'static str,
    pub ellipsis: &'static str,
    pub horizontal: &'static str,
    pub vertical: &'static str,
    pub times: &'static str,
    /// More lines are above, below.
    pub more_above: &'static str,
    pub more_below: &'static str,
    /// Full and empty part of a bar.
    pub bar: [&'static str; 2],
    /// Bar heights from lowest to highest; the first is not blank.
    pub levels: [&'static str; 8],
}

impl Glyphs {
    pub const UNICODE: Self = Self {
        unicode: true,
        border: border::PLAIN,
        check: "✓",
        cross: "✗",
        undecided: "?",
        locked: "·",
        skipped: "–",
        here: "▸",
        bullet: "•",
        arrow: "→",
        ellipsis: "…",
        horizontal: "─",
        vertical: "│",
        times: "×",
        more_above: "↑",
        more_below: "↓",
        bar: ["█", "░"],
        levels: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    };

    pub const ASCII: Self = Self {
        unicode: false,
        border: border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        },
        check: "+",
        cross: "!",
        undecided: "?",
        locked: ".",
        skipped: "-",
        here: ">",
        bullet: "*",
        arrow: "->",
        ellipsis: "...",
        horizontal: "-",
        vertical: "|",
        times: "x",
        more_above: "^",
        more_below: "v",
        bar: ["#", "."],
        levels: ["_", ".", ",", "-", "=", "+", "*", "#"],
    };
}

impl Default for Glyphs {
    fn default() -> Self {
        Self::UNICODE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_no_style_names_one_and_all_still_differ_from_plain_text() {
        let theme = Theme::new(true, true);
        let styles = [
            theme.heading(),
            theme.emphasis(),
            theme.good(),
            theme.warning(),
            theme.bad(),
            theme.accent(),
            theme.code(),
            theme.selection(),
        ];
        for style in styles {
            assert_eq!((style.fg, style.bg), (None, None));
            assert_ne!(style, theme.text());
        }
        for n in 0..12 {
            assert_eq!(theme.series(n).fg, None);
        }
        assert_ne!(theme.marker(0), theme.marker(1));
    }
}
