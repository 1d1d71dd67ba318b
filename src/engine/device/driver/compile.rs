//! Sources that are compiled at run time, and the options for it.

use sha2::{Digest, Sha256};

use super::properties::{Properties, Vendor};
use super::{Driver, Result};
use tinyllama_base::checksum::hex;

/// Source of one module: CUDA C++ for nvrtc, HIP C++ for hiprtc, or both at once.
///
/// These macros are defined for it: `TUTOR_CUDA` or `TUTOR_HIP`, `TUTOR_PLANE` (threads of a plane), and on CUDA
/// `TUTOR_SM` (90 on sm_90). No header of the toolkit is needed to compile. If the source includes one, the toolkit's
/// folder is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceCode {
    /// Name of the file in the compiler's messages.
    pub name: String,
    pub text: String,
    /// Further macros, as (name, value).
    pub defines: Vec<(String, String)>,
}

impl SourceCode {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        SourceCode {
            name: name.into(),
            text: text.into(),
            defines: vec![],
        }
    }

    pub fn define(mut self, name: &str, value: impl ToString) -> Self {
        self.defines.push((name.to_owned(), value.to_string()));
        self
    }
}

/// A source with the options for one device, as the run-time compiler gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileRequest {
    pub name: String,
    pub text: String,
    pub arch: String,
    pub options: Vec<String>,
}

impl CompileRequest {
    pub fn new(source: &SourceCode, properties: &Properties) -> Self {
        let arch = properties.arch.clone();
        let mut options = match properties.vendor {
            Vendor::Nvidia => {
                let number = arch.trim_start_matches("sm_");
                // Only Hopper (with the suffix `a`) has the warpgroup instructions for matrix products.
                let own = if arch == "sm_90" { "a" } else { "" };
                vec![
                    format!("--gpu-architecture={arch}{own}"),
                    "--std=c++17".into(),
                    "-DTUTOR_CUDA=1".into(),
                    format!("-DTUTOR_SM={number}"),
                ]
            }
            Vendor::Amd => vec![
                format!("--offload-arch={arch}"),
                "-std=c++17".into(),
                "-O3".into(),
                "-DTUTOR_HIP=1".into(),
            ],
        };
        options.push(format!("-DTUTOR_PLANE={}", properties.plane_size));
        options.extend(
            source
                .defines
                .iter()
                .map(|(name, value)| format!("-D{name}={value}")),
        );
        CompileRequest {
            name: source.name.clone(),
            text: source.text.clone(),
            arch,
            options,
        }
    }

    /// Returns a name for the code that `compiler` makes of this request: SHA-256 over all inputs, in hexadecimal.
    pub fn key(&self, compiler: &str) -> String {
        let mut hash = Sha256::new();
        let parts = [compiler, &self.name, &self.arch, &self.text];
        for part in parts
            .into_iter()
            .chain(self.options.iter().map(String::as_str))
        {
            // The length comes first, so that two different lists of parts never give the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex(hash)
    }
}

impl Driver {
    /// Returns the code of `source` for this device from the cache, or compiles and stores it.
    pub(super) fn code(&self, source: &SourceCode) -> Result<Vec<u8>> {
        let request = CompileRequest::new(source, self.properties());
        let compiler = self.shared.compiler()?;
        let Some(cache) = &self.shared.cache else {
            return compiler.compile(&request);
        };
        let key = request.key(&compiler.version()?);
        if let Some(code) = cache.get(&key) {
            return Ok(code);
        }
        let code = compiler.compile(&request)?;
        cache.store(&key, &code);
        Ok(code)
    }
}
