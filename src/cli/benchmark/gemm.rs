//! `benchmark gemm`: compares V4's products by the vendor's library and as V3 multiplies.

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::cli::analysis::{Analysis, AnalysisPage, AnalysisResult};
use tinyllama_base::errln;
use tinyllama_base::table::TableColumns;
use tinyllama_base::units::{factor, number};
use tinyllama_contract::flags::TrainingArgs;
use tinyllama_engine::device::{self, BackendChoice, CacheSettings, Tuning};
use tinyllama_engine::targets::v4::products::{ProductTable, ProductTimes};
use tinyllama_engine::targets::v4::{self, products};
use tinyllama_engine::train::{Gemm, float_dtype};

#[derive(Debug, Args)]
pub struct GemmArgs {
    #[command(flatten)]
    training: TrainingArgs,
}

impl Analysis for GemmArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let training = &self.training;
        let mut options = training.options(v4::TARGET)?;
        // Without fusion, burn starts its products immediately.
        device::configure_runtime(CacheSettings {
            fusion: false,
            tuning: Tuning::Full,
        });
        let burn = device::open(training.on.backend, training.on.device.as_deref())?;
        burn.require_dtype(float_dtype(options.operand_dtype()))?;
        // Uses the device that burn opened, not V4's own choice.
        let mut choices = BackendChoice::value_variants().iter().copied();
        let same = choices.find(|choice| choice.backend() == Some(burn.backend));
        if let Some(same) = same {
            options.flags.on.backend = same;
        }
        options.flags.switches.gemm = Gemm::Vendor;
        let ours = v4::open(&options)?;
        let mut progress = |at: usize, of: usize| errln!("  product {at} of {of}");
        let found = products::compare(&options, &ours, &burn, &mut progress)?;
        AnalysisResult::new(&found, page(&found))
    }
}

fn name(times: &ProductTimes) -> String {
    let mark = |transposed| if transposed { "T" } else { "" };
    let (a, b) = (mark(times.a_transposed), mark(times.b_transposed));
    format!("{}x{}x{} a{a} b{b}", times.m, times.n, times.k)
}

fn page(found: &ProductTable) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    let all = |us: fn(&ProductTimes) -> f64| -> f64 {
        let products = found.products.iter();
        products.map(|times| times.count as f64 * us(times)).sum()
    };
    let title = format!(
        "V4's products on {}, {} operands: {} and as V3 multiplies (burn)",
        found.device, found.precision, found.library
    );
    page.table(
        TableColumns::titled(title, &found.products)
            .left("m x n x k", name)
            .right("in a step", |row| row.count.to_string())
            .right("MFLOP", |row| format!("{:.1}", row.flops / 1e6))
            .right("library, graph us", |row| number(row.captured_us, 2))
            .right("library us", |row| format!("{:.2}", row.launched_us))
            .right("burn us", |row| format!("{:.2}", row.burn_us))
            .right("burn / library", |times| factor(times.burn_us / times.launched_us))
            .note(format!(
                "all products of a step, started one by one: {:.0} us by the library, {:.0} us by burn",
                all(|times| times.launched_us),
                all(|times| times.burn_us)
            ))
            .note(
                "the shortest of several rounds in turns. A round starts 20 products one after the other and \
                 waits once. The host's time to start a product is included; a graph saves it",
            ),
    );
    page
}
