use std::fs::File;

use super::*;

/// Writes an empty state of a given size that was last used some seconds ago.
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
fn a_large_state_evicts_neither_openings_nor_small_states() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let saved = StateCache::new(folder.path().to_owned(), Path::new("m.gguf"));
    state(folder.path(), "m-base-1", 20 * MEGABYTE, 500)?;
    state(folder.path(), "m-newest", 480 * MEGABYTE, 1)?;
    state(folder.path(), "m-large", 200 * MEGABYTE, 2)?;
    state(folder.path(), "m-small", MEGABYTE, 3)?;
    saved.evict();
    let kept = ["m-base-1", "m-newest", "m-small"];
    let kept: Vec<String> =
        kept.iter().flat_map(|name| [STATE, TOKENS].map(|kind| format!("{name}.{kind}"))).collect();
    assert_eq!(names(folder.path()), kept);
    Ok(())
}

#[test]
fn few_openings_are_kept_and_abandoned_files_removed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let saved = StateCache::new(folder.path().to_owned(), Path::new("m.gguf"));
    for age in 1..=5 {
        state(folder.path(), &format!("m-base-{age}"), 10, age)?;
    }
    for (name, age) in [("m-1.state.7-0.tmp", Duration::ZERO), ("m-2.state.7-1.tmp", 2 * ABANDONED_AFTER)] {
        File::create(folder.path().join(name))?.set_modified(SystemTime::now() - age)?;
    }
    saved.evict();
    let states: Vec<String> =
        names(folder.path()).into_iter().filter(|name| !name.ends_with(TOKENS)).collect();
    assert_eq!(
        states,
        ["m-1.state.7-0.tmp", "m-base-1.state", "m-base-2.state", "m-base-3.state", "m-base-4.state"]
    );
    Ok(())
}

#[test]
fn a_smaller_state_with_nearly_the_same_prefix_is_preferred() {
    let candidate = |common, bytes| Candidate { state: PathBuf::new(), common, bytes };
    let all = [candidate(500, 900), candidate(490, 50), candidate(400, 10)];
    assert_eq!(best_of(&all), Some(1));
    assert_eq!(best_of(&all[..1]), Some(0));
    assert_eq!(best_of(&[all[2].clone(), all[0].clone()]), Some(1));
    assert_eq!(best_of(&[]), None);
}
