//! Splits a C++ text into tokens as a compiler's first phases do: lines joined at backslashes, comments removed.

/// A word, a number, a literal or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Line of its start, from 1.
    pub line: u32,
    pub kind: TokenKind,
    pub text: String,
    /// The token's place on its line, without blanks and comments.
    pub place: LinePlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Word,
    Number,
    /// A string or a character.
    Literal,
    /// `R"`, which begins a raw string. The text after it is not split.
    RawString,
    Sign,
}

/// Position of a token on its line of the joined text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinePlace {
    First,
    Later,
}

/// Returns characters with their lines. Lines are joined if a backslash and blanks end them.
fn joined(text: &str) -> Vec<(char, u32)> {
    let chars: Vec<char> = text.chars().collect();
    let (mut result, mut line, mut at) = (Vec::with_capacity(chars.len()), 1, 0);
    while let Some(&c) = chars.get(at) {
        if c == '\\' {
            let blanks = chars[at + 1..]
                .iter()
                .take_while(|c| is_blank(**c) || **c == '\r');
            let end = at + 1 + blanks.count();
            if chars.get(end) == Some(&'\n') {
                line += 1;
                at = end + 1;
                continue;
            }
        }
        result.push((c, line));
        line += u32::from(c == '\n');
        at += 1;
    }
    result
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{b}' | '\u{c}')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || (!c.is_ascii() && !c.is_whitespace())
}

/// Returns all tokens of `text`, up to a raw string.
pub fn tokens(text: &str) -> Vec<Token> {
    let chars = joined(text);
    let is = |at: usize, wanted: &str| {
        let mut here = chars[at.min(chars.len())..].iter().map(|(c, _)| *c);
        wanted.chars().all(|c| here.next() == Some(c))
    };
    let until = |from: usize, stop: &dyn Fn(usize) -> bool| {
        (from..chars.len())
            .find(|at| stop(*at))
            .unwrap_or(chars.len())
    };
    let (mut result, mut at, mut place) = (vec![], 0, LinePlace::First);
    while let Some(&(c, line)) = chars.get(at) {
        let is_digit = |at: usize| chars.get(at).is_some_and(|(c, _)| c.is_ascii_digit());
        let (kind, end) = if c == '\n' {
            place = LinePlace::First;
            at += 1;
            continue;
        } else if c.is_whitespace() {
            at += 1;
            continue;
        } else if is(at, "//") {
            at = until(at, &|at| chars[at].0 == '\n');
            continue;
        } else if is(at, "/*") {
            at = until(at + 2, &|at| is(at, "*/")) + 2;
            continue;
        } else if c.is_ascii_digit() || (c == '.' && is_digit(at + 1)) {
            (TokenKind::Number, number_end(&chars, at))
        } else if is_word(c) {
            let end = until(at, &|at| !is_word(chars[at].0));
            let word: String = chars[at..end].iter().map(|(c, _)| *c).collect();
            let raw = is(end, "\"") && matches!(&*word, "R" | "u8R" | "uR" | "UR" | "LR");
            (
                if raw {
                    TokenKind::RawString
                } else {
                    TokenKind::Word
                },
                end,
            )
        } else if c == '"' || c == '\'' {
            (TokenKind::Literal, literal_end(&chars, at))
        } else {
            let signs = ["%:%:", "##", "%:"].iter().find(|sign| is(at, sign));
            (TokenKind::Sign, at + signs.map_or(1, |sign| sign.len()))
        };
        let text: String = chars[at..end].iter().map(|(c, _)| *c).collect();
        let text = text.replace("%:", "#");
        result.push(Token {
            line,
            kind,
            text,
            place,
        });
        if kind == TokenKind::RawString {
            break;
        }
        place = LinePlace::Later;
        at = end;
    }
    result
}

/// Finds the end of a preprocessor number, such as `1'000.5e-3f`.
fn number_end(chars: &[(char, u32)], start: usize) -> usize {
    let at = |at: usize| chars.get(at).map_or('\0', |(c, _)| *c);
    let mut end = start + 1;
    loop {
        let exponent = matches!(at(end - 1), 'e' | 'E' | 'p' | 'P') && matches!(at(end), '+' | '-');
        match at(end) {
            '\'' if is_word(at(end + 1)) => end += 2,
            c if is_word(c) || c == '.' || exponent => end += 1,
            _ => return end,
        }
    }
}

/// Returns the index after the closing quote, or the end of the line if there is none.
fn literal_end(chars: &[(char, u32)], start: usize) -> usize {
    let quote = chars[start].0;
    let mut end = start + 1;
    while let Some(&(c, _)) = chars.get(end) {
        match c {
            '\n' => return end,
            '\\' if chars.get(end + 1).is_some_and(|(c, _)| *c != '\n') => end += 2,
            c if c == quote => return end + 1,
            _ => end += 1,
        }
    }
    chars.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let tokens = tokens(text).into_iter();
        tokens
            .map(|token| format!("{}:{}", token.line, token.text))
            .collect()
    }

    #[test]
    fn lines_are_joined_and_comments_are_removed() {
        assert_eq!(words("a/*\n*/ #x\\ \t\ny"), ["1:a", "2:#", "2:xy"]);
        assert_eq!(words("a // b \\\r\n c\nd"), ["1:a", "3:d"]);
        assert_eq!(
            words("\"/*\" a '\"' b"),
            ["1:\"/*\"", "1:a", "1:'\"'", "1:b"]
        );
        assert_eq!(words("don't /*\nb"), ["1:don", "1:'t /*", "2:b"]);
        assert_eq!(
            words("1'0 + .5e-3f a.b"),
            ["1:1'0", "1:+", "1:.5e-3f", "1:a", "1:.", "1:b"]
        );
        assert_eq!(words("1'/*' a"), ["1:1", "1:'/*'", "1:a"]);
        assert_eq!(
            words("%:define A a%:%:b"),
            ["1:#", "1:define", "1:A", "1:a", "1:##", "1:b"]
        );
        assert_eq!(words("x = R\"(/*)\";"), ["1:x", "1:=", "1:R"]);
        assert_eq!(words("\"a\\\"b\\\nc\" d"), ["1:\"a\\\"bc\"", "2:d"]);
    }
}
