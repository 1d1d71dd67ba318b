//! What is known of a kernel, as plain data.

/// A value that is compiled into a kernel and may be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub name: String,
    pub means: String,
}

/// What one run of a pass must move and compute at the least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassCost {
    /// `forward`, `backward`, ….
    pub pass: String,
    /// A formula in the shape's letters.
    pub bytes: String,
    pub flops: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Below the kernel's folder.
    pub name: String,
    /// For the highlighter.
    pub language: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelEntry {
    pub name: String,
    /// What it does, in one line.
    pub summary: String,
    /// What one run launches.
    pub launches: String,
    /// The letters of the formulas.
    pub shape: String,
    pub costs: Vec<PassCost>,
    pub tunables: Vec<Tunable>,
    /// The kernels first.
    pub files: Vec<SourceFile>,
}

impl KernelEntry {
    /// What the module's own documentation says, as Markdown; empty without a `mod.rs`.
    pub fn about(&self) -> String {
        let module = self.files.iter().find(|file| file.name == "mod.rs");
        let lines = module.map_or("", |file| &file.text).lines();
        lines
            .map_while(|line| line.strip_prefix("//!"))
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
    }
}
