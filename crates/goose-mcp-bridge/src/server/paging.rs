//! Lists in pages. A cursor remembers where it stands and in which list: when the list has changed, the client
//! is told to start again rather than being given a mixture.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rmcp::model::ErrorData;

/// Items on one page.
pub(super) const PAGE_SIZE: usize = 500;

/// The page that `cursor` points at, and the cursor of the next one.
pub(super) fn page<T>(
    items: Vec<T>,
    cursor: Option<&str>,
    size: usize,
    name: impl Fn(&T) -> &str,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    if cursor.is_none() && items.len() <= size {
        return Ok((items, None));
    }
    let fingerprint = fingerprint(items.iter().map(name));
    let start = match cursor {
        None => 0,
        Some(cursor) => position(cursor, fingerprint)
            .filter(|&start| start < items.len())
            .ok_or_else(|| bad_cursor(cursor))?,
    };
    let more = items.len() > start + size;
    let next = more.then(|| format!("{}.{fingerprint:016x}", start + size));
    Ok((items.into_iter().skip(start).take(size).collect(), next))
}

fn position(cursor: &str, fingerprint: u64) -> Option<usize> {
    let (start, list) = cursor.split_once('.')?;
    (u64::from_str_radix(list, 16).ok()? == fingerprint).then_some(())?;
    start.parse().ok()
}

fn fingerprint<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    names.for_each(|name| name.hash(&mut hasher));
    hasher.finish()
}

fn bad_cursor(cursor: &str) -> ErrorData {
    let cursor: String = cursor.chars().take(64).collect();
    ErrorData::invalid_params(
        format!(
            "The cursor `{cursor}` does not belong to the list as it is now. List again without a cursor."
        ),
        None,
    )
}
