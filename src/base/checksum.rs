//! Checksums as text.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of the parts one after the other, in hexadecimal.
pub fn sha256_hex<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut digest = Sha256::new();
    parts.into_iter().for_each(|part| digest.update(part));
    hex(digest)
}

/// Returns the checksum of what was hashed, in hexadecimal.
pub fn hex(digest: Sha256) -> String {
    format!("{:x}", digest.finalize())
}
