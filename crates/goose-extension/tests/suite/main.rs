//! Integration tests, through the public door.

mod bad_lines;
mod doors;
mod http_door;
mod properties;
mod questions;
mod same_everywhere;
mod seed_mcp;
mod tool_macro;
mod ui;
