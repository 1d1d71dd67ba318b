//! The one way of text to standard output and standard error.
//!
//! Names, paths and messages come from files, learners, drivers and the command line. What goes through [`Stdout`] and
//! [`Stderr`] has no control character but the line break, so nothing in it can command the terminal.

use std::fmt::Arguments;
use std::io::{self, Write};

use super::untrusted::PlainWriter;

/// Standard output. Each formatted text is written at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stdout;

/// Standard error, as [`Stdout`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Stderr;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        PlainWriter(io::stdout().lock()).write(bytes)
    }

    fn write_fmt(&mut self, text: Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        PlainWriter(io::stderr().lock()).write(bytes)
    }

    fn write_fmt(&mut self, text: Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Writes text with this program's own colours to standard output. Everything else in it has to be [`plain`].
///
/// [`plain`]: super::untrusted::plain
///
/// # Errors
/// If it cannot be written.
pub fn write_coloured(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// The same to standard error.
///
/// # Errors
/// If it cannot be written.
pub fn write_coloured_error(text: &str) -> io::Result<()> {
    io::stderr().lock().write_all(text.as_bytes())
}

/// Prints a line to standard error. One that cannot be printed is lost.
#[macro_export]
macro_rules! errln {
    ($($text:tt)*) => {
        drop(::std::io::Write::write_fmt(
            &mut $crate::terminal::Stderr,
            format_args!("{}\n", format_args!($($text)*)),
        ))
    };
}

/// Prints a line to standard output. One that cannot be printed is lost.
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => {
        drop(::std::io::Write::write_fmt(
            &mut $crate::terminal::Stdout,
            format_args!("{}\n", format_args!($($text)*)),
        ))
    };
}
