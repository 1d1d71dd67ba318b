//! A learner's file: read with care, and its lines.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use super::finding::{Finding, Kind};

/// A kernel is far smaller.
const MOST_BYTES: u64 = 256 << 10;

/// The text of a kernel, and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
}

impl File {
    /// A file as it is, or what keeps it from being a kernel.
    ///
    /// # Errors
    /// Where it cannot be read at all.
    pub fn read(path: &Path) -> Result<Result<File, Finding>> {
        let refuse = |why: String| Ok(Err(Finding::new(Kind::Compile, None, why)));
        let size = std::fs::metadata(path)
            .with_context(|| format!("{}", path.display()))?
            .len();
        if size > MOST_BYTES {
            return refuse(format!(
                "the file has {} KiB, and a kernel has {} at most: is it the right one?",
                size >> 10,
                MOST_BYTES >> 10
            ));
        }
        let bytes = std::fs::read(path).with_context(|| format!("{}", path.display()))?;
        match String::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => {
                refuse("the file is binary, not the text of a kernel".into())
            }
            Ok(text) if text.trim().is_empty() => {
                refuse("the file is empty: `workbench reset` brings the starter back".into())
            }
            Ok(text) => Ok(Ok(File {
                path: path.to_owned(),
                text,
            })),
            Err(_) => refuse("the file is no text (UTF-8)".into()),
        }
    }

    /// What the attempt is recognised by.
    pub fn digest(&self) -> String {
        format!("{:x}", Sha256::digest(self.text.as_bytes()))
    }

    pub fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.text.lines().nth(index)
    }

    /// Directives that reach outside the file. A kernel needs none, and a compiler that shows the lines of any file is no
    /// harmless tool.
    pub fn refused(&self) -> Option<Finding> {
        // The preprocessor joins lines first, and takes comments for blanks.
        let joined = self
            .text
            .replace("\\\r\n", "\u{1}")
            .replace("\\\n", "\u{1}");
        let mut number = 1;
        for line in joined.split('\n') {
            let plain = line.replace('\u{1}', "");
            let directive = without_comments(&plain);
            let directive = directive.trim_start();
            let start = ["#", "%:", "??="]
                .iter()
                .find_map(|mark| directive.strip_prefix(mark));
            if let Some(rest) = start.map(str::trim_start) {
                let end = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '_');
                let (word, argument) = rest.split_at(end.unwrap_or(rest.len()));
                let argument = argument.trim();
                let why = match word {
                    "include" if argument.starts_with("<hip/hip_") && !argument.contains("..") => {
                        None
                    }
                    "include" | "include_next" | "import" | "embed" => Some(format!(
                        "`#{word} {argument}` is refused: a kernel of the workbench includes <hip/hip_runtime.h> or nothing"
                    )),
                    "pragma"
                        if !["unroll", "nounroll", "once"]
                            .iter()
                            .any(|known| argument.starts_with(known)) =>
                    {
                        Some(format!(
                            "`#pragma {argument}` is refused: `unroll` is the only one a kernel needs here"
                        ))
                    }
                    "line" => {
                        Some("`#line` is refused: the findings name the lines of this file".into())
                    }
                    _ => None,
                };
                if let Some(why) = why {
                    return Some(Finding::new(Kind::Compile, Some(number), why));
                }
            }
            number += 1 + u32::try_from(line.matches('\u{1}').count()).unwrap_or(0);
        }
        None
    }
}

/// Comments within one line as blanks; what begins on the line and goes on is cut off. A directive inside a longer comment is
/// refused too, which costs nothing.
fn without_comments(line: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("/*") {
        result += before;
        result.push(' ');
        let Some((_, end)) = after.split_once("*/") else {
            return result;
        };
        rest = end;
    }
    result + rest.split("//").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<(u32, String)> {
        let file = File {
            path: "k.hip".into(),
            text: text.into(),
        };
        let finding = file.refused()?;
        Some((finding.line.unwrap_or(0), finding.message))
    }

    #[test]
    fn only_hips_own_header_is_included() {
        for text in [
            "#include <hip/hip_runtime.h>\n",
            "#pragma unroll 4\n",
            "#define A 1\n#if A\n#endif\n",
            "// #include \"/etc/passwd\"\n",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
        for text in [
            "\n#include \"/etc/passwd\"\n",
            "\n # /**/ include </etc/passwd>\n",
            "\n#inc\\\nlude \"/etc/passwd\"\n",
            "\n%:include \"/etc/passwd\"\n",
            "\n#include <hip/../../etc/passwd>\n",
            "\n#define X \"/etc/passwd\"\n#include X\n",
            "\n#embed \"/etc/passwd\"\n",
            "\n#pragma comment(lib, \"x\")\n",
        ] {
            let (line, message) = refused(text).unwrap_or_else(|| panic!("{text:?} is taken"));
            assert!(line == 2 || line == 3, "{text:?}: line {line}");
            assert!(message.contains("refused"), "{message}");
        }
    }
}
