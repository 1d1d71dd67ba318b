//! Matrix cores: attention by them, and their instructions and loads.

use super::*;

/// Checks every instruction that attention uses, with its wave size, and the cases for which it is not used.
#[test]
fn attention_takes_the_matrix_cores_there_are() {
    for (precision, head_dim, sequence, cores) in [
        // Short sequences use tiles forward. Heads that do not fill a plate always use tiles.
        (
            GemmPrecision::Bf16,
            64,
            128,
            [MatrixCores::None, MatrixCores::Warpgroups],
        ),
        (GemmPrecision::Bf16, 128, 129, [MatrixCores::Warpgroups; 2]),
        (GemmPrecision::Bf16, 32, 512, [MatrixCores::None; 2]),
        (GemmPrecision::Tf32, 64, 512, [MatrixCores::None; 2]),
    ] {
        let config = config([5, 2 * head_dim, 1, 2, 1, 8, sequence, 1]);
        let found = |architecture: &str| {
            let properties = nvidia(architecture);
            let cores = MatrixCores::choose(&config, precision, &properties);
            let blocks = shape::attention_blocks(&config, precision, &properties, cores).unwrap();
            [blocks.forward.cores, blocks.backward.cores]
        };
        assert_eq!(found("sm_90"), cores, "{precision} {head_dim}");
        assert_eq!(found("sm_80"), [MatrixCores::None; 2]);
    }
    // Samples are processed together while the cache holds them: with `medium` eight forward and four backward. Each
    // sample has as many blocks as its heads have queries by 128 and, backward, keys by 64.
    let medium = Preset::Medium.config();
    let properties = nvidia("sm_90");
    let cores = MatrixCores::choose(&medium, GemmPrecision::Bf16, &properties);
    let block = shape::attention_blocks(&medium, GemmPrecision::Bf16, &properties, cores).unwrap();
    let grids = block.forward.grids(&medium);
    assert_eq!(grids, [[8 * 8 * 4, 2, 1], [4 * (8 * 4 + 4 * 8), 4, 1]]);
    for (architecture, precision, head_dim, cores) in [
        ("gfx90a", GemmPrecision::F32, 64, MatrixCores::Mfma),
        ("gfx90a", GemmPrecision::Bf16, 256, MatrixCores::Mfma),
        ("gfx942", GemmPrecision::Tf32, 64, MatrixCores::Mfma),
        ("gfx950", GemmPrecision::F32, 64, MatrixCores::Mfma),
        ("gfx950", GemmPrecision::Bf16, 64, MatrixCores::Mfma),
        ("gfx908", GemmPrecision::F32, 64, MatrixCores::Mfma),
        ("gfx908", GemmPrecision::Bf16, 64, MatrixCores::None),
        ("gfx1100", GemmPrecision::Bf16, 64, MatrixCores::Wmma),
        ("gfx1100", GemmPrecision::Bf16, 256, MatrixCores::None),
        ("gfx1100", GemmPrecision::F32, 64, MatrixCores::None),
        ("gfx1201", GemmPrecision::Bf16, 64, MatrixCores::Wmma),
        ("gfx1250", GemmPrecision::Bf16, 64, MatrixCores::None),
        ("gfx1030", GemmPrecision::Bf16, 64, MatrixCores::None),
    ] {
        let config = config([5, head_dim, 1, 1, 1, 8, 4, 1]);
        let properties = Properties::offline(architecture, 64, 1);
        let found = MatrixCores::choose(&config, precision, &properties);
        assert_eq!(found, cores, "{architecture} {precision} {head_dim}");
    }
}

/// Breaks the instructions: exchanges lanes or blocks in their results.
#[test]
fn a_matrix_instruction_gone_wrong_is_noticed() {
    const LANES: (&str, &str) = ("HIP_STAND_IN_PLANT", "matrix-lanes");
    const BLOCKS: (&str, &str) = ("HIP_STAND_IN_PLANT", "matrix-blocks");
    let red = |stand_in: &StandIn, precisions: &[GemmPrecision]| {
        for &precision in precisions {
            let wrong = gradients(stand_in, &shapes()[1], precision);
            assert!(wrong.is_err(), "{precision} hides it");
        }
    };
    on("gfx90a", &[STAND_IN_MEMORY, LANES], |stand_in| {
        red(stand_in, &[GemmPrecision::F32, GemmPrecision::Bf16])
    });
    on("gfx942", &[STAND_IN_MEMORY, BLOCKS], |stand_in| {
        red(stand_in, &[GemmPrecision::Tf32, GemmPrecision::Bf16])
    });
    on("gfx1100", &[STAND_IN_MEMORY, LANES], |stand_in| {
        red(stand_in, &[GemmPrecision::Bf16])
    });
    for arch in ["gfx1100", "gfx1201"] {
        on(arch, &[STAND_IN_MEMORY, BLOCKS], |stand_in| {
            red(stand_in, &[GemmPrecision::Bf16])
        });
    }
}

/// NVIDIA's matrix loads take paths through the sources that the stand-in does not take. This test checks their addresses.
#[test]
fn matrix_loads_read_what_plain_loads_do() {
    on("gfx1100", &[], |stand_in| {
        let driver = stand_in.open();
        let stream = driver.stream(0).unwrap();
        for bits in [16, 32] {
            let words: Vec<u32> = (0..4096)
                .map(|i| 0x0001_0000 * (2 * i + 1) + 2 * i)
                .collect();
            let tile = driver.allocate(words.len() * 4).unwrap();
            stream.upload(tile.as_slice(), &words).unwrap();
            let read = |by_lanes: &str| -> Vec<u32> {
                let text = [
                    include_str!("../../kernels/prelude.cu"),
                    "INLINE unsigned bits_in(Operand o) { unsigned b = 0; __builtin_memcpy(&b, &o, sizeof o); return b; }",
                    by_lanes,
                    include_str!("../../kernels/pieces.cu"),
                    LOADS,
                ];
                let mut source = SourceCode::new("loads.cu", text.concat());
                for (name, value) in [
                    ("OPERAND_BITS", bits),
                    ("TENSOR_CORES", 1),
                    ("MATRIX_CORES", 0),
                    ("HIDDEN", 64),
                    ("FFN", 64),
                    ("HEADS", 2),
                    ("KV_HEADS", 1),
                    ("HEAD_DIM", 32),
                    ("SEQUENCE", 16),
                    ("TILE", 16),
                    ("GROUPS", 1),
                ] {
                    source = source.define(name, value);
                }
                let kernel = driver.compile(&source).unwrap().kernel("loads").unwrap();
                let out = driver.allocate(32 * 16 * 4).unwrap();
                let arguments = [tile.as_slice().into(), out.as_slice().into()];
                // SAFETY: the arguments match the kernel's declaration; the download waits.
                unsafe { stream.launch(&kernel, &LaunchSettings::linear(1, 32), &arguments) }
                    .unwrap();
                stream.download(out.as_slice(), 32 * 16).unwrap()
            };
            assert_eq!(read(LOADS_BY_LANES), read(""), "{bits} bits");
        }
    });
}
