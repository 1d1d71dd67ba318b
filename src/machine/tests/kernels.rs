//! Executes HIP C++ that clang compiled for each architecture, and compares the results with the expected ones. Then
//! does the same with faults inserted into the assembly.

mod compile;

use compile::{assembly, values};
use tinyllama_machine::{
    Argument, BufferId, Fault, Group, History, Launch, LaunchError, Machine, Memory, Mistake,
    MistakeKind, Program, Summary,
};

const ARCHITECTURES: [&str; 3] = ["gfx90a", "gfx942", "gfx1100"];

/// Sums rows with a loop, local memory, a barrier, an exchange of lanes and a mask.
const SOURCE: &str = r#"
extern "C" __global__ void sums(const float* x, float* out, int n) {
    __shared__ float part[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[blockIdx.x * n + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    float mine = threadIdx.x < warpSize ? part[threadIdx.x] : 0.0f;
    for (int at = threadIdx.x + warpSize; threadIdx.x < warpSize && at < 256; at += warpSize) mine += part[at];
    for (int d = warpSize / 2; d > 0; d /= 2) mine += __shfl_xor(mine, d);
    if (threadIdx.x == 0) out[blockIdx.x] = mine;
}
extern "C" __global__ void scale(const float* x, float* out, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a / x[i];
}
extern "C" __global__ void local(const int* which, float* out) {
    float values[16];
    for (int i = 0; i < 16; ++i) values[i] = i * 0.5f + threadIdx.x;
    out[threadIdx.x] = values[which[threadIdx.x] & 15];
}
extern "C" __global__ void steps(const int* which, float* out) {
    float value = 1.0f;
    for (int i = which[threadIdx.x] % 5; i > 0; --i) value = value * 1.5f + 1.0f;
    out[threadIdx.x] = value;
}
extern "C" __global__ void endless(volatile int* x) { while (x[0] == 0) {} }
extern "C" __global__ void count(const int* x, int* counts) {
    __hip_atomic_fetch_add(&counts[x[blockIdx.x * blockDim.x + threadIdx.x] & 3], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
"#;

/// Computes `a · b` of 16x16 matrices with the matrix instruction of the architecture.
const PRODUCTS: &str = r#"
typedef float F4 __attribute__((ext_vector_type(4)));
typedef float F8 __attribute__((ext_vector_type(8)));
typedef short H16 __attribute__((ext_vector_type(16)));
__device__ static inline short upper(float x) { return (short)(__builtin_bit_cast(unsigned, x) >> 16); }
extern "C" __global__ void product(const float* a, const float* b, float* out) {
    int lane = threadIdx.x;
#ifdef __GFX9__
    F4 sum = {0, 0, 0, 0};
    for (int k = 0; k < 16; k += 4)
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[lane % 16 * 16 + k + lane / 16], b[(k + lane / 16) * 16 + lane % 16], sum, 0, 0, 0);
    for (int r = 0; r < 4; ++r) out[(lane / 16 * 4 + r) * 16 + lane % 16] = sum[r];
#else
    F8 sum = {0, 0, 0, 0, 0, 0, 0, 0};
    H16 x, y;
    for (int k = 0; k < 16; ++k) {
        x[k] = upper(a[lane % 16 * 16 + k]);
        y[k] = upper(b[k * 16 + lane % 16]);
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, sum);
    for (int r = 0; r < 8; ++r) out[(2 * r + lane / 16) * 16 + lane % 16] = sum[r];
#endif
}
"#;

const ROWS: usize = 3;
const WIDTH: usize = 700;

/// Returns the assembly for each architecture; nothing without a compiler.
fn compiled(source: &str) -> impl Iterator<Item = (&'static str, String)> {
    let architectures = ARCHITECTURES.into_iter();
    architectures.map_while(move |one| Some((one, assembly(source, one)?)))
}

/// Returns a launch of 64 threads.
fn of_64_threads<'a>(kernel: &'a str, buffers: &[BufferId]) -> Launch<'a> {
    let arguments = buffers.iter().copied().map(Argument::Buffer).collect();
    Launch::new(kernel, [1, 1, 1], [64, 1, 1], arguments)
}

/// Executes `sums` and returns the outputs and the mistakes, or the fault.
fn sums(assembly: &str) -> Result<(Vec<f32>, Vec<Mistake>), Fault> {
    let program = Program::parse(assembly).unwrap();
    let mut memory = Memory::new();
    let x = memory.add_floats("x", &values(ROWS * WIDTH));
    let out = memory.add_floats("out", &[f32::NAN; ROWS]);
    let mut machine = Machine::new(&program, memory);
    let arguments = vec![
        Argument::Buffer(x),
        Argument::Buffer(out),
        Argument::Word(WIDTH as u32),
    ];
    match machine.run(
        &Launch::new("sums", [ROWS as u32, 1, 1], [256, 1, 1], arguments),
        &mut (),
    ) {
        Ok(()) => {
            let mistakes = machine.mistakes().to_vec();
            Ok((machine.memory.buffer(out).floats().collect(), mistakes))
        }
        Err(LaunchError::Execution(error)) => Err(error.fault),
        Err(error) => panic!("{error}"),
    }
}

fn are_right(sums: &[f32]) -> bool {
    let x = values(ROWS * WIDTH);
    let rows = x
        .chunks(WIDTH)
        .map(|row| row.iter().map(|x| f64::from(*x)).sum::<f64>());
    rows.zip(sums)
        .all(|(right, got)| (right - f64::from(*got)).abs() < 1e-3)
}

/// Returns the text without the lines for which `is_fault` is true. At least one line has to match.
fn without(assembly: &str, is_fault: impl Fn(&str) -> bool) -> String {
    let kept: Vec<&str> = assembly
        .lines()
        .filter(|line| !is_fault(line.trim()))
        .collect();
    assert!(
        kept.len() < assembly.lines().count(),
        "nothing to leave out"
    );
    kept.join("\n")
}

#[test]
fn sums_are_right_and_faults_are_found() {
    for (architecture, assembly) in compiled(SOURCE) {
        let (got, mistakes) = sums(&assembly).unwrap();
        assert!(are_right(&got), "{architecture}: {got:?}");
        assert_eq!(mistakes, [], "{architecture}");

        let no_wait = without(&assembly, |line| line.starts_with("s_waitcnt vmcnt(0)"));
        assert!(
            matches!(sums(&no_wait), Err(Fault::NotWaited { .. })),
            "{architecture}: {:?}",
            sums(&no_wait)
        );

        let no_barrier = without(&assembly, |line| line == "s_barrier");
        let (_, found) = sums(&no_barrier).unwrap();
        let is_race = |mistake: &Mistake| matches!(mistake.kind, MistakeKind::Race { .. });
        assert!(found.iter().any(is_race), "{architecture}: {found:?}");

        let lines = assembly
            .lines()
            .map(|line| match line.trim().starts_with("ds_bpermute_b32") {
                true => format!("{line} offset:4"),
                false => line.to_owned(),
            });
        let exchanged = lines.collect::<Vec<_>>().join("\n");
        assert!(
            !are_right(&sums(&exchanged).unwrap().0),
            "{architecture}: an exchanged lane is not seen"
        );
    }
}

#[test]
fn lanes_outside_exec_do_nothing() {
    for (architecture, assembly) in compiled(SOURCE) {
        let run = |assembly: &str| {
            let program = Program::parse(assembly).unwrap();
            let mut memory = Memory::new();
            let x = memory.add_floats("x", &values(77));
            let out = memory.add_floats("out", &[f32::NAN; 77]);
            let mut machine = Machine::new(&program, memory);
            let arguments = vec![
                Argument::Buffer(x),
                Argument::Buffer(out),
                Argument::Word(3.0_f32.to_bits()),
                Argument::Word(77),
            ];
            let launch = Launch::new("scale", [2, 1, 1], [64, 1, 1], arguments);
            machine
                .run(&launch, &mut ())
                .map(|()| machine.memory.buffer(out).floats().collect::<Vec<f32>>())
        };
        // Division has to be rounded correctly, in any steps that the compiler chooses for it.
        let right: Vec<f32> = values(77).iter().map(|x| 3.0 / x).collect();
        assert_eq!(run(&assembly).unwrap(), right, "{architecture}");
        let forgotten = without(&assembly, |line| {
            line.contains("saveexec") || line.contains("v_cmpx")
        });
        let Err(LaunchError::Execution(error)) = run(&forgotten) else {
            panic!("{architecture}: a forgotten mask is not seen");
        };
        assert!(
            matches!(error.fault, Fault::OutOfBounds { .. }),
            "{architecture}: {error}"
        );
        assert_eq!(error.place, "kernel.hip:15", "{error}");
    }
}

#[test]
fn private_memory_atomics_and_endless_loops() {
    for (architecture, assembly) in compiled(SOURCE) {
        let program = Program::parse(&assembly).unwrap();
        let mut memory = Memory::new();
        let which: Vec<u32> = (0..64).map(|i| i * 7).collect();
        let which = memory.add_words("which", &which);
        let out = memory.add_floats("out", &[0.0; 64]);
        let counts = memory.add_words("counts", &[0; 4]);
        let mut machine = Machine::new(&program, memory);
        let launch = of_64_threads("local", &[which, out]);
        machine.run(&launch, &mut ()).unwrap();
        let right = (0..64_u32).map(|i| (i * 7 % 16) as f32 * 0.5 + i as f32);
        assert!(
            machine.memory.buffer(out).floats().eq(right),
            "{architecture}"
        );

        // Lanes that have left a loop keep their values.
        let launch = of_64_threads("steps", &[which, out]);
        machine.run(&launch, &mut ()).unwrap();
        let right = (0..64).map(|i| (0..i * 7 % 5).fold(1.0_f32, |value, _| value * 1.5 + 1.0));
        assert!(
            machine.memory.buffer(out).floats().eq(right),
            "{architecture}"
        );

        let launch = of_64_threads("count", &[which, counts]);
        machine.run(&launch, &mut ()).unwrap();
        assert!(
            machine.memory.buffer(counts).words().eq([16; 4]),
            "{architecture}"
        );

        let mut launch = of_64_threads("endless", &[which]);
        launch.budget = 10_000;
        let Err(LaunchError::Execution(error)) = machine.run(&launch, &mut ()) else {
            panic!("{architecture}: an endless loop ended");
        };
        assert_eq!(error.fault, Fault::Endless(10_000));
    }
}

#[test]
fn matrix_instructions_multiply() {
    for (architecture, assembly) in compiled(PRODUCTS) {
        let program = Program::parse(&assembly).unwrap();
        let bf16 = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
        let all: Vec<f32> = values(512).into_iter().map(bf16).collect();
        let (a, b) = all.split_at(256);
        let mut memory = Memory::new();
        let [x, y] = [("a", a), ("b", b)].map(|(name, values)| memory.add_floats(name, values));
        let out = memory.add_floats("out", &[f32::NAN; 256]);
        let mut machine = Machine::new(&program, memory);
        let arguments = [x, y, out].map(Argument::Buffer).to_vec();
        let lanes = program.wave_size as u32;
        let mut summary = Summary::default();
        machine
            .run(
                &Launch::new("product", [1, 1, 1], [lanes, 1, 1], arguments),
                &mut summary,
            )
            .unwrap();
        assert!(
            summary.by_group(&program)[&Group::Matrix] > 0,
            "{architecture}"
        );
        let mut instructions = program.instructions.iter();
        let product = instructions.find(|one| one.group == Group::Matrix).unwrap();
        for lane in 0..program.wave_size {
            // The places where the kernel takes and puts the elements, which the product below shows to be right.
            let part = product.matrix_part(lane).unwrap();
            let (side, upper) = (lane % 16, lane / 16);
            let (depth, rows): (Vec<usize>, Vec<usize>) = match lanes {
                64 => (vec![upper], (0..4).map(|r| upper * 4 + r).collect()),
                _ => ((0..16).collect(), (0..8).map(|r| 2 * r + upper).collect()),
            };
            assert_eq!(
                (part.side, part.depth, part.rows),
                (side, depth, rows),
                "{architecture} {lane}"
            );
        }
        for (at, got) in machine.memory.buffer(out).floats().enumerate() {
            let products =
                (0..16).map(|k| f64::from(a[at / 16 * 16 + k]) * f64::from(b[k * 16 + at % 16]));
            let right: f64 = products.sum();
            assert!(
                (right - f64::from(got)).abs() < 1e-5,
                "{architecture} [{at}]: {right} {got}"
            );
        }
    }
}

#[test]
fn history_goes_back_and_forward() {
    for (architecture, assembly) in compiled(SOURCE) {
        let program = Program::parse(&assembly).unwrap();
        let mut memory = Memory::new();
        let x = memory.add_floats("x", &values(ROWS * WIDTH));
        let out = memory.add_floats("out", &[0.0; ROWS]);
        let mut machine = Machine::new(&program, memory);
        let arguments = vec![
            Argument::Buffer(x),
            Argument::Buffer(out),
            Argument::Word(WIDTH as u32),
        ];
        let mut seen = (History::new([1, 0, 0]), Summary::default());
        machine
            .run(
                &Launch::new("sums", [ROWS as u32, 1, 1], [256, 1, 1], arguments),
                &mut seen,
            )
            .unwrap();
        let (mut history, summary) = seen;
        assert_eq!(summary.total(), machine.executed);
        let registers = |history: &History| -> Vec<Vec<u32>> {
            let waves = history.waves().iter();
            let rows =
                waves.flat_map(|wave| (0..program.vectors).map(|row| wave.vector(row).to_vec()));
            rows.chain(history.waves().iter().map(|wave| wave.scalars.to_vec()))
                .collect()
        };
        let end = history.steps().len();
        assert!(end > 100 && history.forgotten() == 0);
        let last = registers(&history);
        let mut seen = vec![registers(&history)];
        while history.back() {
            seen.push(registers(&history));
        }
        assert!(
            history
                .waves()
                .iter()
                .all(|wave| wave.pc == program.kernel("sums").unwrap().entry)
        );
        for position in 1..=end {
            assert!(history.forward());
            assert_eq!(
                registers(&history),
                seen[end - position],
                "{architecture}: step {position}"
            );
        }
        assert_eq!(registers(&history), last);
        assert!(!history.forward());
        // Reads of LDS pass through the banks without a conflict. A wave of 64 takes two passes, one for each half.
        let local = history
            .steps()
            .iter()
            .filter_map(|step| step.access)
            .filter(|access| access.passes > 0);
        assert!(local.clone().count() > 0);
        for access in local {
            assert_eq!(access.passes, access.least_passes, "{access:?}");
        }
    }
}
