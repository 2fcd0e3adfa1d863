//! Lays out the release binary on Linux, so that a run maps less of it into memory.

use std::{env, process::Command};

/// The target for which rustc brings its own linker, which knows these options.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The first glibc that loads packed relocations.
const PACKED_RELOCATIONS: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=text_order.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_ours = is("PROFILE", "release") && is("TARGET", TARGET) && is("HOST", TARGET);
    if !is_ours || has_other_linker() {
        return;
    }
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/text_order.ld");
    if glibc().is_some_and(|version| version >= PACKED_RELOCATIONS) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns true if the user has chosen a linker.
fn has_other_linker() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    env::var_os("RUSTC_LINKER").is_some() || flags.contains("linker") || flags.contains("-fuse-ld")
}

/// Returns the version of the C library that the binary is built against.
fn glibc() -> Option<(u32, u32)> {
    #[expect(clippy::disallowed_methods, reason = "a build script ends with what it starts")]
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
