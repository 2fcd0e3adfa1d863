//! x
#[path = "../suite/bad_lines.rs"]
mod bad_lines;
#[path = "../suite/doors.rs"]
mod doors;
#[path = "../suite/http_door.rs"]
mod http_door;
#[path = "../suite/same_everywhere.rs"]
mod same_everywhere;
