//! The core, through its public doors.

mod asking;
mod bad_output;
mod config_command_line;
mod config_environment;
mod config_extension;
mod config_file;
mod config_fingerprint;
mod config_paths;
mod config_round_trip;
mod config_secrets;
mod crashes;
mod http_faults;
mod kinds;
mod leftovers;
mod listing_cache;
mod sharing;
mod silence;
mod store;
mod store_faults;
mod store_legacy;
mod store_processes;
mod strangers;
mod support;
mod tool_names;
