//! Kernel names as people read them.

/// The bare function name of a demangled kernel: no return type, namespaces, template or call arguments.
///
/// `void at::native::fill<4, float>(int, float*)` becomes `fill`. A name that is no C++ signature stays as it is.
pub fn short(name: &str) -> &str {
    let name = strip_suffix(name);
    let signature = &name[..arguments_start(name)];
    let signature = match (
        is_return_type_ahead(signature),
        last_top_level(signature, b' '),
    ) {
        (true, Some(space)) => &signature[space + 1..],
        _ => signature,
    };
    let base = match last_top_level(signature, b':') {
        Some(colon) => &signature[colon + 1..],
        None => signature,
    };
    let base = base.split('<').next().unwrap_or(base).trim();
    if base.is_empty() { name } else { base }
}

/// The name without what tools append to it: `.kd`, ` (.kd)`, ` [clone .kd]`.
pub fn strip_suffix(name: &str) -> &str {
    let name = name.trim();
    [" [clone .kd]", " (.kd)", ".kd"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

/// Where the call arguments begin: the first top-level `(` that is not `(anonymous namespace)` and not `operator()`.
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

/// Position of the last `wanted` outside angle brackets and parentheses.
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

fn is_return_type_ahead(signature: &str) -> bool {
    !signature.contains("operator ") && signature.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::short;

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
