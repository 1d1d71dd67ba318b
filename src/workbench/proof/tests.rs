use super::*;
use crate::check::WAVES;
use crate::compiled::compiler::CompilerError;
use crate::{exercises, find};

/// False on a machine without the compiler, where nothing is tested.
fn ready() -> bool {
    !matches!(Compiler::find(), Err(CompilerError::NoCompiler))
}

fn proof(exercise: &Exercise, text: &str, wave: u32) -> EverySize {
    let path = "kernel.hip".into();
    let file = KernelFile {
        path,
        text: text.into(),
    };
    prove(exercise, &file, wave).expect("a compiler")
}

/// Answers for all files of the exercises. What is not proven has the reason, and the sizes that are tried.
#[test]
fn files_of_the_exercises_have_these_answers() {
    if !ready() {
        return;
    }
    let answers = |exercise: &Exercise| {
        let wrong = exercise.wrong.iter().map(|wrong| wrong.file.as_str());
        let files = ["solution.hip"].into_iter().chain(wrong);
        let lines = files.map(|name| {
            let text = exercise.file(name).unwrap();
            let waves = if text.contains("warpSize") {
                &WAVES[..]
            } else {
                &WAVES[..1]
            };
            let answers = waves.iter().map(|wave| {
                let proof = proof(exercise, text, *wave);
                let sizes = proof
                    .sizes
                    .as_ref()
                    .map_or(String::new(), |sizes| format!(" {sizes:?}"));
                proof
                    .text()
                    .trim_start_matches("For every size: ")
                    .to_owned()
                    + &sizes
            });
            let answers = itertools::join(itertools::Itertools::unique(answers), " / ");
            format!("{}/{name}: {answers}", exercise.name)
        });
        lines.collect::<Vec<_>>()
    };
    let all = exercises().unwrap();
    let (first, second) = all.split_at(12);
    let lines = std::thread::scope(|scope| {
        let other = scope.spawn(|| second.iter().flat_map(answers).collect::<Vec<_>>());
        let mut lines: Vec<String> = first.iter().flat_map(answers).collect();
        lines.extend(other.join().unwrap());
        lines
    });
    let proven = lines
        .iter()
        .filter(|line| line.contains("solution.hip: proven"));
    assert!(proven.count() >= 8);
    insta::assert_snapshot!(lines.join("\n"));
}

/// Mistakes that are put into kernels. None is proven, and these sizes are the smallest at which they show.
#[test]
fn planted_mistakes_show_their_smallest_sizes() {
    if !ready() {
        return;
    }
    const GUARD: &str = "if (i < n)";
    let planted = [
        ("elementwise", GUARD, "", Some(&[("n", 1.0)][..])),
        ("elementwise", GUARD, "if (i <= n)", Some(&[("n", 1.0)])),
        (
            "elementwise",
            GUARD,
            "if (i < 256 * gridDim.x)",
            Some(&[("n", 1.0)]),
        ),
        (
            "elementwise",
            "blockIdx.x * blockDim.x",
            "blockIdx.x * 128",
            Some(&[("n", 257.0)]),
        ),
        ("elementwise", "out[i]", "out[i / 2]", Some(&[("n", 2.0)])),
        ("elementwise", "out[i]", "out[n - i]", Some(&[("n", 1.0)])),
        (
            "elementwise",
            GUARD,
            "i = (int)x[i]; if (i >= 0 && i < n)",
            None,
        ),
        (
            "grid-stride",
            "gridDim.x * blockDim.x",
            "blockDim.x",
            Some(&[("blocks", 2.0), ("n", 257.0)]),
        ),
        (
            "grid-stride",
            "gridDim.x * blockDim.x",
            "gridDim.x",
            Some(&[("blocks", 1.0), ("n", 2.0)]),
        ),
        (
            "matmul",
            "c[row * n + column]",
            "c[row * m + column]",
            Some(&[("m", 2.0), ("n", 1.0), ("k", 1.0)]),
        ),
        (
            "matmul",
            "c[row * n + column]",
            "c[column * n + row]",
            Some(&[("m", 1.0), ("n", 2.0), ("k", 1.0)]),
        ),
        (
            "matmul",
            "row < m && column < n",
            "row < m",
            Some(&[("m", 1.0), ("n", 1.0), ("k", 1.0)]),
        ),
        (
            "bank-conflicts",
            "out[c * rows + r]",
            "out[c * columns + r]",
            Some(&[("columns", 2.0), ("rows", 1.0)]),
        ),
        (
            "block-sum",
            "threadIdx.x == 0",
            "threadIdx.x < 2",
            Some(&[("rows", 1.0), ("width", 1.0)]),
        ),
        (
            "vector-loads",
            "first + 3 < n",
            "first < n",
            Some(&[("n", 1.0)]),
        ),
    ];
    let mut missed = vec![];
    for (name, right, wrong, sizes) in planted {
        let exercise = find(name).unwrap();
        let text = exercise.solution().unwrap().replace(right, wrong);
        assert_ne!(text, exercise.solution().unwrap(), "{name}: {right}");
        let proof = proof(exercise, &text, 64);
        let sizes = sizes.map(|sizes| {
            let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size));
            sizes.collect::<NamedSizes>()
        });
        if proof.is_proven() || proof.line.is_none() || proof.sizes != sizes {
            missed.push(format!(
                "{name}: {wrong}: {} {:?}",
                proof.text(),
                proof.sizes
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn what_cannot_be_followed_is_not_proven() {
    if !ready() {
        return;
    }
    let exercise = find("elementwise").unwrap();
    let kernel = |body: &str| {
        format!(
            "__device__ __attribute__((noinline)) void put(float* out, int i) {{ out[i] = 1; }}\n\
             extern \"C\" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {{\n\
             int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n{body}\n}}\n"
        )
    };
    let answers = [
        "put(out, i);",
        "__builtin_memset(out, 0, n);",
        "reinterpret_cast<char*>(out)[i] = 1;",
        "out[(int)x[i]] = 1;",
        "out[i] = 1; out[n - 1 - i] = 2;",
        "out[i] = 1; out[i] += out[n - 1 - i];",
        "*(float*)(size_t)n = 1;",
        // 65536 * 65536 becomes 0.
        "i *= 65536; if (i < n) out[i] = 1;",
        "out[i] = 1; __syncthreads(); if (i == 0) out[n - 1] = 2;",
    ]
    .map(|body| {
        let proof = proof(exercise, &kernel(body), 64);
        assert_eq!(proof.answer, ProofAnswer::NotProven, "{body}");
        format!("{body}\n    {}", proof.why)
    });
    insta::assert_snapshot!(answers.join("\n"));
    for body in [
        "out[i] = 1; out[i] = 2;",
        "out[n - 1 - i] = 1;",
        "atomicAdd(&out[0], 1.0f);",
        "if (i % 2) out[i - 1] = 1;",
    ] {
        let proof = proof(exercise, &kernel(body), 64);
        assert!(proof.is_proven(), "{body}: {}", proof.text());
    }
}

/// Twelve nested loops have more places than the search may try.
#[test]
fn a_search_for_sizes_ends() {
    if !ready() {
        return;
    }
    let rounds: Vec<String> = (0..12).map(|at| format!("k{at}")).collect();
    let loops = rounds
        .iter()
        .map(|k| format!("for (int {k} = 0; {k} < n; {k} += i + 1)"));
    let (loops, index) = (loops.collect::<String>(), rounds.join(" + "));
    let text = format!(
        "extern \"C\" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {{\n\
         int i = blockIdx.x * blockDim.x + threadIdx.x;\n{loops} if ({index} < n) out[{index}] = 1;\n}}\n"
    );
    let proof = proof(find("elementwise").unwrap(), &text, 64);
    assert_eq!(proof.answer, ProofAnswer::NotProven, "{}", proof.text());
}

#[test]
fn all_cases_keep_what_the_exercises_say_of_sizes() {
    for exercise in exercises().unwrap() {
        for case in exercise.cases.iter().chain([&exercise.bench]) {
            for formula in &exercise.sizes {
                let size = formula.size(&|name| case.get(name).copied());
                assert!(size.is_ok(), "{}: {size:?}", exercise.name);
            }
        }
    }
}

/// Whatever the prover shows is so for small numbers.
#[test]
fn nothing_wrong_is_shown_of_small_polynomials() {
    use super::poly::Poly;
    use tinyllama_kernel_catalog::check::Random;
    let seed = 38;
    let mut random = Random::new(seed);
    let mut draw = |count: f64| (random.share() * count) as usize;
    let mut shown = 0;
    for _ in 0..3000 {
        let mut poly = |terms: usize| {
            (0..terms).fold(Poly::default(), |sum, _| {
                let symbols: Vec<usize> = (0..draw(3.0)).map(|_| draw(3.0)).collect();
                &sum + &Poly::term(draw(9.0) as i128 - 4, &symbols)
            })
        };
        let facts = [poly(3), poly(3), poly(2)];
        let claim = poly(3);
        if !claim.is_natural(&facts, &|_| true) {
            continue;
        }
        shown += 1;
        for point in 0..125 {
            let at = [point % 5, point / 5 % 5, point / 25].map(Poly::number);
            let value = |poly: &Poly| {
                let value = at
                    .iter()
                    .enumerate()
                    .fold(poly.clone(), |poly, (symbol, value)| {
                        poly.with(symbol, value)
                    });
                value.as_number().unwrap()
            };
            if facts.iter().all(|fact| value(fact) >= 0) {
                assert!(
                    value(&claim) >= 0,
                    "seed {seed}: {claim:?} from {facts:?} at {point}"
                );
            }
        }
    }
    assert!(shown > 300, "{shown}");
}
