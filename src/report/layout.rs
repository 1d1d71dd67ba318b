//! Layouts of reports. A template places a report's texts. Every value is escaped for the template's format.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior};
use serde::Serialize;

use super::text::{ENERGY_NOTE, RATIO_NOTE, minutes};
use crate::STAYS_POSSIBLE;
use tinyllama_base::moment;
use tinyllama_base::untrusted::{code, markdown, plain, plain_lines};
use tinyllama_base::{HtmlWriter, milliseconds, plural, times};

macro_rules! asset {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/", $name))
    };
}

const FILES: [(&str, &str); 14] = [
    ("answers.txt", asset!("report/answers.txt.jinja")),
    ("card.txt", asset!("report/card.txt.jinja")),
    ("report.md", asset!("report/report.md.jinja")),
    ("report.html", asset!("report/report.html.jinja")),
    ("class.html", asset!("report/class.html.jinja")),
    ("page.html", asset!("report/page.html.jinja")),
    ("parts.html", asset!("report/parts.html.jinja")),
    ("charts.html", asset!("report/charts.html.jinja")),
    ("junit.html", asset!("report/junit.html.jinja")),
    ("learners.csv", asset!("report/learners.csv.jinja")),
    ("lessons.csv", asset!("report/lessons.csv.jinja")),
    ("checks.csv", asset!("report/checks.csv.jinja")),
    ("devices.csv", asset!("report/devices.csv.jinja")),
    ("parts.csv", asset!("report/parts.csv.jinja")),
];

static LAYOUTS: LazyLock<Environment> = LazyLock::new(|| match prepare() {
    Ok(layouts) => layouts,
    Err(error) => unreachable!("the layouts are part of the program: {error:#}"),
});

fn prepare() -> Result<Environment<'static>, Error> {
    let mut layouts = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    layouts.set_syntax(syntax.keep_trailing_newline(true).build()?);
    layouts.set_undefined_behavior(UndefinedBehavior::Strict);
    layouts.set_auto_escape_callback(|name| match name.rsplit_once('.') {
        Some((_, "html")) => AutoEscape::Html,
        Some((_, ending)) => AutoEscape::Custom(ending.to_owned().into()),
        None => AutoEscape::None,
    });
    layouts.set_formatter(write);
    layouts.add_filter("moment", |time: &str| moment(time));
    layouts.add_filter("minutes", minutes);
    layouts.add_filter("figure", figure);
    layouts.add_filter("plural", |count: usize, one: &str| plural(count, one));
    let inline = |text: &str| Value::from_safe_string(code(text));
    layouts.add_filter("code", inline);
    let style = Value::from_safe_string(asset!("report.css").into());
    layouts.add_global("style", style);
    layouts.add_global("ratio_note", RATIO_NOTE);
    layouts.add_global("energy_note", ENERGY_NOTE);
    layouts.add_global("stays_possible", STAYS_POSSIBLE);
    for (name, text) in FILES {
        layouts.add_template(name, text)?;
    }
    Ok(layouts)
}

/// All output of a template passes here. Text that the template did not make itself is escaped.
fn write(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let text = value.to_string();
    match (value.is_safe(), state.auto_escape()) {
        (true, _) => out.write_str(&text)?,
        (false, AutoEscape::Custom(of)) if of == "txt" => out.write_str(&plain_lines(&text))?,
        (false, AutoEscape::Html) => write!(out, "{}", HtmlWriter(&text))?,
        (false, AutoEscape::Custom(of)) if of == "csv" => out.write_str(&field(&text))?,
        (false, _) => out.write_str(&markdown(&text))?,
    }
    Ok(())
}

/// Formats a text as a CSV field that no spreadsheet reads as a formula and no terminal as a command.
fn field(text: &str) -> String {
    let text = plain(text);
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = format!("{}{text}", if formula { "'" } else { "" });
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// Formats a figure with its unit.
fn figure(value: f64, unit: &str) -> String {
    match unit {
        "milliseconds" => milliseconds(value),
        "times" => times(value),
        "tenths" => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// Renders `shown` with the layout `name`.
pub fn render(name: &str, shown: &impl Serialize) -> String {
    let layout = LAYOUTS.get_template(name);
    match layout.and_then(|layout| layout.render(Serde(shown))) {
        Ok(text) => text,
        Err(error) => unreachable!("a layout shows only what it is given: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        let evil = "</td><script>alert('1')</script>\" onload=\"x\u{202e}\u{0}&amp;";
        let shown = |name| {
            let text = "{{ evil }}";
            let evil = minijinja::context! { evil };
            LAYOUTS.render_named_str(name, text, evil).unwrap()
        };
        assert_eq!(shown("x.html"), HtmlWriter(evil).to_string());
        assert_eq!(shown("x.md"), markdown(evil));
        assert_eq!(shown("x.txt"), plain_lines(evil));
        assert_eq!(field("=1+\"2\""), "\"'=1+\"\"2\"\"\"");
        assert_eq!(field("a\u{1b}[8m\u{202e},b\n"), "\"a^[[8m<U+202E>,b \"");
    }
}
