//! Lists the executed instructions of one case, as a document and as lines of text.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use tinyllama_base::shortened;
use tinyllama_base::untrusted::plain;
use tinyllama_machine::{Count, Group, Program, Space, Summary};

use super::super::exercise::Exercise;
use super::super::file::KernelFile;
use super::super::finding::KernelFinding;
use super::super::judge::own_line;
use super::super::problem::PreparedCase;
use super::super::reference::Reference;
use super::super::text::{finding_lines, indented};
use super::{execute, program};
use crate::compiled::compiler::Compiler;
use tinyllama_base::{Share, percent};

/// Explains the columns of a listing.
const LEGEND: &str = "Lanes, bytes and lines are means of an execution. A line has 128 bytes, so 256 bytes need two. \
                      Bytes of a lane: 4 for dword, 16 for dwordx4. LDS: passes through the banks, for each one that \
                      is needed. Waits for 0: for a load in a header, such as that of the arguments. From idle \
                      lanes: some lane takes the value of a lane that is off, and gets 0.";

/// A note that the counts do not give times, because readers would look for them here.
pub const NO_TIME: &str = "Executed by an emulator, not by a GPU: cycles, stalls and time are not measured here, and counts do \
                           not give them. `workbench bench` times a kernel on a GPU.";

/// One instruction of the program that was executed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedInstruction {
    /// Index in the program.
    pub index: u32,
    /// Source place of the instruction. `line` is set only if it lies in the learner's file.
    pub place: String,
    pub line: Option<u32>,
    pub group: Group,
    pub text: String,
    /// Indices of the instructions that this one waited for, and the lines they come from.
    pub waited_for: Vec<u32>,
    pub waited_for_lines: Vec<u32>,
    #[serde(flatten)]
    pub count: Count,
}

impl ListedInstruction {
    /// Returns the mean number of active lanes.
    pub fn lanes(&self) -> f64 {
        self.each(self.count.lanes)
    }

    fn each(&self, sum: u64) -> f64 {
        sum as f64 / self.count.executed.max(1) as f64
    }
}

/// Wave instructions of a line of the file. Line 0 has those for which the compiler names none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineCost {
    pub line: u32,
    pub instructions: u64,
}

/// One case of an exercise, executed for one architecture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listing {
    pub exercise: String,
    pub architecture: String,
    pub wave_size: usize,
    pub case: String,
    pub workgroups: u64,
    pub waves: u64,
    /// Number of executed wave instructions.
    pub executed: u64,
    pub instructions: Vec<ListedInstruction>,
    pub groups: BTreeMap<Group, u64>,
    /// Counts by line of the file. Line 0 counts instructions for which the compiler names none.
    pub lines: BTreeMap<u32, BTreeMap<Group, u64>>,
    /// The same without groups, as a list that a lesson can ask about.
    pub cost_of_lines: Vec<LineCost>,
    pub findings: Vec<KernelFinding>,
    pub note: &'static str,
}

/// Compiles `file` for `architecture`, executes the exercise's first case and lists the executed instructions. If the
/// file is wrong, it returns the fault.
///
/// # Errors
/// Fails if the compiler cannot be started, or the emulator does not know an instruction.
pub fn inspect(
    compiler: &Compiler,
    exercise: &Exercise,
    file: &KernelFile,
    architecture: &str,
) -> Result<Result<Listing, KernelFinding>> {
    let program = match program(compiler, exercise, file, architecture)? {
        Ok(program) => program,
        Err(finding) => return Ok(Err(finding)),
    };
    let sizes = exercise.cases.first().unwrap_or(&exercise.bench);
    let problem = PreparedCase::new(exercise, sizes, u32::try_from(program.wave_size)?)?;
    let mut summary = Summary::default();
    let executed = execute(&program, &problem, &mut summary)?;
    let reference = Reference::compile(compiler, exercise)?;
    let findings = executed.findings(&problem, reference)?;
    Ok(Ok(Listing::new(&program, &problem, &summary, findings)))
}

impl Listing {
    pub fn new(
        program: &Program,
        problem: &PreparedCase<'_>,
        summary: &Summary,
        findings: Vec<KernelFinding>,
    ) -> Listing {
        let instructions = summary
            .executed()
            .map(|(index, count)| listed(program, index, count));
        let mut lines: BTreeMap<u32, BTreeMap<Group, u64>> = BTreeMap::new();
        for (location, groups) in summary.by_line(program) {
            let line = lines
                .entry(own_line(program, location).unwrap_or(0))
                .or_default();
            for (group, count) in groups {
                *line.entry(group).or_default() += count;
            }
        }
        let cost_of_lines = lines.iter().map(|(line, groups)| LineCost {
            line: *line,
            instructions: groups.values().sum(),
        });
        Listing {
            cost_of_lines: cost_of_lines.collect(),
            exercise: problem.exercise.name.clone(),
            architecture: program.architecture.clone(),
            wave_size: program.wave_size,
            case: problem.describe(),
            workgroups: summary.workgroups,
            waves: summary.waves,
            executed: summary.total(),
            instructions: instructions.collect(),
            groups: summary.by_group(program),
            lines,
            findings,
            note: NO_TIME,
        }
    }
}

fn listed(program: &Program, index: u32, count: &Count) -> ListedInstruction {
    let instruction = &program.instructions[index as usize];
    let waited_for: Vec<u32> = count.waited.keys().copied().collect();
    let line_of = |index: &u32| own_line(program, program.instructions[*index as usize].location);
    let mut waited_for_lines: Vec<u32> = waited_for.iter().filter_map(line_of).collect();
    waited_for_lines.sort_unstable();
    waited_for_lines.dedup();
    ListedInstruction {
        index,
        place: program.place(instruction.location),
        line: own_line(program, instruction.location),
        group: instruction.group,
        text: instruction.text.clone(),
        waited_for,
        waited_for_lines,
        count: count.clone(),
    }
}

impl Listing {
    /// Formats the listing in at most 80 columns.
    pub fn render(&self, file: &KernelFile) -> Vec<String> {
        let mut lines = vec![format!(
            "{} as {} machine code; {}",
            self.exercise, self.architecture, self.case
        )];
        lines.push(format!(
            "{} workgroups, {} wavefronts of {} lanes: {} instructions executed",
            self.workgroups, self.waves, self.wave_size, self.executed
        ));
        lines.extend(indented(NO_TIME));
        lines.push(String::new());
        let uses_lds =
            |one: &ListedInstruction| matches!(one.count.space, Some(Space::Lds | Space::Scratch));
        let (width, lds) = match self.instructions.iter().any(uses_lds) {
            true => (38, "  LDS"),
            false => (43, ""),
        };
        lines.push(format!(
            "{:>4} {:>7} {:>5} {:<width$} {:>6} {:>5}{lds}",
            "line", "count", "lanes", "instruction", "bytes", "lines"
        ));
        lines.extend(self.instructions.iter().map(|one| row(one, width)));
        lines.extend(indented(LEGEND));
        lines.push(String::new());
        lines.extend(self.mix());
        lines.push(String::new());
        lines.extend(self.by_line(file));
        for finding in &self.findings {
            lines.push(String::new());
            lines.extend(finding_lines(finding, file));
        }
        lines
    }

    /// Formats the instructions of each group with a bar.
    pub fn mix(&self) -> Vec<String> {
        let row = |(group, count): (&Group, &u64)| {
            let share = *count as f64 / self.executed.max(1) as f64;
            let bar = "#".repeat((40.0 * share).round() as usize);
            format!(
                "{:<10} {count:>9} {:>7}  {bar}",
                group.name(),
                percent(Share(share))
            )
        };
        let mut lines = vec!["By group: wave instructions and their share".to_owned()];
        lines.extend(self.groups.iter().map(row));
        lines
    }

    /// Formats the instructions of each source line by group.
    pub fn by_line(&self, file: &KernelFile) -> Vec<String> {
        let mut lines =
            vec!["By source line: wave instructions, text, groups (line 0: none named)".to_owned()];
        for (line, groups) in &self.lines {
            let total: u64 = groups.values().sum();
            let text = file.line(*line).unwrap_or_default();
            let text = shortened(&plain(&text.trim().replace('\t', " ")), 34);
            let mut parts: Vec<_> = groups.iter().collect();
            parts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let parts = itertools::join(
                parts
                    .iter()
                    .map(|(group, count)| format!("{} {count}", group.name())),
                ", ",
            );
            lines.push(format!(
                "{line:>4} {total:>7} {text:<34} {}",
                shortened(&parts, 32)
            ));
        }
        lines
    }
}

/// Formats an instruction, whose text takes `width` columns.
fn row(one: &ListedInstruction, width: usize) -> String {
    let line = one.line.map_or(String::new(), |line| line.to_string());
    let (count, lanes) = (one.count.executed, one.lanes());
    let text = shortened(&one.text, width);
    let start = format!("{line:>4} {count:>7} {lanes:>5.1} {text:<width$}");
    let end = match one.count.space {
        Some(Space::Lds) => {
            let ways = one.count.passes as f64 / one.count.least_passes.max(1) as f64;
            let unwritten_error = if one.count.unwritten_error > 0 {
                " nan"
            } else {
                ""
            };
            format!(
                " {:>6.0} {:>5}  {ways:.1}x{unwritten_error}",
                one.each(one.count.bytes),
                ""
            )
        }
        Some(Space::Scratch) => format!(" {:>6.0} {:>5}  scratch", one.each(one.count.bytes), ""),
        Some(_) => format!(
            " {:>6.0} {:>5.1}",
            one.each(one.count.bytes),
            one.each(one.count.lines_128)
        ),
        None if one.count.idle_sources > 0 => " from idle lanes".into(),
        None if !one.waited_for.is_empty() && one.waited_for_lines.is_empty() => {
            " waits for 0".into()
        }
        None if !one.waited_for.is_empty() => {
            let lines = itertools::join(&one.waited_for_lines, ",");
            shortened(&format!(" waits for {lines}"), 60 - width)
        }
        None => String::new(),
    };
    format!("{start}{end}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::machine::tests::compiler;

    #[test]
    fn listings_name_lines_waits_and_bank_conflicts_in_80_columns() {
        let Some(compiler) = compiler() else {
            return;
        };
        let exercise = find("bank-conflicts").unwrap();
        let listed = |name: &str| {
            let text = exercise.file(name).unwrap().to_owned();
            let file = KernelFile {
                path: "kernel.hip".into(),
                text,
            };
            let listing = inspect(&compiler, exercise, &file, "gfx942")
                .unwrap()
                .unwrap();
            let lines = listing.render(&file);
            for line in &lines {
                assert!(line.chars().count() <= 80, "{line}");
            }
            (listing, lines.join("\n"))
        };
        let (right, text) = listed("solution.hip");
        assert!(right.findings.is_empty(), "{:?}", right.findings);
        let unwrapped: Vec<&str> = text.split_whitespace().collect();
        assert!(unwrapped.join(" ").contains(NO_TIME), "{text}");
        assert!(text.contains("waits for "), "{text}");
        assert!(text.contains("LDS: passes"), "{text}");
        let passes = |listing: &Listing| -> (u64, u64) {
            let counts = listing.instructions.iter().map(|one| &one.count);
            counts.fold((0, 0), |sum, count| {
                (sum.0 + count.passes, sum.1 + count.least_passes)
            })
        };
        let (passes_right, least) = passes(&right);
        let (wrong, _) = listed("wrong-no-padding.hip");
        assert!(
            passes(&wrong).0 > 4 * passes_right,
            "{:?} {:?}",
            passes(&wrong),
            passes(&right)
        );
        assert!(passes_right >= least && least > 0);
        assert_eq!(right.executed, right.groups.values().sum::<u64>());
    }

    #[test]
    fn an_instruction_is_whole_when_no_column_about_lds_takes_its_place() {
        let Some(compiler) = compiler() else {
            return;
        };
        let exercise = find("elementwise").unwrap();
        let file = KernelFile {
            path: "kernel.hip".into(),
            text: exercise.solution().unwrap().to_owned(),
        };
        let listing = inspect(&compiler, exercise, &file, "gfx942").unwrap();
        let lines = listing.unwrap().render(&file);
        let counts = "4 workgroups, 16 wavefronts of 64 lanes: ";
        assert!(lines[1].starts_with(counts), "{}", lines[1]);
        let rows = lines.iter().skip_while(|line| !line.starts_with("line"));
        let rows: Vec<&String> = rows.take_while(|line| !line.contains("means of")).collect();
        assert!(rows[0].ends_with(" lines"), "{}", rows[0]);
        let address = rows.iter().find(|row| row.contains("v_lshl_add_u64"));
        let address = address.expect("64-bit addresses");
        assert!(address.matches(", ").count() == 3, "{address}");
        for row in rows {
            assert!(!row.contains("...") && row.chars().count() <= 80, "{row}");
        }
    }

    #[test]
    fn a_value_taken_from_a_lane_that_is_off_is_marked() {
        let Some(compiler) = compiler() else {
            return;
        };
        let exercise = find("prefix-sum").unwrap();
        let rendered = |text: String| {
            let path = "kernel.hip".into();
            let file = KernelFile { path, text };
            let listing = inspect(&compiler, exercise, &file, "gfx942").unwrap();
            listing.unwrap().render(&file).join("\n")
        };
        let right = exercise.solution().unwrap();
        let marked = |text: &str| {
            let rows = text.lines().filter(|line| line.contains("ds_bpermute"));
            rows.filter(|row| row.ends_with(" from idle lanes")).count()
        };
        assert_eq!(marked(&rendered(right.to_owned())), 0);
        let all = "int before = __shfl_up(v, d);";
        let divergent = right.replace(all, "int before = lane >= d ? __shfl_up(v, d) : 0;");
        assert_ne!(divergent, right);
        assert!(marked(&rendered(divergent)) > 0);
    }
}
