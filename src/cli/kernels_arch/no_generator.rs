//! Replaces `generator` in a build without a code generator for GPUs. Every function says how to build one.

use std::path::Path;

use anyhow::Result;
use tinyllama_engine::device::DeviceError;
use tinyllama_workbench::compiled::facts::Facts;

use super::KernelSelection;
use crate::cli::Exit;

fn refuse<T>(what: &'static str) -> Result<T> {
    Err(DeviceError::NoCodeGenerator { what }.into())
}

pub(super) fn sources(_: &[&str], _: &str, _: &KernelSelection<'_>) -> Result<Exit> {
    refuse("--source")
}

pub(super) fn listings(_: &[&str], _: &str, _: &KernelSelection<'_>) -> Result<Exit> {
    refuse("--isa")
}

pub(super) fn code_objects(_: &[&str], _: &Path, _: &KernelSelection<'_>) -> Result<Exit> {
    refuse("--code-objects")
}

pub(super) fn compile(_: &[&str], _: bool) -> Result<Facts> {
    refuse("--compile")
}

pub(super) fn hiprtc(_: &str, _: bool, _: &KernelSelection<'_>) -> Result<Exit> {
    refuse("--compile")
}
