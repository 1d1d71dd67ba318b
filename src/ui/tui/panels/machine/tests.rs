use std::path::PathBuf;

use ratatui::layout::Rect;
use ratatui::prelude::Buffer;
use tinyllama_machine::{
    Argument, History, Launch, LaunchError, Machine, Memory, Program, Summary,
};

use super::*;
use crate::tui::sheet;
use tinyllama_workbench::machine::listing::Listing;
use tinyllama_workbench::machine::trace::TracePlace;
use tinyllama_workbench::source::SOURCE;
use tinyllama_workbench::{KernelFile, PreparedCase, find};

/// Threads exchange their numbers through LDS, and the last 32 keep their own.
const KERNEL: &str = "
float v = x[threadIdx.x];
tile[threadIdx.x] = v;
__syncthreads();
if (threadIdx.x < 96) v = tile[127 - threadIdx.x];
out[threadIdx.x] = v;
";

const ASSEMBLY: &str = r#"
    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
    .file 1 "SOURCE"
turned:
    .loc 1 2 0
    s_load_dwordx4 s[0:3], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[0:1]
    .loc 1 3 0
    s_waitcnt vmcnt(0)
    ds_write_b32 v1, v2
    .loc 1 4 0
    s_waitcnt lgkmcnt(0)
    s_barrier
    .loc 1 5 0
    v_sub_u32_e32 v3, 0x1fc, v1
    s_movk_i32 s6, 0x60
    v_cmp_gt_u32_e32 vcc, s6, v0
    s_and_saveexec_b64 s[4:5], vcc
    ds_read_b32 v2, v3
    s_waitcnt lgkmcnt(0)
    s_mov_b64 exec, s[4:5]
    .loc 1 6 0
    global_store_dword v1, v2, s[2:3]
    s_endpgm
    .amdhsa_kernel turned
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_user_sgpr_count 2
        .amdhsa_system_sgpr_workgroup_id_x 1
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .offset:         8
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 512
    .kernarg_segment_size: 16
    .name:           turned
    .wavefront_size: 64
...
    .end_amdgpu_metadata
"#;

/// Executes the kernel with an output of `elements` numbers, and opens it at a wave's first step of a line.
fn panel(elements: usize, wave: u32, line: Option<u32>) -> MachinePanel {
    panel_of(ASSEMBLY, elements, wave, line)
}

fn panel_of(assembly: &str, elements: usize, wave: u32, line: Option<u32>) -> MachinePanel {
    let program = Program::parse(&assembly.replace("SOURCE", SOURCE)).unwrap();
    let mut memory = Memory::new();
    let x: Vec<f32> = (0..128_u8).map(|i| f32::from(i) / 4.0).collect();
    let x = memory.add_floats("x", &x);
    let out = memory.add_floats("out", &vec![0.0; elements]);
    let mut machine = Machine::new(&program, memory);
    let arguments = [x, out].map(Argument::Buffer).to_vec();
    let launch = Launch::new("turned", [1, 1, 1], [128, 1, 1], arguments);
    let mut seen = (Summary::default(), History::new([0; 3]));
    let stopped = match machine.run(&launch, &mut seen) {
        Ok(()) => None,
        Err(LaunchError::Execution(error)) => Some(error),
        Err(error) => panic!("{error}"),
    };
    let exercise = find("elementwise").unwrap();
    let problem = PreparedCase::new(exercise, &exercise.cases[0], 64).unwrap();
    let memory = machine.memory;
    let wave = stopped.as_ref().map_or(wave, |error| error.wave);
    let own = seen.1.steps().iter().filter(|step| step.wave == wave);
    let mut lines = own.map(|step| program.instructions[step.pc as usize].location.line);
    let step = match &stopped {
        Some(_) => usize::MAX,
        None => lines.position(|at| Some(at) == line).unwrap_or(0),
    };
    let trace = Trace {
        listing: Listing::new(&program, &problem, &seen.0, vec![]),
        program,
        file: KernelFile {
            path: PathBuf::new(),
            text: KERNEL.into(),
        },
        history: seen.1,
        memory,
        stopped,
        start: TracePlace {
            wave,
            lane: 3,
            step,
            ..TracePlace::default()
        },
    };
    let request = load::TraceRequest {
        exercise,
        path: PathBuf::new(),
        architecture: "gfx942",
        finding: None,
    };
    MachinePanel::new(trace, request)
}

fn drawn(panel: &MachinePanel, columns: u16, rows: u16) -> String {
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    panel.draw(Pane::new(area, &mut buffer, &Theme::new(true, true)));
    sheet::text(&buffer)
}

#[test]
fn steps_registers_and_counts_at_every_size() {
    insta::assert_snapshot!(sheet::sheet(|pane| {
        let mut panel = panel(128, 1, Some(5));
        // To the read of LDS by half of the lanes.
        (0..4).for_each(|_| assert!(panel.act(PanelAction::Down)));
        panel.draw(pane);
    }));
    let mut panel = panel(128, 0, None);
    for (columns, rows) in [(1, 1), (20, 3), (78, 18)] {
        for _ in NAMES {
            drawn(&panel, columns, rows);
            panel.act(PanelAction::NextSection);
        }
    }
}

#[test]
fn a_reader_goes_forward_and_back_by_instruction_and_by_line() {
    let mut panel = panel(128, 0, None);
    let at = |panel: &MachinePanel| (panel.at, panel.line(panel.at));
    assert_eq!(at(&panel), (0, Some(2)));
    assert!(panel.act(PanelAction::PageDown));
    assert_eq!(at(&panel), (4, Some(3)));
    // v2 was loaded by the step before the wait.
    insta::assert_snapshot!(drawn(&panel, 78, 20));
    panel.act(PanelAction::Down);
    assert!(
        drawn(&panel, 78, 20).contains("v2 = 0.750000"),
        "{}",
        drawn(&panel, 78, 20)
    );
    assert!(panel.act(PanelAction::PageUp));
    assert_eq!(at(&panel), (0, Some(2)));
    panel.act(PanelAction::Bottom);
    assert_eq!(panel.at + 1, panel.rows());
    assert!(!panel.act(PanelAction::Down));
    assert!(drawn(&panel, 78, 20).contains(NO_TIME));
}

#[test]
fn registers_are_alive_until_their_last_reader() {
    let mut panel = panel(128, 0, Some(3));
    assert_eq!(panel.line(panel.at), Some(3));
    // The address and the value are read by the store to LDS, and the address by the store to memory.
    let (vectors, _) = panel.alive();
    assert!(
        vectors.contains(&1) && vectors.contains(&2) && !vectors.contains(&3),
        "{vectors:?}"
    );
    panel.act(PanelAction::Bottom);
    assert!(panel.alive().0.is_empty());
}

#[test]
fn a_fault_is_the_last_row_and_the_first_one_seen() {
    let panel = panel(100, 0, None);
    let screen = drawn(&panel, 78, 20);
    assert_eq!((panel.at + 1, panel.wave), (panel.rows(), 1));
    assert!(screen.contains("`out`, which has 400: lane 36"), "{screen}");
    // All lanes are on at the store, and the screen says so although it did not end.
    assert!(
        screen.contains("# 64 on") && !screen.contains("........ global_store"),
        "{screen}"
    );
    assert!(panel.record(panel.at).is_none());
}

/// Wave 2 after the instructions that stand for the read of LDS, of which it has 32 lanes on.
fn after(instructions: &[&str]) -> MachinePanel {
    let lines = instructions.iter().map(|one| format!("    {one}\n"));
    let assembly = ASSEMBLY.replace("    ds_read_b32 v2, v3\n", &lines.collect::<String>());
    let mut panel = panel_of(&assembly, 128, 1, Some(5));
    (0..3 + instructions.len()).for_each(|_| assert!(panel.act(PanelAction::Down)));
    panel
}

#[test]
fn an_exchange_names_the_lane_that_gives_and_whether_it_is_on() {
    let mut panel = after(&["v_subrev_u32_e32 v3, 4, v1", "ds_bpermute_b32 v2, v3, v2"]);
    let screen = drawn(&panel, 78, 20);
    let of_three = "lane 3 takes from lane 2; 1 lane from lanes that are off";
    assert!(screen.contains(of_three), "{screen}");
    (0..3).for_each(|_| assert!(panel.act(PanelAction::Left)));
    let screen = drawn(&panel, 78, 20);
    let of_none =
        "lane 0 takes from lane 63, which is off and gives 0; 1 lane from lanes that are off";
    assert!(screen.contains(&of_none[..70]), "{screen}");
}

#[test]
fn a_matrix_instruction_names_the_elements_of_a_lane() {
    let mut panel = after(&["v_mfma_f32_16x16x4_f32 v[4:7], v2, v2, 0"]);
    (0..16).for_each(|_| assert!(panel.act(PanelAction::Right)));
    let screen = drawn(&panel, 78, 20);
    // Lane 19 of the second wave loaded element 83. The read of LDS after it is not executed here.
    let expected = "lane 19: brings a[3][1] from x[83] and b[1][3] from x[83], gets d[4-7][3]";
    assert!(screen.contains(expected), "{screen}");
}

#[test]
fn a_conflict_names_the_bank_and_the_lanes_that_meet_there() {
    // The lane's last two bits choose one of four words, which all lie in bank 0.
    let panel = after(&[
        "v_and_b32_e32 v3, 12, v1",
        "v_lshlrev_b32_e32 v3, 5, v3",
        "ds_read_b32 v2, v3",
    ]);
    let expected = "LDS: 4 passes, 1 without conflicts; lane 3: byte 384, bank 0 like lanes 0-2,";
    let screen = drawn(&panel, 78, 20);
    assert!(screen.contains(&expected[..70]), "{screen}");
    let screen = drawn(&panel, 160, 20);
    assert!(
        screen.contains(&format!("{expected} 4-6, 8-10, 12-14,")),
        "{screen}"
    );
}

#[test]
fn a_barrier_names_the_waves_that_come_to_it() {
    // Only the wave with threads below 64 comes to the second barrier.
    let assembly = ASSEMBLY.replace(
        "    s_endpgm\n",
        "    v_cmp_gt_u32_e32 vcc, 64, v0\n    s_cbranch_vccz .LAFTER\n    s_barrier\n.LAFTER:\n    s_endpgm\n",
    );
    let mut panel = panel_of(&assembly, 128, 0, None);
    for expected in [
        "at this barrier: waves 1-2 of 2 ",
        "at this barrier: wave 1 of 2; at another or at none: wave 2",
    ] {
        assert!(panel.act(PanelAction::Down));
        while panel.instruction().unwrap().name != "s_barrier" {
            assert!(panel.act(PanelAction::Down));
        }
        let screen = drawn(&panel, 78, 20) + " ";
        assert!(screen.replace('\n', " ").contains(expected), "{screen}");
    }
}

#[test]
fn an_access_names_the_lane_that_nothing_orders_with_it_and_goes_there() {
    // Two lanes write one word.
    let mut shared = after(&[
        "v_lshrrev_b32_e32 v3, 3, v1",
        "v_lshlrev_b32_e32 v3, 2, v3",
        "ds_write_b32 v3, v2",
    ]);
    let screen = drawn(&shared, 78, 20);
    let other = |lane: u8| {
        format!("lane {lane} of wave 2 writes it at kernel.hip:5, with no barrier between the two")
    };
    assert!(screen.contains(&other(2)), "{screen}");
    assert!(shared.act(PanelAction::Select));
    assert_eq!((shared.wave, shared.lane), (1, 2));
    assert!(drawn(&shared, 78, 20).contains(&other(3)));
    // A word of one's own, and one that a barrier separates from the other wave.
    let alone = panel(128, 1, Some(5));
    assert!(alone.rival().is_none());
}
