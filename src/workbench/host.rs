//! Host code of an exercise: calls of HIP on streams, captured into a graph. The calls are read and followed, not executed,
//! so a file's host code runs nowhere. What a call has to wait for is a set of earlier operations, one bit each.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::exercise::Exercise;
use super::file::KernelFile;
use super::finding::{FindingKind, KernelFinding};
use super::tokens::{Token, TokenKind, tokens};

/// Bytes of an array's content as a term. A term can double with every launch.
const LONGEST_TERM: usize = 1000;

/// What the graph of an exercise's host code has to do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCode {
    /// The streams and events that there are.
    pub names: Vec<String>,
    /// An array of the host, and what it holds after the graph: `add(scale(x_host), bias_host)`.
    pub result: [String; 2],
    /// An array and a kernel. The copy to the array must be able to run next to the kernel.
    pub overlap: [String; 2],
}

/// A copy or a launch in the graph.
struct Operation {
    name: String,
    line: u32,
    reads: Vec<String>,
    writes: Vec<String>,
    /// The operations that end before this one begins.
    after: u64,
}

/// A call such as `add<<<groups, 256, 0, compute>>>(h, bias, out, n)`.
struct Call {
    line: u32,
    name: String,
    launch: Vec<String>,
    arguments: Vec<String>,
}

struct Capture<'a> {
    exercise: &'a Exercise,
    host: &'a HostCode,
    operations: Vec<Operation>,
    /// For each stream and event in the capture, the operations that what follows it has to wait for.
    sets: BTreeMap<String, u64>,
    /// The stream that is captured, from the begin to the end.
    origin: Option<String>,
    is_ended: bool,
}

type Outcome<T> = Result<T, (FindingKind, String)>;

/// Returns what is wrong with the host code of `file`.
pub fn findings(exercise: &Exercise, host: &HostCode, file: &KernelFile) -> Vec<KernelFinding> {
    let mut capture = Capture {
        exercise,
        host,
        operations: vec![],
        sets: BTreeMap::new(),
        origin: None,
        is_ended: false,
    };
    let (mut line, mut outcome) = (None, Ok(()));
    match calls(&file.text) {
        Ok(calls) => {
            for call in &calls {
                line = Some(call.line);
                outcome = outcome.and_then(|()| capture.follow(call));
                if outcome.is_err() {
                    break;
                }
            }
            if outcome.is_ok() && !capture.is_ended {
                outcome = failed("`hipStreamEndCapture` is missing: there is no graph".into());
            }
        }
        Err((at, why)) => (line, outcome) = (at, Err((FindingKind::Compile, why.into()))),
    }
    let mut findings = capture.races();
    match outcome {
        Err((kind, message)) => findings.push(KernelFinding::new(kind, line, message)),
        Ok(()) if findings.is_empty() => findings.extend(capture.wrong_result()),
        Ok(()) => {}
    }
    findings
}

fn failed<T>(why: String) -> Outcome<T> {
    Err((FindingKind::Capture, why))
}

fn unknown<T>(what: &str) -> Outcome<T> {
    Err((FindingKind::Compile, format!("`{what}` is not known here")))
}

/// Reads the calls of `step` in `#ifdef HOST`, or returns a line and what is wrong with it.
fn calls(text: &str) -> Result<Vec<Call>, (Option<u32>, &'static str)> {
    let tokens = tokens(text);
    let words: Vec<&str> = tokens.iter().map(|token| &*token.text).collect();
    let head = ["#", "ifdef", "HOST", "void", "step", "(", ")", "{"];
    let start = words.windows(head.len()).position(|words| words == head);
    let start = start.ok_or((None, "there is no `#ifdef HOST` with `void step() {`"))?;
    let body = tokens[start + head.len()..].split(|token| token.text == "}");
    let statements = body
        .take(1)
        .flat_map(|body| body.split_inclusive(|token| token.text == ";"));
    let calls = statements.map(|statement| {
        let line = statement.first().map(|token| token.line);
        let why = "the host code consists of calls of HIP and launches, each with a `;`";
        read_call(statement).ok_or((line, why))
    });
    calls.collect()
}

fn read_call(statement: &[Token]) -> Option<Call> {
    let (name, rest) = statement.split_first()?;
    let text: String = rest.iter().map(|token| &*token.text).collect();
    let (launch, arguments) = match text.strip_prefix("<<<") {
        Some(text) => text.split_once(">>>")?,
        None => ("", &*text),
    };
    let arguments = arguments.strip_prefix('(')?.strip_suffix(");")?;
    let split = |text: &str| text.split(',').map(str::to_owned).collect();
    (name.kind == TokenKind::Word).then(|| Call {
        line: name.line,
        name: name.text.clone(),
        launch: split(launch),
        arguments: split(arguments),
    })
}

impl Capture<'_> {
    fn follow(&mut self, call: &Call) -> Outcome<()> {
        let arguments: Vec<&str> = call.arguments.iter().map(|one| &**one).collect();
        let named = match &*call.name {
            "hipStreamBeginCapture" | "hipStreamEndCapture" => arguments.get(..1),
            "hipEventRecord" | "hipStreamWaitEvent" => arguments.get(..2),
            "hipMemcpyAsync" => arguments.get(4..5),
            _ => None,
        };
        let named = named.unwrap_or_default().iter().copied();
        let mut named = named.chain(call.launch.get(3).map(String::as_str));
        if let Some(name) = named.find(|name| !self.host.names.iter().any(|one| one == name)) {
            return unknown(name);
        }
        match (&*call.name, &*arguments) {
            ("hipStreamBeginCapture", [stream, _mode]) => {
                if self.origin.is_some() || self.is_ended {
                    return failed("a second capture begins: one graph holds it all".into());
                }
                self.sets.insert((*stream).into(), 0);
                self.origin = Some((*stream).into());
            }
            ("hipStreamEndCapture", [stream, _graph]) => {
                if self.origin.take_if(|origin| origin == stream).is_none() {
                    return failed(format!("no capture began in stream {stream}"));
                }
                let joined = self.set_of(stream)?;
                let mut all = (0..).zip(&self.operations);
                if let Some((_, left)) = all.find(|(at, _)| joined >> at & 1 == 0) {
                    return failed(format!(
                        "hipErrorStreamCaptureUnjoined: {stream} did not wait for {} in line {}, so there is no graph",
                        left.name, left.line
                    ));
                }
                (self.sets, self.is_ended) = (BTreeMap::new(), true);
            }
            ("hipEventRecord", [event, stream]) => {
                self.sets.insert((*event).into(), self.set_of(stream)?);
            }
            ("hipStreamWaitEvent", [stream, event, ..]) => {
                let Some(recorded) = self.sets.get(*event).copied() else {
                    return failed(format!("{event} is not recorded yet, so nothing waits"));
                };
                *self.sets.entry((*stream).into()).or_default() |= recorded;
            }
            ("hipMemcpyAsync", [to, from, _bytes, _direction, stream]) => {
                self.is_host(to)?;
                self.is_host(from)?;
                let ends = [vec![(*from).into()], vec![(*to).into()]];
                self.add(call.line, format!("the copy to {to}"), stream, ends)?;
            }
            (name, _) if name.ends_with("Synchronize") || name == "hipMemcpy" => {
                return failed(format!(
                    "hipErrorStreamCaptureUnsupported: `{name}` waits for work that is only noted, and ends the capture"
                ));
            }
            (name, arguments) => {
                let mut launches = self.exercise.launches.iter();
                let launch = launches
                    .find(|one| one.entry == name && one.arguments.len() == arguments.len());
                let Some(launch) = launch else {
                    return unknown(&format!("{name}({})", arguments.join(", ")));
                };
                let Some(stream) = call.launch.get(3) else {
                    return failed("a launch without a stream goes to the default stream: write <<<groups, 256, 0, stream>>>".into());
                };
                let mut ends = [vec![], vec![]];
                for (parameter, passed) in launch.arguments.iter().zip(arguments) {
                    let kind = self.exercise.argument(parameter).map(|one| one.kind);
                    if !kind.is_some_and(|kind| kind.is_buffer()) {
                        continue;
                    }
                    if self.is_host(passed)? {
                        let why = format!("`{passed}` is no array on the GPU");
                        return Err((FindingKind::Wrong, why));
                    }
                    let writes = !self.exercise.only_reads(launch, parameter);
                    ends[usize::from(writes)].push((*passed).to_owned());
                }
                self.add(call.line, name.to_owned(), stream, ends)?;
            }
        }
        Ok(())
    }

    /// Whether this array of the exercise is on the host.
    fn is_host(&self, name: &str) -> Outcome<bool> {
        let argument = self.exercise.argument(name.trim_end_matches("_host"));
        match argument.is_some_and(|one| one.kind.is_buffer()) {
            true => Ok(name.ends_with("_host")),
            false => unknown(name),
        }
    }

    /// Returns what the next work in a captured stream waits for.
    fn set_of(&self, stream: &str) -> Outcome<u64> {
        self.sets.get(stream).copied().map_or_else(
            || failed(format!("stream {stream} takes no part in the capture here, so the call is not in the graph: it runs once, at once")),
            Ok,
        )
    }

    fn add(
        &mut self,
        line: u32,
        name: String,
        stream: &str,
        [reads, writes]: [Vec<String>; 2],
    ) -> Outcome<()> {
        let after = self.set_of(stream)?;
        let Some(own) = 1_u64.checked_shl(self.operations.len() as u32) else {
            return failed("the graph has more than 64 operations".into());
        };
        self.sets.insert(stream.to_owned(), after | own);
        self.operations.push(Operation {
            name,
            line,
            reads,
            writes,
            after,
        });
        Ok(())
    }

    /// Finds pairs of operations on one array that nothing orders.
    fn races(&self) -> Vec<KernelFinding> {
        let mut races = vec![];
        let shared = |a: &[String], b: &[String]| a.iter().find(|one| b.contains(one)).cloned();
        for (at, later) in self.operations.iter().enumerate() {
            for (earlier_at, earlier) in self.operations[..at].iter().enumerate() {
                let pairs = [
                    (&later.reads, "reads", &earlier.writes, "writes"),
                    (&later.writes, "writes", &earlier.reads, "reads"),
                    (&later.writes, "writes", &earlier.writes, "writes"),
                ];
                let mut pairs = pairs
                    .into_iter()
                    .filter(|_| later.after >> earlier_at & 1 == 0);
                let found = pairs.find_map(|(a, does, b, did)| Some((shared(a, b)?, does, did)));
                if let Some((array, does, did)) = found {
                    let (name, other, line) = (&later.name, &earlier.name, earlier.line);
                    let message = format!(
                        "{name} {does} {array}, which {other} {did} in line {line}: no event orders the two"
                    );
                    let race = KernelFinding::new(FindingKind::Race, Some(later.line), message);
                    races.push(KernelFinding {
                        other_line: Some(line),
                        ..race
                    });
                }
            }
        }
        races
    }

    /// Follows what each array holds. Without races, the order of the calls is as good as any.
    fn wrong_result(&self) -> Option<KernelFinding> {
        let (mut content, mut writer) = (BTreeMap::<&str, String>::new(), None);
        let ([array, expected], [copied_to, kernel]) = (&self.host.result, &self.host.overlap);
        for operation in &self.operations {
            let read = operation.reads.iter().map(|array| {
                let start = if array.ends_with("_host") {
                    ""
                } else {
                    "nothing in "
                };
                content
                    .get(&**array)
                    .cloned()
                    .unwrap_or_else(|| format!("{start}{array}"))
            });
            let read = itertools::join(read, ", ");
            let is_copy = operation.name.contains(' ');
            let result = if is_copy {
                read
            } else {
                format!("{}({read})", operation.name)
            };
            if result.len() > LONGEST_TERM {
                let message = format!("{array} gets more than this check follows");
                return Some(KernelFinding::new(
                    FindingKind::Wrong,
                    Some(operation.line),
                    message,
                ));
            }
            for written in &operation.writes {
                content.insert(written, result.clone());
                writer = (written == array).then_some(operation.line).or(writer);
            }
        }
        let got = content.get(&**array).map_or("nothing", |got| got);
        if got != expected {
            let message = format!("{array} gets {got} instead of {expected}");
            return Some(KernelFinding::new(FindingKind::Wrong, writer, message));
        }
        let all = &self.operations;
        let copy = all.iter().position(|one| one.writes.contains(copied_to))?;
        let launch = all.iter().position(|one| one.name == *kernel)?;
        let is_ordered = all[launch].after >> copy & 1 == 1 || all[copy].after >> launch & 1 == 1;
        is_ordered.then(|| {
            let message = format!(
                "the copy to {copied_to} and `{kernel}` in line {} run one after the other, and neither needs the other",
                all[launch].line
            );
            KernelFinding::new(FindingKind::Overlap, Some(all[copy].line), message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    /// Returns kinds, lines and messages for the solution with one of its texts replaced.
    fn found(from: &str, to: &str) -> Vec<(FindingKind, Option<u32>, String)> {
        let exercise = find("streams-and-graphs").unwrap();
        let solution = exercise.solution().unwrap();
        assert!(solution.contains(from), "{from}");
        let file = KernelFile {
            path: "kernel.hip".into(),
            text: solution.replace(from, to),
        };
        let found = findings(exercise, exercise.host.as_ref().unwrap(), &file);
        found
            .into_iter()
            .map(|one| (one.kind, one.line, one.message))
            .collect()
    }

    #[test]
    fn every_missing_call_of_the_solution_is_found() {
        let solution = find("streams-and-graphs").unwrap().solution().unwrap();
        assert_eq!(found("    scale", "    scale"), vec![]);
        let start = solution.find("void step() {").unwrap();
        for line in solution[start..]
            .lines()
            .filter(|line| line.ends_with(");"))
        {
            let left = found(&format!("{line}\n"), "\n");
            assert!(!left.is_empty(), "{line}");
        }
    }

    #[test]
    fn typical_mistakes_are_found_at_their_lines() {
        let exercise = find("streams-and-graphs").unwrap();
        for wrong in &exercise.wrong {
            let text = exercise.file(&wrong.file).unwrap();
            let all = found(exercise.solution().unwrap(), text);
            let is_shown = all
                .iter()
                .any(|one| (one.0, one.1) == (wrong.shows, wrong.line));
            assert!(is_shown, "{}: {all:?}", wrong.file);
        }
    }

    #[test]
    fn the_host_code_is_calls_and_nothing_else() {
        for (from, to, kind, line) in [
            ("&graph);", "&graph); for (;;) {}", FindingKind::Compile, 32),
            ("#ifdef HOST", "#if HOST", FindingKind::Compile, 0),
            (
                "scale<<<groups, 256, 0, compute>>>",
                "scale<<<groups, 256>>>",
                FindingKind::Capture,
                28,
            ),
            ("(x, h, n)", "(x_host, h, n)", FindingKind::Wrong, 28),
            ("(x, h, n)", "(x, h)", FindingKind::Compile, 28),
            (
                "0, compute>>>(x",
                "0, compvte>>>(x",
                FindingKind::Compile,
                28,
            ),
            (
                "forked, compute)",
                "forkd, compute)",
                FindingKind::Compile,
                23,
            ),
            ("(x, x_host,", "(y, x_host,", FindingKind::Compile, 25),
            (
                "(h, bias, out, n)",
                "(bias, h, out, n)",
                FindingKind::Wrong,
                31,
            ),
        ] {
            let all = found(from, to);
            assert_eq!(all.len(), 1, "{to}: {all:?}");
            assert_eq!(
                (all[0].0, all[0].1.unwrap_or(0)),
                (kind, line),
                "{to}: {all:?}"
            );
        }
    }

    #[test]
    fn a_content_that_doubles_with_each_launch_is_refused() {
        let twice = |from: &str, to: &str| {
            format!("add<<<groups, 256, 0, compute>>>({from}, {from}, {to}, n);\n")
        };
        let many = [twice("h", "out"), twice("out", "h")].concat().repeat(25);
        let all = found("    add<<<", &format!("{many}    add<<<"));
        assert_eq!(all.len(), 1, "{}", all.len());
        assert!(all[0].2.len() < 200, "{}", all[0].2.len());
    }
}
