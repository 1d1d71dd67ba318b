//! Small JSON files about a device in the state folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use tinyllama_base::file::{create_private, if_there, replace};
use tinyllama_base::untrusted;

/// Writes a JSON file, whole or not at all, creates its folder, and returns its path.
///
/// # Errors
/// Fails with the file system's message and the path.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<PathBuf> {
    let write = || -> std::io::Result<()> {
        path.parent().map_or(Ok(()), create_private)?;
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        replace(path, &text)
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.to_owned())
}

/// Reads a JSON file. Returns `None` if it does not exist.
///
/// # Errors
/// Fails if it cannot be read or holds something else. The file is left unchanged.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let text = if_there(untrusted::read_text(path, untrusted::MOST_BYTES))
        .with_context(|| format!("cannot read {}", path.display()))?;
    let found = text.map(|text| serde_json::from_str(&text)).transpose();
    found.with_context(|| invalid_file(path))
}

pub(super) fn invalid_file(path: &Path) -> String {
    let path = path.display();
    format!("{path} is not valid; remove it to start again")
}

/// `root/kind/DEVICE.json`, with a different name for every device of every backend.
pub fn device_file(root: &Path, kind: &str, backend: &str, device: &str) -> PathBuf {
    let name = format!("{backend}-{device}").to_ascii_lowercase();
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let parts = itertools::join(parts.filter(|word| !word.is_empty()), "-");
    root.join(kind).join(format!("{parts}.json"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_come_back_and_damage_is_named() {
        let root = tempfile::tempdir().unwrap();
        let path = device_file(
            root.path(),
            "tuning",
            "vulkan",
            "AMD Radeon RX 7900 XTX (RADV/navi31)",
        );
        assert!(
            path.ends_with("tuning/vulkan-amd-radeon-rx-7900-xtx-radv-navi31.json"),
            "{path:?}"
        );
        assert_eq!(read_json::<Vec<u32>>(&path).unwrap(), None);
        write_json(&path, &vec![1, 2]).unwrap();
        assert_eq!(read_json::<Vec<u32>>(&path).unwrap(), Some(vec![1, 2]));
        fs::write(&path, "[1, ").unwrap();
        let error = format!("{:#}", read_json::<Vec<u32>>(&path).unwrap_err());
        assert!(
            error.contains("navi31.json") && error.contains("line 1"),
            "{error}"
        );
    }
}
