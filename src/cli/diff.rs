//! `diff`: shows the differences between two targets.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use crossterm::style::{ContentStyle, StyledContent};
use ratatui::backend::IntoCrossterm;
use ratatui::style::Style;
use ratatui::text::Line;
use serde::Serialize;

use super::Exit;
use super::print_result::print_document;
use tinyllama_base::terminal;
use tinyllama_engine::targets::difference::{Difference, Excerpt, differences};
use tinyllama_engine::targets::{self, Target};
use tinyllama_ui::tui::highlight::Highlighter;
use tinyllama_ui::tui::theme::Theme;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor diff stage2 stage3
      one mistake, in words and source
  tinyllama-tutor diff v1 v2 --brief
      in words only")]
pub struct DiffArgs {
    #[arg(help = targets::help("A target"))]
    left: Target,
    /// The target to compare with
    right: Target,
    /// Print descriptions only, no source code
    #[arg(long)]
    brief: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DiffDocument {
    left: String,
    right: String,
    differences: Vec<Difference>,
}

pub fn run(args: &DiffArgs) -> Result<Exit> {
    let document = DiffDocument {
        left: args.left.to_string(),
        right: args.right.to_string(),
        differences: differences(args.left, args.right),
    };
    print_document(args.json, &document, |out| {
        // NO_COLOR, pipes and dumb terminals get plain text.
        let colours = console::Term::stdout().features().colors_supported();
        let highlighter = (colours && !args.brief).then(Highlighter::load);
        let mut text = Vec::new();
        print(&mut text, &document, args.brief, highlighter.as_ref())?;
        match highlighter {
            Some(_) => terminal::write_coloured(&String::from_utf8_lossy(&text)),
            None => out.write_all(&text),
        }
    })
}

fn print(
    out: &mut impl Write,
    document: &DiffDocument,
    brief: bool,
    highlighter: Option<&Highlighter>,
) -> io::Result<()> {
    let DiffDocument { left, right, .. } = document;
    if document.differences.is_empty() {
        return writeln!(out, "{left} and {right} do the same");
    }
    for (index, difference) in document.differences.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", difference.setting)?;
        for (name, text) in [(left, difference.left), (right, difference.right)] {
            writeln!(out, "  {name}: {text}")?;
        }
        if brief {
            continue;
        }
        for excerpt in &difference.source {
            writeln!(out, "\n  {} from line {}", excerpt.file, excerpt.line)?;
            print_source(out, excerpt, highlighter)?;
        }
    }
    Ok(())
}

fn print_source(
    out: &mut impl Write,
    excerpt: &Excerpt,
    highlighter: Option<&Highlighter>,
) -> io::Result<()> {
    let lines: Vec<Line<'_>> = match highlighter {
        Some(highlighter) => highlighter.lines(&excerpt.text, "rust", &Theme::default()),
        None => excerpt.text.lines().map(Line::from).collect(),
    };
    for (number, line) in lines.iter().enumerate() {
        write!(out, "  {:>4}  ", excerpt.line + number)?;
        for span in &line.spans {
            if span.style == Style::default() {
                write!(out, "{}", span.content)?;
            } else {
                let style: ContentStyle = span.style.into_crossterm();
                write!(out, "{}", StyledContent::new(style, &span.content))?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_engine::targets::{stage4, stage5};

    fn printed(highlighter: Option<&Highlighter>) -> String {
        let document = DiffDocument {
            left: "stage4".into(),
            right: "stage5".into(),
            differences: differences(stage4::TARGET, stage5::TARGET),
        };
        let mut out = Vec::new();
        print(&mut out, &document, false, highlighter).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn colours_change_no_letter_and_are_left_out_where_there_are_none() {
        let plain = printed(None);
        assert!(
            plain.contains("swiglu_naive") && !plain.contains('\x1b'),
            "{plain}"
        );
        let coloured = printed(Some(&Highlighter::load()));
        assert!(coloured.contains("\x1b["), "{coloured}");
        let mut letters = String::new();
        for (at, piece) in coloured.split('\x1b').enumerate() {
            // An escape sequence ends with an m.
            letters.push_str(match piece.split_once('m') {
                Some((_, rest)) if at > 0 => rest,
                _ => piece,
            });
        }
        assert_eq!(letters, plain);
    }
}
