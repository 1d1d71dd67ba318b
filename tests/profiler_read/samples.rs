//! Samples of the program counter and thread traces: by source line and by instruction.

use tinyllama_base::TextTable;
use tinyllama_profile::export::json;
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
        ["48", "324", "33.3 %", "busy unit (96)", "0x1700"]
    );
}

/// Two kernels have the same instructions at the same addresses of two code objects. A wait is not a busy unit.
#[test]
fn traced_instructions_keep_kernel_code_object_and_address() {
    let header = "CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source";
    let rows = |object: u64, kernel: &str, stall: u64| {
        format!(
            "{header}\n{object},4096,\"; {kernel}.kd\",0,0,0,0,\"\"\n\
             {object},4096,\"s_waitcnt vmcnt(0)\",8,{},{stall},0,\"a.hip:3\"\n\
             {object},4100,\"s_barrier\",8,300,200,0,\"a.hip:4\"\n\
             {object},4104,\"v_add_f32 v0, v1, v2\",8,50,10,5,\"a.hip:5\"\n",
            stall + 40
        )
    };
    let folder = tempfile::tempdir().unwrap();
    for (at, text) in [rows(2, "gemm", 1000), rows(3, "norm", 500)]
        .iter()
        .enumerate()
    {
        let name = format!("stats_ui_output_agent_1_dispatch_{}.csv", at + 1);
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let tables = tables(folder.path());
    let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Source lines of gemm traced waves spent their time at (1395 cycles)",
            "Instructions of gemm traced waves spent their time at (1395 cycles)",
            "Source lines of norm traced waves spent their time at (895 cycles)",
            "Instructions of norm traced waves spent their time at (895 cycles)",
        ]
    );
    let norm: Vec<[&str; 4]> = tables[3]
        .rows
        .iter()
        .map(|row| [0, 3, 5, 6].map(|at| row[at].as_str()))
        .collect();
    assert_eq!(
        norm,
        [
            ["s_waitcnt vmcnt(0)", "540", "memory (500)", "0x1000"],
            ["s_barrier", "300", "other waves (200)", "0x1004"],
            ["v_add_f32 v0, v1, v2", "55", "busy unit (10)", "0x1008"],
        ]
    );
    let profile = import(folder.path()).unwrap().profile;
    let document = json::document(&profile, GroupBy::ShortName, &KernelParts::default());
    let wait = document["instructions"].as_array().unwrap().iter();
    let mut wait = wait.filter(|it| it["waits_for"] == "memory" && it["kernel"] == "norm");
    let wait = wait.next().expect("the wait of norm");
    assert_eq!(
        (&wait["code_object"], &wait["address"], &wait["count"]),
        (&3.into(), &4096.into(), &500.into())
    );
}

/// The trace of kernels beside the samples says which kernel a launch ran.
#[test]
fn samples_of_the_program_counter_are_told_apart_by_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let launches = "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\
        \"KERNEL_DISPATCH\",1,1,7,1,1,\"gemm\",1,100,200\n\"KERNEL_DISPATCH\",1,1,7,2,2,\"norm\",2,300,400\n";
    let samples = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\"\n\
        110,1,1,\"s_nop 0\",\"\",1\n120,1,1,\"s_nop 0\",\"\",1\n310,1,2,\"s_nop 0\",\"\",2\n";
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("7_kernel_trace.csv", launches);
    write("7_pc_sampling_host_trap.csv", samples);
    let profile = import(folder.path()).unwrap().profile;
    let counted = profile.instructions.iter();
    let counted: Vec<_> = counted
        .map(|it| (it.kernel.map(|kernel| profile.name(kernel)), it.samples))
        .collect();
    assert_eq!(counted, [(Some("gemm"), 2), (Some("norm"), 1)]);
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
