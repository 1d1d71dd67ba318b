//! Reads a learner's file with limits, and finds lines in it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::finding::{FindingKind, KernelFinding};
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

    /// Finds a line that reaches outside the file, for the compilers of GPU drivers, which see all files. A kernel needs
    /// none, and a compiler that shows lines of any file could leak it. Comments and strings are not told apart from code.
    pub fn refused(&self) -> Option<KernelFinding> {
        let mut lines = joined_lines(&self.text).into_iter();
        let (line, what) = lines.find_map(|(number, line)| Some((number, reaches_out(&line)?)))?;
        let why = format!(
            "{what} is refused here: a kernel of the workbench includes <hip/hip_runtime.h> or nothing"
        );
        Some(KernelFinding::new(FindingKind::Compile, Some(line), why))
    }
}

/// Splits at ends of lines, and joins lines as any compiler may: at a backslash or its trigraph, and blanks. Each line has
/// the number of its first one.
fn joined_lines(text: &str) -> Vec<(u32, String)> {
    let mut lines: Vec<(u32, String)> = vec![];
    let mut is_joined = false;
    let text = text.replace("\r\n", "\n").replace("??/", "\\");
    for (number, line) in (1..).zip(text.split('\n')) {
        let whole = line.trim_end();
        let part = whole.strip_suffix('\\');
        match lines.last_mut().filter(|_| is_joined) {
            Some((_, last)) => last.push_str(part.unwrap_or(line)),
            None => lines.push((number, part.unwrap_or(line).to_owned())),
        }
        is_joined = part.is_some();
    }
    lines
}

/// Says what in a joined line can make a compiler look at another file: a word of a directive behind its sign, in whatever
/// way the two are separated.
fn reaches_out(line: &str) -> Option<String> {
    let signs = ["#", "%:", "??="];
    let directive = signs.iter().filter_map(|sign| line.split_once(sign));
    let (_, directive) = directive.max_by_key(|(_, rest)| rest.len())?;
    let is_known = |name: &&str| {
        let rest = directive.trim_start().strip_prefix("include");
        let rest = rest.and_then(|rest| rest.trim_start().strip_prefix(&format!("<hip/{name}>")));
        rest.is_some_and(|rest| {
            let is_comment = rest.trim_start().starts_with("//") && !rest.contains('\r');
            rest.trim().is_empty() || is_comment
        })
    };
    let mut words = ["include", "import", "embed"].into_iter();
    if let Some(word) = words.find(|word| directive.contains(word)) {
        let is_known = REPLACED_HEADERS.iter().any(is_known);
        return (!is_known).then(|| format!("`{word}` behind a `#`"));
    }
    let is_open = directive.rfind("/*") > directive.rfind("*/");
    is_open.then(|| "a comment that begins in a directive and ends in a later line".into())
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
            "#include <hip/hip_runtime.h>\n # include  <hip/hip_fp16.h> // halves\r\n",
            "#pragma unroll 4\n",
            "#define A 1\n#if A /* one */\n#endif\n",
            "// includes and embeds\nit's \"\n",
            "#\nline = 1;\n/* a\n*/",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
        for text in [
            "\n#include \"/etc/passwd\"\n",
            "\n # /**/ include </etc/passwd>\n",
            "\n#inc\\\nlude \"/etc/passwd\"\n",
            "\n#inc\\ \t\nlude \"/etc/passwd\"\n",
            "\n#\\\r\ninclude \"/etc/passwd\"\n",
            "/*\n*/ /**/ # /*\n*/ include \"/etc/passwd\"\n",
            "\nint b;\r#include \"/etc/passwd\"\n",
            "\n\u{a0}#include \"/etc/passwd\"\n",
            "\n%:include \"/etc/passwd\"\n",
            "\n??=include \"/etc/passwd\"\n",
            "// ??/\n??/\n#include \"/etc/passwd\"\n",
            "\n#include <hip/../../etc/passwd>\n",
            "\n#include <hip/hip_ext.h>\n",
            "\n#include <hip/hip_runtime.h> <x>\n",
            "\n#include <hip/hip_runtime.h>\r#include \"/etc/passwd\"\n",
            "\n#define X \"/etc/passwd\"\n#include X\n",
            "\n#include <hip/hip_runtime.h> //\r#include \"/etc/passwd\"\n",
            "\n#include_next <stdint.h>\n",
            "\n#import \"/etc/passwd\"\n",
            "\n#embed \"/etc/passwd\"\n",
            "\n#if __has_include(\"/etc/passwd\")\n#endif\n",
            "\n#if __has_embed(\"/etc/passwd\")\n#endif\n",
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
