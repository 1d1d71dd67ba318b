use std::process::ExitCode;

fn main() -> ExitCode {
    tinyllama_tutor::main()
}
