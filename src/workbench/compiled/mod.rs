//! Shows what this project's kernels become on an AMD GPU, without one: clang compiles them, and figures are read from the
//! assembly.
//!
//! [`compiler`] turns HIP C++ into assembly. [`assembly`] reads registers, local memory and spills out of it. [`facts`] is
//! a table of these for kernels and architectures. The table is recorded in the program, so that it can be shown without a
//! clang; `tools/emit` records it, and says which figures are too high. All figures are about compiled code: nothing was run
//! or measured on such a GPU.

pub mod assembly;
pub(crate) mod child;
pub mod compiler;
pub mod facts;

#[cfg(test)]
mod tests {
    /// Joins lines and removes the `> ` of a Markdown quotation.
    fn normalized(text: &str) -> String {
        text.lines()
            .map(|line| line.trim_start_matches("> "))
            .flat_map(str::split_whitespace)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// This project had no AMD GPU. The README repeats word for word what docs/design/rocm.md allows it to say about such GPUs.
    #[test]
    fn the_readme_claims_what_is_documented() {
        let allowed: String = include_str!("../../../docs/design/rocm.md")
            .lines()
            .filter(|line| line.starts_with("> "))
            .map(|line| format!("{line}\n"))
            .collect();
        let claim = normalized(&allowed);
        assert!(
            claim.starts_with("Nothing here has run on AMD hardware yet."),
            "{claim}"
        );
        let readme = normalized(include_str!("../../../README.md"));
        assert!(readme.contains(&claim), "the README does not say: {claim}");
    }
}
