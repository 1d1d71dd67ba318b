//! Reads a learner's file with limits, and finds lines in it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::finding::{FindingKind, KernelFinding};
use super::tokens::{LinePlace, Token, TokenKind, tokens};
use crate::compiled::compiler::REPLACED_HEADERS;
use tinyllama_base::checksum::sha256_hex;
use tinyllama_base::untrusted;

/// Most bytes of a file. A kernel is far smaller.
pub(super) const MOST_BYTES: u64 = 256 << 10;

/// The text of a kernel and its path.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFile {
    pub path: PathBuf,
    pub text: String,
}

impl KernelFile {
    /// Reads a file. A file that cannot be a kernel is a finding.
    ///
    /// # Errors
    /// Fails if it cannot be read at all.
    pub fn read(path: &Path) -> Result<Result<KernelFile, KernelFinding>> {
        let refuse = |why: String| Ok(Err(KernelFinding::new(FindingKind::Compile, None, why)));
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
        // Reads with a limit, because a pipe or a device has no length.
        let bytes =
            untrusted::read(path, MOST_BYTES).with_context(|| format!("{}", path.display()))?;
        match String::from_utf8(untrusted::without_mark(&bytes).to_vec()) {
            Ok(text) if text.contains('\0') => {
                refuse("the file is binary, not the text of a kernel".into())
            }
            Ok(text) if text.trim().is_empty() => {
                refuse("the file is empty: `workbench reset` brings the starter back".into())
            }
            Ok(text) => Ok(Ok(KernelFile {
                path: path.to_owned(),
                text,
            })),
            Err(_) => refuse("the file is not text (UTF-8)".into()),
        }
    }

    /// Digest that identifies the attempt.
    pub fn digest(&self) -> String {
        sha256_hex([&self.text])
    }

    /// A number that depends on every byte of the text: the first 16 digits of the digest.
    pub fn salt(&self) -> u64 {
        u64::from_str_radix(&self.digest()[..16], 16).unwrap_or_default()
    }

    pub fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.text.lines().nth(index)
    }

    /// Finds directives that reach outside the file, for the compilers of GPU drivers, which see all files. A kernel needs
    /// none, and a compiler that shows lines of any file could leak it.
    pub fn refused(&self) -> Option<KernelFinding> {
        let refuse = |line: u32, why: String| {
            let why = format!("{why} is refused: a kernel of the workbench {REMEDY}");
            Some(KernelFinding::new(FindingKind::Compile, Some(line), why))
        };
        // Compilers read these in different ways.
        for (part, what) in [
            ("\r", "a carriage return within a line"),
            ("??/", "a trigraph"),
            ("??=", "a trigraph"),
        ] {
            let text = self.text.replace("\r\n", "\n");
            if let Some(at) = text.find(part) {
                let line = 1 + text[..at].matches('\n').count();
                return refuse(u32::try_from(line).unwrap_or(u32::MAX), what.to_owned());
            }
        }
        let tokens = tokens(&self.text);
        for (index, token) in tokens.iter().enumerate() {
            let rest = &tokens[index + 1..];
            let what = match (&*token.text, token.kind) {
                ("#", TokenKind::Sign) => refused_directive(rest),
                ("_Pragma" | "__pragma", _) => Some(format!("`{}`", token.text)),
                (word, TokenKind::Word)
                    if word.starts_with("__has_include") || word == "__has_embed" =>
                {
                    Some(format!("`{word}`"))
                }
                (_, TokenKind::RawString) => Some("a raw string".into()),
                _ => None,
            };
            if let Some(what) = what {
                return refuse(token.line, what);
            }
        }
        None
    }
}

const REMEDY: &str =
    "includes <hip/hip_runtime.h> or nothing, and `#pragma unroll` is the only pragma it needs";

/// Describes a directive that is not allowed. `tokens` begin after its `#`.
fn refused_directive(tokens: &[Token]) -> Option<String> {
    let line = tokens
        .iter()
        .take_while(|token| token.place == LinePlace::Later);
    let directive: Vec<&str> = line.map(|token| &*token.text).collect();
    let shown = || format!("`#{} {}`", directive[0], directive[1..].concat());
    match *directive.first()? {
        "include" => {
            let is_known = REPLACED_HEADERS
                .iter()
                .any(|header| directive[1..].concat() == format!("<hip/{header}>"));
            (!is_known).then(shown)
        }
        "include_next" | "import" | "embed" | "line" | "ident" | "sccs" => Some(shown()),
        "pragma"
            if directive
                .get(1)
                .is_some_and(|word| ["unroll", "nounroll", "once"].contains(word)) =>
        {
            None
        }
        "pragma" => Some(shown()),
        number if number.starts_with(|c: char| c.is_ascii_digit()) => Some(shown()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<(u32, String)> {
        let file = KernelFile {
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
            "/*\n#include \"/etc/passwd\"\n*/\n",
            "#if 0\nit's \"\n#endif\r\nfloat x = 1'000.0f;\n",
            // A sign alone is a directive that does nothing.
            "#\nline = 1;\n",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
        for text in [
            "\n#include \"/etc/passwd\"\n",
            "\n # /**/ include </etc/passwd>\n",
            "\n#inc\\\nlude \"/etc/passwd\"\n",
            "\n#inc\\ \t\nlude \"/etc/passwd\"\n",
            "\n#\\\r\ninclude \"/etc/passwd\"\n",
            "/*\n*/ #include \"/etc/passwd\"\n",
            "/*\n*/ /**/ # /*\n*/ include \"/etc/passwd\"\n",
            "\nint b;\r#include \"/etc/passwd\"\n",
            "\n\u{a0}#include \"/etc/passwd\"\n",
            "\n%:include \"/etc/passwd\"\n",
            "\n??=include \"/etc/passwd\"\n",
            "// ??/\n??/\n#include \"/etc/passwd\"\n",
            "\n#include <hip/../../etc/passwd>\n",
            "\n#include <hip/hip_ext.h>\n",
            "\n#include <hip/hip_runtime.h> <x>\n",
            "\n#define X \"/etc/passwd\"\n#include X\n",
            "\n#include_next <stdint.h>\n",
            "\n#import \"/etc/passwd\"\n",
            "\n#embed \"/etc/passwd\"\n",
            "\n#if __has_include(\"/etc/passwd\")\n#endif\n",
            "\n#if __has_embed(\"/etc/passwd\")\n#endif\n",
            "\n#line 7 \"x\"\n",
            "\n# 7 \"x\"\n",
            "\n#pragma comment(lib, \"x\")\n",
            "\n#pragma unrolled\n",
            "\n_Pragma(\"comment(lib)\")\n",
            "\nauto s = R\"(/*)\";\n#include \"/etc/passwd\"\n",
        ] {
            let (line, message) = refused(text).unwrap_or_else(|| panic!("{text:?} is taken"));
            assert!((1..=3).contains(&line), "{text:?}: line {line}");
            assert!(message.contains("refused"), "{message}");
        }
    }

    #[test]
    fn a_file_that_is_no_kernel_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.hip");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            KernelFile::read(&path).unwrap()
        };
        let most = vec![b'a'; 256 << 10];
        for (bytes, why) in [
            (&[&*most, b"a"].concat()[..], "256 at most"),
            (b"a\0b", "binary"),
            (b" \n", "is empty"),
            (b"a\xff", "is not text"),
        ] {
            let message = read(bytes).unwrap_err().message;
            assert!(message.contains(why), "{message}");
        }
        assert!(read(&most).is_ok());
        let file = read(b"a\nb c\n").unwrap();
        let lines = [0, 1, 2, 3].map(|number| file.line(number));
        assert_eq!(lines, [None, Some("a"), Some("b c"), None]);
        assert_eq!(file.digest()[..16], format!("{:016x}", file.salt()));
    }
}
