//! `benchmark`: measures V4's gains and their parts.

mod gemm;
mod launches;
mod shapes;

use anyhow::Result;
use clap::Subcommand;

use super::Exit;
use super::analysis::AnalysisCommand;

#[derive(Debug, Subcommand)]
pub enum BenchmarkCommand {
    /// Compare V4's replayed graph with the same step launch by launch, and with other targets, at several shapes
    V4(Box<AnalysisCommand<shapes::ShapesArgs>>),
    /// List each launch of V4's schedule: time, operations, bytes, and the share of the device's peak rates
    Launches(Box<AnalysisCommand<launches::LaunchesArgs>>),
    /// Compare V4's matrix products by the vendor's library and as V3 multiplies
    Gemm(Box<AnalysisCommand<gemm::GemmArgs>>),
}

pub fn run(command: &BenchmarkCommand) -> Result<Exit> {
    match command {
        BenchmarkCommand::V4(args) => args.run(),
        BenchmarkCommand::Launches(args) => args.run(),
        BenchmarkCommand::Gemm(args) => args.run(),
    }
}
