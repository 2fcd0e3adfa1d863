//! [`Terminal`]: a program at a terminal of its own, and what a person would see there.
//!
//! A pseudo-terminal with an emulator behind it, so that tests see the screen as it is after all the moving of cursors
//! and clearing of lines, not the bytes that made it.

use std::{
    ffi::OsStr,
    io::{Read as _, Write as _},
    num::NonZeroU16,
    path::Path,
    process::{Child, ExitStatus},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use parking_lot::Mutex;
use pty_process::{
    Size,
    blocking::{Command, Pty},
};
use vt100::Parser;

/// Time that a test waits for something to appear; busy machines are slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time that the output before the end of a program takes to appear. A process that it has left keeps the terminal
/// open.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Pause between two looks.
const INTERVAL: Duration = Duration::from_millis(10);
/// Lines above the screen that are kept.
const SCROLLBACK: usize = 2_000;

/// A program at a terminal of 100 by 30 characters. Dropped, the program is killed.
pub struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    screen: Arc<Mutex<Parser>>,
    output: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// The width of the screen.
    pub const COLUMNS: u16 = 100;
    /// Its height.
    pub const ROWS: u16 = 30;

    /// Starts a program with nothing in its environment but this.
    ///
    /// # Errors
    ///
    /// There is no terminal, or no such program.
    pub fn start<A: AsRef<OsStr>, K: AsRef<OsStr>, V: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        environment: impl IntoIterator<Item = (K, V)>,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        Self::start_sized(program, arguments, environment, folder, (Self::COLUMNS, Self::ROWS))
    }

    /// Starts a program at a terminal with this number of columns and rows.
    ///
    /// # Errors
    ///
    /// There is no terminal, or no such program.
    pub fn start_sized<A: AsRef<OsStr>, K: AsRef<OsStr>, V: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        environment: impl IntoIterator<Item = (K, V)>,
        folder: &Path,
        (columns, rows): (u16, u16),
    ) -> anyhow::Result<Self> {
        let (pty, pts) = pty_process::blocking::open()?;
        pty.resize(Size::new(rows, columns))?;
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment)
            .env("TERM", "xterm-256color")
            .current_dir(folder)
            .spawn(pts)
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let (rows, columns) = (NonZeroU16::new(rows), NonZeroU16::new(columns));
        let (rows, columns) = (rows.context("rows")?, columns.context("columns")?);
        let screen = Arc::new(Mutex::new(Parser::new(rows, columns, SCROLLBACK)));
        let (pty, output) = (Arc::new(pty), Arc::default());
        let reader = thread::spawn({
            let (pty, screen, output) = (Arc::clone(&pty), Arc::clone(&screen), Arc::clone(&output));
            move || follow(&pty, &screen, &output)
        });
        Ok(Self { child, pty, screen, output, reader })
    }

    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Types something; `\r` is the enter key, `\x03` Ctrl-C, `\x04` Ctrl-D.
    ///
    /// # Errors
    ///
    /// The program has ended.
    pub fn send(&self, keys: &str) -> anyhow::Result<()> {
        (&*self.pty).write_all(keys.as_bytes()).context("the program no longer reads what is typed")
    }

    /// The screen as it is now: lines without what is blank at their ends, and no blank lines at the end.
    pub fn screen(&self) -> String {
        let screen = self.screen.lock();
        let contents = screen.screen().contents();
        let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// The same with colours and styles, as escape sequences.
    pub fn styled_screen(&self) -> String {
        let screen = self.screen.lock();
        screen.screen().contents_formatted()
    }

    /// All bytes that the program has written, with the control sequences that show nothing.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock()).into_owned()
    }

    /// Waits until the screen shows something.
    ///
    /// # Errors
    ///
    /// With the screen, where it does not.
    pub fn wait_for(&self, text: &str) -> anyhow::Result<()> {
        self.wait_until(&format!("{text:?} is not"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as a function wants it.
    ///
    /// # Errors
    ///
    /// With the screen, where it never is.
    pub fn wait_until(&self, what: &str, is_there: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if is_there(&self.screen()) {
                return Ok(());
            }
            thread::sleep(INTERVAL);
        }
        bail!("{what} on the screen after {PATIENCE:?}:\n{}", self.screen())
    }

    /// Returns whether the program has ended.
    ///
    /// # Errors
    ///
    /// The system does not tell.
    pub fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits until the program ends. Its last output is on the screen then.
    ///
    /// # Errors
    ///
    /// With the screen, where it does not.
    pub fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait()? {
                self.wait_for_last_output();
                return Ok(status);
            }
            thread::sleep(INTERVAL);
        }
        bail!("the program has not ended after {PATIENCE:?}:\n{}", self.screen())
    }

    fn wait_for_last_output(&self) {
        let end = Instant::now() + LAST_OUTPUT;
        while !self.reader.is_finished() && Instant::now() < end {
            thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Shows on the screen what the program writes, until it closes the terminal.
fn follow(pty: &Pty, screen: &Mutex<Parser>, output: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    // Reading from a pseudo-terminal without a holder is an error.
    let mut source = pty;
    while let Ok(read) = source.read(&mut bytes) {
        if read == 0 {
            break;
        }
        screen.lock().process(&bytes[..read]);
        output.lock().extend_from_slice(&bytes[..read]);
    }
}
