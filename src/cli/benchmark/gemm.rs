//! `benchmark gemm`: V4's products by the library it takes and by burn's own.

use std::io;

use anyhow::Result;
use clap::Args;

use crate::analysis::relative::factor;
use crate::base::table::{Align, TextTable};
use crate::base::units::number_or_not;
use crate::cli::Exit;
use crate::cli::analysis::{print_json, print_table};
use crate::cli::training_args::TrainingArgs;
use crate::device::{self, Backend, BackendChoice, CacheSettings, Tuning};
use crate::model::Target;
use crate::train::ultra::products::{self, ProductTable, ProductTimes};
use crate::train::ultra::{self, Gemm};

#[derive(Debug, Args)]
pub struct GemmArgs {
    #[command(flatten)]
    training: TrainingArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(args: &GemmArgs) -> Result<Exit> {
    let training = &args.training;
    let options = training.options(Target::V4)?;
    // Burn's products are to be started as they are asked for.
    device::configure_runtime(CacheSettings {
        fusion: false,
        tuning: Tuning::Full,
    });
    let burn = device::open(training.backend, training.device.as_deref())?;
    burn.require_dtype(options.operand_dtype)?;
    // The device burn has opened, not whatever V4 would choose.
    let choice = match burn.backend {
        Backend::Rocm => BackendChoice::Rocm,
        Backend::Cuda => BackendChoice::Cuda,
        Backend::Vulkan => BackendChoice::Vulkan,
        Backend::Cpu => BackendChoice::Cpu,
    };
    let ours = ultra::open(choice, training.device.as_deref(), Gemm::Vendor)?;
    let mut progress = |at: usize, of: usize| eprintln!("  product {at} of {of}");
    let measured = products::compare(&options, &ours, &burn, &mut progress)?;
    if args.json {
        print_json(&measured)?;
    } else {
        print_table(&mut io::stdout().lock(), &table(&measured))?;
    }
    Ok(Exit::Ok)
}

fn name(times: &ProductTimes) -> String {
    let mark = |transposed| if transposed { "T" } else { "" };
    let (a, b) = (mark(times.a_transposed), mark(times.b_transposed));
    format!("{}x{}x{} a{a} b{b}", times.m, times.n, times.k)
}

fn table(measured: &ProductTable) -> TextTable {
    let mut table = TextTable::new(
        format!(
            "V4's products on {}, {} operands: {} and burn's own (cubek on a GPU)",
            measured.device, measured.precision, measured.library
        ),
        &[
            ("m x n x k", Align::Left),
            ("in a step", Align::Right),
            ("MFLOP", Align::Right),
            ("library, graph us", Align::Right),
            ("library us", Align::Right),
            ("burn us", Align::Right),
            ("burn / library", Align::Right),
        ],
    );
    let mut sums = (0.0, 0.0);
    for times in &measured.products {
        let count = times.count as f64;
        sums = (
            sums.0 + count * times.launched_us,
            sums.1 + count * times.burn_us,
        );
        table.rows.push(vec![
            name(times),
            times.count.to_string(),
            format!("{:.1}", times.flops / 1e6),
            number_or_not(times.captured_us, 2),
            format!("{:.2}", times.launched_us),
            format!("{:.2}", times.burn_us),
            factor(times.burn_us / times.launched_us),
        ]);
    }
    table.notes.push(format!(
        "all products of a step, started one by one: {:.0} us by the library, {:.0} us by burn",
        sums.0, sums.1
    ));
    table.notes.push(
        "least of several rounds in turns, 20 products started one after the other and waited for once; the host's work to \
         start one is part of it, and is what a graph saves"
            .into(),
    );
    table
}
