//! The functions that SQLite writes with, in place of the C library's: they count writes, and fail on demand.
#![expect(unsafe_code, reason = "C calls these functions")]

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

/// No fault.
const NONE: u8 = 0;
const KILL: u8 = 1;
const TORN: u8 = 2;
const FULL: u8 = 3;

static KIND: AtomicU8 = AtomicU8::new(NONE);
static AT: AtomicU64 = AtomicU64::new(0);
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Sets the fault, such as `kill:7`.
pub(crate) fn arm(fault: &str) -> anyhow::Result<()> {
    let (kind, at) = fault.split_once(':').context("a fault is KIND:N")?;
    AT.store(at.parse()?, SeqCst);
    let kind = match kind {
        "kill" => KILL,
        "torn" => TORN,
        "full" => FULL,
        _ => anyhow::bail!("unknown fault: {kind}"),
    };
    KIND.store(kind, SeqCst);
    Ok(())
}

pub(crate) fn disarm() {
    KIND.store(NONE, SeqCst);
}

/// Returns the number of writes so far.
pub(crate) fn writes() -> u64 {
    WRITES.load(SeqCst)
}

/// Treatment of a write.
enum Treatment {
    Write,
    Tear,
    Refuse,
}

/// Counts a write and returns its treatment. Does not return if the process is to be killed before it.
fn next_treatment() -> Treatment {
    let number = WRITES.fetch_add(1, SeqCst) + 1;
    let at = AT.load(SeqCst);
    match KIND.load(SeqCst) {
        KILL if number == at => die(),
        TORN if number == at => Treatment::Tear,
        FULL if number >= at => Treatment::Refuse,
        _ => Treatment::Write,
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
    // SAFETY: the C library returns a valid pointer to the errno of this thread.
    unsafe { *__errno_location() = errno.raw_os_error() };
}

/// Replacement of `pwrite64`, the only function that SQLite writes data with.
///
/// # Safety
///
/// As for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, bytes: *const c_void, count: usize, offset: i64) -> isize {
    // SAFETY: the caller guarantees that the bytes are valid and the file is open.
    let (bytes, file) =
        unsafe { (std::slice::from_raw_parts(bytes.cast::<u8>(), count), BorrowedFd::borrow_raw(fd)) };
    let write = |bytes: &[u8]| rustix::io::pwrite(file, bytes, offset as u64);
    match next_treatment() {
        Treatment::Write => write(bytes).map_or_else(
            |errno| {
                fail(errno);
                -1
            },
            |written| written as isize,
        ),
        Treatment::Tear => {
            let _ = write(&bytes[..count / 2]);
            die()
        }
        Treatment::Refuse => {
            fail(Errno::NOSPC);
            -1
        }
    }
}

/// # Safety
///
/// As for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, length: i64) -> c_int {
    // SAFETY: the caller guarantees that the file is open.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let treatment = next_treatment();
    // A file can be truncated even on a full disk.
    let done = rustix::fs::ftruncate(file, length as u64);
    if let Treatment::Tear = treatment {
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
/// As for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the caller guarantees that the file is open.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    if let Treatment::Tear = next_treatment() {
        die();
    }
    rustix::fs::fsync(file).map_or(-1, |()| 0)
}
