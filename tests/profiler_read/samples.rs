//! Samples of the program counter and thread traces: by source line and by instruction.

use tinyllama_base::TextTable;
use tinyllama_profile::{GroupBy, KernelParts, ReportOptions, report};

use super::*;

/// The tables of a file that can be read without damage.
fn tables(file: &Path) -> Vec<TextTable> {
    let import = import(file).unwrap();
    assert_eq!(import.damage, []);
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: 20,
    };
    report(&import.profile, &KernelParts::default(), options)
}

#[test]
fn samples_of_the_program_counter_are_counted_by_instruction() {
    let profile = read("rocprofv3/pc_sampling_host_trap.csv").profile;
    assert_eq!(
        profile.instructions.iter().map(|i| i.samples).sum::<u64>(),
        79
    );
}

#[test]
fn an_instruction_that_could_not_be_decoded_has_no_other_ones_name() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("pc_sampling_host_trap.csv");
    let head = "\"Sample_Timestamp\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\"";
    // Alone it would be the first name of an empty list.
    for rows in [
        "1,1,\"\",\"\"",
        "1,1,\"s_endpgm\",\"\"\n2,1,\"\",\"a message\"",
    ] {
        std::fs::write(&table, format!("{head}\n{rows}\n")).unwrap();
        let shown = tables(&table).pop().expect("the instructions");
        let row = shown.rows.iter().find(|row| row[0] == "(not decoded)");
        assert_eq!(row.expect("its row")[1], "1", "{:?}", shown.rows);
        assert_eq!(shown.rows.len(), rows.lines().count());
    }
}

#[test]
fn samples_are_counted_by_source_line_with_what_waves_wait_for() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("vector-ops.cpp");
    let lines: Vec<String> = (1..=140).map(|line| format!("  c[{line}] = 1;")).collect();
    std::fs::write(&source, lines.join("\n")).unwrap();
    let table = folder.path().join("pc_sampling_stochastic.csv");
    let published = fixture("rocprofv3_debug/pc_sampling_stochastic.csv");
    let path = "/home/user/git/rocprofiler-sdk/tests/bin/vector-operations/vector-ops.cpp";
    let text = std::fs::read_to_string(published).unwrap();
    std::fs::write(&table, text.replace(path, source.to_str().unwrap())).unwrap();
    let [lines, instructions] = tables(&table).try_into().expect("two tables");
    // Counted with grep: five of 27 samples at line 82, four of them at a wait for memory.
    let row = |table: &TextTable, cell: &str| {
        let row = table
            .rows
            .iter()
            .find(|row| row.iter().any(|it| it == cell));
        row.unwrap().clone()
    };
    assert_eq!(
        row(&lines, "vector-ops.cpp:82"),
        [
            "vector-ops.cpp:82",
            "c[82] = 1;",
            "5",
            "18.5 %",
            "WAITCNT (4)"
        ]
    );
    // No file of that name is here, and an issued instruction waits for nothing.
    assert_eq!(row(&lines, "vector-ops.cpp:128")[4], "-");
    assert_eq!(row(&lines, "amd_hip_runtime.h:275")[1], "-");
    assert_eq!(
        row(&instructions, "global_load_dword v2, v[2:3], off")[1..],
        ["vector-ops.cpp:82", "1", "3.7 %", "ALU_DEPENDENCY (1)"]
    );
}

#[test]
fn cycles_of_a_thread_trace_are_summed_by_source_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("kernel.py"),
        "\n".repeat(390) + "x = load()",
    )
    .unwrap();
    let text = fixture("rocprofv3_debug/stats_ui_output_agent_1_dispatch_2.csv");
    let text = std::fs::read_to_string(text).unwrap();
    let source = folder.path().join("kernel.py");
    let text = text.replace("kernel.py", source.to_str().unwrap());
    let table = folder.path().join("stats_ui_output_agent_1_dispatch_2.csv");
    std::fs::write(&table, text).unwrap();
    let [lines, instructions] = tables(&table).try_into().expect("two tables");
    // Line 391: 276 + 48 + 192 cycles of 972, two instructions of 48 waves each.
    let rows = [
        [
            "kernel.py:391",
            "x = load()",
            "96",
            "516",
            "53.1 %",
            "busy unit (96)",
        ],
        ["kernel.py:395", "-", "96", "456", "46.9 %", "-"],
    ];
    assert_eq!(lines.rows, rows);
    assert_eq!(
        instructions.rows.len(),
        4,
        "the kernel's name is no instruction"
    );
    assert_eq!(
        instructions.rows[0][2..],
        ["48", "324", "33.3 %", "busy unit (96)"]
    );
}

#[test]
fn a_profile_cannot_show_any_file_as_a_source_line() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("key.pem");
    std::fs::write(&secret, "hidden").unwrap();
    let table = folder.path().join("pc_sampling_host_trap.csv");
    let header = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\"\n";
    let text = format!("{header}1,1,1,\"s_nop\",\"{}:1\",1\n", secret.display());
    std::fs::write(&table, text).unwrap();
    let shown: String = tables(&table)
        .iter()
        .map(|table| table.render(100))
        .collect();
    assert!(
        shown.contains("key.pem:1") && !shown.contains("hidden"),
        "{shown}"
    );
}
