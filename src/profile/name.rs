//! Shortens kernel names for people.

use itertools::Itertools;

/// Returns the bare function name of a demangled kernel: no return type, namespaces, template or call arguments.
///
/// `void at::native::fill<4, float>(int, float*)` becomes `fill`. A name that is not a C++ signature stays unchanged.
pub fn short(name: &str) -> &str {
    let base = with_template(name);
    let function = base.split('<').next().unwrap_or(base).trim();
    if function.is_empty() {
        strip_suffix(name)
    } else {
        function
    }
}

/// Returns the function name with its template arguments, which distinguish instances: `fill<4, float>`.
pub fn with_template(name: &str) -> &str {
    let name = strip_suffix(name);
    let signature = &name[..arguments_start(name)];
    let has_arguments = signature.len() < name.len();
    let signature = match last_top_level(signature, b' ') {
        Some(space) if is_return_type(&signature[..space], has_arguments) => {
            &signature[space + 1..]
        }
        _ => signature,
    };
    let base = match last_top_level(signature, b':') {
        Some(colon) => &signature[colon + 1..],
        None => signature,
    };
    base.trim()
}

/// Returns the shortest unique form of each name: the function, the function with its template arguments, or the whole
/// name.
pub fn distinct_names<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let forms = [short, with_template, strip_suffix];
    let counts = forms.map(|form| names.iter().copied().map(form).counts());
    let shortest = |name: &'a str| {
        let mut forms = forms.iter().zip(&counts);
        let alone = forms.find_map(|(form, counts)| Some(form(name)).filter(|it| counts[it] == 1));
        alone.unwrap_or(name)
    };
    names.iter().copied().map(shortest).collect()
}

/// Removes the suffixes that tools append: `.kd`, ` (.kd)`, ` [clone .kd]`.
pub fn strip_suffix(name: &str) -> &str {
    let name = name.trim();
    [" [clone .kd]", " (.kd)", ".kd"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

/// Returns whether a name is a function of an API that ROCm's or NVIDIA's tools trace, which no kernel has.
pub fn is_api(name: &str) -> bool {
    /// Beginnings before a capital letter.
    const CAMEL: &str = "hip hiprtc roctx nccl rccl rocDec rocJpeg hsaKmt cuda nvtx";
    /// Of CUDA's driver, with the subject, because libraries have kernels such as `cuApplyLayerNorm`.
    const WHOLE: &str = "__hip hsa_ omp_ ompt_ mscclLoad mscclRun cuLaunch cuMem cuCtx cuStream cuEvent cuModule cuGraph cuDevice \
                         cuInit cuLibrary cuOccupancy cuGet";
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_camel = |start: &str| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let is_device_code = name.starts_with("nccl") && name.contains("Kernel");
    let begins = CAMEL.split(' ').any(is_camel)
        || WHOLE
            .split_ascii_whitespace()
            .any(|start| name.starts_with(start));
    is_plain && begins && !is_device_code
}

/// Index of the call arguments: the first top-level `(` that is not part of `(anonymous namespace)` or `operator()`.
fn arguments_start(name: &str) -> usize {
    let bytes = name.as_bytes();
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => {
                let before = &name[..at];
                let after = &name[at..];
                let is_part_of_name =
                    after.starts_with("(anonymous namespace)") || before.ends_with("operator");
                if at > 0 && !is_part_of_name {
                    return at;
                }
            }
            _ => {}
        }
    }
    name.len()
}

/// Index of the last `wanted` outside angle brackets and parentheses.
fn last_top_level(name: &str, wanted: u8) -> Option<usize> {
    let mut depth = 0i64;
    let mut found = None;
    for (at, &byte) in name.as_bytes().iter().enumerate() {
        match byte {
            b'<' | b'(' => depth += 1,
            b'>' | b')' => depth -= 1,
            _ if byte == wanted && depth <= 0 => found = Some(at),
            _ => {}
        }
    }
    found
}

/// Returns whether the text before a function's name is a type. Names such as `my kernel` have spaces too, and no
/// arguments.
fn is_return_type(text: &str, has_arguments: bool) -> bool {
    let is_type = ["void", "::type"].iter().any(|end| text.ends_with(end));
    !text.contains("operator ") && (has_arguments || is_type)
}

#[cfg(test)]
mod tests {
    use super::{distinct_names, short};

    #[test]
    fn instances_of_a_template_are_told_apart_by_what_differs() {
        let names = [
            "void norm(float*)",
            "void mul<(type)2, true>(float*)",
            "void mul<(type)8, true>(float*)",
            "add<1>(int)",
            "add<1>(float)",
        ];
        let shortest = [
            "norm",
            "mul<(type)2, true>",
            "mul<(type)8, true>",
            "add<1>(int)",
            "add<1>(float)",
        ];
        assert_eq!(distinct_names(&names), shortest);
    }

    #[test]
    fn signatures_become_function_names() {
        let cases = [
            (
                "void addition_kernel<float>(float*, float const*, int)",
                "addition_kernel",
            ),
            (
                "divide_kernel(float*, float const*, int, int)",
                "divide_kernel",
            ),
            (
                "void at::native::(anonymous namespace)::fused<c10::BFloat16, 1>(at::cuda::detail::TensorInfo<float>)",
                "fused",
            ),
            ("vecCopy(double*, double*, int) [clone .kd]", "vecCopy"),
            ("void fill<float>", "fill"),
            ("my kernel of step 2", "my kernel of step 2"),
            ("triton poi fused (2)", "triton poi fused (2)"),
            ("__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer"),
            ("Cijk_Alik_Bljk_BBS_BH", "Cijk_Alik_Bljk_BBS_BH"),
            ("matmul_entry_f32_2.kd", "matmul_entry_f32_2"),
            ("", ""),
            ("<(", "<("),
        ];
        for (full, expected) in cases {
            assert_eq!(short(full), expected, "{full}");
        }
    }
}
