//! The view on the registers and waves of a learner's kernel, whose settings the arrows move.

use super::*;

/// Whether the compiler gives a gfx942 all its waves for this row of the table.
fn has_row(terminal: &Terminal, what: &str, threads: &str) -> bool {
    let text = terminal.text();
    let mut rows = text.lines().filter(|line| line.contains("gfx942"));
    rows.any(|row| row.contains(what) && row.contains(threads) && row.contains("8 of 8"))
}

#[test]
fn settings_move_and_the_compiler_answers() {
    let home = home();
    let terminal = opened(&home);
    terminal.press(":", "Find");
    terminal.press("further kinds", "lesson: ");
    terminal.press("\r", "A kernel of yours");
    terminal.press("O", "block size     as the exercise launches it");
    terminal.wait_until("an answer", |terminal| {
        let text = terminal.text();
        has_row(terminal, "the file", "256") || text.contains("TINYLLAMA_CLANG")
    });
    if !terminal.text().contains("waves/SIMD") {
        // Without a compiler the panel says what to install, and keeps saying it.
        let is_required = std::env::var_os("HIP_STAND_IN_REQUIRED").is_some();
        assert!(!is_required, "{}", terminal.text());
        return terminal.press("\x1b[B", "TINYLLAMA_CLANG");
    }
    terminal.press("\x1b[C", "block size     64 threads");
    terminal.wait_until("64 threads", |terminal| {
        has_row(terminal, "changed", " 64 ")
    });
    terminal.press("\x1b[B", "▸ launch bounds");
    terminal.press("\x1b[C", "launch bounds  64 threads");
    terminal.press("\x1b[B", "▸ unrolling");
    terminal.press("\x1b[C", "unrolling      not at all");
    terminal.wait_until("the end of the questions", |terminal| {
        has_row(terminal, "changed", " 64 ") && !terminal.text().contains("is asked")
    });
    terminal.press("\x1b[D", "unrolling      as the compiler likes");
    terminal.send("\x1b");
    terminal.wait_until("the step", |terminal| {
        !terminal.text().contains("unrolling")
    });
}
