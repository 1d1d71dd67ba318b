//! Measures how many wave instructions a second the emulator executes on one core, without and with an observer.

#[path = "../tests/compile/mod.rs"]
mod compile;

use compile::{assembly, values};
use tinyllama_machine::{Argument, Launch, Machine, Memory, Observer, Program, Summary};

const MATMUL: &str = include_str!("../../../kernels/workbench/12-matmul/solution.hip");
const HAND_WRITTEN: &str = include_str!("../../workbench/compiled/hand_written.h");
const ATTENTION: &str = include_str!("../../../kernels/workbench/13-attention/solution.hip");

/// Executes a launch on buffers of `elements` numbers until half a second is over, and prints the rate.
fn measure<O: Observer>(
    name: &str,
    program: &Program,
    elements: &[usize],
    launch: &Launch<'_>,
    observer: &mut O,
) {
    let (mut launch, mut memory) = (launch.clone(), Memory::new());
    for (at, count) in elements.iter().enumerate() {
        let buffer = memory.add_floats("buffer", &values(*count));
        launch.arguments.insert(at, Argument::Buffer(buffer));
    }
    let mut machine = Machine::new(program, memory);
    let start = seconds();
    while seconds() - start < 0.5 {
        if let Err(error) = machine.run(&launch, observer) {
            return println!("{name}: {error}");
        }
    }
    let rate = machine.executed as f64 / (seconds() - start) / 1e6;
    println!("{name}: {rate:.2} million wave instructions a second");
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
    let scale = 0.125_f32.to_bits();
    for architecture in ["gfx90a", "gfx942", "gfx1100"] {
        for (kernel, source, grid, block, elements, words) in [
            (
                "matmul",
                MATMUL,
                [8, 8, 1],
                [16, 16, 1],
                &[128 * 128; 3][..],
                &[128, 128, 128][..],
            ),
            (
                "attention",
                &attention,
                [2, 2, 1],
                [64, 1, 1],
                &[2 * 128 * 64; 4],
                &[2, 128, 64, scale],
            ),
        ] {
            let Some(text) = assembly(source, architecture) else {
                return;
            };
            let name = format!("{architecture} {kernel}");
            let program = match Program::parse(&text) {
                Ok(program) => program,
                Err(error) => return println!("{name}: {error}"),
            };
            let words = words.iter().map(|word| Argument::Word(*word)).collect();
            let launch = Launch::new(kernel, grid, block, words);
            measure(&name, &program, elements, &launch, &mut ());
            let counted = format!("{name}, counted");
            measure(
                &counted,
                &program,
                elements,
                &launch,
                &mut Summary::default(),
            );
        }
    }
}
