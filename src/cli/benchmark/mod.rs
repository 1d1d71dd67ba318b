//! `benchmark`: measures V4's gains and their parts.

mod gemm;
mod launches;
mod replays;
mod shapes;

use anyhow::Result;
use clap::Subcommand;

use super::Exit;
use super::analysis::AnalysisCommand;

#[derive(Debug, Subcommand)]
pub enum What {
    /// Compare V4's replayed graph with the same step launch by launch, and with other targets, at several shapes
    V4(Box<AnalysisCommand<shapes::ShapesArgs>>),
    /// List each launch of V4's schedule: time, operations, bytes, and the share of the device's peak rates
    Launches(Box<AnalysisCommand<launches::LaunchesArgs>>),
    /// Compare V4's matrix products by the vendor's library and by burn's
    Gemm(Box<AnalysisCommand<gemm::GemmArgs>>),
    /// Check that thousands of replays equal the launches bit for bit, and that many shapes leak no memory
    Replays(Box<AnalysisCommand<replays::ReplaysArgs>>),
}

pub fn run(what: &What) -> Result<Exit> {
    match what {
        What::V4(args) => args.run(),
        What::Launches(args) => args.run(),
        What::Gemm(args) => args.run(),
        What::Replays(args) => args.run(),
    }
}
