//! Executes single instructions on operands for which AMD's ISA manuals (CDNA 3 and 4, RDNA 3) define the result.

use tinyllama_machine::{
    Argument, Fault, Launch, LaunchError, Machine, Memory, Observer, Program, Step, Wave,
};

const GFX942: (&str, usize) = ("gfx942", 64);
const GFX950: (&str, usize) = ("gfx950", 64);
const GFX1100: (&str, usize) = ("gfx1100", 32);

/// Keeps the registers as the last instruction left them.
struct End(Option<Wave>);

impl Observer for End {
    fn step(&mut self, step: &Step<'_>) {
        self.0 = Some(step.wave.clone());
    }
}

/// Executes lines of code with one wave. `s[8:9]` holds the address of 256 words, which count from 100.
fn run((architecture, lanes): (&str, usize), code: &str) -> Result<Wave, Fault> {
    let load = if lanes == 32 {
        "s_load_b64"
    } else {
        "s_load_dwordx2"
    };
    let assembly = format!(
        r#"
    .amdgcn_target "amdgcn-amd-amdhsa--{architecture}"
one:
    {load} s[8:9], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    {}
    s_endpgm
    .amdhsa_kernel one
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_user_sgpr_count 2
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 256
    .kernarg_segment_size: 8
    .name:           one
    .wavefront_size: {lanes}
...
    .end_amdgpu_metadata
"#,
        code.replace("; ", "\n    ")
    );
    let program = Program::parse(&assembly).unwrap_or_else(|error| panic!("{code}: {error}"));
    let mut memory = Memory::new();
    let words = memory.add_words("words", &(100..356).collect::<Vec<_>>());
    let mut machine = Machine::new(&program, memory);
    let block = [lanes as u32, 1, 1];
    let launch = Launch::new("one", [1; 3], block, vec![Argument::Buffer(words)]);
    let mut end = End(None);
    match machine.run(&launch, &mut end) {
        Ok(()) => Ok(end.0.unwrap()),
        Err(LaunchError::Execution(error)) => Err(error.fault),
        Err(error) => panic!("{code}: {error}"),
    }
}

/// Returns a register of lane 0, a scalar register, or `scc`.
fn register(wave: &Wave, name: &str) -> u32 {
    let index = || name[1..].parse::<u16>().unwrap();
    match name {
        "scc" => wave.scc.into(),
        "vcc" => wave.vcc() as u32 & 1,
        _ if name.starts_with('v') => wave.vector(index())[0],
        _ => wave.scalars[usize::from(index())],
    }
}

/// An instruction, the registers that it reads, and what it leaves.
type Row<'a> = (&'a str, &'a [(&'a str, u32)], &'a [(&'a str, u32)]);

fn check(target: (&str, usize), rows: &[Row<'_>]) {
    for (instruction, inputs, expected) in rows {
        let set = inputs.iter().map(|(name, value)| match *name {
            "scc" => format!("s_cmp_eq_u32 {value}, 1; "),
            _ if name.starts_with('v') => format!("v_mov_b32_e32 {name}, {value:#x}; "),
            _ => format!("s_mov_b32 {name}, {value:#x}; "),
        });
        let code = set.collect::<String>() + instruction;
        let wave = run(target, &code).unwrap_or_else(|fault| panic!("{code}: {fault}"));
        for (name, value) in *expected {
            let got = register(&wave, name);
            assert_eq!(
                got, *value,
                "{} {code}: {name} is {got:#x}, not {value:#x}",
                target.0
            );
        }
    }
}

const NAN: u32 = 0x7fc0_0000;
const ONE: u32 = 0x3f80_0000;
const TWO: u32 = 0x4000_0000;
const THREE: u32 = 0x4040_0000;

#[test]
#[rustfmt::skip]
fn scalar_results_and_condition_codes() {
    let both: &[Row<'_>] = &[
        ("s_add_u32 s0, s1, s2", &[("s1", u32::MAX), ("s2", 2)], &[("s0", 1), ("scc", 1)]),
        ("s_addc_u32 s0, s1, s2", &[("s1", u32::MAX), ("s2", 0), ("scc", 1)], &[("s0", 0), ("scc", 1)]),
        ("s_addc_u32 s0, s1, s2", &[("s1", 7), ("s2", 8), ("scc", 1)], &[("s0", 16), ("scc", 0)]),
        ("s_sub_u32 s0, s1, s2", &[("s1", 1), ("s2", 2)], &[("s0", u32::MAX), ("scc", 1)]),
        ("s_subb_u32 s0, s1, s2", &[("s1", 5), ("s2", 5), ("scc", 1)], &[("s0", u32::MAX), ("scc", 1)]),
        ("s_subb_u32 s0, s1, s2", &[("s1", 5), ("s2", 5), ("scc", 0)], &[("s0", 0), ("scc", 0)]),
        ("s_add_i32 s0, s1, s2", &[("s1", 0x7fff_ffff), ("s2", 1)], &[("s0", 0x8000_0000), ("scc", 1)]),
        ("s_add_i32 s0, s1, s2", &[("s1", u32::MAX), ("s2", 1)], &[("s0", 0), ("scc", 0)]),
        ("s_lshl1_add_u32 s0, s1, s2", &[("s1", 0x7fff_ffff), ("s2", 1)], &[("s0", u32::MAX), ("scc", 0)]),
        ("s_lshl2_add_u32 s0, s1, s2", &[("s1", 0x8000_0000), ("s2", 5)], &[("s0", 5), ("scc", 1)]),
        ("s_lshl4_add_u32 s0, s1, s2", &[("s1", 0xc000_0000), ("s2", 1)], &[("s0", 1), ("scc", 1)]),
        ("s_max_i32 s0, s1, s2", &[("s1", 7), ("s2", 7)], &[("s0", 7), ("scc", 1)]),
        ("s_max_u32 s0, s1, s2", &[("s1", 7), ("s2", u32::MAX)], &[("s0", u32::MAX), ("scc", 0)]),
        ("s_min_i32 s0, s1, s2", &[("s1", 7), ("s2", 7)], &[("s0", 7), ("scc", 0)]),
        ("s_absdiff_i32 s0, s1, s2", &[("s1", 3), ("s2", 5)], &[("s0", 2), ("scc", 1)]),
        ("s_bfe_u32 s0, s1, s2", &[("s1", 0xf00), ("s2", 0x4_0008)], &[("s0", 15), ("scc", 1)]),
        ("s_bfe_i32 s0, s1, s2", &[("s1", 0xf00), ("s2", 0x4_0008)], &[("s0", u32::MAX), ("scc", 1)]),
        ("s_bfe_i64 s[0:1], s[2:3], s4", &[("s2", 0x8000_0000), ("s3", 9), ("s4", 0x20_0000)], &[("s0", 0x8000_0000), ("s1", u32::MAX)]),
        ("s_bfm_b32 s0, s1, s2", &[("s1", 4), ("s2", 8)], &[("s0", 0xf00)]),
        ("s_bitcmp1_b32 s1, s2", &[("s1", 16), ("s2", 4)], &[("scc", 1)]),
        ("s_pack_lh_b32_b16 s0, s1, s2", &[("s1", 0x1111_2222), ("s2", 0x3333_4444)], &[("s0", 0x3333_2222)]),
        ("s_mul_hi_i32 s0, s1, s2", &[("s1", u32::MAX), ("s2", 2)], &[("s0", u32::MAX)]),
        ("s_ashr_i32 s0, s1, s2", &[("s1", 0x8000_0000), ("s2", 33)], &[("s0", 0xc000_0000), ("scc", 1)]),
        ("s_cselect_b32 s0, s1, s2", &[("s1", 3), ("s2", 4), ("scc", 0)], &[("s0", 4)]),
        ("s_addk_i32 s0, 0x8000", &[("s0", 0x8000_0000)], &[("s0", 0x7fff_8000), ("scc", 1)]),
        ("s_mulk_i32 s0, -3", &[("s0", 5)], &[("s0", -15_i32 as u32)]),
        ("s_cmpk_lt_i32 s0, -1", &[("s0", -2_i32 as u32)], &[("scc", 1)]),
    ];
    check(GFX942, both);
    check(GFX1100, both);
    check(GFX942, &[
        ("s_ff1_i32_b32 s0, s1", &[("s1", 0)], &[("s0", u32::MAX)]),
        ("s_flbit_i32_b32 s0, s1", &[("s1", 0x10)], &[("s0", 27)]),
        ("s_andn2_b32 s0, s1, s2", &[("s1", 6), ("s2", 2)], &[("s0", 4), ("scc", 1)]),
    ]);
}

#[test]
#[rustfmt::skip]
fn vector_results() {
    let both: &[Row<'_>] = &[
        ("v_med3_f32 v0, v1, v2, v3", &[("v1", THREE), ("v2", ONE), ("v3", TWO)], &[("v0", TWO)]),
        ("v_med3_f32 v0, v1, v2, v3", &[("v1", NAN), ("v2", TWO), ("v3", ONE)], &[("v0", ONE)]),
        ("v_med3_f32 v0, v1, v2, v3", &[("v1", TWO), ("v2", NAN), ("v3", ONE)], &[("v0", ONE)]),
        ("v_med3_f32 v0, v1, v2, v3", &[("v1", TWO), ("v2", ONE), ("v3", NAN)], &[("v0", ONE)]),
        ("v_min_f32_e32 v0, v1, v2", &[("v1", 0), ("v2", 0x8000_0000)], &[("v0", 0x8000_0000)]),
        ("v_max_f32_e32 v0, v1, v2", &[("v1", NAN), ("v2", ONE)], &[("v0", ONE)]),
        ("v_min_f64 v[0:1], v[2:3], v[4:5]", &[("v2", 0), ("v3", 0), ("v4", 0), ("v5", 0x8000_0000)], &[("v1", 0x8000_0000)]),
        ("v_max_f64 v[0:1], v[2:3], v[4:5]", &[("v2", 0), ("v3", 0x8000_0000), ("v4", 0), ("v5", 0)], &[("v1", 0)]),
        ("v_fract_f32_e32 v0, v1", &[("v1", NAN)], &[("v0", NAN)]),
        ("v_fract_f32_e32 v0, v1", &[("v1", 0xbe80_0000)], &[("v0", 0x3f40_0000)]),
        ("v_fract_f32_e32 v0, v1", &[("v1", 0xae80_0000)], &[("v0", 0x3f7f_ffff)]),
        ("v_fract_f64_e32 v[0:1], v[2:3]", &[("v2", 0), ("v3", 0x7ff8_0000)], &[("v1", 0x7ff8_0000)]),
        ("v_rndne_f32_e32 v0, v1", &[("v1", 0x4020_0000)], &[("v0", TWO)]),
        ("v_frexp_exp_i32_f32_e32 v0, v1", &[("v1", 0x4100_0000)], &[("v0", 4)]),
        ("v_frexp_mant_f32_e32 v0, v1", &[("v1", 0xc100_0000)], &[("v0", 0xbf00_0000)]),
        ("v_frexp_exp_i32_f32_e32 v0, v1", &[("v1", 1)], &[("v0", -148_i32 as u32)]),
        ("v_frexp_exp_i32_f64_e32 v0, v[2:3]", &[("v2", 1), ("v3", 0)], &[("v0", -1073_i32 as u32)]),
        ("v_frexp_mant_f64_e32 v[0:1], v[2:3]", &[("v2", 3), ("v3", 0)], &[("v0", 0), ("v1", 0x3fe8_0000)]),
        ("v_ldexp_f32 v0, v1, v2", &[("v1", THREE), ("v2", -2_i32 as u32)], &[("v0", 0x3f40_0000)]),
        ("v_cvt_i32_f32_e32 v0, v1", &[("v1", NAN)], &[("v0", 0)]),
        ("v_cvt_i32_f32_e32 v0, v1", &[("v1", 0x4f80_0000)], &[("v0", 0x7fff_ffff)]),
        ("v_cvt_u32_f32_e32 v0, v1", &[("v1", 0xbf80_0000)], &[("v0", 0)]),
        ("v_mul_u32_u24_e32 v0, v1, v2", &[("v1", 16), ("v2", 0x0c0d_0b0a)], &[("v0", 0x00d0_b0a0)]),
        ("v_mul_i32_i24_e32 v0, v1, v2", &[("v1", 0x00ff_ffff), ("v2", 2)], &[("v0", -2_i32 as u32)]),
        ("v_mul_hi_i32_i24_e32 v0, v1, v2", &[("v1", 0x80_0000), ("v2", 0x80_0000)], &[("v0", 0x4000)]),
        ("v_bfe_i32 v0, v1, v2, v3", &[("v1", 0xf0), ("v2", 4), ("v3", 4)], &[("v0", u32::MAX)]),
        ("v_bfi_b32 v0, v1, v2, v3", &[("v1", 0xff), ("v2", 0x1234), ("v3", 0xabcd)], &[("v0", 0xab34)]),
        ("v_alignbit_b32 v0, v1, v2, v3", &[("v1", 1), ("v2", 0x8000_0000), ("v3", 31)], &[("v0", 3)]),
        ("v_perm_b32 v0, v1, v2, v3", &[("v1", 0x3322_11ab), ("v2", 0x7766_d544), ("v3", 0x0c0d_0804)], &[("v0", 0x00ff_ffab)]),
        ("v_sad_u32 v0, v1, v2, v3", &[("v1", 3), ("v2", 10), ("v3", 1)], &[("v0", 8)]),
        ("v_mad_i32_i24 v0, v1, v2, v3", &[("v1", 0xff_fffe), ("v2", 5), ("v3", 1)], &[("v0", -9_i32 as u32)]),
        ("v_lshl_or_b32 v0, v1, v2, v3", &[("v1", 3), ("v2", 36), ("v3", 1)], &[("v0", 49)]),
        ("v_ashrrev_i64 v[0:1], v2, v[4:5]", &[("v2", 36), ("v4", 0), ("v5", 0x8000_0000)], &[("v0", 0xf800_0000), ("v1", u32::MAX)]),
    ];
    check(GFX942, both);
    check(GFX1100, both);
    // The numbers are beyond the largest half, and between the smallest half and its double.
    let packed: &[(&str, u32)] = &[("v1", 0x4974_2400), ("v2", 0xb3e0_0000)];
    // The lowest bits of the three are all combinations of bits, so the table is the result.
    check(GFX950, &[
        ("v_bitop3_b32 v0, v1, v2, v3 bitop3:0x54", &[("v1", 0xf0), ("v2", 0xcc), ("v3", 0xaa)], &[("v0", 0x54)]),
        ("v_bitop3_b32 v0, v1, v2, v3 bitop3:3", &[("v1", 0xf0), ("v2", 0xcc), ("v3", 0xaa)], &[("v0", 0xffff_ff03)]),
        ("v_bitop3_b16 v0, v1, v2, v3 bitop3:3", &[("v1", 0xf0), ("v2", 0xcc), ("v3", 0xaa)], &[("v0", 0xff03)]),
    ]);
    check(GFX942, &[
        ("v_cvt_pkrtz_f16_f32 v0, v1, v2", packed, &[("v0", 0x8001_7bff)]),
        ("v_lshl_add_u64 v[0:1], v[2:3], v4, v[6:7]", &[("v2", 0x8000_0000), ("v3", 0), ("v4", 9), ("v6", 1), ("v7", 0)], &[("v0", 1), ("v1", 1)]),
        ("v_add_f16_e32 v0, v1, v2", &[("v0", 0xabcd_1234), ("v1", 0x3c00), ("v2", 0x3c00)], &[("v0", 0x4000)]),
        ("v_pk_max_f16 v0, v1, v2", &[("v1", 0x8000_7e00), ("v2", 0x0000_3c00)], &[("v0", 0x3c00)]),
        ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_hi:[0,0,1]",
            &[("v2", ONE), ("v3", TWO), ("v4", THREE), ("v5", TWO), ("v6", ONE), ("v7", ONE)], &[("v0", 0x40e0_0000), ("v1", ONE)]),
        ("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
            &[("v1", 0xff00), ("v2", 0x0010_0000)], &[("v0", 15)]),
        ("v_and_b32_sdwa v0, v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
            &[("v0", 0x1122_3344), ("v1", 0xff), ("v2", 0xaa)], &[("v0", 0x11aa_3344)]),
    ]);
    check(GFX1100, &[
        ("v_cvt_pk_rtz_f16_f32 v0, v1, v2", packed, &[("v0", 0x8001_7bff)]),
        // RDNA leaves the upper half of a 16-bit result.
        ("v_add_f16_e32 v0, v1, v2", &[("v0", 0xabcd_1234), ("v1", 0x3c00), ("v2", 0x3c00)], &[("v0", 0xabcd_4000)]),
        ("v_lshlrev_b16 v0, v1, v2", &[("v0", 0xabcd_1234), ("v1", 20), ("v2", 0x0fff)], &[("v0", 0xabcd_fff0)]),
        ("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0", &[("v0", 1), ("v1", 2)], &[("v0", 2), ("v1", 1)]),
    ]);
}

#[test]
#[rustfmt::skip]
fn carries_and_comparisons() {
    let most: &[(&str, u32)] = &[("v1", u32::MAX), ("v2", u32::MAX), ("v4", u32::MAX), ("v5", u32::MAX)];
    check(GFX942, &[
        ("v_add_co_u32_e32 v0, vcc, v1, v2", &[("v1", u32::MAX), ("v2", 1)], &[("v0", 0), ("vcc", 1)]),
        ("s_mov_b64 vcc, -1; v_addc_co_u32_e32 v0, vcc, v1, v2, vcc", &[("v1", u32::MAX), ("v2", 0)], &[("v0", 0), ("vcc", 1)]),
        ("s_mov_b64 vcc, -1; v_subb_co_u32_e32 v0, vcc, v1, v2, vcc", &[("v1", 5), ("v2", 4)], &[("v0", 0), ("vcc", 0)]),
        ("s_mov_b64 vcc, 0; v_subbrev_co_u32_e32 v0, vcc, v1, v2, vcc", &[("v1", 5), ("v2", 4)], &[("v0", u32::MAX), ("vcc", 1)]),
        ("v_mad_u64_u32 v[6:7], vcc, v1, v2, v[4:5]", most, &[("v6", 0), ("v7", u32::MAX - 1), ("vcc", 1)]),
        ("v_mad_i64_i32 v[6:7], vcc, v1, v2, v[4:5]", most, &[("v6", 0), ("v7", 0), ("vcc", 0)]),
        ("v_cmp_nlt_f32_e32 vcc, v1, v2", &[("v1", NAN), ("v2", ONE)], &[("vcc", 1)]),
        ("v_cmp_ge_f32_e32 vcc, v1, v2", &[("v1", NAN), ("v2", ONE)], &[("vcc", 0)]),
        ("v_cmp_lg_f32_e32 vcc, v1, v2", &[("v1", NAN), ("v2", ONE)], &[("vcc", 0)]),
        ("v_cmp_lt_i16_e32 vcc, v1, v2", &[("v1", 0x1_8000), ("v2", 0)], &[("vcc", 1)]),
        ("v_cmp_class_f32_e32 vcc, v1, v2", &[("v1", 0x8000_0000), ("v2", 1 << 5)], &[("vcc", 1)]),
        ("v_cmp_class_f32_e32 vcc, v1, v2", &[("v1", NAN), ("v2", 1 << 1)], &[("vcc", 1)]),
    ]);
}

/// Returns a vector register after `code`, in which `v0` is the lane and EXEC is as it says.
fn lanes(target: (&str, usize), code: &str, row: u16) -> Vec<u32> {
    let wave = run(target, code).unwrap_or_else(|fault| panic!("{code}: {fault}"));
    wave.vector(row).to_vec()
}

#[test]
fn lanes_take_values_from_the_lanes_that_the_manuals_name() {
    const OLD: u32 = 7777;
    let taken = |target: (&str, usize), code: &str, from: &dyn Fn(usize) -> u32| {
        let code = format!("v_mov_b32_e32 v1, {OLD}; {code}");
        let got = lanes(target, &code, 1);
        let right: Vec<u32> = (0..target.1).map(from).collect();
        assert_eq!(got, right, "{} {code}", target.0);
    };
    let all = "row_mask:0xf bank_mask:0xf";
    for target in [GFX942, GFX1100] {
        let n = target.1;
        let dpp = |pattern: &str| format!("v_mov_b32_dpp v1, v0 {pattern}");
        taken(
            target,
            &dpp(&format!("quad_perm:[1,2,3,0] {all}")),
            &|lane| (lane & !3 | (lane + 1) & 3) as u32,
        );
        taken(
            target,
            &dpp(&format!("row_shl:3 {all}")),
            &|lane| match lane % 16 {
                13.. => OLD,
                _ => lane as u32 + 3,
            },
        );
        taken(
            target,
            &dpp(&format!("row_shr:1 {all} bound_ctrl:1")),
            &|lane| match lane % 16 {
                0 => 0,
                _ => lane as u32 - 1,
            },
        );
        taken(target, &dpp(&format!("row_ror:4 {all}")), &|lane| {
            (lane & !15 | (lane + 12) & 15) as u32
        });
        taken(target, &dpp(&format!("row_mirror {all}")), &|lane| {
            (lane ^ 15) as u32
        });
        taken(target, &dpp(&format!("row_half_mirror {all}")), &|lane| {
            (lane ^ 7) as u32
        });
        taken(
            target,
            &dpp("row_mirror row_mask:0x2 bank_mask:0x1"),
            &|lane| match (lane / 16, lane / 4 % 4) {
                (1, 0) => (lane ^ 15) as u32,
                _ => OLD,
            },
        );
        // Lane 5 is off: it keeps its value, and nobody can take from it.
        let off = if n == 32 {
            "s_mov_b32 exec_lo, 0xffffffdf"
        } else {
            "s_mov_b64 exec, 0xffffffdf"
        };
        let on = |lane: usize| lane != 5 && lane < 32;
        taken(
            target,
            &format!("{off}; {}", dpp(&format!("row_mirror {all}"))),
            &|lane| match on(lane) && on(lane ^ 15) {
                true => (lane ^ 15) as u32,
                false => OLD,
            },
        );
        let exchange = |name: &str| {
            format!(
                "v_lshlrev_b32_e32 v2, 2, v0; v_xor_b32_e32 v2, 4, v2; {off}; {name} v1, v2, v0; s_waitcnt lgkmcnt(0)"
            )
        };
        for name in ["ds_bpermute_b32", "ds_permute_b32"] {
            taken(
                target,
                &exchange(name),
                &|lane| match (on(lane), on(lane ^ 1)) {
                    (true, true) => (lane ^ 1) as u32,
                    (true, false) => 0,
                    _ => OLD,
                },
            );
        }
        taken(
            target,
            "ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,4); s_waitcnt lgkmcnt(0)",
            &|lane| (lane ^ 4) as u32,
        );
        taken(
            target,
            "ds_swizzle_b32 v1, v0 offset:swizzle(BROADCAST,8,3); s_waitcnt lgkmcnt(0)",
            &|lane| (lane & !7 | 3) as u32,
        );
        taken(
            target,
            &format!("{off}; v_writelane_b32 v1, 9, 5"),
            &|lane| if lane == 5 { 9 } else { OLD },
        );
        taken(
            target,
            "v_readlane_b32 s0, v0, 6; v_mov_b32_e32 v1, s0",
            &|_| 6,
        );
        taken(
            target,
            "v_mbcnt_lo_u32_b32 v1, -1, 10; v_mbcnt_hi_u32_b32 v1, -1, v1",
            &|lane| lane as u32 + 10,
        );
    }
    taken(
        GFX942,
        &format!("v_mov_b32_dpp v1, v0 row_bcast:15 {all}"),
        &|lane| match lane / 16 {
            0 => OLD,
            row => row as u32 * 16 - 1,
        },
    );
    taken(
        GFX942,
        &format!("v_mov_b32_dpp v1, v0 wave_shr:1 {all}"),
        &|lane| lane.checked_sub(1).map_or(OLD, |from| from as u32),
    );
    taken(
        GFX1100,
        &format!("v_mov_b32_dpp v1, v0 row_share:3 {all}"),
        &|lane| (lane & 16 | 3) as u32,
    );
    taken(
        GFX1100,
        &format!("v_mov_b32_dpp v1, v0 row_xmask:5 {all}"),
        &|lane| (lane ^ 5) as u32,
    );
    let select = "s_mov_b32 s0, 0x01234567; s_mov_b32 s1, 0x89abcdef";
    for (name, other) in [("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)] {
        taken(
            GFX1100,
            &format!("{select}; {name} v1, v0, s0, s1"),
            &|lane| {
                let from = if lane % 16 < 8 {
                    7 - lane % 8
                } else {
                    15 - lane % 8
                };
                ((lane & 16 ^ other) + from) as u32
            },
        );
    }
}

#[test]
fn lanes_that_are_off_keep_their_values_and_give_no_bits() {
    let code = "v_mov_b32_e32 v1, 5; s_mov_b64 exec, 0xf0; v_add_u32_e32 v1, 1, v1; v_cmp_gt_u32_e32 vcc, 64, v0";
    let wave = run(GFX942, code).unwrap();
    let right = (0..64).map(|lane| if (4..8).contains(&lane) { 6 } else { 5 });
    assert!(wave.vector(1).iter().copied().eq(right));
    assert_eq!(wave.vcc(), 0xf0);
    let saved = run(
        GFX942,
        "s_mov_b64 exec, 0xff; s_mov_b64 s[2:3], 0x3c; s_andn2_saveexec_b64 s[0:1], s[2:3]",
    );
    let wave = saved.unwrap();
    assert_eq!((wave.scalars[0], wave.exec(), wave.scc), (0xff, 0, false));
    let saved = run(
        GFX942,
        "s_mov_b64 exec, 0xff; s_mov_b64 s[2:3], 0x3c; s_and_saveexec_b64 s[0:1], s[2:3]",
    );
    let wave = saved.unwrap();
    assert_eq!((wave.scalars[0], wave.exec(), wave.scc), (0xff, 0x3c, true));
}

#[test]
fn a_wait_covers_the_oldest_loads_and_no_others() {
    let loads = "v_lshlrev_b32_e32 v1, 2, v0; global_load_dword v2, v1, s[8:9]; global_load_dword v3, v1, s[8:9] offset:4";
    let after = |rest: &str| run(GFX942, &format!("{loads}; {rest}"));
    let is_early = |outcome: Result<Wave, Fault>, wanted: &str| match outcome {
        Err(Fault::NotWaited { register, .. }) => assert_eq!(register, wanted),
        other => panic!("{wanted}: {:?}", other.map(|wave| wave.pc)),
    };
    let wave = after("s_waitcnt vmcnt(1); v_mov_b32_e32 v4, v2").unwrap();
    assert_eq!(wave.vector(4)[9], 109);
    is_early(after("s_waitcnt vmcnt(1); v_mov_b32_e32 v4, v3"), "v3");
    is_early(after("s_waitcnt vmcnt(2); v_mov_b32_e32 v4, v2"), "v2");
    is_early(after("s_waitcnt lgkmcnt(0); v_mov_b32_e32 v4, v2"), "v2");
    // A register must not be written either while a load for it is under way.
    is_early(after("v_mov_b32_e32 v3, 0"), "v3");
    assert!(after("s_waitcnt vmcnt(0); v_add_u32_e32 v4, v2, v3").is_ok());

    // Loads of scalars end in any order, so only a wait for all of them covers one.
    let scalars = "s_load_dword s0, s[8:9], 0x0; s_load_dword s1, s[8:9], 0x4";
    is_early(
        run(
            GFX942,
            &format!("{scalars}; s_waitcnt lgkmcnt(1); s_mov_b32 s2, s0"),
        ),
        "s0",
    );
    let wave = run(
        GFX942,
        &format!("{scalars}; s_waitcnt lgkmcnt(0); s_mov_b32 s2, s1"),
    )
    .unwrap();
    assert_eq!(wave.scalars[2], 101);
    // Reads of LDS end in order. A store counts with the loads on CDNA, and by itself on RDNA.
    let local =
        "v_lshlrev_b32_e32 v1, 2, v0; ds_write_b32 v1, v0; ds_read_b32 v2, v1; ds_read_b32 v3, v1";
    assert!(
        run(
            GFX942,
            &format!("{local}; s_waitcnt lgkmcnt(1); v_mov_b32_e32 v4, v2")
        )
        .is_ok()
    );
    is_early(
        run(
            GFX942,
            &format!("{local}; s_waitcnt lgkmcnt(1); v_mov_b32_e32 v4, v3"),
        ),
        "v3",
    );
    let store = "v_lshlrev_b32_e32 v1, 2, v0; global_load_b32 v2, v1, s[8:9]; global_store_b32 v1, v0, s[8:9]";
    is_early(
        run(
            GFX1100,
            &format!("{store}; s_waitcnt vmcnt(1); v_mov_b32_e32 v4, v2"),
        ),
        "v2",
    );
    assert!(
        run(
            GFX1100,
            &format!("{store}; s_waitcnt vmcnt(0); v_mov_b32_e32 v4, v2")
        )
        .is_ok()
    );
    is_early(
        run(
            GFX1100,
            &format!("{store}; s_waitcnt_vscnt null, 0x0; v_mov_b32_e32 v4, v2"),
        ),
        "v2",
    );
    let store = store.replace("load_b32", "load_dword");
    let store = store.replace("store_b32", "store_dword");
    assert!(
        run(
            GFX942,
            &format!("{store}; s_waitcnt vmcnt(1); v_mov_b32_e32 v4, v2")
        )
        .is_ok()
    );
}

#[test]
fn atomics_change_memory_and_return_what_was_there() {
    let local =
        "v_mov_b32_e32 v1, 0; v_mov_b32_e32 v2, 3; ds_write_b32 v1, v2; s_mov_b64 exec, 1; ";
    let after = |rest: &str| {
        run(
            GFX942,
            &format!("{local}{rest}; ds_read_b32 v5, v1; s_waitcnt lgkmcnt(0)"),
        )
    };
    let wave = after("ds_add_rtn_u32 v4, v1, v2").unwrap();
    assert_eq!((wave.vector(4)[0], wave.vector(5)[0]), (3, 6));
    // The older name of the exchange takes the compared value first.
    let wave = after("v_mov_b32_e32 v3, 9; ds_cmpst_rtn_b32 v4, v1, v2, v3").unwrap();
    assert_eq!((wave.vector(4)[0], wave.vector(5)[0]), (3, 9));
    let exchange = "v_mov_b32_e32 v1, 8; v_mov_b32_e32 v2, 5; v_mov_b32_e32 v3, 102; s_mov_b64 exec, 1; \
                    global_atomic_cmpswap v4, v1, v[2:3], s[8:9] sc0; global_load_dword v5, v1, s[8:9]; s_waitcnt vmcnt(0)";
    let wave = run(GFX942, exchange).unwrap();
    assert_eq!((wave.vector(4)[0], wave.vector(5)[0]), (102, 5));
}

/// The emulator loads once what several lanes read from one place.
#[test]
fn loads_give_every_lane_its_own_word() {
    let (all, high): (u64, u64) = (u64::MAX, 0x1_8000_0000);
    let global = "global_load_dword v2, v1, s[8:9]; s_waitcnt vmcnt(0)";
    let local = "ds_read_b32 v2, v1; s_waitcnt lgkmcnt(0)";
    // All lanes, rows of 16, columns, pairs, halves of the wave, and each lane for itself.
    for part in [0, 48, 15, 62, 31, 63] {
        for (load, exec) in [global, local]
            .into_iter()
            .flat_map(|load| [all, 0xfff0, high].map(|exec| (load, exec)))
        {
            let code = format!(
                "v_lshlrev_b32_e32 v3, 2, v0; v_add_u32_e32 v4, 0x64, v0; ds_write_b32 v3, v4; s_waitcnt lgkmcnt(0); \
                 v_and_b32_e32 v1, {part}, v0; v_lshlrev_b32_e32 v1, 2, v1; \
                 v_mov_b32_e32 v2, 7; s_mov_b32 exec_lo, {:#x}; s_mov_b32 exec_hi, {:#x}; {load}",
                exec as u32,
                exec >> 32,
            );
            let expected = (0..64).map(|lane| match exec >> lane & 1 {
                1 => 100 + (lane & part),
                _ => 7,
            });
            assert_eq!(
                lanes(GFX942, &code, 2),
                expected.collect::<Vec<u32>>(),
                "{code}"
            );
        }
    }
}
