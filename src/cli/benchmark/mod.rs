//! `benchmark`: measures V4's gains and their parts.

mod gemm;
mod launches;
mod replays;
mod shapes;

use anyhow::Result;
use clap::Subcommand;

use super::Exit;
use super::analysis::Asked;

#[derive(Debug, Subcommand)]
pub enum What {
    /// Compare V4's replayed graph with the same step launch by launch, and with other targets, at several shapes
    V4(Box<Asked<shapes::ShapesArgs>>),
    /// List each launch of V4's schedule: time, operations, bytes, and the share of the device's peak rates
    Launches(Box<Asked<launches::LaunchesArgs>>),
    /// Compare V4's matrix products by the vendor's library and by burn's
    Gemm(Box<Asked<gemm::GemmArgs>>),
    /// Check that thousands of replays equal the launches bit for bit, and that many shapes leak no memory
    Replays(Box<Asked<replays::ReplaysArgs>>),
}

pub fn run(what: &What) -> Result<Exit> {
    match what {
        What::V4(args) => args.run(),
        What::Launches(args) => args.run(),
        What::Gemm(args) => args.run(),
        What::Replays(args) => args.run(),
    }
}
