//! Finds weaknesses of a course that are no errors: questions that reveal their answer, numbers without explanation,
//! figures without a source, words that a plain text does not need.

use serde_yaml::Value;

use crate::blind::{MOST_BLIND, blind_strategies};
use crate::claims;
use tinyllama_lesson::file::CourseFile;
use tinyllama_lesson::{
    Course, CourseSource, Lesson, Problem, Quiz, QuizChoice, WORKSHOP, live, problem_in,
};
use tinyllama_session::StepRef;

/// Units of measured figures.
const UNITS: [&str; 15] = [
    "ms",
    "us",
    "GB/s",
    "TB/s",
    "GFLOP/s",
    "TFLOP/s",
    "samples/s",
    "samples a second",
    "samples per second",
    "tokens/s",
    "milliseconds",
    "microseconds",
    "s",
    "seconds",
    "minutes",
];

/// Words besides the units that mark a column or row of a table as counted or measured.
const COUNTED: [&str; 3] = ["launches", "MiB", "GiB"];

/// Words of the longest sentence that a learner should have to read.
const LONGEST_SENTENCE: usize = 35;

/// Words to avoid, each with a replacement.
const WORDS: [(&str, &str); 20] = [
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("processor", "CPU, or the part of it that is meant"),
    ("processors", "CPUs, or the parts of them that are meant"),
    ("quotient", "ratio"),
    ("bethink", "think of"),
    ("so-called", "nothing"),
    ("lives from", "what it depends on"),
    ("live from", "what they depend on"),
    ("a few ten", "a few tens of"),
    ("many a", "many"),
    ("the like of", "the same as"),
    ("as it comes", "by default"),
    ("for ever", "forever"),
    ("all is lost", "what is lost"),
    ("plane", "wavefront"),
    ("planes", "wavefronts"),
    ("cube", "workgroup"),
    ("cubes", "workgroups"),
];

/// A paragraph that names the origin of these words may use them.
const WHOSE: &str = "CubeCL";

/// Keys of a course file with text for learners.
const TEXTS: [&str; 8] = [
    "title",
    "text",
    "because",
    "passed",
    "not_yet",
    "shows",
    "objectives",
    "summary",
];

/// Most problems reported for one file, because each one needs a search through the file.
const MOST_PROBLEMS: usize = 20;

/// The page that lists the figures; texts refer to it.
const RECORD: &str = "measured.md";

/// The page that explains terms. Each is bold at the start of a paragraph: `**warp, wave.** ...`.
const GLOSSARY: &str = "glossary.md";

/// All weaknesses of a course.
pub fn lint(course: &Course, source: &CourseSource) -> Vec<Problem> {
    let mut problems = Vec::new();
    for lesson in course.lessons() {
        let mut refuse = |path: String, message: String| {
            problems.push(problem_in(source, lesson, &path, message));
        };
        given_away(lesson, &mut refuse);
        for (index, step) in lesson.steps.iter().enumerate() {
            for message in claims::of_step(&lesson.id, step) {
                refuse(format!("steps/{index}/text"), message);
            }
            let Some(Quiz::Number(number)) = step.as_quiz() else {
                continue;
            };
            if !step.hints.iter().any(|hint| hint.after.is_none()) {
                let message = "a number needs a hint: a learner who gets it wrong sees it";
                refuse(format!("steps/{index}"), message.into());
            }
            let mut asked = [step, step.asked_again()].into_iter();
            if number.exact && !asked.all(|step| step.text.contains("exact")) {
                let message =
                    "no rounded number is right here, so the question has to say \"exactly\"";
                refuse(format!("steps/{index}/number"), message.into());
            }
        }
    }
    terms(course, source, &mut problems);
    if let Some(best) = blind_strategies(course).map(|all| all[0])
        && best.share > MOST_BLIND
        && let Ok(file) = CourseFile::open(source, WORKSHOP)
    {
        problems.push(file.problem_in_line(1, best.to_string()));
    }
    let lessons = course.lessons();
    let lessons = lessons.map(|lesson| format!("{}/{}.yaml", lesson.session, lesson.id));
    for path in lessons.chain([WORKSHOP.to_string()]) {
        if let Ok(file) = CourseFile::open(source, &path)
            && let Ok(document) = serde_yaml::from_str(&file.text)
        {
            let most = problems.len() + MOST_PROBLEMS;
            texts(&document, "", false, &mut |path, text| {
                problems.extend(
                    table_figure(text).map(|figure| file.problem(path, typed_figure(&figure))),
                );
                let found = wording(&prose(&live::typed(text)), true);
                let found = found.take(most.saturating_sub(problems.len()));
                problems.extend(found.map(|message| file.problem(path, message)));
            });
        }
    }
    for name in course.reference.keys() {
        if let Ok(file) = CourseFile::open(source, &format!("reference/{name}")) {
            page(&file, name != RECORD, &mut problems);
        }
    }
    problems
}

/// Calls `found` with every text of a course file and its path.
fn texts(value: &Value, path: &str, is_text: bool, found: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Mapping(entries) => {
            for (key, value) in entries {
                let key = key.as_str().unwrap_or_default();
                let path = format!("{path}{key}/");
                texts(value, &path, TEXTS.contains(&key), found);
            }
        }
        Value::Sequence(items) => {
            for (index, value) in items.iter().enumerate() {
                texts(value, &format!("{path}{index}/"), is_text, found);
            }
        }
        Value::String(text) if is_text => found(path, text),
        _ => {}
    }
}

/// Checks a reference page, paragraph by paragraph.
fn page(file: &CourseFile, asks_for_sources: bool, problems: &mut Vec<Problem>) {
    let text = prose(&live::typed(&file.text));
    let mut line = 1;
    let most = problems.len() + MOST_PROBLEMS;
    for paragraph in text.split("\n\n") {
        if problems.len() >= most {
            break;
        }
        let found = wording(paragraph, asks_for_sources);
        problems.extend(found.map(|message| file.problem_in_line(line, message)));
        line += paragraph.matches('\n').count() + 2;
    }
}

/// Reports a lesson in which the longest choice is the right one too often.
fn given_away(lesson: &Lesson, refuse: &mut dyn FnMut(String, String)) {
    let questions = lesson.steps.iter().enumerate();
    let questions = questions.filter_map(|(index, step)| match step.as_quiz() {
        Some(Quiz::Choices(choices)) => Some((index, choices)),
        _ => None,
    });
    let questions: Vec<(usize, &Vec<QuizChoice>)> = questions.collect();
    let update: Vec<usize> = questions
        .iter()
        .filter(|(_, choices)| is_longest(choices))
        .map(|(index, _)| *index)
        .collect();
    if 3 * update.len() > questions.len() {
        let message = format!(
            "the right answer is the longest in {} of {} questions of this lesson; in more than a third of them it gives itself away",
            update.len(),
            questions.len()
        );
        refuse(format!("steps/{}/choices", update[0]), message);
    }
}

/// Reports terms of the glossary that a step uses before the step that explains them, which sets them in bold. Reports
/// abbreviations that are neither in the glossary nor in bold anywhere.
fn terms(course: &Course, source: &CourseSource, problems: &mut Vec<Problem>) {
    let Some(glossary) = course.reference.get(GLOSSARY) else {
        return;
    };
    let steps = course.lessons().flat_map(|lesson| {
        let steps = lesson.steps.iter().enumerate();
        steps.map(move |(index, step)| (lesson, index, prose(&live::typed(&step.text))))
    });
    let steps: Vec<(&Lesson, usize, String)> = steps.collect();
    let explainer = |term: &str| {
        let is_term = |part: &str| {
            let part = part.trim_end_matches(['.', ':', ',']).to_lowercase();
            part.strip_suffix('s').unwrap_or(&part) == term || part == term
        };
        let mut explain = steps.iter();
        explain.find(|(.., text)| text.split("**").skip(1).step_by(2).any(is_term))
    };
    let mut refuse = |(lesson, index, _): &(&Lesson, usize, String), message| {
        let path = format!("steps/{index}/text");
        problems.push(problem_in(source, lesson, &path, message));
    };
    let entries = glossary.split("\n\n").filter_map(|paragraph| {
        let (names, _) = paragraph.trim().strip_prefix("**")?.split_once("**")?;
        Some(names.trim_end_matches('.').split(", "))
    });
    for term in entries.flatten().map(str::to_lowercase) {
        let used = steps.iter().find(|(.., text)| uses(text, &term));
        if let (Some(step), Some((lesson, index, _))) = (used, explainer(&term))
            && (&step.0.id, step.1) != (&lesson.id, *index)
        {
            let place = StepRef::new(&lesson.id, &lesson.steps[*index].id);
            refuse(
                step,
                format!(
                    "`{term}` is used here before `{place}` explains it: explain it here, in bold"
                ),
            );
        }
    }
    let mut known = vec![];
    for step in &steps {
        for word in step.2.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            let is_short = word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
            if is_short && !known.contains(&word) {
                known.push(word);
                if !glossary.contains(word) && explainer(&word.to_lowercase()).is_none() {
                    refuse(
                        step,
                        format!(
                            "`{word}` is not explained: put it into `{GLOSSARY}`, or explain it here, in bold"
                        ),
                    );
                }
            }
        }
    }
}

/// Returns whether a term in lower case, alone or with an added s, occurs in a text.
fn uses(text: &str, term: &str) -> bool {
    let text = text.to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || c == '-';
    text.match_indices(term).any(|(at, _)| {
        let after = &text[at + term.len()..];
        let after = after.strip_prefix('s').unwrap_or(after);
        !text[..at].ends_with(is_part) && !after.starts_with(is_part)
    })
}

fn is_longest(choices: &[QuizChoice]) -> bool {
    let length = |choice: &QuizChoice| choice.text.trim().chars().count();
    let right = choices.iter().find(|choice| choice.correct).map(length);
    let wrong = choices.iter().filter(|choice| !choice.correct).map(length);
    right > wrong.max()
}

/// Messages about the words and figures of a text.
fn wording(text: &str, asks_for_sources: bool) -> impl Iterator<Item = String> + use<> {
    let figure = bare_figure(text).filter(|_| asks_for_sources);
    let figure = figure.map(|figure| typed_figure(&figure));
    // The words with single blanks between them. Punctuation becomes a separate word.
    let mut said = String::from(" ");
    for c in text.chars() {
        match c {
            c if c.is_alphanumeric() || c == '-' => said.extend(c.to_lowercase()),
            c if !c.is_whitespace() => said.push_str(" . "),
            _ if !said.ends_with(' ') => said.push(' '),
            _ => {}
        }
    }
    said.push(' ');
    let explained = text.contains(WHOSE);
    let long = long_sentences(text).into_iter().map(|(words, start)| {
        format!("the sentence that begins `{start} …` has {words} words: at most {LONGEST_SENTENCE} are allowed")
    });
    let long: Vec<String> = long.collect();
    let avoided = WORDS.into_iter().filter(move |(word, better)| {
        let is_of_kernels = better.starts_with("wave") || better.starts_with("work");
        said.contains(&format!(" {word} ")) && !(is_of_kernels && explained)
    });
    figure
        .into_iter()
        .chain(long)
        .chain(avoided.map(|(word, better)| format!("`{word}`: write {better}")))
}

/// The sentences that are too long: their number of words, and their first ones.
fn long_sentences(text: &str) -> Vec<(usize, String)> {
    // Items of a list and rows of a table do not belong to the sentence before them.
    let mut passage = String::new();
    for line in text.lines() {
        let line = line.trim_start();
        let is_item = line.starts_with("- ") || line.starts_with(|c: char| c.is_ascii_digit());
        let ends = line.is_empty() || is_item || line.starts_with('|');
        passage.push_str(if ends { ". " } else { " " });
        if !line.starts_with('|') {
            passage.push_str(line);
        }
    }
    let sentences = passage.split_inclusive(['.', '!', '?', ':']);
    let mut found = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    // A point inside a number or a name ends no sentence, because no blank follows it.
    for part in sentences {
        if part.starts_with(' ') && words.last().is_some_and(|word| is_end(word)) {
            found.push(std::mem::take(&mut words));
        }
        words.extend(part.split_whitespace());
    }
    found.push(words);
    let found = found.into_iter().map(|words| {
        let counted = words
            .iter()
            .filter(|word| word.contains(char::is_alphabetic));
        (counted.count(), words[..words.len().min(5)].join(" "))
    });
    found
        .filter(|(count, _)| *count > LONGEST_SENTENCE)
        .collect()
}

fn is_end(word: &str) -> bool {
    word.ends_with(['.', '!', '?', ':'])
}

/// A text without its code and drawings, with the same line numbers.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let outside = line.split('`').step_by(2);
            prose.push_str(&outside.collect::<Vec<_>>().join(" "));
        }
        prose.push('\n');
    }
    prose
}

fn without_end<'a>(word: &&'a str) -> &'a str {
    word.trim_end_matches(['.', ',', ';', ':', ')', '*', '?'])
}

fn typed_figure(figure: &str) -> String {
    format!(
        "`{figure}` is typed by hand: name its source, as `{{{{ known: ID }}}}`, a recording or a document, or mark a made-up one as `{{{{ = {figure} }}}}`"
    )
}

/// The first number typed into a table whose column or row heading names a unit. It can disagree with the recording that
/// is played next to it.
fn table_figure(text: &str) -> Option<String> {
    let is_measured = |heading: &str| {
        let mut words = heading.split([' ', ',', '(', ')']);
        words.any(|word| UNITS.contains(&word) || COUNTED.contains(&word))
    };
    let is_number = |cell: &&&str| {
        let first = cell.split([' ', ',']).next().unwrap_or_default();
        first.parse::<f64>().is_ok()
    };
    let mut columns: Option<Vec<bool>> = None;
    for line in text.lines().map(str::trim) {
        let Some(row) = line.strip_prefix('|') else {
            columns = None;
            continue;
        };
        // Live values are taken out first: a bar between their braces separates no cells.
        let row = live::typed(row.trim_end_matches('|'));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some(columns) = &columns else {
            columns = Some(cells.iter().map(|cell| is_measured(cell)).collect());
            continue;
        };
        let row = cells.first().is_some_and(|cell| is_measured(cell));
        let measured = cells.iter().zip(columns).skip(1);
        let mut measured = measured.filter(|(_, column)| row || **column);
        if let Some((cell, _)) = measured.find(|(cell, _)| is_number(cell)) {
            return Some((*cell).to_string());
        }
    }
    None
}

/// The first number with a unit of measurement after it.
fn bare_figure(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.iter().enumerate().find_map(|(index, word)| {
        let number = word.trim_start_matches(['(', '*', '|']);
        let is_number = number.starts_with(|c: char| c.is_ascii_digit())
            && number
                .chars()
                .all(|c| c.is_ascii_digit() || ".,".contains(c));
        let rest = words.get(index + 1..).filter(|_| is_number)?;
        let unit = UNITS.iter().find(|unit| {
            let mut said = rest.iter().map(without_end);
            unit.split(' ').all(|wanted| said.next() == Some(wanted))
        })?;
        Some(format!("{number} {unit}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lint_names_some_figures_of_a_page_and_counts_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let text = "It took 42 ms.\n\n".repeat(1000);
        std::fs::write(folder.path().join("page.md"), text).unwrap();
        let source = CourseSource::Folder(folder.path().into());
        let file = CourseFile::open(&source, "page.md").map_err(|problem| problem.message);
        let mut problems = Vec::new();
        page(&file.ok().unwrap(), true, &mut problems);
        assert_eq!(problems.len(), MOST_PROBLEMS);
    }

    #[test]
    fn a_sentence_is_too_long_from_the_thirty_sixth_word_on() {
        let sentence = |words: usize| "word ".repeat(words - 1) + "end.";
        for (text, found) in [
            (sentence(35), 0),
            (sentence(36), 1),
            (sentence(20) + "\n" + &sentence(20), 0),
            (
                format!("- {}\n- {}", "word ".repeat(20), "word ".repeat(20)),
                0,
            ),
            (format!("| {} |\n{}", "word ".repeat(40), sentence(20)), 0),
            ("word ".repeat(20) + "1.5 of f.x " + &sentence(20), 1),
        ] {
            assert_eq!(long_sentences(&text).len(), found, "{text}");
        }
    }

    #[test]
    fn a_term_used_before_its_explanation_and_an_unknown_abbreviation_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "workshop.yaml",
            "format: 1\ntitle: T\nversion: \"1\"\nsummary: S\nsessions:\n  - id: first\n    title: F\n    minutes: 9\n    objectives: [o]\n    lessons: [one]\n",
        );
        write(
            "reference/glossary.md",
            "# Words\n\n**warp, wave.** 32 threads, also of AMD.\n",
        );
        let found = |early: &str, late: &str| {
            let step = |id, text| {
                format!("  - id: {id}\n    kind: read\n    title: T\n    text: {text:?}\n")
            };
            let steps = step("early", early) + &step("late", late);
            let head =
                "id: one\ntitle: One\nminutes: 6\nlevel: beginner\nobjectives: [o]\nsteps:\n";
            write("first/one.yaml", &format!("{head}{steps}"));
            let source = CourseSource::Folder(folder.path().into());
            let course = Course::load(&source).unwrap();
            let messages = lint(&course, &source)
                .into_iter()
                .map(|problem| problem.message);
            messages.collect::<Vec<_>>()
        };
        for (early, late) in [
            ("A **wave** runs.", "Two waves run on AMD."),
            ("Waving is `wave`.", "**Waves**: they run."),
            ("A wave runs.", "It runs."),
        ] {
            assert_eq!(found(early, late), [""; 0], "{early} {late}");
        }
        let late = found("Two waves run.", "A **wave** runs.");
        assert!(
            matches!(&late[..], [one] if one.contains("`wave`") && one.contains("one/late")),
            "{late:?}"
        );
        let unknown = found("The TCC counts.", "The TCC again, and **SQC**.");
        assert!(
            matches!(&unknown[..], [one] if one.contains("`TCC`")),
            "{unknown:?}"
        );
    }

    #[test]
    fn a_number_under_a_unit_in_a_table_is_typed() {
        let table = |head: &str, row: &str| format!("Text.\n\n| {head} |\n|---|---|\n| {row} |\n");
        for (head, row, found) in [
            ("| ms per step", "version 3 | 8.75", Some("8.75")),
            (
                "| launches",
                "version 4 | 1, of some 150",
                Some("1, of some 150"),
            ),
            ("reported | 1", "samples/s | 15", Some("15")),
            (
                "| ms per step",
                "version 3 | {{ recording v3: total_ms }}",
                None,
            ),
            ("| ms per step", "version 3 | {{ = 8.75 }}", None),
            (
                "| ms",
                "v3 | {{ analysis compare: rows[name=v3].step_ms | ms }}",
                None,
            ),
            ("| ratio", "version 3 | 1.05", None),
            ("| ms", "8 samples | not given", None),
        ] {
            let text = table(head, row);
            assert_eq!(table_figure(&text).as_deref(), found, "{text}");
        }
    }

    #[test]
    fn the_built_in_course_has_nothing_to_find_fault_with() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let problems = lint(&course, &CourseSource::BuiltIn);
        assert!(
            problems.is_empty(),
            "{}",
            tinyllama_lesson::Problems(problems)
        );
    }

    #[test]
    fn a_typed_figure_is_found_outside_code_alone() {
        for (text, found) in [
            ("It took 42.4 ms.", Some("42.4 ms")),
            ("(1.98 ms)", Some("1.98 ms")),
            ("reaches 5300 GB/s at most", Some("5300 GB/s")),
            ("540 samples a second", Some("540 samples a second")),
            ("`sleep 10 ms` and 7 kernels", None),
            ("```text\n10 ms\n```", None),
            ("{{ = 10 ms }} and {{ known: v1 }}", None),
            ("8 bytes, 3 times", None),
            ("after 214 seconds, or 3 minutes", Some("214 seconds")),
            ("372.9 samples per second", Some("372.9 samples per second")),
        ] {
            let found_here = bare_figure(&prose(&live::typed(text)));
            assert_eq!(found_here.as_deref(), found, "{text}");
        }
    }
}
