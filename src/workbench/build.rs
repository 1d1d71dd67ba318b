//! Has cargo build the crate again after a change in the folder of the exercises. `include_dir!` names only the files that it found.

fn main() {
    println!("cargo::rerun-if-changed=../../kernels/workbench");
}
