//! Colours code.

use parking_lot::Mutex;
use ratatui::prelude::{Line, Span, Style};
use std::collections::HashMap;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::tui::Theme;

/// Longer code stays plain, because colouring it would take too long.
const MOST_LINES: usize = 2000;

/// The role of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeToken {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
    Name,
    Type,
}

type Tokens = Vec<Vec<(CodeToken, String)>>;

/// Holds the languages. Loading it is slow, and so is the first use of a language, so coloured code is cached.
pub struct Highlighter {
    syntaxes: SyntaxSet,
    selectors: Vec<(Scope, CodeToken)>,
    known: Mutex<HashMap<(String, String), Tokens>>,
}

impl std::fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Highlighter")
    }
}

const SCOPES: [(&str, CodeToken); 12] = [
    ("comment", CodeToken::Comment),
    ("string", CodeToken::Text),
    ("constant.numeric", CodeToken::Number),
    ("constant.language", CodeToken::Number),
    ("constant.character", CodeToken::Text),
    ("keyword.operator", CodeToken::Plain),
    ("keyword", CodeToken::Keyword),
    ("storage.type", CodeToken::Type),
    ("storage", CodeToken::Keyword),
    ("entity.name", CodeToken::Name),
    ("support.function", CodeToken::Name),
    ("support.type", CodeToken::Type),
];

impl Highlighter {
    /// Unpacks the definitions of the languages.
    pub fn load() -> Self {
        let selectors = SCOPES
            .iter()
            .filter_map(|(name, token)| Some((Scope::new(name).ok()?, *token)));
        Self {
            syntaxes: SyntaxSet::load_defaults_newlines(),
            selectors: selectors.collect(),
            known: Mutex::default(),
        }
    }

    /// The lines of `code` in colours. Code in an unknown or empty language stays plain.
    pub fn lines(&self, code: &str, language: &str, theme: &Theme) -> Vec<Line<'static>> {
        let key = (language.to_string(), code.to_string());
        let mut known = self.known.lock();
        let tokens = known
            .entry(key)
            .or_insert_with(|| self.tokens(code, language));
        tokens
            .iter()
            .map(|line| {
                let spans = line
                    .iter()
                    .map(|(token, text)| Span::styled(text.clone(), style(*token, theme)));
                Line::from(spans.collect::<Vec<_>>())
            })
            .collect()
    }

    fn tokens(&self, code: &str, language: &str) -> Tokens {
        let plain = |line: &str| vec![(CodeToken::Plain, line.to_string())];
        let syntax = self.syntax(language);
        let Some(syntax) = syntax.filter(|_| code.lines().count() <= MOST_LINES) else {
            return code.lines().map(plain).collect();
        };
        let mut state = ParseState::new(syntax);
        let mut stack = ScopeStack::new();
        code.lines()
            .map(|line| {
                self.line(line, &mut state, &mut stack)
                    .unwrap_or_else(|| plain(line))
            })
            .collect()
    }

    fn line(
        &self,
        line: &str,
        state: &mut ParseState,
        stack: &mut ScopeStack,
    ) -> Option<Vec<(CodeToken, String)>> {
        let changes = state
            .parse_line(&format!("{line}\n"), &self.syntaxes)
            .ok()?;
        let mut pieces = Vec::new();
        let mut from = 0;
        for (at, change) in changes {
            let at = at.min(line.len());
            if at > from {
                pieces.push((self.token(stack), line.get(from..at)?.to_string()));
                from = at;
            }
            stack.apply(&change).ok()?;
        }
        if from < line.len() {
            pieces.push((self.token(stack), line.get(from..)?.to_string()));
        }
        Some(pieces)
    }

    /// The token of the innermost scope that has one.
    fn token(&self, stack: &ScopeStack) -> CodeToken {
        stack
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| {
                self.selectors
                    .iter()
                    .find(|(selector, _)| selector.is_prefix_of(*scope))
                    .map(|(_, token)| *token)
            })
            .unwrap_or(CodeToken::Plain)
    }

    fn syntax(&self, language: &str) -> Option<&SyntaxReference> {
        let language = language.split([' ', ',']).next().unwrap_or_default();
        let name = match language {
            "" | "text" => return None,
            // The kernels' languages are C++ with a few additional keywords.
            "hip" | "cuda" | "cu" | "c++" => "cpp",
            "shell" | "console" => "sh",
            name => name,
        };
        self.syntaxes.find_syntax_by_token(name)
    }
}

fn style(token: CodeToken, theme: &Theme) -> Style {
    match (theme.is_mono, token) {
        (_, CodeToken::Plain) => theme.text(),
        (_, CodeToken::Comment) => theme.muted(),
        (_, CodeToken::Keyword) => theme.emphasis(),
        (true, _) => theme.text(),
        (false, CodeToken::Text) => theme.series(3),
        (false, CodeToken::Number) => theme.series(2),
        (false, CodeToken::Name) => theme.series(0),
        (false, CodeToken::Type) => theme.series(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_s_languages_are_known_and_no_letter_is_lost() {
        let highlighter = Highlighter::load();
        let theme = Theme::default();
        let code = "def f(x):\n    # a comment\n    return \"text\" * 42\n";
        for language in ["python", "rust", "hip", "cpp", "yaml", "sh", "text", ""] {
            let lines = highlighter.lines(code, language, &theme);
            let texts: Vec<String> = lines.iter().map(ToString::to_string).collect();
            assert_eq!(texts.join("\n"), code.trim_end(), "{language}");
        }
        let styled = |language: &str| {
            let lines = highlighter.lines(code, language, &theme);
            lines
                .iter()
                .flat_map(|line| &line.spans)
                .any(|span| span.style != Style::default())
        };
        for language in ["python", "rust", "hip", "yaml", "sh"] {
            assert!(styled(language), "{language}");
        }
        assert!(!styled("text"));
    }
}
