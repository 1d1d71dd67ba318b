//! Attention of version 4, forward and backward, in every precision and on the matrix instructions of each architecture.

mod compile;

use compile::{assembly, values};
use tinyllama_machine::{Argument, BufferId, Launch, Machine, Memory, Program};

const PARTS: [&str; 6] = [
    include_str!("../../workbench/compiled/hand_written.h"),
    include_str!("../../engine/targets/v4/kernels/prelude.cu"),
    include_str!("../../engine/targets/v4/kernels/norm.cu"),
    include_str!("../../engine/targets/v4/kernels/elementwise.cu"),
    include_str!("../../engine/targets/v4/kernels/pieces.cu"),
    include_str!("../../engine/targets/v4/kernels/attention_tiles.cu"),
];
const BY_LANES: &str = include_str!("../../engine/targets/v4/kernels/attention_squares.cu");
const BY_MATRICES: &str = include_str!("../../engine/targets/v4/kernels/attention_squares_amd.cu");
const ATTENTION: [&str; 2] = [
    include_str!("../../engine/targets/v4/kernels/attention.cu"),
    include_str!("../../engine/targets/v4/kernels/attention_backward.cu"),
];

const HEADS: usize = 4;
const KEY_HEADS: usize = 2;
const WIDTH: usize = 32;
const SEQUENCE: usize = 40;
const SAMPLES: usize = 2;
const TILE: usize = 32;
const GROUPS: usize = 2;
const COLUMNS: usize = (HEADS + 2 * KEY_HEADS) * WIDTH;
const ROTATED: usize = (HEADS + KEY_HEADS) * WIDTH;
const TOKENS: usize = SAMPLES * SEQUENCE;

/// Ways in which the kernels are compiled: the architecture, its matrix cores (0: none, 1: MFMA, 2: WMMA), the bytes of an
/// operand, and how operands are rounded. Then how far results may be from the reference, as the norm of the difference
/// over the norm.
const VARIANTS: [(&str, u32, usize, u32, f64); 8] = [
    ("gfx90a", 1, 4, 0, 2e-6),
    ("gfx90a", 1, 2, 1, 6e-3),
    ("gfx942", 1, 4, 0, 2e-6),
    ("gfx942", 1, 4, 1, 1e-3),
    ("gfx942", 1, 2, 1, 6e-3),
    ("gfx1100", 0, 4, 0, 2e-6),
    ("gfx1100", 2, 2, 1, 6e-3),
    ("gfx1201", 2, 2, 1, 6e-3),
];

/// Computes sums over heads in f64: outputs, and gradients of queries, keys and values.
fn reference(qkv: &[f64], rotary: &[f64], out_gradient: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let scale = 1.0 / (WIDTH as f64).sqrt();
    let mut out = vec![0.0; TOKENS * HEADS * WIDTH];
    let mut gradient = vec![0.0; TOKENS * COLUMNS];
    let turn = |x: &[f64], position: usize, sign: f64| -> Vec<f64> {
        let angles = rotary[position * WIDTH..].chunks(2);
        let pairs = x.chunks(2).zip(angles);
        pairs
            .flat_map(|(x, a)| {
                [
                    x[0] * a[0] - sign * x[1] * a[1],
                    sign * x[0] * a[1] + x[1] * a[0],
                ]
            })
            .collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for sample in 0..SAMPLES {
        for head in 0..HEADS {
            let at = |position: usize, head: usize| {
                (sample * SEQUENCE + position) * COLUMNS + head * WIDTH
            };
            let key = HEADS + head / (HEADS / KEY_HEADS);
            let value = key + KEY_HEADS;
            let vector = |position: usize, head: usize| &qkv[at(position, head)..][..WIDTH];
            let queries: Vec<_> = (0..SEQUENCE)
                .map(|i| turn(vector(i, head), i, 1.0))
                .collect();
            let keys: Vec<_> = (0..SEQUENCE)
                .map(|i| turn(vector(i, key), i, 1.0))
                .collect();
            let mut key_gradients = vec![vec![0.0; WIDTH]; SEQUENCE];
            for i in 0..SEQUENCE {
                let scores: Vec<f64> = (0..=i)
                    .map(|j| scale * dot(&queries[i], &keys[j]))
                    .collect();
                let most = scores.iter().copied().fold(f64::MIN, f64::max);
                let total: f64 = scores.iter().map(|score| (score - most).exp()).sum();
                let place = ((sample * SEQUENCE + i) * HEADS + head) * WIDTH;
                let shares: Vec<f64> = scores
                    .iter()
                    .map(|score| (score - most).exp() / total)
                    .collect();
                for (j, share) in shares.iter().enumerate() {
                    for (out, value) in out[place..][..WIDTH].iter_mut().zip(vector(j, value)) {
                        *out += share * value;
                    }
                }
                let wanted = &out_gradient[place..][..WIDTH];
                let delta = dot(wanted, &out[place..][..WIDTH]);
                let mut query_gradient = vec![0.0; WIDTH];
                for (j, share) in shares.iter().enumerate() {
                    let score = scale * share * (dot(wanted, vector(j, value)) - delta);
                    for column in 0..WIDTH {
                        gradient[at(j, value) + column] += share * wanted[column];
                        query_gradient[column] += score * keys[j][column];
                        key_gradients[j][column] += score * queries[i][column];
                    }
                }
                gradient[at(i, head)..][..WIDTH].copy_from_slice(&turn(&query_gradient, i, -1.0));
            }
            for (j, turned) in key_gradients.iter().enumerate() {
                for (sum, part) in gradient[at(j, key)..].iter_mut().zip(turn(turned, j, -1.0)) {
                    *sum += part;
                }
            }
        }
    }
    (out, gradient)
}

/// Adds numbers as operands of the variant. The numbers already have the bits of bf16.
fn add(memory: &mut Memory, name: &str, numbers: &[f32], operand_bytes: usize) -> BufferId {
    let bytes = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes()[4 - operand_bytes..].to_vec());
    memory.add(name, bytes.collect())
}

/// Returns the norm of the difference over the norm.
fn distance(memory: &Memory, buffer: BufferId, operand_bytes: usize, right: &[f64]) -> f64 {
    let numbers = memory
        .buffer(buffer)
        .bytes
        .chunks(operand_bytes)
        .map(|bytes| {
            let mut word = [0; 4];
            word[4 - operand_bytes..].copy_from_slice(bytes);
            f64::from(f32::from_le_bytes(word))
        });
    let square = |x: f64| x * x;
    let difference: f64 = numbers
        .zip(right)
        .map(|(got, right)| square(got - right))
        .sum();
    (difference / right.iter().map(|x| square(*x)).sum::<f64>()).sqrt()
}

#[test]
fn attention_is_right_as_machine_code() {
    let bf16 = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
    let all: Vec<f32> = values(TOKENS * (COLUMNS + HEADS * WIDTH))
        .into_iter()
        .map(bf16)
        .collect();
    let (qkv, gradient) = all.split_at(TOKENS * COLUMNS);
    let angle = |i: usize| (i / WIDTH) as f64 / 10_f64.powf((i % WIDTH / 2) as f64 / 4.0);
    let rotary = (0..SEQUENCE * WIDTH).map(|i| if i % 2 == 0 { angle(i).cos() } else { angle(i).sin() } as f32);
    let rotary: Vec<f32> = rotary.collect();
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let (right, right_gradient) = reference(&wide(qkv), &wide(&rotary), &wide(gradient));
    for (architecture, cores, operand_bytes, rounds, tolerance) in VARIANTS {
        let lanes = if cores == 1 { 64 } else { 32 };
        let plane = if architecture == "gfx1100" { 32 } else { 64 };
        let mut source = String::from(
            "#define TUTOR_HIP 1\n#define OVERLAPPING 0\n#define NORM_TEAMS 2\n#define FACTORS 8\n",
        );
        for (name, value) in [
            ("TUTOR_PLANE", plane),
            ("OPERAND_BITS", 8 * operand_bytes),
            ("TENSOR_CORES", rounds as usize),
            ("MATRIX_CORES", cores as usize),
            ("HIDDEN", HEADS * WIDTH),
            ("FFN", 64),
            ("VOCABULARY", 96),
            ("HEADS", HEADS),
            ("KV_HEADS", KEY_HEADS),
            ("HEAD_DIM", WIDTH),
            ("SEQUENCE", SEQUENCE),
            ("TILE", TILE),
            ("GROUPS", GROUPS),
        ] {
            source.push_str(&format!("#define {name} {value}\n"));
        }
        let squares = if cores == 0 { BY_LANES } else { BY_MATRICES };
        source.push_str(&[&PARTS[..], &[squares], &ATTENTION].concat().concat());
        let Some(assembly) = assembly(&source, architecture) else {
            return;
        };
        let program = Program::parse(&assembly).unwrap();
        let mut memory = Memory::new();
        let input = add(&mut memory, "qkv", qkv, operand_bytes);
        let mixed_gradient = add(&mut memory, "mixed gradient", gradient, operand_bytes);
        let angles = memory.add_floats("rotary", &rotary);
        let mut empty = |name: &str, elements: usize, bytes: usize| {
            memory.add(name, vec![0xff; elements * bytes])
        };
        let rotated = empty("rotated", TOKENS * ROTATED, operand_bytes);
        let mixed = empty("mixed", TOKENS * HEADS * WIDTH, operand_bytes);
        let log_sums = empty("log sums", TOKENS * HEADS, 4);
        let qkv_gradient = empty("gradient", TOKENS * COLUMNS, operand_bytes);
        let mut machine = Machine::new(&program, memory);
        let scale = Argument::Word((1.0 / (WIDTH as f32).sqrt()).to_bits());
        let threads = [(TILE / 16 * lanes * GROUPS) as u32, 1, 1];
        let tile = TILE * (WIDTH + 16 / operand_bytes) * operand_bytes;
        let with_scale = |buffers: &[BufferId]| {
            let buffers = buffers.iter().copied().map(Argument::Buffer);
            buffers.chain([scale.clone()]).collect::<Vec<_>>()
        };
        let tiles = SEQUENCE.div_ceil(TILE) as u32;
        let arguments = with_scale(&[input, angles, rotated, mixed, log_sums]);
        let mut launch = Launch::new(
            "attention",
            [tiles, HEADS as u32, SAMPLES as u32],
            threads,
            arguments,
        );
        launch.dynamic_lds = (1 + 2 * GROUPS) * tile;
        machine.run(&launch, &mut ()).unwrap();
        let far = distance(&machine.memory, mixed, operand_bytes, &right);
        assert!(
            far < tolerance,
            "{architecture}, {operand_bytes} bytes, forward: {far}"
        );

        let arguments = with_scale(&[
            input,
            angles,
            rotated,
            mixed,
            log_sums,
            mixed_gradient,
            qkv_gradient,
        ]);
        let grid = [tiles, (HEADS + KEY_HEADS) as u32, SAMPLES as u32];
        let mut launch = Launch::new("attention_backward", grid, threads, arguments);
        launch.dynamic_lds = (2 + 2 * GROUPS) * tile + GROUPS * 2 * TILE * 4;
        machine.run(&launch, &mut ()).unwrap();
        let far = distance(
            &machine.memory,
            qkv_gradient,
            operand_bytes,
            &right_gradient,
        );
        assert!(
            far < tolerance,
            "{architecture}, {operand_bytes} bytes, backward: {far}"
        );
        println!(
            "{architecture}, {operand_bytes} bytes, rounded {rounds}: {} instructions",
            machine.executed
        );
    }
}
