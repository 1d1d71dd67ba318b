//! Writes a report to files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{Report, html, markdown};
use tinyllama_base::{file, named, untrusted};

named! {
    /// A format of a report, and its file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
    pub enum ReportFormat {
        /// session.json: everything, with raw samples
        Json = "session.json",
        /// report.md
        #[value(name = "md")]
        Markdown = "report.md",
        /// report.html: one file, no script
        Html = "report.html",
    }
}

impl ReportFormat {
    fn render(self, report: &Report) -> Result<String> {
        Ok(match self {
            ReportFormat::Json => untrusted::json(report)?,
            ReportFormat::Markdown => markdown(report),
            ReportFormat::Html => html::render(report),
        })
    }
}

/// Writes a report into `folder`, one file per format, and returns their paths.
///
/// # Errors
/// Fails with the file system's message and the path.
pub fn write(
    report: &Report,
    folder: &Path,
    formats: impl IntoIterator<Item = ReportFormat>,
) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for format in formats {
        let path = folder.join(format.name());
        save(&path, &format.render(report)?)?;
        files.push(path);
    }
    Ok(files)
}

/// Writes a file whole or not at all.
///
/// # Errors
/// Fails with the file system's message and the path.
pub fn save(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    file::replace(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}
