//! What a matrix multiplication computes, and where its operands are.

use std::fmt;

use super::{Address, DriverError, Result};
use tinyllama_base::named;

named! {
    /// The type in which the operands are stored and multiplied. Sums are always f32.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum GemmPrecision {
        F32 = "f32",
        /// f32 in memory, rounded for the tensor cores to NVIDIA's TF32 or AMD's XF32 (10 bits of mantissa).
        Tf32 = "tf32",
        /// bf16 operands.
        Bf16 = "bf16",
    }
}

/// The type in which `c` and `d` are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputType {
    F32,
    /// With [`GemmPrecision::Bf16`] only.
    Bf16,
}

/// Memory layout of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// True if the stored matrix is used transposed.
    pub transposed: bool,
    /// Elements from one stored row to the next.
    pub row_stride: usize,
    /// Elements from one matrix of a batch to the next; 0 uses the same matrix for all of them.
    pub batch_stride: usize,
}

impl Operand {
    /// Maps values for the rows and columns in use to the rows and columns in storage.
    pub fn stored<T>(self, rows: T, columns: T) -> (T, T) {
        match self.transposed {
            true => (columns, rows),
            false => (rows, columns),
        }
    }
}

/// `d[m, n] = alpha * op(a)[m, k] op(b)[k, n] + beta * c[m, n]`, `batch` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmSpec {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Operand,
    pub b: Operand,
    /// `c` and `d`, which have the same strides; never transposed.
    pub d: Operand,
    pub batch: usize,
    pub precision: GemmPrecision,
    pub output: OutputType,
    /// True if runs add to the previous content: their `beta` is not 0.
    pub adds: bool,
}

impl GemmSpec {
    /// One product of densely packed matrices, none transposed, with f32 output.
    pub fn new(m: usize, n: usize, k: usize, precision: GemmPrecision) -> Self {
        let dense = |row_stride| Operand {
            transposed: false,
            row_stride,
            batch_stride: 0,
        };
        GemmSpec {
            m,
            n,
            k,
            a: dense(k),
            b: dense(n),
            d: dense(n),
            batch: 1,
            precision,
            output: OutputType::F32,
            adds: false,
        }
    }

    /// Declares `a` as stored densely as `[k, m]`.
    pub fn transpose_a(mut self) -> Self {
        self.a.transposed = true;
        self.a.row_stride = self.m;
        self
    }

    /// Declares `b` as stored densely as `[n, k]`, like a weight of `[outputs, inputs]`.
    pub fn transpose_b(mut self) -> Self {
        self.b.transposed = true;
        self.b.row_stride = self.k;
        self
    }

    /// Declares `batch` products at once, whose matrices are this many elements apart.
    pub fn batched(mut self, batch: usize, a: usize, b: usize, d: usize) -> Self {
        self.batch = batch;
        self.a.batch_stride = a;
        self.b.batch_stride = b;
        self.d.batch_stride = d;
        self
    }

    pub fn with_output(mut self, output: OutputType) -> Self {
        self.output = output;
        self
    }

    pub fn adding(mut self, adds: bool) -> Self {
        self.adds = adds;
        self
    }

    /// Returns the multiplications and additions of one run.
    pub fn flops(&self) -> u64 {
        2 * (self.m * self.n * self.k * self.batch) as u64
    }

    /// Returns the bytes of `a`, `b` and `d` from their first to their last element.
    pub fn bytes(&self) -> [usize; 3] {
        let extent = |operand: Operand, rows: usize, columns: usize, size: usize| {
            let (rows, columns) = operand.stored(rows, columns);
            let last = (rows.saturating_sub(1)) * operand.row_stride
                + columns
                + self.batch.saturating_sub(1) * operand.batch_stride;
            last * size
        };
        let input = self.precision.element_bytes();
        let output = self.output.element_bytes();
        [
            extent(self.a, self.m, self.k, input),
            extent(self.b, self.k, self.n, input),
            extent(self.d, self.m, self.n, output),
        ]
    }

    /// Fails if the description contradicts itself.
    pub fn check(&self) -> Result<()> {
        let shortest = |operand: Operand, rows: usize, columns: usize| {
            operand.row_stride >= operand.stored(rows, columns).1
        };
        let problem = if [self.m, self.n, self.k, self.batch].contains(&0) {
            "empty side"
        } else if !shortest(self.a, self.m, self.k)
            || !shortest(self.b, self.k, self.n)
            || self.d.transposed
            || !shortest(self.d, self.m, self.n)
        {
            "overlap"
        } else if self.batch > 1 && self.d.batch_stride == 0 {
            "one place"
        } else if self.output == OutputType::Bf16 && self.precision != GemmPrecision::Bf16 {
            "f32 operands"
        } else {
            return Ok(());
        };
        Err(DriverError::Invalid(format!("gemm {self} {problem}")))
    }
}

impl GemmPrecision {
    /// Returns the type in which operands are stored.
    pub fn stored(self) -> OutputType {
        match self {
            GemmPrecision::F32 | GemmPrecision::Tf32 => OutputType::F32,
            GemmPrecision::Bf16 => OutputType::Bf16,
        }
    }

    pub fn element_bytes(self) -> usize {
        self.stored().element_bytes()
    }
}

impl OutputType {
    pub fn element_bytes(self) -> usize {
        match self {
            OutputType::F32 => 4,
            OutputType::Bf16 => 2,
        }
    }
}

impl fmt::Display for GemmSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |operand: Operand| if operand.transposed { "T" } else { "" };
        let (a, b) = (mark(self.a), mark(self.b));
        let GemmSpec {
            precision, m, n, k, ..
        } = self;
        write!(formatter, "{precision} {m}x{n}x{k} (a{a} b{b}")?;
        if self.batch > 1 {
            write!(formatter, ", {} times", self.batch)?;
        }
        match self.output {
            OutputType::F32 => formatter.write_str(")"),
            OutputType::Bf16 => formatter.write_str(", bf16 out)"),
        }
    }
}

/// The operands of one multiplication, `d = alpha * op(a) op(b) + beta * c`. `c` may be `d`.
#[derive(Clone, Copy, Debug)]
pub struct GemmOperands {
    pub alpha: f32,
    pub a: Address,
    pub b: Address,
    pub beta: f32,
    pub c: Address,
    pub d: Address,
}

impl GemmOperands {
    /// Creates the operands of `d = op(a) op(b)`.
    pub fn product(a: Address, b: Address, d: Address) -> Self {
        GemmOperands {
            alpha: 1.0,
            a,
            b,
            beta: 0.0,
            c: d,
            d,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_products_are_refused() {
        let good = GemmSpec::new(4, 6, 8, GemmPrecision::F32);
        let strided = |spec: GemmSpec, [a, b, d]: [usize; 3]| {
            let mut spec = spec;
            (spec.a.row_stride, spec.b.row_stride, spec.d.row_stride) = (a, b, d);
            spec
        };
        for (bad, reason) in [
            (GemmSpec::new(0, 6, 8, GemmPrecision::F32), "empty side"),
            (strided(good, [7, 6, 6]), "overlap"),
            (strided(good.transpose_b(), [8, 7, 6]), "overlap"),
            (strided(good, [8, 6, 5]), "overlap"),
            (good.batched(2, 32, 48, 0), "one place"),
            (good.with_output(OutputType::Bf16), "f32 operands"),
        ] {
            let error = bad.check().unwrap_err();
            assert!(error.to_string().ends_with(reason), "{error}");
        }
        good.check().unwrap();
        assert_eq!(good.bytes(), [4 * 8 * 4, 8 * 6 * 4, 4 * 6 * 4]);
        assert_eq!(
            strided(good, [10, 7, 9]).bytes(),
            [(3 * 10 + 8) * 4, (7 * 7 + 6) * 4, (3 * 9 + 6) * 4]
        );
    }
}
