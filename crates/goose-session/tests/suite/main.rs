//! Sessions, through the public interface.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]

mod store;
mod store_export;
mod store_faults;
mod store_foreign;
mod store_import_limits;
mod store_jobs;
mod store_kinds;
mod store_legacy;
mod store_processes;
mod support;
