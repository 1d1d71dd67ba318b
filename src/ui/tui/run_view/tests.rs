//! Draws runs on screens of every size.

use ratatui::prelude::{Buffer, Rect};

use super::*;
use crate::tui::{Panel, Theme, sheet};
use tinyllama_contract::Body;
use tinyllama_runs::{Line as RunLine, read_line};
use tinyllama_runs::{Metric, MetricUnit};
use tinyllama_session::RunExit;

/// A run on a GPU with launches, memory and kernels. The times of its `steps` steps are deterministic.
fn gpu_run(steps: usize) -> Vec<String> {
    let of = steps;
    let mut lines = vec![
        r#"{"t":0.4,"event":"hello","stream":1,"version":"0.1.0","target":"v2","recipe":{"qkv":"fused","gate_up":"fused","attention":"kernel","operations":"library","graph_fusion":true},"backend":"cuda","device":"NVIDIA H200","arch":"sm_90","driver":"580.82.07","device_memory":150754820096,"config":{"vocabulary":1000,"hidden":512,"layers":8,"heads":8,"kv_heads":4,"ffn":2048,"sequence_length":128,"batch_size":8},"seed":42,"parameters":31990272,"parameter_tensors":74,"dtype":"bf16","matmul_precision":"tf32","learning_rate":0.0003,"weight_decay":0.01,"steps":40,"warmup":3,"data":{"kind":"synthetic"},"deterministic":false,"synchronize":"phases"}"#.to_owned(),
        r#"{"t":1.0,"event":"phase","phase":"compile","progress":0.4,"eta_s":21.0,"message":"first step: compiling and tuning kernels (412 launches, 14 s)"}"#.to_owned(),
    ];
    for n in 1..=steps {
        if n == 2 {
            lines.push(r#"{"t":36.0,"event":"phase","phase":"warm-up","progress":null,"eta_s":null,"message":"3 steps that are not counted"}"#.to_owned());
        }
        if n == 4 {
            lines.push(r#"{"t":36.1,"event":"phase","phase":"measure","progress":null,"eta_s":null,"message":"40 counted steps"}"#.to_owned());
        }
        let wave = ((n * 7919) % 13) as f64 / 13.0;
        let forward = 6.1 + 0.4 * wave;
        let backward = 11.8 + 0.9 * wave;
        let total = if n == 1 {
            34_210.0
        } else {
            forward + backward + 2.9
        };
        let loss = 6.95 * (-0.03 * n as f64).exp() + 0.02 * wave;
        lines.push(format!(
            r#"{{"t":{},"event":"step","n":{n},"of":{of},"measured":{},"loss":{loss},"total_ms":{total},"forward_ms":{forward},"backward_ms":{backward},"optimizer_ms":2.85,"synchronized":true,"launches":1033,"bytes_in_use":{},"bytes_reserved":{},"samples_per_s":{}}}"#,
            36.0 + 0.024 * n as f64,
            n > 3,
            547_608_330 + 20_000_000 * (n % 3),
            629_145_600 + 40_000_000 * usize::from(n > 20),
            8000.0 / total,
        ));
    }
    lines
}

const NOTE: &str = r#"{"t":36.2,"event":"note","message":"float32 matrix products are computed in TF32: 10 bits of mantissa instead of 23"}"#;

const KERNELS: &str = r#"{"t":40.0,"event":"kernels","steps":5,"launches_per_step":1033.0,"device_ms_per_step":17.94,"span_ms_per_step":20.4,"kernels":[
{"name":"matmul_entry_f32_f32_f32_cmma_128x128x32","part":"backward","launches_per_step":112.0,"device_ms_per_step":7.8123,"fused_operations":null},
{"name":"matmul_entry_f32_f32_f32_cmma_128x128x32","part":"layer 0 ffn","launches_per_step":16.0,"device_ms_per_step":3.1,"fused_operations":null},
{"name":"elemwise_fuse","part":"backward","launches_per_step":402.0,"device_ms_per_step":2.4051,"fused_operations":6.2},
{"name":"reduce_fuse","part":"layer 0 attention","launches_per_step":33.0,"device_ms_per_step":0.9,"fused_operations":3.0},
{"name":"gather_kernel","part":"embedding","launches_per_step":1.0,"device_ms_per_step":0.011,"fused_operations":null},
{"name":"elemwise_fuse","part":"optimizer","launches_per_step":469.0,"device_ms_per_step":3.7,"fused_operations":14.0}]}"#;

const PARTS: &str = r#"{"t":40.1,"event":"parts","source":"counted from shapes","parts":[{"part":"embedding","flops":0.0,"bytes":4194304.0,"device_ms":0.011},{"part":"layer 0 attention","flops":2147483648.0,"bytes":31457280.0,"device_ms":0.9},{"part":"layer 0 ffn","flops":6442450944.0,"bytes":46137344.0,"device_ms":3.1},{"part":"backward","flops":17179869184.0,"bytes":163577856.0,"device_ms":10.2174},{"part":"optimizer","flops":447863808.0,"bytes":895727616.0,"device_ms":3.7}],"flops_per_step":26217667584.0,"bytes_per_step":1141094400.0,"achieved_flops_per_s":1250000000000.0}"#;

const SUMMARY: &str = r#"{"t":40.2,"event":"summary","complete":true,"steps":43,"measured_steps":40,"samples":320,"samples_per_s":379.1,"tokens_per_s":48524.8,"total_ms":{"mean":21.3,"median":21.2,"p10":20.8,"p90":21.9},"forward_ms":{"mean":6.3,"median":6.3,"p10":6.1,"p90":6.5},"backward_ms":{"mean":12.2,"median":12.2,"p10":11.8,"p90":12.6},"optimizer_ms":{"mean":2.85,"median":2.85,"p10":2.85,"p90":2.85},"synchronized":true,"first_step_ms":34210.0,"launches_per_step":1033.0,"peak_bytes_in_use":587608330,"peak_bytes_reserved":669145600,"first_loss":6.75,"final_loss":1.92,"parameters":31990272,"parameter_tensors":74,"parameters_with_gradient":74,"repeatability":null}"#;

fn context() -> RunContext {
    RunContext {
        target: "v2".into(),
        recording: None,
        prediction: Some(LearnerPrediction {
            label: "step time".into(),
            value: 15.0,
            unit: MetricUnit::Milliseconds,
            metric: Some(Metric::TotalMs),
        }),
        round: None,
    }
}

fn view(lines: &[String]) -> RunView {
    let mut view = RunView::new(context());
    feed(&mut view, lines);
    view
}

fn feed(view: &mut RunView, lines: &[String]) {
    for line in lines {
        view.state.line(&read_line(line));
    }
}

fn finished() -> RunView {
    let mut view = view(&gpu_run(43));
    for line in [NOTE, KERNELS, PARTS, SUMMARY] {
        view.state.line(&read_line(&line.replace('\n', "")));
    }
    for second in 0..41 {
        let gpu = GpuStatus {
            id: "0000:1b:00.0".into(),
            name: Some("NVIDIA H200".into()),
            busy: Some(97.0),
            memory_used: Some(1_288_490_188),
            temperature: Some(45.0),
            power: Some(120.0 + f64::from(second) * 5.0),
        };
        view.gpu(36.0 + f64::from(second) * 0.03, &[gpu], "NVML");
    }
    view.ended(ended(RunExit::Status(0)));
    view
}

/// An ending with no further information.
pub fn ended(exit: RunExit) -> RunEnding {
    RunEnding {
        exit: Some(exit),
        message: String::new(),
        remedy: None,
        ..RunEnding::default()
    }
}

fn sheet_of(view: &RunView) -> String {
    sheet::sheet(|pane| view.draw(pane))
}

#[test]
fn a_run_that_compiles_says_how_far_it_is() {
    let mut view = view(&gpu_run(0));
    view.clock(8.0, None);
    insta::assert_snapshot!("compiling", sheet_of(&view));
}

#[test]
fn a_run_in_a_queue_says_why_and_for_how_long() {
    let waits = r#"{"t":1.0,"event":"phase","phase":"queue","progress":null,"eta_s":90.0,"message":"job 7 waits: nodes that suit are busy (Resources)"}"#;
    let mut view = view(&[waits.to_owned()]);
    view.clock(31.0, None);
    let sheet = sheet_of(&view);
    assert!(sheet.contains("waiting, about "), "{sheet}");
    assert!(
        sheet.contains("job 7 waits: nodes that suit are busy"),
        "{sheet}"
    );
}

#[test]
fn a_run_on_a_gpu_in_its_middle() {
    let mut lines = gpu_run(43);
    lines.truncate(34);
    let mut view = view(&lines);
    view.state.line(&read_line(NOTE));
    insta::assert_snapshot!("measuring", sheet_of(&view));
}

#[test]
fn a_finished_run_in_every_section() {
    let mut view = finished();
    insta::assert_snapshot!("finished_overview", sheet_of(&view));
    for name in [
        "times", "loss", "device", "kernels", "steps", "log", "setup",
    ] {
        assert!(view.act(PanelAction::NextSection));
        insta::assert_snapshot!(format!("finished_{name}"), sheet_of(&view));
    }
    assert!(view.act(PanelAction::NextSection));
    assert_eq!(view.section.at, 0);
}

#[test]
fn a_run_on_the_processor_reports_neither_launches_nor_memory() {
    let stream = include_str!("../../../../tests/fixtures/runs/v1_cpu.jsonl");
    let lines: Vec<String> = stream.lines().map(str::to_owned).collect();
    let mut view = view(&lines);
    view.ended(ended(RunExit::Status(0)));
    let text = sheet_of(&view);
    assert!(text.contains("not reported"));
    insta::assert_snapshot!("cpu_overview", text);
    for _ in 0..3 {
        view.act(PanelAction::NextSection);
    }
    insta::assert_snapshot!("cpu_device", sheet_of(&view));
}

#[test]
fn the_memory_of_the_whole_process_is_said_in_full_in_any_column() {
    let stream = include_str!("../../../../tests/fixtures/runs/v1_cpu.jsonl");
    let unknown = r#""peak_bytes_in_use":null"#;
    assert!(stream.contains(unknown));
    let stream = stream.replace(
        unknown,
        &format!(r#""process_peak_bytes":260993843,{unknown}"#),
    );
    let lines: Vec<String> = stream.lines().map(str::to_owned).collect();
    let mut view = view(&lines);
    view.ended(ended(RunExit::Status(0)));
    for wide in [24, 33, 80] {
        let figures = figures::lines(&view.state, wide, &Theme::new(true, false));
        let figures: Vec<String> = figures.iter().map(ToString::to_string).collect();
        let figures = figures.join(" ");
        let words = figures.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = "memory 248.9 MiB at most in the whole process";
        assert!(words.contains(whole), "{wide}: {words}");
    }
}

/// The parts are the host's time only, so they do not add up. In a stage of the detective story the learner has to find out why.
#[test]
fn time_that_is_in_no_part_is_said_to_be_missing() {
    let sheet = |synchronize: &str| sheet_of(&unsynchronized(synchronize));
    insta::assert_snapshot!("unsynchronized", sheet("never"));
    assert!(sheet("never").contains("83.8 % of the step is in no part: the clock was read"));
    let puzzle = sheet("host-parts");
    assert!(
        puzzle.contains("83.8 % of the step is in no part"),
        "{puzzle}"
    );
    assert!(!puzzle.contains("clock was read"), "{puzzle}");
}

fn unsynchronized(synchronize: &str) -> RunView {
    let lines: Vec<String> = gpu_run(12)
        .iter()
        .map(|line| {
            let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
            if event["event"] == "hello" {
                event["synchronize"] = synchronize.into();
            }
            if event["event"] == "step" {
                event["synchronized"] = false.into();
                event["forward_ms"] = 1.2.into();
                event["backward_ms"] = 1.9.into();
                event["optimizer_ms"] = 0.4.into();
            }
            event.to_string()
        })
        .collect();
    view(&lines)
}

#[test]
fn a_failure_comes_with_its_remedy_and_the_last_words() {
    let mut view = view(&gpu_run(2));
    view.state.line(&read_line(
        r#"{"t":50.0,"event":"error","code":"out-of-memory","message":"the device has 12.0 GiB and the step asked for another 3.2 GiB","remedy":"use a smaller batch: --batch-size 4, or another configuration: --config tiny"}"#,
    ));
    view.ended(ended(RunExit::Status(1)));
    insta::assert_snapshot!("out_of_memory", sheet_of(&view));

    let mut killed = super::tests::view(&gpu_run(20));
    killed.ended(RunEnding {
        remedy: Some("see what the kernel log says: dmesg".into()),
        stderr: "thread 'main' panicked at src/main.rs:1\nMemory access fault by GPU node-1\n"
            .into(),
        ..ended(RunExit::Signal(6))
    });
    insta::assert_snapshot!("killed", sheet_of(&killed));
}

#[test]
fn a_run_that_says_nothing_says_since_when_and_how_to_end_it_until_it_speaks() {
    let [mut view, mut never_silent] = [(); 2].map(|()| view(&gpu_run(5)));
    view.clock(140.0, Some(65.4));
    insta::assert_snapshot!("silent", sheet_of(&view));
    never_silent.clock(140.0, None);
    let step = &gpu_run(6)[9..];
    feed(&mut view, step);
    feed(&mut never_silent, step);
    assert_eq!(sheet_of(&view), sheet_of(&never_silent));
}

#[test]
fn a_run_of_a_hundred_thousand_steps_is_drawn_whole_and_in_its_latest() {
    let mut view = view(&gpu_run(3));
    let RunLine::Event(mut event) = read_line(&gpu_run(4).pop().unwrap()) else {
        panic!("no event");
    };
    for n in 4..=100_000_u32 {
        let total = if n == 70_000 {
            240.0
        } else {
            20.0 + f64::from(n % 97) / 50.0
        };
        if let Body::Step(step) = &mut event.body {
            step.n = n as usize;
            step.of = 100_000;
            step.total_ms = total;
            step.forward_ms = None;
        }
        view.state.line(&RunLine::Event(event.clone()));
    }
    assert_eq!(view.state.times[&Metric::TotalMs].steps, 99_997);
    view.act(PanelAction::NextSection);
    assert!(view.act(PanelAction::Toggle));
    insta::assert_snapshot!("hundred_thousand_steps", sheet_of(&view));
}

#[test]
fn any_area_and_any_state_is_drawn_without_a_panic() {
    let views = [view(&[]), view(&gpu_run(1)), view(&gpu_run(5)), finished()];
    for view in views {
        let mut view = view;
        for _ in SECTIONS {
            for (width, height) in [
                (0, 0),
                (1, 1),
                (5, 2),
                (20, 7),
                (40, 10),
                (200, 3),
                (12, 60),
            ] {
                let area = Rect::new(0, 0, width, height);
                for theme in [Theme::default(), Theme::new(true, true)] {
                    let mut buffer = Buffer::empty(area);
                    view.draw(Pane::new(area, &mut buffer, &theme));
                }
            }
            for action in [
                PanelAction::Bottom,
                PanelAction::PageDown,
                PanelAction::Right,
                PanelAction::Toggle,
                PanelAction::Sort,
                PanelAction::Top,
            ] {
                view.act(action);
            }
            assert!(!view.commands().is_empty());
            view.act(PanelAction::NextSection);
        }
    }
}

#[test]
fn a_stop_by_the_learner_is_no_failure_and_an_open_kernel_shows_its_parts() {
    let mut stopped = view(&gpu_run(20));
    stopped.ended(RunEnding {
        stopped: true,
        ..ended(RunExit::Status(143))
    });
    let text = sheet_of(&stopped);
    insta::assert_snapshot!(text.lines().nth(2).unwrap(), @"✗ stopped after step 20 of 20");
    assert!(!text.contains("status 143"), "{text}");

    let mut view = finished();
    for _ in 0..4 {
        view.act(PanelAction::NextSection);
    }
    assert!(!sheet_of(&view).contains("  layer 0 ffn "));
    assert!(view.act(PanelAction::Select));
    let text = sheet_of(&view);
    assert!(text.contains("  layer 0 ffn "), "{text}");
    assert!(text.contains("█████"), "bars: {text}");
}

#[test]
fn kernels_are_sorted_by_what_was_asked_for() {
    let mut view = finished();
    for _ in 0..4 {
        view.act(PanelAction::NextSection);
    }
    let first = |view: &RunView| {
        let area = Rect::new(0, 0, 100, 30);
        let mut buffer = Buffer::empty(area);
        view.draw(Pane::new(area, &mut buffer, &Theme::default()));
        let text = sheet::text(&buffer);
        let header = text.lines().position(|line| line.starts_with("kernel "));
        text.lines().nth(header.unwrap() + 1).unwrap().to_owned()
    };
    // Two parts launch it. Folded, it comes first with the sum of both.
    assert!(first(&view).contains("10.9123"), "{}", first(&view));
    insta::assert_snapshot!(view.commands()[3].1, @"sort by launches");
    assert!(view.act(PanelAction::Sort));
    assert!(first(&view).contains("871"), "{}", first(&view));
    assert!(view.act(PanelAction::Sort));
    assert!(
        first(&view).starts_with("elemwise_fuse"),
        "{}",
        first(&view)
    );
}
