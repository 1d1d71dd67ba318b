//! Describes exercises: `kernels/workbench/NN-name/exercise.yaml` and the kernels in the same folder.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, anyhow, bail};
use include_dir::{Dir, include_dir};
use itertools::Itertools as _;
use serde::Deserialize;

use tinyllama_base::Expression;
use tinyllama_base::named;
use tinyllama_machine::Program;

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../kernels/workbench");

/// Names of sizes and their values.
pub type NamedSizes = BTreeMap<String, f64>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    /// Position in the list, from 1.
    #[serde(skip)]
    pub number: usize,
    #[serde(skip)]
    folder: &'static str,
    pub name: String,
    pub title: String,
    pub learns: String,
    /// Exercises that come before this one.
    #[serde(default)]
    pub after: Vec<String>,
    /// One sentence that names the part of the model that does the same.
    pub model: String,
    /// Name of V4's kernel that the learner's can replace in a training step, if there is one.
    #[serde(default)]
    pub v4: Option<String>,
    /// One sentence that explains the form of the solution.
    pub reason: String,
    /// The task as Markdown.
    pub text: String,
    pub launches: Vec<LaunchText>,
    pub arguments: Vec<KernelParameter>,
    pub reference: ReferenceText,
    /// The compiled reference, once one was needed.
    #[serde(skip)]
    pub(super) reference_program: OnceLock<Program>,
    /// Limit of the error: |got - expected| <= tolerance · (|expected| + rms(expected)).
    pub tolerance: f64,
    /// The first case is a regular one. Access pictures show it.
    pub cases: Vec<NamedSizes>,
    /// What the task says of sizes. Each formula is a whole number of at least 0: `256 - width`, `head_dim / 2`.
    #[serde(default)]
    pub sizes: Vec<Expression>,
    /// Sizes of which a drawn case takes one of these values, instead of any that divides as those of the cases do.
    #[serde(default)]
    pub drawn: BTreeMap<String, Vec<f64>>,
    pub bench: NamedSizes,
    /// Least number of bytes to move; `flops` is the number of operations to compute.
    pub bytes: Expression,
    pub flops: Expression,
    #[serde(default)]
    pub limits: ErrorLimits,
    pub hints: Vec<String>,
    pub question: String,
    pub answer: String,
    #[serde(default)]
    pub wrong: Vec<Wrong>,
}

/// One launch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchText {
    pub entry: String,
    pub arguments: Vec<String>,
    pub grid: Vec<Expression>,
    pub block: Vec<Expression>,
    #[serde(default)]
    pub shared: Option<Expression>,
}

/// The launch of the kernel `reference` in the file `reference.hip`, which computes the correct results.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceText {
    /// Number of threads, at least.
    pub threads: Expression,
    /// Names of arguments and, as whole numbers, of sizes. The reference gets every output in f64, with its first values.
    pub arguments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelParameter {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ArgumentType,
    /// Number of elements of a buffer.
    #[serde(default)]
    pub size: Option<Expression>,
    /// Initial content of a buffer. Without it the buffer starts unwritten.
    #[serde(default)]
    pub values: Option<String>,
    /// Value of a number.
    #[serde(default)]
    pub value: Option<Expression>,
    #[serde(default)]
    pub output: bool,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    pub enum ArgumentType {
        #[serde(rename = "const float*")]
        ConstFloats = "const float *",
        #[serde(rename = "float*")]
        Floats = "float *",
        #[serde(rename = "const int*")]
        ConstInts = "const int *",
        #[serde(rename = "int*")]
        Ints = "int *",
        #[serde(rename = "float")]
        Float = "float ",
        #[serde(rename = "int")]
        Int = "int ",
    }
}

impl ArgumentType {
    /// The type without `const`.
    pub fn plain(self) -> &'static str {
        self.name().trim_start_matches("const ")
    }

    pub fn is_buffer(self) -> bool {
        !matches!(self, ArgumentType::Float | ArgumentType::Int)
    }

    pub fn is_float(self) -> bool {
        use ArgumentType::{ConstFloats, Float, Floats};
        matches!(self, ConstFloats | Floats | Float)
    }
}

/// Limits that a right kernel also has to keep. They are counted in the first case.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorLimits {
    /// Most cache lines for each line that is needed.
    pub lines: Option<f64>,
    /// Most lanes that use one bank.
    pub conflicts: Option<u64>,
    /// Most accesses by wavefronts, for each named array in global memory.
    #[serde(default)]
    pub requests: BTreeMap<String, Expression>,
    /// Most barriers that a workgroup passes.
    pub barriers: Option<Expression>,
    /// Fewest wavefronts that fit on a SIMD of gfx942.
    pub waves: Option<u32>,
}

/// A typical mistake and the finding that it causes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    pub file: String,
    pub shows: super::FindingKind,
    #[serde(default)]
    pub waves: Option<Vec<u32>>,
    #[serde(default)]
    pub says: Option<String>,
    #[serde(default)]
    pub line: Option<u32>,
    /// The line in waves of 32, where the compiler makes one access of two lines.
    #[serde(default)]
    pub line_of_32: Option<u32>,
}

impl Exercise {
    fn read(folder: &'static Dir<'static>) -> Result<Exercise> {
        let name = folder.path().to_str().unwrap_or_default();
        let file = folder.get_file(folder.path().join("exercise.yaml"));
        let text = file.and_then(|file| file.contents_utf8());
        let text = text.ok_or_else(|| anyhow!("kernels/workbench/{name}: no exercise.yaml"))?;
        let exercise: Exercise = serde_yaml::from_str(text)
            .with_context(|| format!("kernels/workbench/{name}/exercise.yaml"))?;
        if name.split_once('-').map(|(_, rest)| rest) != Some(exercise.name.as_str()) {
            bail!("kernels/workbench/{name}: its name is `{}`", exercise.name);
        }
        let outputs = exercise.arguments.iter().filter(|argument| argument.output);
        let mut names = outputs.map(|argument| &argument.name);
        if let Some(output) = names.find(|name| !exercise.reference.arguments.contains(name)) {
            bail!("kernels/workbench/{name}: the reference does not get `{output}`");
        }
        Ok(Exercise {
            folder: name,
            ..exercise
        })
    }

    /// Returns a file of the exercise's folder.
    ///
    /// # Errors
    /// Fails if there is no file of that name.
    pub fn file(&self, name: &str) -> Result<&'static str> {
        let path = format!("{}/{name}", self.folder);
        let file = FOLDER.get_file(&path).and_then(|file| file.contents_utf8());
        file.ok_or_else(|| anyhow!("{} is missing", self.path_of(name)))
    }

    /// Returns where a file of the exercise's folder lies in the repository.
    pub(super) fn path_of(&self, name: &str) -> String {
        format!("kernels/workbench/{}/{name}", self.folder)
    }

    /// Returns the file that learners start with.
    ///
    /// # Errors
    /// Fails like [`Exercise::file`].
    pub fn starter(&self) -> Result<&'static str> {
        self.file("starter.hip")
    }

    /// Returns the solution.
    ///
    /// # Errors
    /// Fails like [`Exercise::file`].
    pub fn solution(&self) -> Result<&'static str> {
        self.file("solution.hip")
    }

    /// Counts the lines of code in the solution that the starter does not have. Comments and closing brackets are no code.
    ///
    /// # Errors
    /// Fails like [`Exercise::file`].
    pub fn lines_to_write(&self) -> Result<usize> {
        let mut given = code_lines(self.starter()?).counts();
        let written = code_lines(self.solution()?).filter(|line| match given.get_mut(line) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
        Ok(written.count())
    }

    /// File name of the kernel that a learner writes.
    pub fn file_name(&self) -> String {
        format!("{}.hip", self.name)
    }

    pub fn argument(&self, name: &str) -> Option<&KernelParameter> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Whether the launch's kernel reads this buffer and does not write it.
    pub fn only_reads(&self, launch: &LaunchText, name: &str) -> bool {
        let kind = self.argument(name).map(|argument| argument.kind);
        let is_const = kind.is_some_and(|kind| kind.name().starts_with("const"));
        let is_buffer = kind.is_some_and(ArgumentType::is_buffer);
        let all = self.launches.iter();
        let mut earlier = all.take_while(|one| one.entry != launch.entry);
        is_const || is_buffer && earlier.any(|one| one.arguments.iter().any(|one| one == name))
    }

    /// Returns the head of the kernel that the file has to contain. Results of an earlier launch are read-only.
    pub fn signature(&self, launch: &LaunchText) -> String {
        let parameter = |name: &String| {
            let kind = self.argument(name).map(|argument| argument.kind);
            let type_name = kind.map_or("", ArgumentType::name);
            let is_const = type_name.starts_with("const");
            let before = if self.only_reads(launch, name) && !is_const {
                "const "
            } else {
                ""
            };
            format!("{before}{type_name}{name}")
        };
        let parameters = itertools::join(launch.arguments.iter().map(parameter), ", ");
        format!(
            "extern \"C\" __global__ void {}({parameters})",
            launch.entry
        )
    }
}

fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| line.contains(char::is_alphanumeric) && !line.starts_with("//"))
}

/// Returns the exercises that come after `exercise`: those that build on it, or else the one that follows it.
///
/// # Errors
/// Fails like [`exercises`].
pub fn next(exercise: &Exercise) -> Result<Vec<&'static Exercise>> {
    let all = exercises()?;
    let builds_on = |other: &&Exercise| other.after.contains(&exercise.name);
    let next: Vec<_> = all.iter().filter(builds_on).collect();
    Ok(match next.is_empty() {
        true => all.get(exercise.number).into_iter().collect(),
        false => next,
    })
}

/// Returns all exercises in their order.
///
/// # Errors
/// Returns the fault of the first exercise that cannot be read.
pub fn exercises() -> Result<&'static [Exercise]> {
    static ALL: OnceLock<Result<Vec<Exercise>, String>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut folders: Vec<_> = FOLDER.dirs().collect();
        folders.sort_by_key(|folder| folder.path());
        let read = folders.into_iter().zip(1..).map(|(folder, number)| {
            let exercise = Exercise::read(folder).map_err(|error| format!("{error:#}"))?;
            Ok(Exercise { number, ..exercise })
        });
        read.collect()
    });
    all.as_deref().map_err(|error| anyhow!("{error}"))
}

/// Finds an exercise by its name, number, or numbered name.
///
/// # Errors
/// Fails if it does not exist. The error lists the names that do.
pub fn find(wanted: &str) -> Result<&'static Exercise> {
    let all = exercises()?;
    let found = all.iter().find(|exercise| {
        exercise.name == wanted
            || exercise.folder == wanted
            || wanted.parse() == Ok(exercise.number)
    });
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|exercise| exercise.name.as_str()).collect();
        let near = names.iter().max_by(|a, b| {
            let near = |name: &str| strsim::jaro_winkler(name, wanted);
            near(a).total_cmp(&near(b))
        });
        let near = near.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        anyhow!(tinyllama_contract::flags::UsageError(format!(
            "no exercise is called `{wanted}`{near} There are: {}",
            names.join(", ")
        )))
    })
}
