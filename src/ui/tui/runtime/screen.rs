//! The terminal: enters it, draws each frame with one write, and gives it back in every case.
//!
//! ratatui's own `Terminal` asks the terminal for its cursor position on every clear. Over a slow line that is a
//! wait, and a lost answer is an error. This module needs only two buffers and their difference.

use std::io::{self, Write};
use std::panic;
use std::sync::Once;
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, queue, style};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::prelude::{Buffer, Position, Rect};

use tinyllama_runs::Processes;
use tinyllama_tutor_core::SharedSession;

/// The output that a screen is written to.
pub trait ScreenDevice: Send {
    /// Switches raw mode: in it, keys arrive one by one and are not echoed.
    fn set_raw(&mut self, raw: bool) -> io::Result<()>;

    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Columns and rows.
    fn size(&self) -> io::Result<(u16, u16)>;

    /// Returns whether the terminal should report the mouse.
    fn mouse(&self) -> bool;
}

/// The terminal in which this program was started.
pub struct Tty {
    pub mouse: bool,
}

impl ScreenDevice for Tty {
    fn set_raw(&mut self, raw: bool) -> io::Result<()> {
        match raw {
            true => enable_raw_mode(),
            false => disable_raw_mode(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Asks the operating system for the size, not the terminal.
    fn size(&self) -> io::Result<(u16, u16)> {
        crossterm::terminal::size()
    }

    fn mouse(&self) -> bool {
        self.mouse
    }
}

/// Reads the typed or pasted bytes that still wait in the terminal's queue.
pub fn waiting() -> String {
    let mut text = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        let mut count: libc::c_int = 0;
        // SAFETY: FIONREAD writes one int, and the descriptor belongs to this process.
        let asked = unsafe { libc::ioctl(libc::STDIN_FILENO, libc::FIONREAD, &mut count) };
        if asked != 0 || count <= 0 {
            break;
        }
        // The buffer of `stdin` would keep bytes that it reads ahead, so this reads without it.
        // SAFETY: the buffer has the length that the call gets, and there are bytes to read.
        let read =
            unsafe { libc::read(libc::STDIN_FILENO, bytes.as_mut_ptr().cast(), bytes.len()) };
        match usize::try_from(read) {
            Ok(read) if read > 0 => text.extend_from_slice(&bytes[..read]),
            _ => break,
        }
    }
    let text = String::from_utf8_lossy(&text).replace('\r', "\n");
    text.chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .collect()
}

pub struct Screen {
    device: Box<dyn ScreenDevice>,
    /// The frame on the terminal, or `None` if its content is unknown.
    shown: Option<Buffer>,
    /// Position of the visible cursor on the terminal.
    cursor: Option<Position>,
}

impl Screen {
    pub fn enter(device: impl ScreenDevice + 'static) -> io::Result<Self> {
        // Under NO_COLOR crossterm writes sequences that also switch off bold. The mono theme has no colour to write.
        style::force_color_output(true);
        let mut screen = Self {
            device: Box::new(device),
            shown: None,
            cursor: None,
        };
        screen.enter_again()?;
        Ok(screen)
    }

    /// Enters the terminal after another program had it; the next frame draws everything.
    pub fn enter_again(&mut self) -> io::Result<()> {
        self.device.set_raw(true)?;
        let mut bytes = Vec::new();
        queue!(
            bytes,
            EnterAlternateScreen,
            cursor::Hide,
            EnableBracketedPaste
        )?;
        if self.device.mouse() {
            queue!(bytes, EnableMouseCapture)?;
        }
        self.shown = None;
        self.cursor = None;
        self.device.write(&bytes)
    }

    pub fn leave(&mut self) -> io::Result<()> {
        self.shown = None;
        give_back(self.device.as_mut())
    }

    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.device.size()
    }

    /// Draws everything in the next frame. A terminal that was small for a moment lost what it showed, even if it has its
    /// old size when that is noticed.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Asks the terminal to put a text into its clipboard.
    pub fn copy(&mut self, text: &str, in_tmux: bool) -> io::Result<()> {
        self.device.write(&clipboard(text, in_tmux)?)
    }

    /// Draws the differences from the last frame in one synchronized write. Returns the number of bytes.
    pub fn draw(
        &mut self,
        area: Rect,
        paint: impl FnOnce(&mut Buffer) -> Option<Position>,
    ) -> io::Result<usize> {
        let mut next = Buffer::empty(area);
        let cursor = paint(&mut next);
        let mut bytes = Vec::new();
        queue!(bytes, BeginSynchronizedUpdate)?;
        let before = self.shown.take().filter(|shown| shown.area == area);
        let before = match before {
            Some(before) => before,
            None => {
                queue!(bytes, style::ResetColor, Clear(ClearType::All))?;
                Buffer::empty(area)
            }
        };
        let changes = before.diff(&next);
        let is_same = changes.is_empty() && cursor == self.cursor && bytes.len() <= SYNC_LENGTH;
        if !changes.is_empty() {
            CrosstermBackend::new(&mut bytes).draw(changes.iter().copied())?;
        }
        match cursor {
            Some(position) => queue!(bytes, cursor::MoveTo(position.x, position.y), cursor::Show)?,
            None if self.cursor.is_some() => queue!(bytes, cursor::Hide)?,
            None => {}
        }
        queue!(bytes, EndSynchronizedUpdate)?;
        self.shown = Some(next);
        self.cursor = cursor;
        if is_same {
            return Ok(0);
        }
        self.device.write(&bytes)?;
        Ok(bytes.len())
    }
}

/// The OSC 52 sequence. Within tmux it comes twice: for tmux itself, and passed through to the terminal around it.
/// Each takes effect if the configuration allows it.
fn clipboard(text: &str, in_tmux: bool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    queue!(bytes, CopyToClipboard::to_clipboard_from(text))?;
    if in_tmux {
        let passed = bytes.clone();
        bytes.extend(b"\x1bPtmux;");
        for byte in passed {
            if byte == b'\x1b' {
                bytes.push(byte);
            }
            bytes.push(byte);
        }
        bytes.extend(b"\x1b\\");
    }
    Ok(bytes)
}

/// Length of the bytes that start a frame and draw nothing.
const SYNC_LENGTH: usize = "\x1b[?2026h".len();

/// Restores the terminal to its earlier state. It may be called if the tutor never changed it.
pub fn restore() -> io::Result<()> {
    give_back(&mut Tty { mouse: false })
}

fn give_back(device: &mut dyn ScreenDevice) -> io::Result<()> {
    let mut bytes = Vec::new();
    queue!(
        bytes,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        style::ResetColor,
        LeaveAlternateScreen,
        cursor::Show
    )?;
    let sent = device.write(&bytes);
    device.set_raw(false)?;
    sent
}

/// Installs a hook: after a panic on any thread it restores the terminal, closes the session and ends the children.
pub fn restore_on_panic(session: SharedSession, processes: Processes) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let _ = restore();
            usual(info);
            eprintln!("The tutor has a bug and ends here; please report the lines above.");
            processes.end_all(Duration::from_millis(200));
            match session.try_close() {
                Some(Ok(())) => eprintln!("Your progress is kept."),
                Some(Err(error)) => eprintln!("error: {error}\n       {}", error.remedy()),
                // The lock is held, so the panic happened during a write.
                None => eprintln!("Your progress is kept, except perhaps the last step."),
            }
            std::process::exit(101);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_to_the_clipboard_and_past_tmux() {
        let text = |in_tmux| String::from_utf8(clipboard("run v1", in_tmux).unwrap()).unwrap();
        assert_eq!(text(false), "\x1b]52;c;cnVuIHYx\x1b\\");
        let passed = "\x1bPtmux;\x1b\x1b]52;c;cnVuIHYx\x1b\x1b\\\x1b\\";
        assert_eq!(text(true), text(false) + passed);
    }
}
