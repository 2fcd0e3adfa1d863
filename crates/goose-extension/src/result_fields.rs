//! Names of fields in structured results that more than one part of goose reads.

/// Exit code of a command.
pub const EXIT_CODE: &str = "exit_code";

/// First line that a read returned, from 1.
pub const FIRST_LINE: &str = "first_line";

/// Last line that a read returned.
pub const LAST_LINE: &str = "last_line";

/// Number of lines of the file that was read.
pub const TOTAL_LINES: &str = "total_lines";
