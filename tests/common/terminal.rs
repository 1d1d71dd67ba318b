//! Runs a program on a pseudo-terminal and reads the screen that a learner would see.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use vt100::Parser;

/// Time limit for a wait. Only a failure reaches it: machines that run tests are slow and shared.
pub const TIMEOUT: Duration = Duration::from_secs(300);

pub struct Terminal {
    pty: Option<Arc<Pty>>,
    pub child: Child,
    screen: Arc<Mutex<Parser>>,
    written: Arc<Mutex<Vec<u8>>>,
    closed: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    pub fn start(command: Command, columns: u16, rows: u16) -> Self {
        let (pty, pts) = open().expect("a pseudo-terminal");
        pty.resize(Size::new(rows, columns)).expect("its size");
        let child = command.spawn(pts).expect("the program starts");
        let pty = Arc::new(pty);
        let screen = Arc::new(Mutex::new(Parser::new(nonzero(rows), nonzero(columns), 0)));
        let written = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(AtomicBool::new(false));
        let reader = {
            let (pty, screen, written, closed) = (
                Arc::clone(&pty),
                Arc::clone(&screen),
                Arc::clone(&written),
                Arc::clone(&closed),
            );
            thread::spawn(move || read(&pty, &screen, &written, &closed))
        };
        Self {
            pty: Some(pty),
            child,
            screen,
            written,
            closed,
            reader: Some(reader),
        }
    }

    pub fn send(&self, keys: &str) {
        let mut pty = self.pty.as_deref().expect("an open terminal");
        pty.write_all(keys.as_bytes()).expect("keys can be sent");
    }

    /// Sends keys and waits until the screen shows `text`, so that the next key finds the state it needs.
    pub fn press(&self, keys: &str, text: &str) {
        self.send(keys);
        self.wait_for(text);
    }

    /// Sends Escape and waits until `closed` has left the screen. A key right behind an escape would count as that key with Alt.
    pub fn escape(&self, closed: &str) {
        self.send("\x1b");
        self.wait_until(&format!("{closed:?} to close"), |terminal| {
            !terminal.text().contains(closed)
        });
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.screen
            .lock()
            .unwrap()
            .screen_mut()
            .set_size(nonzero(rows), nonzero(columns));
        let pty = self.pty.as_ref().expect("an open terminal");
        pty.resize(Size::new(rows, columns)).expect("a new size");
    }

    /// The text on the screen without trailing blanks, because a screen does not show whether a blank was written.
    pub fn text(&self) -> String {
        let contents = self.screen.lock().unwrap().screen().contents();
        let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_string()
    }

    pub fn is_alternate(&self) -> bool {
        self.screen.lock().unwrap().screen().alternate_screen()
    }

    /// True if the program asked for mouse events.
    pub fn takes_the_mouse(&self) -> bool {
        let parser = self.screen.lock().unwrap();
        parser.screen().mouse_protocol_mode() != vt100::MouseProtocolMode::None
    }

    /// True if `wanted` accepts any cell.
    pub fn any_cell(&self, wanted: impl Fn(&vt100::Cell) -> bool) -> bool {
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        (0..rows)
            .any(|row| (0..columns).any(|column| screen.cell(row, column).is_some_and(&wanted)))
    }

    /// Lines that went on over the right edge, where the terminal broke them.
    pub fn torn_lines(&self) -> Vec<String> {
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        let lines = (0..).zip(screen.rows(0, screen.size().1.get()));
        let torn = lines.filter(|(row, _)| screen.row_wrapped(*row));
        torn.map(|(_, line)| line).collect()
    }

    /// The colour of the first character of `text`, where it first stands on the screen.
    pub fn colour_of(&self, text: &str) -> Option<vt100::Color> {
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        let lines = (0..).zip(screen.rows(0, screen.size().1.get()));
        let mut found = lines.filter_map(|(row, line)| {
            let column = line[..line.find(text)?].chars().count();
            Some(screen.cell(row, u16::try_from(column).ok()?)?.fgcolor())
        });
        found.next()
    }

    /// Number of bytes that the program has written so far.
    pub fn bytes(&self) -> usize {
        self.written.lock().unwrap().len()
    }

    /// Everything that the program has written, with its control sequences.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Waits until the screen shows `text`.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |terminal| terminal.text().contains(text));
    }

    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + TIMEOUT;
        while !is_so(self) {
            assert!(
                Instant::now() < until,
                "waited for {what}; the screen:\n{}",
                self.text()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes the terminal, as a lost connection does.
    pub fn hang_up(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends");
        }
        self.pty = None;
    }

    /// Waits until the program has ended.
    pub fn wait(&mut self) -> ExitStatus {
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status;
            }
            assert!(
                Instant::now() < until,
                "it does not end; the screen:\n{}",
                self.text()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A failed test leaves no process behind.
        drop(self.child.kill());
        drop(self.child.wait());
        self.hang_up();
    }
}

fn nonzero(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a terminal has rows and columns")
}

fn read(pty: &Pty, screen: &Mutex<Parser>, written: &Mutex<Vec<u8>>, closed: &AtomicBool) {
    let mut buffer = [0; 65536];
    let mut pty_reader = pty;
    let mut waiting = Vec::new();
    while !closed.load(Ordering::SeqCst) {
        let mut watched = libc::pollfd {
            fd: pty.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: the structure outlives the call, and the count is one.
        let ready = unsafe { libc::poll(&raw mut watched, 1, 20) };
        if ready <= 0 {
            continue;
        }
        match pty_reader.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                written.lock().unwrap().extend_from_slice(&buffer[..count]);
                waiting.extend_from_slice(&buffer[..count]);
                let shown: Vec<u8> = waiting.drain(..whole_frames(&waiting)).collect();
                screen.lock().unwrap().process(&shown);
            }
        }
    }
    screen.lock().unwrap().process(&waiting);
}

/// Length of the bytes that end no later than a frame does. A terminal with synchronized updates shows whole frames only, so that
/// no test sees half of one.
fn whole_frames(bytes: &[u8]) -> usize {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";
    let last = |mark: &[u8]| bytes.windows(mark.len()).rposition(|part| part == mark);
    if let Some(begin) = last(BEGIN)
        && last(END).is_none_or(|end| end < begin)
    {
        return begin;
    }
    // The beginning may have come in part.
    let cut = (1..BEGIN.len()).find(|length| bytes.ends_with(&BEGIN[..*length]));
    bytes.len() - cut.unwrap_or_default()
}

/// Ids of processes that have `home` in their environment.
pub fn processes(home: &Path) -> Vec<u32> {
    let home = home.display().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process: &u32| {
            let is_zombie = std::fs::read_to_string(format!("/proc/{process}/stat"))
                .is_ok_and(|stat| stat.contains(") Z "));
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            !is_zombie && String::from_utf8_lossy(&environment).contains(&home)
        })
        .collect()
}
