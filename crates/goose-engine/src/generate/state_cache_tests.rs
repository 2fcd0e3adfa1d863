use std::fs::File;

use super::*;

/// A state of so many bytes that was used so many seconds ago. Nothing is in it.
fn state(folder: &Path, name: &str, bytes: u64, seconds: u64) -> anyhow::Result<()> {
    for (kind, bytes) in [(STATE, bytes), (TOKENS, 4)] {
        let file = File::create(folder.join(format!("{name}.{kind}")))?;
        file.set_len(bytes)?;
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds))?;
    }
    Ok(())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const MEGABYTE: u64 = 1024 * 1024;

#[test]
fn a_large_state_costs_neither_the_beginning_nor_the_small_ones() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let saved = StateCache::new(folder.path().to_owned(), Path::new("m.gguf"));
    state(folder.path(), "m-base-1", 20 * MEGABYTE, 500)?;
    state(folder.path(), "m-newest", 480 * MEGABYTE, 1)?;
    state(folder.path(), "m-large", 200 * MEGABYTE, 2)?;
    state(folder.path(), "m-small", MEGABYTE, 3)?;
    saved.make_room();
    let kept = ["m-base-1", "m-newest", "m-small"];
    let kept: Vec<String> =
        kept.iter().flat_map(|name| [STATE, TOKENS].map(|kind| format!("{name}.{kind}"))).collect();
    assert_eq!(names(folder.path()), kept);
    Ok(())
}

#[test]
fn a_few_beginnings_are_kept_and_what_was_abandoned_is_not() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let saved = StateCache::new(folder.path().to_owned(), Path::new("m.gguf"));
    for age in 1..=5 {
        state(folder.path(), &format!("m-base-{age}"), 10, age)?;
    }
    for (name, age) in [("m-1.state.7-0.tmp", Duration::ZERO), ("m-2.state.7-1.tmp", 2 * ABANDONED)] {
        File::create(folder.path().join(name))?.set_modified(SystemTime::now() - age)?;
    }
    saved.make_room();
    let states: Vec<String> =
        names(folder.path()).into_iter().filter(|name| !name.ends_with(TOKENS)).collect();
    assert_eq!(
        states,
        ["m-1.state.7-0.tmp", "m-base-1.state", "m-base-2.state", "m-base-3.state", "m-base-4.state"]
    );
    Ok(())
}

#[test]
fn a_smaller_state_is_taken_where_it_has_nearly_as_much() {
    let candidate = |common, bytes| Candidate { state: PathBuf::new(), common, bytes };
    let all = [candidate(500, 900), candidate(490, 50), candidate(400, 10)];
    assert_eq!(best_of(&all), Some(1));
    assert_eq!(best_of(&all[..1]), Some(0));
    assert_eq!(best_of(&[all[2].clone(), all[0].clone()]), Some(1));
    assert_eq!(best_of(&[]), None);
}
