use std::process::ExitCode;

use tinyllama_engine::train::telemetry::CountedHeap;

/// Counts the memory of runs on a CPU.
#[global_allocator]
static HEAP: CountedHeap = CountedHeap;

fn main() -> ExitCode {
    tinyllama_tutor::main()
}
