use super::points::product_work;
use super::*;
use crate::calibration::tests::example;
use tinyllama_base::roofline::{CeilingSource, Grain, Point, RooflineLimit, svg};
use tinyllama_contract::ElementType;
use tinyllama_contract::model::{Preset, work};
use tinyllama_contract::targets::v3;

/// A run with known times of parts and kernels, in the form in which it is read from disk.
fn run(kernels: &str) -> MeasuredRun {
    let config = Preset::Small.config();
    let recipe = v3::RECIPE;
    let works = work::training_step(&config, &recipe, ElementType::F32);
    let parts: Vec<serde_json::Value> = works
        .iter()
        .map(|(part, work)| {
            serde_json::json!({
                "part": part.to_string(), "flops": work.flops, "bytes": work.bytes, "device_ms": 0.5,
            })
        })
        .collect();
    let total =
        |value: fn(&work::Work) -> f64| works.iter().map(|(_, work)| value(work)).sum::<f64>();
    let lines = [
        serde_json::json!({
            "t": 0.0, "event": "hello", "stream": 1, "version": "", "target": "v3", "recipe": recipe, "backend": "cuda",
            "device": "NVIDIA H200", "arch": null, "driver": null, "device_memory": null, "config": config, "seed": 42,
            "parameters": 1, "parameter_tensors": 1, "dtype": "f32", "matmul_precision": "f32", "learning_rate": 1.0,
            "weight_decay": 0.0, "steps": 1, "warmup": 0, "data": {"kind": "synthetic"}, "deterministic": false,
            "synchronize": "phases",
        })
        .to_string(),
        serde_json::json!({
            "t": 1.0, "event": "step", "n": 1, "of": 1, "measured": true, "loss": 6.9, "total_ms": 10.0, "forward_ms": 3.0,
            "backward_ms": 6.0, "optimizer_ms": 1.0, "synchronized": true, "launches": 100, "bytes_in_use": null,
            "bytes_reserved": null, "samples_per_s": 800.0,
        })
        .to_string(),
        serde_json::json!({
            "t": 2.0, "event": "parts", "source": "", "parts": parts, "flops_per_step": total(|w| w.flops),
            "bytes_per_step": total(|w| w.bytes), "achieved_flops_per_s": null,
        })
        .to_string(),
        kernels.to_string(),
        r#"{"t":3,"event":"summary","complete":true,"steps":1,"measured_steps":1,"samples":8,"samples_per_s":null,"tokens_per_s":null,"total_ms":null,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"first_step_ms":null,"launches_per_step":100.0,"peak_bytes_in_use":null,"peak_bytes_reserved":null,"first_loss":null,"final_loss":null,"parameters":1,"parameter_tensors":1,"parameters_with_gradient":1,"repeatability":null}"#.to_string(),
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("events.jsonl"), lines.join("\n")).unwrap();
    MeasuredRun::read(folder.path()).unwrap()
}

const KERNELS: &str = r#"{"t":2.5,"event":"kernels","steps":1,"launches_per_step":100,"device_ms_per_step":8.0,"span_ms_per_step":9.0,"kernels":[
{"name":"MatmulEntry","part":"layer 0 attention","launches_per_step":33,"device_ms_per_step":2.0,"fused_operations":null},
{"name":"matmul_entry_2","part":"backward","launches_per_step":66,"device_ms_per_step":4.0,"fused_operations":null},
{"name":"SwigluForward","part":"layer 0 ffn","launches_per_step":8,"device_ms_per_step":0.5,"fused_operations":null},
{"name":"SwigluNaiveForward","part":"layer 0 ffn","launches_per_step":8,"device_ms_per_step":0.5,"fused_operations":null},
{"name":"RmsnormBackward","part":"backward","launches_per_step":17,"device_ms_per_step":0.3,"fused_operations":null},
{"name":"ColumnSums","part":"backward","launches_per_step":17,"device_ms_per_step":0.1,"fused_operations":null},
{"name":"ElemwiseFuse","part":"backward","launches_per_step":5,"device_ms_per_step":0.8,"fused_operations":3.0}]}"#;

fn works() -> Vec<KernelWork> {
    let work = |kernel: &str, pass: &str, flops: f64, bytes: f64| KernelWork {
        kernel: kernel.into(),
        pass: pass.into(),
        flops,
        bytes,
    };
    vec![
        work("swiglu", "forward", 1e7, 2.5e7),
        work("swiglu_naive", "forward", 4e9, 2e7),
        work("rmsnorm", "forward", 1e6, 4e6),
        work("rmsnorm", "backward", 2e6, 6e6),
    ]
}

fn roofline() -> Roofline {
    let run = run(&KERNELS.replace('\n', ""));
    of_run(&run, Some(&example()), &works())
}

fn point<'a>(roofline: &'a Roofline, grain: Grain, name: &str) -> &'a Point {
    roofline
        .points
        .iter()
        .find(|point| point.grain == grain && point.name == name)
        .unwrap_or_else(|| panic!("no {name} in {:#?}", roofline.points))
}

#[test]
fn products_are_counted_as_on_paper() {
    let config = Preset::Small.config();
    let (flops, bytes) = product_work(&config, &v3::RECIPE);
    // 1024 tokens. A layer has qkv 512x1024, out 512x512, gate and up 512x4096, down 2048x512. The head is 512x1000.
    let layer = 512.0 * 1024.0 + 512.0 * 512.0 + 512.0 * 4096.0 + 2048.0 * 512.0;
    assert_eq!(flops, 2.0 * 1024.0 * (8.0 * layer + 512.0 * 1000.0));
    let layer = 1024.0 * (512.0 + 1024.0 + 512.0 + 512.0 + 512.0 + 4096.0 + 2048.0 + 512.0) + layer;
    let head = 1024.0 * (512.0 + 1000.0) + 512.0 * 1000.0;
    assert_eq!(bytes, 4.0 * (8.0 * layer + head));
    // Scores in memory: 8 samples of 8 heads, two products of 128 x 64 x 128 each.
    let mut materialised = v3::RECIPE;
    materialised.attention = tinyllama_contract::model::Attention::Materialised;
    let more = product_work(&config, &materialised).0 - flops;
    let naive = product_work(&config, &tinyllama_contract::targets::stage4::RECIPE).0;
    assert_eq!(flops - naive, 8.0 * 2.0 * 1024.0 * 512.0 * 4096.0);
    assert_eq!(more, 8.0 * 64.0 * 2.0 * 2.0 * 128.0 * 64.0 * 128.0);
}

#[test]
fn kernels_are_matched_by_name_and_helpers_belong_to_their_pass() {
    let roofline = roofline();
    let norm = point(&roofline, Grain::Kernel, "rmsnorm backward");
    // 17 executions of two kernels each.
    assert_eq!((norm.flops, norm.launches), (17.0 * 2e6, Some(34.0)));
    assert!((norm.ms - 0.4).abs() < 1e-12);
    let naive = point(&roofline, Grain::Kernel, "swiglu_naive forward");
    assert_eq!(naive.flops, 8.0 * 4e9);
    assert_eq!(
        point(&roofline, Grain::Kernel, "swiglu forward").flops,
        8.0 * 1e7
    );
    let forward = point(&roofline, Grain::Kernel, "matrix products forward").flops;
    let backward = point(&roofline, Grain::Kernel, "matrix products backward").flops;
    assert_eq!(backward, 2.0 * forward);
    // 7.4 of 8.2 ms are known. The fused kernel's work is not.
    assert!(
        roofline.notes.iter().any(|note| note.contains("90.2 %")),
        "{:?}",
        roofline.notes
    );
}

#[test]
fn work_that_a_run_counted_itself_is_used_and_the_update_is_counted_once() {
    let kernels = r#"{"t":2.5,"event":"kernels","steps":1,"launches_per_step":14,"device_ms_per_step":20.0,"span_ms_per_step":null,"kernels":[
{"name":"gemm_residual","part":"layer 0 ffn","launches_per_step":1,"device_ms_per_step":1.0,"fused_operations":null,"flops_per_step":2e9,"bytes_per_step":3e6},
{"name":"gemm_residual","part":"layer 1 ffn","launches_per_step":1,"device_ms_per_step":1.0,"fused_operations":null,"flops_per_step":2e9,"bytes_per_step":3e6},
{"name":"swiglu_backward","part":"layer 1 ffn backward","launches_per_step":1,"device_ms_per_step":8.0,"fused_operations":null,"flops_per_step":5e6,"bytes_per_step":4e6},
{"name":"adamw","part":"optimizer","launches_per_step":10,"device_ms_per_step":10.0,"fused_operations":null}]}"#;
    let mut works = works();
    works.push(KernelWork {
        kernel: "adamw".into(),
        pass: "update".into(),
        flops: 1e8,
        bytes: 2e8,
    });
    let run = run(&kernels.replace('\n', ""));
    let roofline = of_run(&run, Some(&example()), &works);
    let product = point(
        &roofline,
        Grain::Kernel,
        "matrix products (gemm_residual) forward",
    );
    assert_eq!((product.flops, product.bytes, product.ms), (4e9, 6e6, 2.0));
    let swiglu = point(&roofline, Grain::Kernel, "swiglu_backward");
    assert_eq!((swiglu.flops, swiglu.ms), (5e6, 8.0));
    let update = point(&roofline, Grain::Kernel, "adamw");
    assert_eq!((update.flops, update.launches), (1e8, Some(10.0)));
    // 20 ms of kernels in a step of 10 ms.
    let notes = roofline.notes.join(" ");
    assert!(notes.contains("they overlap"), "{notes}");
}

#[test]
fn the_limit_follows_from_the_ridge_and_the_distance() {
    let roofline = roofline();
    let swiglu = point(&roofline, Grain::Kernel, "swiglu forward");
    // 0.4 FLOP/byte under 4 TB/s: 1.6 TFLOP/s attainable, 0.16 reached.
    assert!((swiglu.attainable.unwrap() - 1.6e12).abs() < 1e6);
    assert!((swiglu.share.unwrap() - 0.1).abs() < 1e-9);
    assert_eq!(swiglu.bound, Some(RooflineLimit::Overhead));
    let naive = point(&roofline, Grain::Kernel, "swiglu_naive forward");
    // 200 FLOP/byte: the vector units' 50 TFLOP/s are the limit. The kernel reaches 64, more than was calibrated.
    assert_eq!(
        (naive.bound, naive.attainable),
        (Some(RooflineLimit::Arithmetic), Some(5e13))
    );
    let norm = point(&roofline, Grain::Kernel, "rmsnorm backward");
    // 102 MB in 0.4 ms: 255 GB/s of 4 TB/s.
    assert_eq!(norm.bound, Some(RooflineLimit::Overhead));
    assert!(norm.what_would_help.as_ref().unwrap().contains("occupancy"));
    // Measured ceilings come before those of the data sheet.
    let lines: Vec<(&str, CeilingSource)> = roofline
        .ceilings
        .iter()
        .map(|line| (line.label.as_str(), line.source))
        .collect();
    assert_eq!(lines[0], ("f32 products", CeilingSource::Measured));
    assert_eq!(lines.last(), Some(&("memory", CeilingSource::DataSheet)));
}

/// V1 to V3 on a GPU say that tuning chose. It is not known whether a product's operands were rounded, unless the product
/// was faster than f32 can be.
#[test]
fn products_that_tuning_chose_are_held_against_f32_until_they_are_faster() {
    let limit = |precision: &str, device_ms: f64| {
        let kernels = KERNELS.replace(
            r#""launches_per_step":33,"device_ms_per_step":2.0"#,
            &format!(r#""launches_per_step":33,"device_ms_per_step":{device_ms}"#),
        );
        let mut run = run(&kernels.replace('\n', ""));
        run.hello.matmul_precision = precision.to_owned().into();
        let roofline = of_run(&run, None, &works());
        point(&roofline, Grain::Kernel, "matrix products forward").attainable
    };
    let chosen = "f32, operands rounded to tf32 where tuning finds it faster";
    let (f32, tf32) = (
        limit("f32", 2.0),
        limit("tf32 operands, by cuBLASLt 13.1.0", 2.0),
    );
    assert!(f32 < tf32, "{f32:?} {tf32:?}");
    assert_eq!(limit(chosen, 2.0), f32);
    assert_eq!(limit(chosen, 0.1), tf32);
}

#[test]
fn phases_split_the_step_and_the_parts_sum_over_layers() {
    let roofline = roofline();
    let flops = |grain, name| point(&roofline, grain, name).flops;
    let phases: f64 = ["forward", "backward", "optimizer"]
        .iter()
        .map(|name| flops(Grain::Phase, name))
        .sum();
    assert!((phases / flops(Grain::Step, "step") - 1.0).abs() < 1e-12);
    assert_eq!(point(&roofline, Grain::Part, "attention").ms, 4.0);
}

#[test]
fn without_ceilings_points_stay_and_nothing_is_judged() {
    let mut run = run("not an event");
    run.hello.device = "a GPU nobody wrote a data sheet of".into();
    let roofline = of_run(&run, None, &[]);
    assert!(
        roofline
            .points
            .iter()
            .all(|point| point.bound.is_none() && point.share.is_none())
    );
    assert!(!roofline.points.is_empty());
    let notes = roofline.notes.join(" ");
    assert!(notes.contains("calibrate"), "{notes}");
    insta::assert_snapshot!(roofline.notes.join("\n"));
}

#[test]
fn the_diagram_shows_every_point_and_labels_its_sources() {
    let roofline = roofline();
    let shown = roofline.letters().into_iter().flatten().count();
    let svg = svg::document(&roofline);
    assert!(svg.contains("data sheet") && svg.contains("measured") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<circle").count(), shown);
    assert!(
        !svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<script"),
        "{svg}"
    );
}

/// Rows as `rocprofv3 --pmc` writes them: one per counter and launch.
fn counter_file(kernels: &[(&str, &[(&str, f64)])]) -> tempfile::TempDir {
    const NEEDED: [&str; 18] = [
        "SQ_INSTS_VALU_ADD_F16",
        "SQ_INSTS_VALU_MUL_F16",
        "SQ_INSTS_VALU_TRANS_F16",
        "SQ_INSTS_VALU_FMA_F16",
        "SQ_INSTS_VALU_ADD_F32",
        "SQ_INSTS_VALU_MUL_F32",
        "SQ_INSTS_VALU_TRANS_F32",
        "SQ_INSTS_VALU_FMA_F32",
        "SQ_INSTS_VALU_ADD_F64",
        "SQ_INSTS_VALU_MUL_F64",
        "SQ_INSTS_VALU_TRANS_F64",
        "SQ_INSTS_VALU_FMA_F64",
        "SQ_INSTS_VALU_MFMA_MOPS_F16",
        "SQ_INSTS_VALU_MFMA_MOPS_BF16",
        "SQ_INSTS_VALU_MFMA_MOPS_F32",
        "SQ_INSTS_VALU_MFMA_MOPS_F64",
        "FETCH_SIZE",
        "WRITE_SIZE",
    ];
    let mut text = String::from(
        r#""Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp""#,
    );
    for (dispatch, (kernel, values)) in kernels.iter().enumerate() {
        for counter in NEEDED {
            let value = values.iter().find(|(name, _)| *name == counter);
            let value = value.map_or(0.0, |(_, value)| *value);
            let start = 1000 * dispatch;
            text.push_str(&format!(
                "\n{dispatch},{dispatch},\"Agent 1\",1,1,1,65536,{dispatch},\"{kernel}\",256,0,0,8,0,16,\"{counter}\",{value:.6},{start},{}",
                start + 500
            ));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1_counter_collection.csv"), text).unwrap();
    folder
}

#[test]
fn counted_work_is_held_against_hardware_counters_kernel_by_kernel() {
    // 12 000 wave instructions of 64 lanes with 2 operations, 1000 with one: 1.6 MFLOP. 20 000 + 10 000 KiB of traffic.
    let seen: &[(&str, f64)] = &[
        ("SQ_INSTS_VALU_FMA_F32", 12_000.0),
        ("SQ_INSTS_VALU_ADD_F32", 1000.0),
        ("FETCH_SIZE", 20_000.0),
        ("WRITE_SIZE", 10_000.0),
    ];
    let folder = counter_file(&[
        ("swiglu_forward_f_f32", seen),
        ("swiglu_naive_forward_f_f32", seen),
        ("rmsnorm_backward_f_f32", seen),
        ("matmul_entry_2", seen),
        ("somebody_elses", seen),
    ]);
    let imported = tinyllama_profile::read::import(folder.path()).unwrap();
    let checks = against_counters(&roofline(), &imported.profile);
    let matched: Vec<(&str, &str)> = checks
        .iter()
        .map(|check| (check.kernel.as_str(), check.point.as_str()))
        .collect();
    // RMSNorm's backward pass has a second kernel, and matrix products have many shapes.
    assert_eq!(
        matched,
        [
            ("swiglu_forward_f_f32", "swiglu forward"),
            ("swiglu_naive_forward_f_f32", "swiglu_naive forward"),
        ]
    );
    let swiglu = &checks[0];
    assert_eq!((swiglu.counted_flops, swiglu.counted_bytes), (1e7, 2.5e7));
    assert_eq!(swiglu.counter_flops, 64.0 * 25_000.0);
    assert_eq!(swiglu.counter_bytes, 30_000.0 * 1024.0);
}
