//! Integration tests, through the public door.

mod doors;
mod same_everywhere;
mod tool_macro;
mod ui;
