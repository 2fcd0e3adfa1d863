//! The oldest pieces go. The task, the last request and the plan stay, and a line says that something is missing.

use super::{Goal, opening::Opening, units::Units};

/// Takes out the oldest pieces.
pub(super) fn oldest(units: &mut Units, goal: &Goal<'_>) {
    let first = first_kept(units, goal);
    if first > 0 {
        units.replace(first, Opening::without(units, first, None, goal.max_part_chars()));
    }
}

/// The first piece that stays: as many from the end as the goal allows, the recent ones in any case.
pub(super) fn first_kept(units: &Units, goal: &Goal<'_>) -> usize {
    let (older, recent) = units.at(units.older());
    let opening = units.opening.as_ref().map_or(0, |opening| goal.weight(&opening.message()));
    let mut used =
        goal.used(&[]) + opening + recent.messages().map(|message| goal.weight(message)).sum::<u64>();
    let mut first = units.older();
    for unit in older.iter().rev() {
        used += unit.iter().map(|message| goal.weight(message)).sum::<u64>();
        if used > goal.tokens {
            break;
        }
        first -= 1;
    }
    first
}
