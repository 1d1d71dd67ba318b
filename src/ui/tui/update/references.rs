//! Leads from a text to the pages that it links to, and to glossary entries for its words.

use crate::tui::markdown::links;
use crate::tui::{ChoiceList, Effects, Model, PageEntry, PageText, TextPage};
use tinyllama_lesson::Course;

/// The glossary. Each term is bold at the start of a paragraph: `**warp.** ...`.
const GLOSSARY: &str = "glossary.md";

/// Opens the page that the text links to, or lets the learner choose one of several.
pub fn follow(model: &mut Model) -> Effects {
    let text = text(model);
    let mut pages: Vec<PageEntry> = Vec::new();
    for (name, target) in links(&text) {
        let file = target.rsplit('/').next().unwrap_or_default();
        let file = file.split('#').next().unwrap_or_default();
        let text = match model.course.reference.get(file) {
            Some(text) => text.clone(),
            None => format!("This leads out of the tutor:\n\n`{target}`"),
        };
        let page = PageEntry { name, text };
        if !pages.iter().any(|known| known.text == page.text) {
            pages.push(page);
        }
    }
    match pages.len() {
        0 => model.notify("Nothing is linked here. w explains words, : finds every page."),
        _ => choose(model, pages),
    }
}

/// Explains a word of the text.
pub fn explain(model: &mut Model) -> Effects {
    let text = text(model).to_lowercase();
    let entries = glossary(&model.course);
    let (here, others): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|word| word.name.split(", ").any(|name| appears_in(&text, name)));
    match (here.is_empty(), others.is_empty()) {
        (true, true) => model.notify("This course has no glossary."),
        (true, false) => choose(model, others),
        (false, _) => choose(model, here),
    }
}

/// The words that the course's glossary explains.
pub fn glossary(course: &Course) -> Vec<PageEntry> {
    let page = course.reference.get(GLOSSARY);
    page.map_or_else(Vec::new, |page| explained(page))
}

fn choose(model: &mut Model, mut pages: Vec<PageEntry>) -> Effects {
    if let [_] = pages.as_slice()
        && let Some(PageEntry { name, text }) = pages.pop()
    {
        return model.open(TextPage::new(name, PageText::Markdown(text)));
    }
    model.open_list(ChoiceList::Pages(pages))
}

/// The text on the screen.
fn text(model: &Model) -> String {
    if let Some(panel) = model.top_panel() {
        return panel.text().unwrap_or_default().to_owned();
    }
    let here = model.open_step(&model.course);
    here.map_or_else(String::new, |here| here.step.text.clone())
}

/// The terms of a glossary with their explanations.
fn explained(page: &str) -> Vec<PageEntry> {
    let paragraphs = page.split("\n\n").map(str::trim);
    let entries = paragraphs.filter_map(|paragraph| {
        let (name, _) = paragraph.strip_prefix("**")?.split_once("**")?;
        Some(PageEntry {
            name: name.trim_end_matches('.').to_owned(),
            text: paragraph.to_owned(),
        })
    });
    entries.collect()
}

/// Returns whether a word, alone or with an added s, occurs in `text`, which must be in lower case.
fn appears_in(text: &str, word: &str) -> bool {
    let word = word.trim().to_lowercase();
    let is_letter = |c: char| c.is_alphanumeric();
    !word.is_empty()
        && text.match_indices(&word).any(|(at, found)| {
            let after = &text[at + found.len()..];
            let after = after.strip_prefix('s').unwrap_or(after);
            !text[..at].ends_with(is_letter) && !after.starts_with(is_letter)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_glossary_are_found_by_themselves_and_not_within_others() {
        let entries = explained("# Words\n\n**wave, warp.** Lanes that go together.\n\nNo word.");
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].name, "wave, warp");
        assert!(entries[0].text.contains("Lanes"));
        for (text, stands) in [
            ("two warps wait", true),
            ("a wave", true),
            ("waved at", false),
        ] {
            let found = entries[0]
                .name
                .split(", ")
                .any(|name| appears_in(text, name));
            assert_eq!(found, stands, "{text}");
        }
    }
}
