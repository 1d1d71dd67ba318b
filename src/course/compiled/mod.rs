//! What this project's kernels become on an AMD GPU, found out without one: compiled by clang, read from its assembly.
//!
//! [`compiler`] turns HIP C++ into assembly, [`assembly`] reads registers, local memory and spills out of it, [`facts`]
//! is a table of that for kernels and architectures, recorded in the program so that it can be shown where no clang
//! is, and [`budget`] says which figures are too high. All of it is about compiled code: nothing here was run or measured.

pub mod assembly;
pub mod compiler;
pub mod facts;

#[cfg(test)]
mod tests {
    /// Words without line breaks and marks of quotation.
    fn words(text: &str) -> String {
        text.lines()
            .map(|line| line.trim_start_matches("> "))
            .flat_map(str::split_whitespace)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Nobody on this project had an AMD GPU: the README says about them what docs/design/rocm.md allows, word for word.
    #[test]
    fn the_readme_claims_what_is_documented() {
        let allowed: String = include_str!("../../../docs/design/rocm.md")
            .lines()
            .filter(|line| line.starts_with("> "))
            .map(|line| format!("{line}\n"))
            .collect();
        let claim = words(&allowed);
        assert!(
            claim.starts_with("Nothing here has run on AMD hardware yet."),
            "{claim}"
        );
        let readme = words(include_str!("../../../README.md"));
        assert!(readme.contains(&claim), "the README does not say: {claim}");
    }
}
