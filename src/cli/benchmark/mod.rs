//! `benchmark`: what V4 gains and what it is made of, measured.

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
    /// V4 replayed from a graph beside the same step launch by launch, and beside others, at several shapes
    V4(Box<Asked<shapes::ShapesArgs>>),
    /// Each launch of V4's schedule: time, operations, bytes, and the share of what the device can do
    Launches(Box<Asked<launches::LaunchesArgs>>),
    /// V4's matrix products by the vendor's library and by burn's own
    Gemm(Box<Asked<gemm::GemmArgs>>),
    /// Whether thousands of replays equal the launches bit for bit, and many shapes leave nothing behind
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
