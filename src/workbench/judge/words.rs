//! Says in a learner's words what the emulator found.

use tinyllama_machine::{
    ExecutionError, Fault, Location, Mistake, MistakeKind, Place, Program, Space,
};

use super::build::CHECKS;
use super::execute::BUDGET;
use super::llvm_text::{MOST_LDS, source_name};
use crate::finding::{FindingKind, KernelAccess, KernelFinding};
use crate::source::SOURCE;

/// Returns the line in the learner's file, if the compiler names one for the instruction.
pub fn own_line(program: &Program, location: Location) -> Option<u32> {
    let file = program.files.get(usize::from(location.file))?;
    (file == SOURCE && location.line > 0).then_some(location.line)
}

pub fn of_mistake(program: &Program, mistake: &Mistake) -> KernelFinding {
    let line_of = |pc: u32| own_line(program, program.location(pc));
    let who = who(mistake.workgroup, mistake.thread);
    let (kind, place, other_line, message) = match &mistake.kind {
        MistakeKind::Unwritten { kind, place } => {
            let (verb, element) = (kind.verb(), element(place));
            let message = format!("{who} {verb} {element}, which was never written");
            (FindingKind::Unwritten, Some(place), None, message)
        }
        MistakeKind::Race {
            kind,
            place,
            other_pc,
            other_thread,
            is_other_workgroup,
            other_wrote,
            ..
        } => {
            let did = if *other_wrote { "writes" } else { "reads" };
            let of = if *is_other_workgroup {
                "another block"
            } else {
                "the same block"
            };
            let other_line = line_of(*other_pc);
            let in_line = other_line.map_or(String::new(), |line| format!(" in line {line}"));
            let between = match place.space {
                Space::Lds => "no barrier between them orders the two",
                _ => "nothing orders the two",
            };
            let (verb, element) = (kind.verb(), element(place));
            let message = format!(
                "{who} {verb} {element}, which thread {other_thread} of {of} {did}{in_line}: {between}"
            );
            (FindingKind::Race, Some(place), other_line, message)
        }
        MistakeKind::IdleLane { lane } => {
            let message = format!("{who} takes the value of lane {lane}, which does not take part");
            (FindingKind::Shuffle, None, None, message)
        }
    };
    let mut finding = KernelFinding::new(kind, line_of(mistake.pc), message);
    finding.other_line = other_line;
    finding.access = access(mistake.workgroup, mistake.thread, place);
    finding
}

pub fn of_error(program: &Program, error: &ExecutionError) -> KernelFinding {
    let line_of = |pc: u32| own_line(program, program.location(pc));
    let who = who(error.workgroup, error.thread);
    let (mut line, mut other_line, mut place) = (line_of(error.pc), None, None);
    let (kind, message) = match &error.fault {
        Fault::OutOfBounds { place: at, .. } if at.space == Space::Scratch => (
            FindingKind::Crash,
            format!("{who} runs out of its stack, or reaches memory that is not there"),
        ),
        Fault::OutOfBounds {
            kind, place: at, ..
        } => {
            place = Some(at);
            let (verb, element, count) = (kind.verb(), element(at), at.length / at.element.max(1));
            (
                FindingKind::OutOfBounds,
                format!("{who} {verb} {element} of {count} elements"),
            )
        }
        Fault::Unmapped { kind, .. } => (
            FindingKind::OutOfBounds,
            format!("{who} {} memory that belongs to no array", kind.verb()),
        ),
        Fault::Trap { .. } => (
            FindingKind::OutOfBounds,
            format!("{who} reaches outside an array of its block or its own"),
        ),
        Fault::BarrierMissed {
            waiting, missing, ..
        } => {
            let at = line.map_or(String::new(), |line| format!(" of line {line}"));
            (
                FindingKind::Barrier,
                format!(
                    "{waiting} threads wait at the barrier{at}, which {missing} threads never reach: {who} is one"
                ),
            )
        }
        Fault::TwoBarriers { other_pc, .. } => {
            other_line = line_of(*other_pc);
            let number = |line: Option<u32>| line.map_or("?".to_owned(), |line| line.to_string());
            (
                FindingKind::Barrier,
                format!(
                    "threads of block {} wait at different barriers: in line {} and in line {}",
                    coordinates(error.workgroup),
                    number(line),
                    number(other_line)
                ),
            )
        }
        Fault::Called {
            name, arguments, ..
        } => {
            let check = Check::new(program, name, *arguments);
            line = check.line.or(line);
            (check.kind, format!("{who} {}", check.message))
        }
        Fault::Endless(_) => (
            FindingKind::Endless,
            format!(
                "the kernel did not end within {} million instructions; {who} was here",
                BUDGET / 1_000_000
            ),
        ),
        Fault::BadJump(_) => (
            FindingKind::Crash,
            format!("{who} jumps to where there is no code"),
        ),
        Fault::NotWaited { .. } | Fault::Unsupported(_) => (
            FindingKind::Crash,
            format!("{who} cannot go on: {}", error.fault),
        ),
    };
    let mut finding = KernelFinding::new(kind, line, message);
    finding.other_line = other_line;
    finding.access = access(error.workgroup, error.thread, place);
    finding
}

pub(super) fn too_much_lds(bytes: usize) -> KernelFinding {
    let why = format!(
        "a workgroup has {MOST_LDS} bytes of local memory (LDS), and the kernel asks for {bytes}"
    );
    KernelFinding::new(FindingKind::Crash, None, why)
}

fn access(workgroup: [u32; 3], thread: [u32; 3], place: Option<&Place>) -> Box<KernelAccess> {
    let element = place.and_then(|place| {
        let word = u64::try_from(place.offset).ok()? / 4;
        Some((place.array.clone(), word))
    });
    Box::new(KernelAccess {
        thread: Some([workgroup, thread]),
        element,
    })
}

fn who(workgroup: [u32; 3], thread: [u32; 3]) -> String {
    format!(
        "thread {} of block {}",
        coordinates(thread),
        coordinates(workgroup)
    )
}

/// Formats `(64, 0, 0)`, or `64` if the other two are 0.
fn coordinates(three: [u32; 3]) -> String {
    match three {
        [x, 0, 0] => x.to_string(),
        [x, y, 0] => format!("({x}, {y})"),
        [x, y, z] => format!("({x}, {y}, {z})"),
    }
}

/// Formats `x[300]`, or `x[300..303]` for a wide access.
fn element(place: &Place) -> String {
    let name = match (place.space, &*place.array) {
        (Space::Scratch, _) => return "its own array".into(),
        (_, "") => "local memory".into(),
        (_, symbol) => source_name(symbol),
    };
    let size = place.element.max(1);
    let first = place.offset.div_euclid(size as i64);
    match place.bytes / size {
        0 | 1 => format!("{name}[{first}]"),
        count => format!("{name}[{first}..{}]", first + count as i64 - 1),
    }
}

/// A check of the compiler that failed.
struct Check {
    kind: FindingKind,
    line: Option<u32>,
    message: String,
}

impl Check {
    /// Reads the arguments of a check's function: a pointer to what the compiler knows, and the value.
    fn new(program: &Program, name: &str, [low, high, value, upper]: [u32; 4]) -> Check {
        let data = u64::from(low) | u64::from(high) << 32;
        // The layout is that of compiler-rt's ubsan_handlers.h: file, line, column, then pointers to types.
        let word = |at: u64| {
            let bytes = program.constants(data + at)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let pointer = |at: u64| Some(u64::from(word(at)?) | u64::from(word(at + 4)?) << 32);
        let line = word(8).filter(|line| *line > 0);
        let kind = name.trim_start_matches(CHECKS);
        let (kind, message) = match kind {
            _ if kind.starts_with("out_of_bounds") => {
                let array = pointer(16).and_then(|at| type_name(program, at));
                let array = array.map_or(String::new(), |array| format!(" of {array}"));
                let bits = u64::from(value) | u64::from(upper) << 32;
                let index = pointer(24).and_then(|at| program.constants(at + 2)?.first());
                let index = match index {
                    // The lowest bit says that the type is signed, the others the logarithm of its bits.
                    Some(info) if info & 1 == 1 && info >> 1 <= 5 => {
                        i64::from(value.cast_signed()).to_string()
                    }
                    Some(info) if info & 1 == 1 => bits.cast_signed().to_string(),
                    Some(info) if info >> 1 <= 5 => value.to_string(),
                    _ => bits.to_string(),
                };
                (
                    FindingKind::OutOfBounds,
                    format!("uses index {index}{array}"),
                )
            }
            _ if kind.starts_with("divrem_overflow") => {
                (FindingKind::Crash, "divides an integer by zero".into())
            }
            _ if kind.starts_with("missing_return") => (
                FindingKind::Crash,
                "comes to the end of a function that has to return a value".into(),
            ),
            _ => (
                FindingKind::Crash,
                "comes to code that the file says is never reached".into(),
            ),
        };
        Check {
            kind,
            line,
            message,
        }
    }
}

/// Reads `float[4]` from a type's description: two numbers of 16 bits, then the name in quotes.
fn type_name(program: &Program, address: u64) -> Option<String> {
    let bytes = program.constants(address + 4)?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let name = str::from_utf8(&bytes[..end]).ok()?;
    Some(name.replace('\'', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_machine::UseKind;

    #[test]
    fn elements_are_counted_in_elements() {
        let place = |array: &str, offset, bytes, element| Place {
            space: Space::Global,
            array: array.into(),
            offset,
            bytes,
            length: 64,
            element,
        };
        assert_eq!(element(&place("x", 1200, 4, 4)), "x[300]");
        assert_eq!(element(&place("x", 1200, 16, 4)), "x[300..303]");
        assert_eq!(element(&place("x", -4, 4, 4)), "x[-1]");
        assert_eq!(element(&place("", 8, 4, 4)), "local memory[2]");
        assert_eq!(element(&place("bytes", 9, 1, 1)), "bytes[9]");
        assert_eq!(element(&place("four", 20, 4, 16)), "four[1]");
        assert_eq!(coordinates([5, 2, 0]), "(5, 2)");
        assert_eq!(UseKind::Atomic.verb(), "updates");
    }
}
