//! Integration tests, through the public door.

mod tool_macro;
