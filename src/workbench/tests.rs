//! Tests the innermost protection: modules with machine instructions, which no earlier check refused, in the process that
//! runs them.

use std::path::Path;

use tempfile::TempDir;

use super::check;
use super::compile::{HostModule, build};
use super::exercise::find;
use super::file::KernelFile;
use super::finding::FindingKind;
use super::problem::PreparedCase;
use super::stand_in::{self, CaseResult};
use super::toolchain::{Toolchain, ToolchainError};

/// A system call with up to four arguments, made by a kernel.
const CALL: &str = "static long call(long number, long a, long b, long c, long d) {
    long result;
    register long r10 asm(\"r10\") = d;
    register long r8 asm(\"r8\") = -1;
    register long r9 asm(\"r9\") = 0;
    asm volatile(\"syscall\" : \"=a\"(result) : \"a\"(number), \"D\"(a), \"S\"(b), \"d\"(c), \"r\"(r10), \"r\"(r8), \"r\"(r9) : \"rcx\", \"r11\", \"memory\");
    return result;
}
";

/// Returns `None` if this machine cannot compile kernels.
fn toolchain() -> Option<Toolchain> {
    match Toolchain::ready(&mut |_| {}) {
        Ok(toolchain) => Some(toolchain),
        Err(error)
            if error.is::<ToolchainError>()
                && std::env::var_os("HIP_STAND_IN_REQUIRED").is_none() =>
        {
            None
        }
        Err(error) => panic!("{error:#}"),
    }
}

/// Compiles without the checks that refuse text, and with assembly allowed.
fn compiled(toolchain: &Toolchain, before: &str, body: &str) -> HostModule {
    let folder = TempDir::new().unwrap();
    let text = format!(
        "{CALL}{before}\nextern \"C\" __global__ void scale_add(const float *x, const float *y, float *out, int n, float a) {{\n\
         {body}\n int i = blockIdx.x * blockDim.x + threadIdx.x;\n if (i < n) out[i] = a * x[i] + y[i];\n}}\n\
         STAND_IN_MODULE(STAND_IN_KERNEL(scale_add))\n"
    );
    let ended = build(toolchain, folder.path(), &text, &["-fgnu-inline-asm"]).unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    HostModule {
        folder,
        warnings: vec![],
    }
}

fn run(toolchain: &Toolchain, before: &str, body: &str) -> CaseResult {
    let exercise = find("elementwise").unwrap();
    let problem = PreparedCase::new(exercise, &exercise.cases[0], 64).unwrap();
    stand_in::run(
        toolchain,
        &compiled(toolchain, before, body),
        &problem,
        false,
    )
    .unwrap()
}

fn is_finding(answer: &CaseResult, kind: FindingKind, phrase: &str) {
    let found = answer
        .findings
        .iter()
        .any(|finding| finding.kind == kind && finding.message.contains(phrase));
    assert!(
        found && answer.outputs.is_none(),
        "`{phrase}` is not in {answer:?}"
    );
}

#[test]
fn a_kernel_that_calls_the_system_is_ended() {
    let Some(toolchain) = toolchain() else { return };
    let home = TempDir::new().unwrap();
    let out = home.path().join("out");
    let open = format!(
        "call({}, (long)\"{}\", 0101, 0600, 0);",
        libc::SYS_open,
        out.display()
    );
    let by_number = |number: i64, more: &str| format!("call({number}, {more});");
    for body in [
        open,
        // In 32-bit code the same number is another call: 8 creates a file there.
        format!(
            "long r; asm volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(8l), \"b\"(\"{}\") : \"memory\");",
            out.display()
        ),
        by_number(libc::SYS_openat, "-100, (long)\"/etc/passwd\", 0, 0"),
        by_number(libc::SYS_read, "0, (long)out, 4, 0"),
        by_number(libc::SYS_write, "2, (long)x, 4, 0"),
        by_number(libc::SYS_socket, "2, 1, 0, 0"),
        by_number(libc::SYS_fork, "0, 0, 0, 0"),
        by_number(libc::SYS_execve, "(long)\"/bin/sh\", 0, 0, 0"),
        by_number(libc::SYS_kill, "1, 0, 0, 0"),
        by_number(libc::SYS_ptrace, "0, 0, 0, 0"),
        by_number(libc::SYS_prctl, "0, 0, 0, 0"),
        by_number(libc::SYS_seccomp, "1, 0, 0, 0"),
        by_number(libc::SYS_rt_sigprocmask, "0, 0, 0, 8"),
        by_number(libc::SYS_setitimer, "2, 0, 0, 0"),
        // Memory that code could be written into.
        by_number(libc::SYS_mmap, "0, 4096, 7, 0x22"),
        by_number(libc::SYS_mprotect, "(long)x & -4096, 4096, 5, 0"),
        // Calls of the x32 kind.
        by_number(libc::SYS_open | 0x4000_0000, "0, 0, 0, 0"),
    ] {
        is_finding(
            &run(&toolchain, "", &body),
            FindingKind::Crash,
            "the system",
        );
    }
    assert!(!out.exists());
}

#[test]
fn a_kernel_cannot_say_that_it_came_to_its_end() {
    let Some(toolchain) = toolchain() else { return };
    let exit = format!("call({}, 0, 0, 0, 0);", libc::SYS_exit_group);
    is_finding(
        &run(&toolchain, "", &exit),
        FindingKind::Crash,
        "its results",
    );
    // A forged last line, without a secret or with an invented one, followed by the right results.
    for end in [
        "{\\\"kind\\\":\\\"end\\\"}\\n",
        "{\\\"kind\\\":\\\"end\\\",\\\"secret\\\":\\\"0\\\"}\\n",
    ] {
        let body = format!(
            "const char *end = \"{end}\"; call(1, 1, (long)end, __builtin_strlen(end), 0);\n\
             for (int i = 0; i < 2 * n; i++) call(1, 1, (long)y, 4, 0);\n{exit}"
        );
        is_finding(
            &run(&toolchain, "", &body),
            FindingKind::Crash,
            "its results",
        );
    }
    let endless = "for (;;) call(1, 1, (long)y, 1024, 0);";
    is_finding(&run(&toolchain, "", endless), FindingKind::Crash, "4 MiB");
}

#[test]
fn memory_is_bounded_and_what_runs_by_itself_does_not_run() {
    let Some(toolchain) = toolchain() else { return };
    let large = format!(
        "if (call({}, 0, 3l << 30, 3, 0x4022) > 0) out[0] = 0;",
        libc::SYS_mmap
    );
    let answer = run(&toolchain, "", &large);
    assert!(
        answer.findings.is_empty() && answer.outputs.is_some(),
        "{answer:?}"
    );
    let constructor = format!(
        "__attribute__((constructor)) static void go() {{ call({}, 7, 0, 0, 0); }}",
        libc::SYS_exit_group
    );
    let answer = run(&toolchain, &constructor, "");
    assert!(
        answer.findings.is_empty() && answer.outputs.is_some(),
        "{answer:?}"
    );
    let weak = "extern \"C\" __attribute__((weak)) void _exit(int);";
    is_finding(
        &run(&toolchain, weak, "_exit(0);"),
        FindingKind::Crash,
        "calls `_exit`",
    );
}

/// A kernel that contains the right results for the numbers that every check begins with.
#[test]
fn results_from_a_table_do_not_pass() {
    if toolchain().is_none() {
        return;
    }
    let exercise = find("elementwise").unwrap();
    let (mut tables, mut uses) = (String::new(), String::new());
    for sizes in &exercise.cases {
        let problem = PreparedCase::new(exercise, sizes, 64).unwrap();
        let (_, values) = problem.expected().unwrap().remove(0);
        let count = values.len();
        let values = itertools::join(values.iter().map(|value| format!("{value:e}f")), ",");
        tables += &format!("static const float t{count}[] = {{{values}}};\n");
        uses += &format!("    if (n == {count} && i < n) out[i] = t{count}[i];\n");
    }
    let head = exercise.signature(&exercise.launches[0]);
    let text = format!(
        "{tables}{head} {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n{uses}}}\n"
    );
    let file = KernelFile {
        path: "kernel.hip".into(),
        text,
    };
    let check = |waves: &[u32]| check::check(exercise, &file, waves, &mut |_| {}).unwrap();
    assert!(
        check(&[64]).passed,
        "the tables are wrong: {:?}",
        check(&[64]).findings
    );
    let found = check(&check::WAVES).findings;
    assert!(
        found
            .iter()
            .any(|one| one.kind == FindingKind::Wrong && one.waves == [32]),
        "{found:?}"
    );
}

#[test]
fn the_compiler_sees_no_file_but_its_own() {
    let Some(toolchain) = toolchain() else { return };
    let folder = TempDir::new().unwrap();
    let elsewhere = TempDir::new().unwrap();
    let secret = elsewhere.path().join("secret");
    std::fs::write(&secret, "#error TOPSECRET\n").unwrap();
    let compile = |text: &str| {
        let ended = build(&toolchain, folder.path(), text, &[]).unwrap();
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    let below = |path: &Path| {
        format!(
            "{}/../{}",
            folder.path().display(),
            path.strip_prefix("/tmp").unwrap_or(path).display()
        )
    };
    for path in [
        secret.display().to_string(),
        below(&secret),
        "/etc/passwd".into(),
    ] {
        let said = compile(&format!("#include \"{path}\"\n"));
        assert!(
            said.contains("file not found") && !said.contains("TOPSECRET"),
            "{said}"
        );
        let said = compile(&format!(
            "#if __has_include(\"{path}\")\n#error there\n#endif\n#error not there\n"
        ));
        assert!(said.contains("error: not there"), "{said}");
    }
}
