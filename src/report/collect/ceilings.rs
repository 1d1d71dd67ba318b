//! Ceilings of a session's devices: measured by `calibrate` if it ran, otherwise from the maker's data sheet.

use crate::document::{CeilingKind, CeilingLine};
use tinyllama_analysis::calibration::Calibration;
use tinyllama_analysis::gpus;
use tinyllama_analysis::roofline::{ceilings, product_units};
use tinyllama_contract::Hello;
use tinyllama_runs::state_folder;
use tinyllama_session::SessionLocation;

/// Beginning of the warning about an outdated calibration.
pub const STALE: &str = "The ceilings of its roofline were measured under other conditions";

/// Calibrations of this user. For another user's session there are none, because this machine's do not apply to it.
pub fn calibrations(location: &SessionLocation) -> Vec<Calibration> {
    if !location.is_own() {
        return Vec::new();
    }
    let kept = state_folder().and_then(|root| Calibration::load_all(&root));
    // The report continues without a damaged calibration. `calibrate --show` names it.
    kept.map(|(calibrations, _)| calibrations)
        .unwrap_or_default()
}

/// Returns the ceilings of a run, and a warning if their calibration is outdated. This machine's calibration does not apply
/// to a recording, which another machine made.
pub fn of_run(
    hello: &Hello,
    calibrations: &[Calibration],
    is_recording: bool,
) -> (Vec<CeilingLine>, Option<String>) {
    let now = hello.facts();
    let same = |known: &&Calibration| {
        known.facts.backend == now.backend && known.facts.device == now.device
    };
    let calibration = calibrations.iter().find(same).filter(|_| !is_recording);
    let stale = calibration.map_or_else(Vec::new, |known| known.staleness(&now));
    let warning = (!stale.is_empty()).then(|| format!("{STALE}: {}.", stale.join("; ")));
    let sheet = gpus::find(&hello.device);
    let products = product_units(&hello.dtype, &hello.matmul_precision);
    let known = ceilings(&products, calibration, sheet.as_ref());
    let lines = known.iter().map(|line| CeilingLine {
        kind: match line.roof.is_arithmetic() {
            true => CeilingKind::Arithmetic,
            false => CeilingKind::Bandwidth,
        },
        label: line.label.clone(),
        value: line.value,
        source: line.source.to_string(),
    });
    (lines.collect(), warning)
}
