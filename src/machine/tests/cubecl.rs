//! Executes kernels that cubecl wrote as HIP C++ for gfx942, and compares them with references in f64.

mod compile;

use compile::{assembly, values};
use tinyllama_machine::{Argument, Launch, Machine, Memory, Program};

const RMSNORM: &str = include_str!("cubecl/rmsnorm_backward.hip");
const ROPE: &str = include_str!("cubecl/rope_backward.hip");
const SWIGLU: &str = include_str!("cubecl/swiglu_backward.hip");
const EPSILON: f32 = 1e-5;

/// Executes a kernel on each architecture with wavefronts of 64 lanes. `check` gets the buffers afterwards.
fn execute(
    source: &str,
    kernel: &str,
    [workgroups, width, height]: [u32; 3],
    buffers: &[&[f32]],
    info: &[u32],
    check: impl Fn(&[Vec<f64>]),
) {
    for architecture in ["gfx90a", "gfx942"] {
        let Some(assembly) = assembly(source, architecture) else {
            return;
        };
        let program = Program::parse(&assembly).unwrap();
        let mut memory = Memory::new();
        let mut ids: Vec<_> = buffers
            .iter()
            .map(|values| memory.add_floats("values", values))
            .collect();
        ids.push(memory.add_words("info", info));
        let arguments = ids.iter().map(|id| Argument::Buffer(*id)).collect();
        let mut machine = Machine::new(&program, memory);
        let launch = Launch::new(kernel, [workgroups, 1, 1], [width, height, 1], arguments);
        machine.run(&launch, &mut ()).unwrap();
        let contents = |id| machine.memory.buffer(id).floats().map(f64::from).collect();
        check(&ids.into_iter().map(contents).collect::<Vec<_>>());
    }
}

/// Asserts that the norm of the difference is small next to the norm of the reference. NaN never is.
fn assert_close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut got.iter().zip(expected).map(|(a, b)| a - b));
    let error = difference / norm(&mut expected.iter().copied());
    assert!(error < 1e-6, "{error}");
}

/// A workgroup has two wavefronts, and each has a row of 96 numbers at a time.
#[test]
fn rmsnorm_backward_is_right() {
    const ROWS: usize = 129;
    const WIDTH: usize = 96;
    let (x, gradient) = (
        values(ROWS * WIDTH),
        values(2 * ROWS * WIDTH).split_off(ROWS * WIDTH),
    );
    let weight: Vec<f32> = values(WIDTH).iter().map(|x| x + 1.0).collect();
    let (empty, sums) = ([f32::NAN; ROWS * WIDTH], [f32::NAN; 6 * WIDTH]);
    let info = [EPSILON.to_bits(), 0, ROWS as u32, 0, 0, 0, 0, 0, 0, 0];
    let mut expected = Vec::new();
    let mut weight_gradient = [0.0; WIDTH];
    for (x, gradient) in x.chunks(WIDTH).zip(gradient.chunks(WIDTH)) {
        let at = |i: usize| {
            (
                f64::from(x[i]),
                f64::from(gradient[i]),
                f64::from(weight[i]),
            )
        };
        let squares: f64 = (0..WIDTH).map(|i| at(i).0.powi(2)).sum();
        let scale = (squares / WIDTH as f64 + f64::from(EPSILON)).powf(-0.5);
        let products: f64 = (0..WIDTH)
            .map(at)
            .map(|(x, gradient, weight)| x * gradient * weight)
            .sum();
        for (i, sum) in weight_gradient.iter_mut().enumerate() {
            let (x, gradient, weight) = at(i);
            expected.push(gradient * weight * scale - x * scale.powi(3) * products / WIDTH as f64);
            *sum += x * gradient * scale;
        }
    }
    let buffers: [&[f32]; 5] = [&x, &weight, &gradient, &empty, &sums];
    let kernel = "rmsnorm_backward_f_f32_w_f32_n_4_de53b77b";
    execute(RMSNORM, kernel, [3, 64, 2], &buffers, &info, |buffers| {
        assert_close(&buffers[3], &expected);
        let sum = |i: usize| buffers[4].iter().skip(i).step_by(WIDTH).sum::<f64>();
        assert_close(&(0..WIDTH).map(sum).collect::<Vec<_>>(), &weight_gradient);
    });
}

/// Of six heads before the positions, five are turned, and the sixth keeps its values.
#[test]
fn rope_backward_is_right() {
    const SEQUENCE: usize = 7;
    const WIDTH: usize = 32;
    let x = values(2 * 6 * SEQUENCE * WIDTH);
    let angle = |position: usize, pair: usize| {
        position as f64 * 1e4_f64.powf(-2.0 * pair as f64 / WIDTH as f64)
    };
    let table: Vec<f32> = (0..SEQUENCE * WIDTH / 2)
        .map(|i| angle(i / (WIDTH / 2), i % (WIDTH / 2)))
        .flat_map(|angle| [angle.cos() as f32, angle.sin() as f32])
        .collect();
    let mut expected: Vec<f64> = x.iter().copied().map(f64::from).collect();
    for (row, values) in expected.chunks_mut(WIDTH).enumerate() {
        if row / SEQUENCE % 6 == 5 {
            continue;
        }
        for (i, pair) in values.chunks_mut(2).enumerate() {
            let (sine, cosine) = (-angle(row % SEQUENCE, i)).sin_cos();
            let [even, odd] = [pair[0], pair[1]];
            pair.copy_from_slice(&[even * cosine - odd * sine, even * sine + odd * cosine]);
        }
    }
    let info = [
        2 * 5 * (SEQUENCE * WIDTH / 4) as u32,
        SEQUENCE as u32,
        0,
        0,
        0,
        0,
    ];
    let kernel = "rope_turn_f_f32_n_4_7b9dac4f";
    let buffers: [&[f32]; 3] = [&x, &table, &x];
    execute(ROPE, kernel, [3, 256, 1], &buffers, &info, |buffers| {
        assert_close(&buffers[2], &expected);
    });
}

/// The gradients replace the inputs. The last workgroup is not full.
#[test]
fn swiglu_backward_in_place_is_right() {
    const ROWS: usize = 7;
    const WIDTH: usize = 777;
    let (gate_up, gradient) = (values(2 * ROWS * WIDTH), values(ROWS * WIDTH));
    let mut expected = vec![0.0; 2 * ROWS * WIDTH];
    for (row, expected) in expected.chunks_mut(2 * WIDTH).enumerate() {
        for i in 0..WIDTH {
            let at = |column: usize| f64::from(gate_up[2 * row * WIDTH + column]);
            let (gate, up) = (at(i), at(WIDTH + i));
            let gradient = f64::from(gradient[row * WIDTH + i]);
            let share = 1.0 / (1.0 + (-gate).exp());
            expected[i] = gradient * up * share * (1.0 + gate * (1.0 - share));
            expected[WIDTH + i] = gradient * gate * share;
        }
    }
    let info = [(ROWS * WIDTH) as u32, 0, 0, 0, 0, 0];
    let kernel = "swiglu_backward_f_f32_n_1_108b8e9b";
    execute(
        SWIGLU,
        kernel,
        [22, 256, 1],
        &[&gate_up, &gradient],
        &info,
        |buffers| {
            assert_close(&buffers[0], &expected);
        },
    );
}
