//! Gives `cfg(gpu)` to builds with at least one GPU backend.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(gpu)");
    println!("cargo::rerun-if-changed=build.rs");
    let backends = ["VULKAN", "ROCM", "CUDA"];
    let enabled = |backend: &&str| std::env::var_os(format!("CARGO_FEATURE_{backend}")).is_some();
    if backends.iter().any(enabled) {
        println!("cargo::rustc-cfg=gpu");
    }
}
