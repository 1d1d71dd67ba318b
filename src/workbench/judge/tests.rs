//! Tests the judge: every starter fails, every solution passes, and every typical mistake is found at its line for its
//! reason, at every wave size.

use crate::check::{CheckOptions, ExerciseCheck, WAVES, check};
use crate::exercise::{Exercise, Wrong};
use crate::file::KernelFile;
use crate::finding::{FindingKind, KernelFinding};
use crate::machine::tests::{architectures, compiler};
use crate::{exercises, find, text};

fn file(text: &str) -> KernelFile {
    KernelFile {
        path: "kernel.hip".into(),
        text: text.to_owned(),
    }
}

fn checked(exercise: &Exercise, text: &str, waves: &[u32]) -> ExerciseCheck {
    let options = CheckOptions::of_waves(waves);
    check(exercise, &file(text), &options, &mut |_| {}).expect("a machine that compiles kernels")
}

/// Checks on these architectures, with the costs.
fn checked_on(exercise: &Exercise, text: &str, architectures: &[&str]) -> ExerciseCheck {
    let options = CheckOptions {
        counts: true,
        ..CheckOptions::of(architectures)
    };
    check(exercise, &file(text), &options, &mut |_| {}).expect("a machine that compiles kernels")
}

fn said(checked: &ExerciseCheck, text: &str) -> String {
    text::lines(checked, &file(text)).join("\n")
}

/// Collects what is wrong with the exercises, all of which are looked at.
fn for_each_exercise(look: impl Fn(&Exercise) -> Vec<String>) {
    if compiler().is_none() {
        return;
    }
    let all = exercises().expect("exercises that can be read");
    let wrong: Vec<String> = all.iter().flat_map(look).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_solution_passes_on_every_architecture() {
    for_each_exercise(|exercise| {
        let text = exercise.solution().unwrap();
        let architectures = architectures(&compiler().unwrap());
        let checked = checked_on(exercise, text, &architectures);
        let cases = architectures.len() * (exercise.cases.len() + checked.drawn.len());
        let mut wrong = vec![];
        if !checked.passed || checked.cases != cases || checked.drawn.is_empty() {
            wrong.push(said(&checked, text));
        }
        let kernels = &checked.compiled.kernels;
        let whole = kernels
            .iter()
            .filter(|kernel| kernel.resources.vgprs > 0 && kernel.occupancy().is_some());
        let counted = checked
            .costs
            .as_ref()
            .and_then(|costs| costs.instructions.as_ref());
        let is_counted = counted.is_some_and(|one| one.all > 0 && one.line.is_some());
        if whole.count() < 3 * exercise.launches.len() || !is_counted {
            wrong.push(format!(
                "{}: {kernels:?}, {:?}",
                exercise.name, checked.costs
            ));
        }
        wrong
    });
}

#[test]
fn every_starter_fails_and_runs() {
    for_each_exercise(|exercise| {
        let text = exercise.starter().unwrap();
        let checked = checked(exercise, text, &WAVES);
        // A starter that does not compile teaches nothing.
        let mut findings = checked.findings.iter();
        let as_meant =
            !checked.passed && findings.all(|finding| finding.kind != FindingKind::Compile);
        let said = (!as_meant).then(|| format!("starter: {}", said(&checked, text)));
        said.into_iter().collect()
    });
}

/// Returns whether a finding is the one that a wrong file has to show.
fn is_shown(wrong: &Wrong, wave: u32, finding: &KernelFinding) -> bool {
    let says = wrong.says.as_ref();
    let lines = [finding.line, finding.other_line];
    let of_32 = wrong.line_of_32.filter(|_| wave == 32);
    finding.kind == wrong.shows
        && says.is_none_or(|says| finding.message.contains(says))
        && of_32
            .or(wrong.line)
            .is_none_or(|line| lines.contains(&Some(line)))
        && (finding.waves.is_empty() || finding.waves.contains(&wave))
}

#[test]
fn every_typical_mistake_is_found_at_its_line_for_its_reason() {
    for_each_exercise(|exercise| {
        let mut missed = vec![];
        for wrong in &exercise.wrong {
            let text = exercise.file(&wrong.file).unwrap();
            let waves = wrong.waves.clone().unwrap_or(WAVES.to_vec());
            let together = checked(exercise, text, &waves);
            for wave in waves {
                let is_shown = |finding: &KernelFinding| is_shown(wrong, wave, finding);
                if together.findings.iter().any(is_shown) {
                    continue;
                }
                // Of two findings in one line, the first wave size that shows it is reported.
                let alone = checked(exercise, text, &[wave]);
                if !alone.findings.iter().any(is_shown) {
                    missed.push(format!(
                        "{} at waves of {wave} does not show `{}` {:?} {:?}:\n{}",
                        wrong.file,
                        wrong.shows.name(),
                        wrong.says,
                        wrong.line,
                        said(&alone, text)
                    ));
                }
            }
        }
        missed
    });
}

#[test]
fn a_kernel_for_the_known_sizes_fails_at_sizes_that_are_drawn() {
    if compiler().is_none() {
        return;
    }
    let exercise = find("elementwise").unwrap();
    let right = exercise.solution().unwrap();
    let learned = right.replace(
        "if (i < n)",
        "if (i < n && n != 1 && n != 257 && n != 1000 && n != 1024) out[i] = 7;\n    else if (i < n)",
    );
    assert_ne!(learned, right);
    let failed = checked(exercise, &learned, &[64]);
    assert!(!failed.passed, "{}", said(&failed, &learned));
    let case = failed.findings[0].case.clone();
    assert!(failed.drawn.contains(&case.unwrap()), "{failed:?}");
    // The seed that was shown draws the same sizes again.
    let again = CheckOptions {
        seed: failed.seed,
        ..CheckOptions::of_waves(&[64])
    };
    let again = check(exercise, &file(&learned), &again, &mut |_| {}).unwrap();
    assert_eq!(again, failed);
}

/// A kernel of `elementwise` around these statements.
fn kernel(before: &str, body: &str) -> String {
    format!(
        "{before}\nextern \"C\" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    float own = i < n ? a * x[i] + y[i] : 0;\n{body}\n}}\n"
    )
}

const RIGHT: &str = "if (i < n) out[i] = own;";

/// Kernels that are right and look wrong: before the kernel, and in it.
const LOOKS_WRONG: [(&str, &str, &str); 10] = [
    (
        "the last workgroup adds what the others left, ordered by fences and an atomic operation",
        "__device__ float left[64]; __device__ unsigned arrived;",
        "if (i < n) out[i] = own;
    if (threadIdx.x == 0) left[blockIdx.x] = 1;
    __syncthreads();
    __shared__ unsigned order;
    if (threadIdx.x == 0) { __threadfence(); order = atomicAdd(&arrived, 1u); __threadfence(); }
    __syncthreads();
    if (order == gridDim.x - 1) {
        float all = 0;
        for (int b = 0; b < gridDim.x; b++) all += left[b];
        if (threadIdx.x == 0) { arrived = 0; if (all != gridDim.x) out[0] = 1e9f; }
    }",
    ),
    (
        "a flag that one workgroup sets and a later one waits for",
        "__device__ float carry[64]; __device__ unsigned flags[64];",
        "if (threadIdx.x == 0) {
        if (blockIdx.x > 0) {
            while (__atomic_load_n(&flags[blockIdx.x - 1], __ATOMIC_ACQUIRE) == 0) {}
            if (carry[blockIdx.x - 1] != blockIdx.x) own = 1e9f;
        }
        carry[blockIdx.x] = blockIdx.x + 1;
        __atomic_store_n(&flags[blockIdx.x], 1u, __ATOMIC_RELEASE);
    }
    if (i < n) out[i] = own;",
    ),
    (
        "threads of a wave exchange through local memory with a barrier of the wave",
        "",
        "__shared__ float swap[256];
    swap[threadIdx.x] = own;
    __syncwarp();
    float other = swap[threadIdx.x ^ 1];
    __syncwarp();
    swap[threadIdx.x] = other;
    __syncwarp();
    if (i < n) out[i] = swap[threadIdx.x ^ 1];",
    ),
    (
        "a barrier in a branch that all threads of a workgroup take",
        "",
        "__shared__ float kept[256];
    kept[threadIdx.x] = own;
    if (n > 0) { __syncthreads(); }
    if (i < n) out[i] = kept[threadIdx.x];",
    ),
    (
        "barriers in a loop whose end all threads know",
        "",
        "__shared__ float kept[256];
    for (int r = 0; r < n % 5 + 1; r++) {
        __syncthreads();
        kept[(threadIdx.x + r) % 256] = own;
        __syncthreads();
        own = kept[(threadIdx.x + r) % 256];
    }
    if (i < n) out[i] = own;",
    ),
    (
        "local memory is used twice for different things",
        "",
        "__shared__ float first[256];
    first[threadIdx.x] = own;
    __syncthreads();
    float mine = first[255 - threadIdx.x];
    __syncthreads();
    first[255 - threadIdx.x] = mine;
    __syncthreads();
    if (i < n) out[i] = first[threadIdx.x];",
    ),
    (
        "all threads add to one number with atomic operations",
        "__device__ int seen;",
        "atomicAdd(&seen, 1);
    if (i < n) out[i] = own;",
    ),
    (
        "two threads write two bytes of one word",
        "",
        "__shared__ unsigned char bytes[256];
    bytes[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (bytes[255 - threadIdx.x] != 255 - threadIdx.x) own = 1e9f;
    if (i < n) out[i] = own;",
    ),
    (
        "an address before the array's begin that is only compared",
        "",
        "const float* before = x - 1;
    for (const float* at = x + i; at > before && i < n; at -= n) out[i] = own;",
    ),
    (
        "one thread reads what it wrote itself, and writes it again",
        "",
        "if (i < n) {
        out[i] = own - 1;
        out[i] += 1;
    }",
    ),
];

/// Kernels with a fault that results need not show: before the kernel, in it, the finding, and a part of its message.
const FAULTS: [(&str, &str, &str, FindingKind, &str); 15] = [
    (
        "an input is changed through a cast",
        "",
        "if (i < n) { out[i] = own; const_cast<float*>(x)[i] = own; }",
        FindingKind::Wrong,
        "which is only read",
    ),
    (
        "the last workgroup adds what the others left, without a fence",
        "__device__ float left[64]; __device__ unsigned arrived;",
        "if (i < n) out[i] = own;
    if (threadIdx.x == 0) left[blockIdx.x] = 1;
    __syncthreads();
    __shared__ unsigned order;
    if (threadIdx.x == 0) order = atomicAdd(&arrived, 1u);
    __syncthreads();
    if (order == gridDim.x - 1) {
        float all = 0;
        for (int b = 0; b < gridDim.x; b++) all += left[b];
        if (threadIdx.x == 0) { arrived = 0; if (all != gridDim.x) out[0] = 1e9f; }
    }",
        FindingKind::Race,
        "another block",
    ),
    (
        "the last workgroup, and the atomic operation comes before the barrier",
        "__device__ float left[1024]; __device__ unsigned arrived;",
        "if (i < n) out[i] = own;
    left[i % 1024] = 1;
    __shared__ unsigned order;
    if (threadIdx.x == 0) { __threadfence(); order = atomicAdd(&arrived, 1u); __threadfence(); }
    __syncthreads();
    if (order == gridDim.x - 1 && left[threadIdx.x] == 0) out[0] = 1e9f;
    if (order == gridDim.x - 1 && threadIdx.x == 0) arrived = 0;",
        FindingKind::Race,
        "another block",
    ),
    (
        "threads of a wave exchange through local memory with nothing between",
        "",
        "__shared__ float swap[256];
    swap[threadIdx.x] = own;
    float other = swap[threadIdx.x ^ 1];
    __syncthreads();
    swap[threadIdx.x] = other;
    __syncthreads();
    if (i < n) out[i] = swap[threadIdx.x ^ 1];",
        FindingKind::Race,
        "swap[",
    ),
    (
        "all threads write the same value to one element",
        "__device__ int last;",
        "last = n;
    if (i < n) out[i] = own;",
        FindingKind::Race,
        "nothing orders the two",
    ),
    (
        "a thread reads what another one adds to",
        "__device__ int seen;",
        "atomicAdd(&seen, 1);
    if (i < n) out[i] = seen > 0 ? own : own;
    if (seen < 0) out[0] = 7;",
        FindingKind::Race,
        "reads",
    ),
    (
        "two threads write one byte",
        "",
        "__shared__ unsigned char bytes[256];
    bytes[threadIdx.x / 2] = 1;
    __syncthreads();
    if (bytes[threadIdx.x / 2] != 1) own = 1e9f;
    if (i < n) out[i] = own;",
        FindingKind::Race,
        "bytes[0]",
    ),
    (
        "local memory that nobody wrote changes nothing",
        "",
        "__shared__ float never[256];
    if (n < 0) never[threadIdx.x] = 1;
    __syncthreads();
    float zero = never[threadIdx.x];
    if (i < n) out[i] = zero == 77.0f ? 0 : own;",
        FindingKind::Unwritten,
        "never[0]",
    ),
    (
        "a private array that nobody wrote",
        "",
        "float mine[8];
    if (n < 0) for (int k = 0; k < 8; k++) mine[k] = k;
    float value = mine[i & 7];
    if (i < n) out[i] = value == 77.0f ? 0 : own;",
        FindingKind::Unwritten,
        "its own array",
    ),
    (
        "a pointer leaves one local array for the next",
        "",
        "__shared__ float first[64], second[64];
    first[threadIdx.x % 64] = second[threadIdx.x % 64] = 0;
    __syncthreads();
    float* at = first;
    if (threadIdx.x == 5) at[64 + n % 3] = 1;
    if (i < n) out[i] = own + first[0] * 0 + second[0] * 0;",
        FindingKind::OutOfBounds,
        "thread 5 of block 0",
    ),
    (
        "a pointer goes before a private array",
        "",
        "float mine[4] = {own, own, own, own};
    float* at = mine + n % 2;
    at[-2] = 1;
    if (i < n) out[i] = mine[i & 3];",
        FindingKind::OutOfBounds,
        "thread 0 of block 0",
    ),
    (
        "one element is read before the array's begin",
        "",
        "if (i < n) out[i] = i == 0 && x[-1] == 77.0f ? 0 : own;",
        FindingKind::OutOfBounds,
        "x[-1]",
    ),
    (
        "some threads of a wave miss a barrier",
        "",
        "if (threadIdx.x % 2) __syncthreads();
    if (i < n) out[i] = own;",
        FindingKind::Barrier,
        "128 threads never reach",
    ),
    (
        "two barriers for two halves of a workgroup",
        "",
        "if (threadIdx.x < 128) { __syncthreads(); own += 0; }
    else { own *= 1; __syncthreads(); }
    if (i < n) out[i] = own;",
        FindingKind::Barrier,
        "different barriers",
    ),
    (
        "a function calls itself too often",
        "__device__ __attribute__((noinline)) float deep(float x, int n) {
    volatile float kept[64];
    kept[n % 64] = x;
    return n > 0 ? deep(x, n - 1) + kept[n % 64] * 0 : x;
}",
        "if (i < n) out[i] = deep(own, 5000);",
        FindingKind::Crash,
        "runs out of its stack",
    ),
];

#[test]
fn right_kernels_that_look_wrong_pass() {
    if compiler().is_none() {
        return;
    }
    let exercise = find("elementwise").unwrap();
    let mut wrong = vec![];
    for (what, before, body) in LOOKS_WRONG {
        let text = kernel(before, body);
        let checked = checked(exercise, &text, &WAVES);
        if !checked.passed {
            wrong.push(format!("{what}: {}", said(&checked, &text)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn faults_that_the_results_do_not_show_are_found() {
    if compiler().is_none() {
        return;
    }
    let exercise = find("elementwise").unwrap();
    let mut missed = vec![];
    for (what, before, body, kind, words) in FAULTS {
        let text = kernel(before, body);
        for wave in WAVES {
            let checked = checked(exercise, &text, &[wave]);
            let mut findings = checked.findings.iter();
            if !findings.any(|one| one.kind == kind && one.message.contains(words)) {
                missed.push(format!(
                    "{what}, waves of {wave}: {}",
                    said(&checked, &text)
                ));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
    // The frame of these kernels is right.
    let text = kernel("", RIGHT);
    assert!(checked(exercise, &text, &WAVES).passed);
}
