//! Measures how many wave instructions a second the emulator executes on one core, without and with an observer.

#[path = "../tests/compile/mod.rs"]
mod compile;

use compile::{assembly, values};
use tinyllama_machine::{Argument, Launch, Machine, Memory, Observer, Program, Summary};

const MATMUL: &str = include_str!("../../../kernels/workbench/12-matmul/solution.hip");
const HAND_WRITTEN: &str = include_str!("../../course/compiled/hand_written.h");
const ATTENTION: &str = include_str!("../../../kernels/workbench/13-attention/solution.hip");

/// Executes a launch on buffers of `sizes` elements until half a second is over, and prints the rate.
fn measure<O: Observer>(
    name: &str,
    program: &Program,
    sizes: &[usize],
    launch: impl Fn(Vec<Argument>) -> Launch<'static>,
    observer: &mut O,
) {
    let mut memory = Memory::new();
    let buffers = sizes
        .iter()
        .map(|size| Argument::Buffer(memory.add_floats("buffer", &values(*size))));
    let launch = launch(buffers.collect());
    let mut machine = Machine::new(program, memory);
    let start = seconds();
    while seconds() - start < 0.5 {
        if let Err(error) = machine.run(&launch, observer) {
            println!("{name}: {error}");
            return;
        }
    }
    let rate = machine.executed as f64 / (seconds() - start);
    println!(
        "{name}: {:.2} million wave instructions a second",
        rate / 1e6
    );
}

/// Returns the seconds that this process computed. Wall-clock time would be wrong, because others may share the core.
fn seconds() -> f64 {
    let schedule = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = schedule
        .split(' ')
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::INFINITY) / 1e9
}

fn main() {
    let attention = format!("{HAND_WRITTEN}\n{ATTENTION}");
    for architecture in ["gfx90a", "gfx942", "gfx1100"] {
        let compiled = [MATMUL, &attention].map(|source| assembly(source, architecture));
        let [Some(matmul), Some(attention)] = compiled else {
            return;
        };
        let word = |number: u32| Argument::Word(number);
        let product = |mut arguments: Vec<Argument>| {
            arguments.extend([128, 128, 128].map(word));
            Launch::new("matmul", [8, 8, 1], [16, 16, 1], arguments)
        };
        let heads = |mut arguments: Vec<Argument>| {
            arguments.extend([2, 128, 64, 0.125_f32.to_bits()].map(word));
            Launch::new("attention", [2, 2, 1], [64, 1, 1], arguments)
        };
        let [matmul, attention] = [matmul, attention].map(|text| Program::parse(&text));
        let (Ok(matmul), Ok(attention)) = (matmul, attention) else {
            println!("{architecture}: an instruction is not known");
            return;
        };
        measure(
            &format!("{architecture} matmul"),
            &matmul,
            &[128 * 128; 3],
            product,
            &mut (),
        );
        measure(
            &format!("{architecture} attention"),
            &attention,
            &[2 * 128 * 64; 4],
            heads,
            &mut (),
        );
        let name = format!("{architecture} attention, counted");
        measure(
            &name,
            &attention,
            &[2 * 128 * 64; 4],
            heads,
            &mut Summary::default(),
        );
    }
}
