//! Tests tables of NVIDIA's Nsight Compute 2025, written on an H100, and what happens to damaged ones.

use std::path::Path;

use tinyllama_profile::{
    GroupBy, Import, KernelParts, ReportOptions, counters, hotspots, import, report,
};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nsight_compute");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn read(bytes: &[u8]) -> Import {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ncu.csv");
    std::fs::write(&path, bytes).unwrap();
    import(&path).unwrap()
}

fn read_whole(name: &str) -> Import {
    let import = read(fixture(name).as_bytes());
    assert_eq!(import.damage, [], "{name}");
    assert_eq!(import.taken[0].format.name, "Nsight Compute (CSV)");
    import
}

/// Name, calls, total, shortest and longest time of each kernel.
fn sums(import: &Import) -> Vec<(String, u64, f64, f64, f64)> {
    let found = hotspots(&import.profile, GroupBy::ShortName, &KernelParts::default());
    let kernels = found.kernels.into_iter();
    let sums = kernels.map(|it| {
        let (least, most) = (it.min_ns.unwrap(), it.max_ns.unwrap());
        (it.name, it.calls, it.total_ns, least, most)
    });
    sums.collect()
}

fn sum(name: &str, times: &[f64]) -> (String, u64, f64, f64, f64) {
    let least = times.iter().copied().fold(f64::MAX, f64::min);
    let most = times.iter().copied().fold(0.0, f64::max);
    let total = times.iter().sum();
    (name.to_owned(), times.len() as u64, total, least, most)
}

fn mean(import: &Import, kernel: &str, counter: &str) -> f64 {
    let kernels = counters(&import.profile);
    let kernel = kernels.iter().find(|it| it.kernel.contains(kernel));
    kernel.unwrap().counters[counter].mean
}

fn shown(import: &Import) -> String {
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: 20,
    };
    let tables = report(&import.profile, &KernelParts::default(), options);
    tables.iter().map(|table| table.render(80)).collect()
}

#[test]
fn durations_of_every_layout_become_hotspots() {
    // The numbers that the files have, by eye.
    let files = [
        ("details.csv", [79_360.0, 72_128.0, 2848.0]),
        ("raw.csv", [79_104.0, 72_224.0, 2848.0]),
        ("imported.csv", [79_520.0, 71_488.0, 3072.0]),
    ];
    for (name, [tile, large, small]) in files {
        let import = read_whole(name);
        let expected = [sum("tile", &[tile]), sum("saxpy", &[large, small])];
        assert_eq!(sums(&import), expected, "{name}");
        let profile = &import.profile;
        assert!(!profile.is_timed(), "{name}: no start is known");
        let shown = shown(&import);
        let note = shown.lines().find(|line| line.contains("summary"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(
                note.unwrap_or(&shown).trim(),
                @"from a summary; the file has no single launches with their times"
            );
        }
        assert!(!shown.contains("Idle"), "{shown}");
    }
}

#[test]
fn metrics_become_counters_in_base_units() {
    let details = read_whole("details.csv");
    let clock = (2_618_722_271.52 + 2_575_280_898.88) / 2.0;
    assert_eq!(mean(&details, "saxpy", "DRAM Frequency (hz)"), clock);
    assert_eq!(
        mean(&details, "tile", "Registers Per Thread (register/thread)"),
        16.0
    );
    let limits = counters(&details.profile).remove(0).counters;
    assert!(!limits.contains_key("Block Limit Warps (block)"));
    assert!(shown(&details).contains("Memory Throughput (%)"));
    let raw = read_whole("raw.csv");
    let bytes = (134_227_200.0 + 19_200.0) / 2.0;
    assert_eq!(mean(&raw, "saxpy", "dram__bytes_read.sum (byte)"), bytes);
    // The same metric in Mbyte and Tbyte/s, as an import of a report writes it.
    let imported = read_whole("imported.csv");
    let bytes = (134_227_456.0 + 19_200.0) / 2.0;
    let found = mean(&imported, "saxpy", "dram__bytes_read.sum (byte)");
    assert!((found - bytes).abs() < 1e-3, "{found}");
    let rate = mean(&imported, "tile", "dram__bytes.sum.per_second (byte/s)");
    assert!((rate - 1.48782e12).abs() < 1e3, "{rate}");
    for import in [&raw, &imported] {
        let names = counters(&import.profile).remove(0).counters;
        let is_constant = |name: &String| name.starts_with("device__");
        assert!(!names.keys().any(is_constant), "{names:?}");
        assert!(names.contains_key("launch__registers_per_thread (register/thread)"));
    }
    let shown = shown(&raw);
    assert!(shown.contains("dram__bytes_read.sum (byte)"), "{shown}");
    assert!(shown.contains("6.712e7"), "{shown}");
}

#[test]
fn units_of_every_version_and_prefix_have_one_base() {
    let table = |unit: &str, value: &str| {
        format!(
            "==PROF== Connected\n\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
             \"0\",\"1\",\"k\",\"Duration\",\"{unit}\",\"{value}\"\n\"0\",\"1\",\"k\",\"x\",\"{unit}\",\"{value}\"\n"
        )
    };
    for (unit, value) in [
        ("ns", "12,500"),
        ("nsecond", "12500"),
        ("us", "12.50"),
        ("usecond", "12.5"),
        ("msecond", "0.0125"),
        ("second", "1.25e-05"),
    ] {
        let import = read(table(unit, value).as_bytes());
        assert_eq!(import.damage, [], "{unit}");
        assert_eq!(sums(&import), [sum("k", &[12_500.0])], "{unit}");
        let seconds = mean(&import, "k", "x (s)");
        assert!((seconds - 1.25e-5).abs() < 1e-12, "{unit}: {seconds}");
    }
    let import = read(table("cycle/nsecond", "1.5").as_bytes());
    let rate = mean(&import, "k", "x (cycle/s)");
    assert!((rate - 1.5e9).abs() < 1.0, "{rate}");
    let import = read(table("Kbyte/block", "4.10").as_bytes());
    let bytes = mean(&import, "k", "x (byte/block)");
    assert!((bytes - 4100.0).abs() < 1e-6, "{bytes}");
}

#[test]
fn damage_is_named_and_the_rest_is_kept() {
    let whole = fixture("details.csv");
    let duration = "\"Duration\",\"ns\",\"72,128\"";
    assert!(whole.contains(duration));
    let problems = ["-5", "9e999", "soon"].map(|value| {
        let broken = whole.replace(duration, &format!("\"Duration\",\"ns\",\"{value}\""));
        let import = read(broken.as_bytes());
        let [damage] = &import.damage[..] else {
            panic!("{:?}", import.damage)
        };
        let place = (damage.location.line, damage.location.column);
        assert_eq!(place, (Some(11), Some(15)), "{damage}");
        assert_eq!(import.profile.dispatches.len(), 3);
        assert_eq!(sums(&import)[1], sum("saxpy", &[2848.0]));
        damage.problem.clone()
    });
    insta::assert_snapshot!(problems.join("\n"));
    for missing in ["", "n/a", "nan"] {
        let broken = whole.replace(duration, &format!("\"Duration\",\"ns\",\"{missing}\""));
        let import = read(broken.as_bytes());
        assert_eq!(import.damage, [], "{missing}");
        assert_eq!(sums(&import)[1], sum("saxpy", &[2848.0]));
    }
    // Metrics next to a damaged one, in one row with it.
    let raw = fixture("raw.csv").replacen("\"134,227,200\"", "\"lost\"", 1);
    let import = read(raw.as_bytes());
    assert_eq!(import.damage.len(), 1, "{:?}", import.damage);
    assert_eq!(
        mean(&import, "saxpy", "dram__bytes_read.sum (byte)"),
        19_200.0
    );
    assert_eq!(sums(&import)[1], sum("saxpy", &[72_224.0, 2848.0]));
}

#[test]
fn a_cut_file_keeps_its_launches() {
    for name in ["details.csv", "raw.csv"] {
        let whole = fixture(name);
        let cut = whole.rfind("\"2\",").unwrap() + 60;
        let import = read(&whole.as_bytes()[..cut]);
        assert_eq!(import.damage.len(), 1, "{name}");
        let problem = &import.damage[0].problem;
        let (_, remedy) = problem.split_once("; ").unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(
                remedy,
                @"the file was probably cut off here: profile again, and let the program finish"
            );
        }
        assert!(import.profile.dispatches.len() >= 2, "{name}");
    }
}

#[test]
fn several_outputs_in_one_file_are_read_one_after_the_other() {
    let twice = fixture("raw.csv") + &fixture("raw.csv");
    let import = read(twice.as_bytes());
    // The program's two lines of output are no rows.
    assert!(import.damage.len() <= 2, "{:?}", import.damage);
    assert_eq!(sums(&import)[0], sum("tile", &[79_104.0, 79_104.0]));
}

#[test]
fn a_decimal_comma_is_refused_with_what_to_do() {
    // `72.128` would be read as 72 nanoseconds.
    let swapped = fixture("details.csv").replace("\"72,128\"", "\"72.128\"");
    let percent = fixture("details.csv").replace("\"76.78\"", "\"76,78\"");
    for broken in [swapped, percent] {
        let import = read(broken.as_bytes());
        assert!(import.profile.is_empty());
        assert_eq!(import.damage.len(), 1);
        assert!(import.damage[0].problem.contains("LC_ALL=C"));
    }
}

#[test]
fn output_without_a_table_says_how_to_get_one() {
    let text = "==PROF== Connected to process 7\n  saxpy (65536, 1, 1)x(256, 1, 1)\n    Duration us 72.13\n";
    for (bytes, remedy) in [
        (text.as_bytes(), "--csv --page raw"),
        (b"NVR\0\x10\0\0\0".as_slice(), "--import FILE --csv"),
        (
            b"\"ID\",\"Process ID\",\"Kernel Name\",\"Context\"\n\"0\",\"1\",\"k\",\"1\"\n",
            "--csv --page raw",
        ),
    ] {
        let import = read(bytes);
        let reason = &import.passed_over[0].reason;
        assert!(reason.contains(remedy), "{reason}");
    }
}

/// The layout of published source pages: a line with the kernel, a header, a row an instruction.
#[test]
fn samples_of_a_source_page_are_counted_by_instruction_and_reason() {
    let header = "\"Address\",\"Source\",\"Warp Stall Sampling (All Samples)\",\"Warp Stall Sampling (Not-issued Samples)\",\"# Samples\",\"Access Size\",\"stall_barrier\",\"stall_long_sb\",\"stall_selected\",\"stall_barrier (Not Issued)\"";
    let page = format!(
        "\"Kernel Name\",\"void tile<(int)8>(float *, int)\",\n{header}\n\
         \"0x7fc48541d900\",\"      MOV R1, c[0x0][0x28] \",\"42\",\"32\",\"42\",\"-\",\"0\",\"32\",\"10\",\"0\"\n\
         \"0x7fc48541d910\",\"      BAR.SYNC \",\"8\",\"8\",\"8\",\"-\",\"8\",\"0\",\"0\",\"8\"\n\
         \"Kernel Name\",\"saxpy\"\n{header}\n\
         \"0x7fc48541e000\",\"      MOV R1, c[0x0][0x28] \",\"0\",\"0\",\"0\",\"-\",\"0\",\"0\",\"0\",\"0\"\n\
         \"0x7fc48541e010\",\"      EXIT \",\"50\",\"0\",\"50\",\"-\",\"0\",\"0\",\"50\",\"0\"\n"
    );
    let import = read(page.as_bytes());
    assert_eq!(import.damage, []);
    assert_eq!(
        import.taken[0].format.name,
        "Nsight Compute source page (CSV)"
    );
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: 20,
    };
    let tables = report(&import.profile, &KernelParts::default(), options);
    let rows: Vec<&[Vec<String>]> = tables.iter().map(|table| &table.rows[..]).collect();
    assert_eq!(
        rows,
        [
            &[
                [
                    "MOV R1, c[0x0][0x28]",
                    "42",
                    "84.0 %",
                    "long_sb (32)",
                    "0x0"
                ]
                .map(str::to_owned)
                .to_vec(),
                ["BAR.SYNC", "8", "16.0 %", "barrier (8)", "0x10"]
                    .map(str::to_owned)
                    .to_vec(),
            ][..],
            &[["EXIT", "50", "100.0 %", "0x10"]
                .map(str::to_owned)
                .to_vec()],
        ]
    );
    assert_eq!(
        tables[1].title,
        "Instructions of saxpy the program counter was seen at (50 samples)"
    );
    let by_line = page.replace("\"Address\",\"Source\"", "\"Line No\",\"Source\"");
    let refused = read(by_line.as_bytes());
    assert!(
        refused.passed_over[0]
            .reason
            .contains("--print-source sass")
    );
}
