//! [`Fault`]: a field of the data that cannot be drawn, and why; and the checks that several kinds of pages share.

use goose_extension::ToolError;

/// Largest magnitude of a value, so that sums and scales stay finite.
const MAX_MAGNITUDE: f64 = 1e15;

/// Smallest magnitude of a value other than 0, for the same reason.
const MIN_MAGNITUDE: f64 = 1e-15;

/// A problem with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Path of the field, such as `data.links[3].target`.
    field: String,
    problem: String,
}

/// The result of a check.
pub(super) type Checked<T> = Result<T, Fault>;

impl Fault {
    pub(super) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        Self::ExecutionError(format!("Nothing was drawn. `{}`: {}", fault.field, fault.problem))
    }
}

/// Checks the number of items in a list.
pub(super) fn check_count(field: &str, count: usize, min: usize, max: usize, items: &str) -> Checked<()> {
    if count < min {
        return Err(Fault::new(field, format!("it has {count} {items}; at least {min} are needed.")));
    }
    if count > max {
        let problem =
            format!("it has {count} {items}; at most {max} can be drawn. Combine the smallest ones.");
        return Err(Fault::new(field, problem));
    }
    Ok(())
}

/// Checks a value that may have any sign.
pub(super) fn check_number(field: impl FnOnce() -> String, value: f64) -> Checked<()> {
    if value == 0.0 || (MIN_MAGNITUDE..=MAX_MAGNITUDE).contains(&value.abs()) {
        return Ok(());
    }
    let problem = format!(
        "{value:e} is out of range; use 0, or 1e-15 to 1e15 with any sign, for example in another unit."
    );
    Err(Fault::new(field(), problem))
}

/// Checks a value that becomes a size.
pub(super) fn check_size(field: impl Fn() -> String, value: f64) -> Checked<()> {
    check_number(&field, value)?;
    if value < 0.0 {
        let problem = format!("{value} is negative; only 0 and larger values have a size.");
        return Err(Fault::new(field(), problem));
    }
    Ok(())
}

/// Checks that sizes do not add up to nothing.
pub(super) fn check_total(field: &str, total: f64) -> Checked<()> {
    if total > 0.0 {
        return Ok(());
    }
    Err(Fault::new(field, "all values are 0; at least one has to be larger."))
}
