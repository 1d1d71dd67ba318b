//! Checks a kernel without a GPU: every case of its exercise, with waves of 64 and 32 lanes.

use anyhow::Result;
use itertools::Itertools;
use serde::Serialize;

use super::amd;
use super::compile::{self, HostModule};
use super::exercise::{ErrorLimits, Exercise, LaunchText};
use super::file::KernelFile;
use super::finding::{FindingKind, KernelAccess, KernelFinding};
use super::host;
use super::picture::AccessPicture;
use super::problem::PreparedCase;
use super::proof::{self, EverySize};
use super::stand_in::{self, CaseResult, KernelOutput};
use super::toolchain::Toolchain;

/// Wave sizes of CDNA and RDNA. NVIDIA's warps have 32 lanes as well.
pub const WAVES: [u32; 2] = [64, 32];

/// Numbers below this count as 0, because f32 loses digits there.
const SMALLEST: f64 = 1e-30;

/// Largest number of wrong elements that a finding lists.
const TOLD: usize = 3;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExerciseCheck {
    pub exercise: String,
    pub passed: bool,
    /// Number of cases that ran, over all wave sizes.
    pub cases: usize,
    pub findings: Vec<KernelFinding>,
    pub warnings: Vec<KernelFinding>,
    /// What holds for every size. `None` if the file never ran, or no compiler on this machine knows AMD GPUs.
    pub every_size: Option<EverySize>,
    /// Pictures of the first case, for each wave size.
    pub pictures: Vec<WavePictures>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WavePictures {
    pub wave: u32,
    pub pictures: Vec<AccessPicture>,
}

/// Checks `file` as a solution of `exercise`. `say` receives a message before slow work.
///
/// # Errors
/// Fails if this machine cannot compile or run kernels, for example with a [`ToolchainError`](super::toolchain::ToolchainError).
/// Faults of the kernel are findings, not errors.
pub fn check(
    exercise: &Exercise,
    file: &KernelFile,
    waves: &[u32],
    say: &mut dyn FnMut(&str),
) -> Result<ExerciseCheck> {
    let mut checked = ExerciseCheck {
        exercise: exercise.name.clone(),
        ..ExerciseCheck::default()
    };
    let toolchain = Toolchain::ready(say)?;
    let module = match compile::compile(&toolchain, exercise, file)? {
        Ok(module) => module,
        Err(findings) => {
            checked.findings = findings;
            return Ok(checked);
        }
    };
    checked.warnings.clone_from(&module.warnings);
    // Lanes of a wavefront count only in some kernels.
    let depends =
        file.text.contains("warpSize") || exercise.launches.iter().any(LaunchText::depends_on_wave);
    let proofs = waves
        .iter()
        .copied()
        .take(if depends { waves.len() } else { 1 });
    std::thread::scope(|scope| {
        let prove = |wave| {
            (
                wave,
                scope.spawn(move || proof::prove(exercise, file, wave)),
            )
        };
        let proofs: Vec<_> = proofs.map(prove).collect();
        checked.run_cases(&toolchain, &module, exercise, file, waves)?;
        for (wave, proof) in proofs {
            let proof = proof.join().ok().flatten();
            let proof =
                proof.map(|proof| checked.tried(&toolchain, &module, exercise, proof, wave));
            if checked.every_size.as_ref().is_none_or(EverySize::is_proven) {
                checked.every_size = proof.transpose()?;
            }
        }
        anyhow::Ok(())
    })?;
    if let Some(host) = &exercise.host {
        checked
            .findings
            .extend(host::findings(exercise, host, file));
    }
    if checked.findings.is_empty() {
        checked.findings.extend(too_few_waves(exercise, file)?);
    }
    checked.passed = checked.findings.is_empty();
    Ok(checked)
}

impl ExerciseCheck {
    fn run_cases(
        &mut self,
        toolchain: &Toolchain,
        module: &HostModule,
        exercise: &Exercise,
        file: &KernelFile,
        waves: &[u32],
    ) -> Result<()> {
        for (turn, &wave) in waves.iter().enumerate() {
            // From the second wave size on, the numbers depend on the file, so that no file can contain the results.
            let salt = if turn == 0 { 0 } else { file.salt() };
            for (index, sizes) in exercise.cases.iter().enumerate() {
                let problem = PreparedCase::salted(exercise, sizes, wave, salt)?;
                let first = index == 0;
                let answer = stand_in::run(toolchain, module, &problem, first)?;
                self.cases += 1;
                let mut findings = wrong_results(&problem, &answer)?;
                let whole = answer.outputs.is_some();
                if first && whole {
                    findings.extend(over_limits(&problem, &answer)?);
                }
                let endless = answer
                    .findings
                    .iter()
                    .any(|finding| finding.kind == FindingKind::Endless);
                let all = answer.findings.into_iter().chain(findings).collect();
                self.add_all(all, wave, &problem);
                if first {
                    let pictures = answer.pictures;
                    self.pictures.push(WavePictures { wave, pictures });
                }
                if endless {
                    // The other cases would take as long.
                    break;
                }
            }
        }
        Ok(())
    }

    /// Runs the sizes at which a proof failed. What goes wrong there is a finding.
    fn tried(
        &mut self,
        toolchain: &Toolchain,
        module: &HostModule,
        exercise: &Exercise,
        proof: EverySize,
        wave: u32,
    ) -> Result<EverySize> {
        let sizes = proof.sizes.as_ref();
        let Some(problem) = sizes.and_then(|sizes| PreparedCase::new(exercise, sizes, wave).ok())
        else {
            return Ok(proof);
        };
        let mut findings = stand_in::run(toolchain, module, &problem, false)?.findings;
        findings.retain(|one| matches!(one.kind, FindingKind::Race | FindingKind::OutOfBounds));
        let proof = findings.first().map_or(proof.clone(), |first| {
            proof.refuted(&problem.describe(), first)
        });
        self.add_all(findings, wave, &problem);
        Ok(proof)
    }

    /// Kinds of the findings, each once.
    pub fn kinds(&self) -> Vec<String> {
        let kinds = self.findings.iter().map(|finding| finding.kind.name());
        kinds.unique().map(str::to_owned).collect()
    }

    /// Adds findings. A mistake is kept once, with the first case that showed it.
    pub fn add_all(&mut self, findings: Vec<KernelFinding>, wave: u32, problem: &PreparedCase<'_>) {
        for mut finding in findings {
            let known = self
                .findings
                .iter_mut()
                .find(|known| known.is_same_finding(&finding));
            match known {
                Some(known) if known.waves.contains(&wave) => {}
                Some(known) => known.waves.push(wave),
                None => {
                    finding.waves = vec![wave];
                    finding.case = Some(problem.describe());
                    self.findings.push(finding);
                }
            }
        }
    }
}

/// Finds wrong elements. There is one finding per output and line.
fn wrong_results(problem: &PreparedCase<'_>, answer: &CaseResult) -> Result<Vec<KernelFinding>> {
    let Some(outputs) = &answer.outputs else {
        return Ok(vec![]);
    };
    let mut findings = vec![];
    for (name, expected) in problem.expected()? {
        if let Some(output) = outputs.get(name) {
            findings.extend(compare(problem.exercise, name, output, &expected));
        }
    }
    Ok(findings)
}

/// Compares an output with the expected elements.
pub fn compare(
    exercise: &Exercise,
    name: &str,
    output: &KernelOutput,
    expected: &[f64],
) -> Option<KernelFinding> {
    let is_float = exercise
        .argument(name)
        .is_none_or(|one| one.kind.is_float());
    // Whole numbers are right or wrong.
    let tolerance = if is_float { exercise.tolerance } else { 0.0 };
    let got = |i: usize| match output.words.get(i) {
        Some(bits) if is_float => f64::from(f32::from_bits(*bits)),
        Some(bits) => f64::from(bits.cast_signed()),
        None => f64::NAN,
    };
    let written = |i: usize| output.lines.get(i).copied().unwrap_or(0);
    let typical =
        (expected.iter().map(|x| x * x).sum::<f64>() / expected.len().max(1) as f64).sqrt();
    let right = |i: usize| {
        let distance = (got(i) - expected[i]).abs();
        distance <= tolerance * (expected[i].abs() + typical) + SMALLEST
    };
    let wrong: Vec<usize> = (0..expected.len()).filter(|i| !right(*i)).collect();
    let first = *wrong.first()?;
    // An element that was never written holds a NaN, which should not count as a computed one.
    let nan = wrong
        .iter()
        .copied()
        .find(|i| got(*i).is_nan() && written(*i) > 0);
    let kind = nan.map_or(FindingKind::Wrong, |_| FindingKind::Nan);
    let update = nan.into_iter().chain(wrong.iter().copied()).unique();
    let short = |value: f64| match is_float {
        true => short(value),
        false => format!("{value:.0}"),
    };
    let update = update.take(TOLD).map(|i| match written(i) {
        0 => format!(
            "{name}[{i}]: expected {}, never written",
            short(expected[i])
        ),
        _ if got(i).is_nan() => format!("{name}[{i}] is NaN, expected {}", short(expected[i])),
        _ => format!(
            "{name}[{i}]: expected {}, got {}",
            short(expected[i]),
            short(got(i))
        ),
    });
    let update = itertools::join(update, "; ");
    let chosen = nan.unwrap_or(first);
    let message = format!(
        "{} of {} elements of {name} are wrong. {update}",
        wrong.len(),
        expected.len()
    );
    Some(KernelFinding {
        access: Box::new(KernelAccess {
            element: Some((name.to_owned(), chosen as u64)),
            ..KernelAccess::default()
        }),
        ..KernelFinding::new(kind, Some(written(chosen)), message)
    })
}

/// Formats six digits, as many as f32 holds.
fn short(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        0.0 => "0".into(),
        1e-3..1e6 => {
            let digits = (5 - magnitude.log10().floor() as i32).clamp(0, 8) as usize;
            let text = format!("{value:.digits$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
        _ => format!("{value:.5e}"),
    }
}

/// Finds counts of the first case that exceed the limits of the exercise.
fn over_limits(problem: &PreparedCase<'_>, answer: &CaseResult) -> Result<Vec<KernelFinding>> {
    let limits = &problem.exercise.limits;
    let pictures = &answer.pictures;
    let mut findings: Vec<KernelFinding> = pictures
        .iter()
        .filter_map(|one| over_limit(one, limits))
        .collect();
    for (array, most) in &limits.requests {
        let most = problem.size(most)?;
        let of_array = pictures
            .iter()
            .filter(|one| !one.local && one.array == *array);
        let counted: u64 = of_array.clone().map(|one| one.requests).sum();
        if counted > most as u64 {
            let line = of_array.max_by_key(|one| one.requests).map(|one| one.line);
            let message =
                format!("{array}: wavefronts access it {counted} times where {most} would do");
            findings.push(KernelFinding::new(FindingKind::Requests, line, message));
        }
    }
    if let Some(most) = &limits.barriers {
        let (most, counted) = (problem.size(most)?, answer.barriers);
        if counted > most as u64 {
            let message = format!("a workgroup waits at {counted} barriers where {most} would do");
            findings.push(KernelFinding::new(FindingKind::Barriers, None, message));
        }
    }
    Ok(findings)
}

/// Finds a right kernel that takes too many registers. Without a compiler for AMD GPUs on this machine it finds none.
fn too_few_waves(exercise: &Exercise, file: &KernelFile) -> Result<Option<KernelFinding>> {
    let Some(fewest) = exercise.limits.waves else {
        return Ok(None);
    };
    let facts = amd::facts(exercise, file)?.unwrap_or_default();
    let of_kernel = facts.iter().filter(|one| one.architecture == "gfx942");
    let over = of_kernel.filter_map(|one| Some((one, one.waves_per_simd()?)));
    let mut over = over.filter(|(_, waves)| *waves < f64::from(fewest));
    Ok(over.next().map(|(one, waves)| {
        let vgprs = one.resources.vgprs;
        let message = format!(
            "{} takes {vgprs} vector registers on gfx942, where {waves:.0} wavefronts fit on a SIMD and {fewest} should",
            one.kernel
        );
        KernelFinding::new(FindingKind::Occupancy, None, message)
    }))
}

/// Finds a load or store that needs more memory accesses than the exercise allows.
fn over_limit(picture: &AccessPicture, limits: &ErrorLimits) -> Option<KernelFinding> {
    let line = Some(picture.line);
    let what = picture.label();
    if picture.local {
        limits.conflicts.filter(|most| picture.degree > *most)?;
        let (degree, passes, groups) = (picture.degree, picture.passes, picture.groups);
        let message =
            format!("{what}: {degree}-way bank conflict, {passes} passes where {groups} would do");
        return Some(KernelFinding::new(FindingKind::BankConflict, line, message));
    }
    let most = limits.lines?;
    let [lines, fewest] = [picture.lines, picture.fewest].map(|many| picture.a_request(many));
    (lines > most * fewest).then(|| {
        let message = format!("{what}: a wavefront touches {lines:.0} cache lines of 128 bytes where {fewest:.0} would do");
        KernelFinding::new(FindingKind::Uncoalesced, line, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(values: &[f32], lines: &[u32]) -> KernelOutput {
        KernelOutput {
            words: values.iter().map(|value| value.to_bits()).collect(),
            lines: lines.to_vec(),
        }
    }

    #[test]
    fn wrong_elements_are_told_with_the_line_that_wrote_them() {
        let any = crate::find("rmsnorm").unwrap();
        let right = output(&[1.0, 2.0], &[4, 4]);
        assert_eq!(compare(any, "y", &right, &[1.0, 2.000_001]), None);
        let found = compare(any, "y", &output(&[1.0, 2.5], &[4, 5]), &[1.0, 2.0]).unwrap();
        assert_eq!((found.kind, found.line), (FindingKind::Wrong, Some(5)));
        assert!(
            found.message.contains("y[1]: expected 2, got 2.5"),
            "{}",
            found.message
        );
        let found = compare(any, "y", &output(&[1.0, f32::NAN], &[4, 0]), &[1.0, 2.0]).unwrap();
        assert_eq!((found.kind, found.line), (FindingKind::Wrong, None));
        assert!(found.message.contains("never written"), "{}", found.message);
        let found = compare(any, "y", &output(&[0.0, f32::NAN], &[4, 7]), &[1.0, 2.0]).unwrap();
        assert_eq!((found.kind, found.line), (FindingKind::Nan, Some(7)));
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (2.0, "2"),
            (0.1234567, "0.123457"),
            (123456.7, "123457"),
            (1e-9, "1.00000e-9"),
            (100.0, "100"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
