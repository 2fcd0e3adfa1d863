//! The functions by which SQLite writes, in front of the system's own: they count, and fail when told to.
#![expect(unsafe_code, reason = "these are called by C")]

use std::{
    ffi::{c_int, c_void},
    os::fd::BorrowedFd,
    sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst},
};

use anyhow::Context as _;
use rustix::{
    io::Errno,
    process::{Signal, getpid, kill_process},
};

/// Nothing happens.
const NONE: u8 = 0;
const KILL: u8 = 1;
const TORN: u8 = 2;
const FULL: u8 = 3;

static KIND: AtomicU8 = AtomicU8::new(NONE);
static AT: AtomicU64 = AtomicU64::new(0);
static WRITES: AtomicU64 = AtomicU64::new(0);

/// `kill:7`.
pub(crate) fn arm(fault: &str) -> anyhow::Result<()> {
    let (kind, at) = fault.split_once(':').context("a fault is KIND:N")?;
    AT.store(at.parse()?, SeqCst);
    let kind = match kind {
        "kill" => KILL,
        "torn" => TORN,
        "full" => FULL,
        _ => anyhow::bail!("there is no fault called {kind}"),
    };
    KIND.store(kind, SeqCst);
    Ok(())
}

pub(crate) fn disarm() {
    KIND.store(NONE, SeqCst);
}

/// The number of writes so far.
pub(crate) fn writes() -> u64 {
    WRITES.load(SeqCst)
}

/// The treatment of a write.
enum Fate {
    Happens,
    IsTorn,
    HasNoRoom,
}

/// Counts a write; does not return where the process is to end before it.
fn fate() -> Fate {
    let number = WRITES.fetch_add(1, SeqCst) + 1;
    let at = AT.load(SeqCst);
    match KIND.load(SeqCst) {
        KILL if number == at => die(),
        TORN if number == at => Fate::IsTorn,
        FULL if number >= at => Fate::HasNoRoom,
        _ => Fate::Happens,
    }
}

fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

fn fail(errno: Errno) {
    // SAFETY: the C library gives a pointer to this thread's own number.
    unsafe { *__errno_location() = errno.raw_os_error() };
}

/// SQLite writes with this alone.
///
/// # Safety
///
/// As for the system's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, bytes: *const c_void, count: usize, offset: i64) -> isize {
    // SAFETY: the caller says that the bytes are there and the file is open.
    let (bytes, file) =
        unsafe { (std::slice::from_raw_parts(bytes.cast::<u8>(), count), BorrowedFd::borrow_raw(fd)) };
    let write = |bytes: &[u8]| rustix::io::pwrite(file, bytes, offset as u64);
    match fate() {
        Fate::Happens => write(bytes).map_or_else(
            |errno| {
                fail(errno);
                -1
            },
            |written| written as isize,
        ),
        Fate::IsTorn => {
            let _ = write(&bytes[..count / 2]);
            die()
        }
        Fate::HasNoRoom => {
            fail(Errno::NOSPC);
            -1
        }
    }
}

/// # Safety
///
/// As for the system's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, length: i64) -> c_int {
    // SAFETY: the caller says that the file is open.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let fate = fate();
    // Where there is no room, a file can still become shorter.
    let done = rustix::fs::ftruncate(file, length as u64);
    if let Fate::IsTorn = fate {
        die();
    }
    done.map_or_else(
        |errno| {
            fail(errno);
            -1
        },
        |()| 0,
    )
}

/// # Safety
///
/// As for the system's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the caller says that the file is open.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    if let Fate::IsTorn = fate() {
        die();
    }
    rustix::fs::fsync(file).map_or(-1, |()| 0)
}
