//! A save that is ended at each of its steps (row 37). The process that saves is a copy of this test program, which
//! ends itself there without any cleaning up.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio, abort},
};

use super::*;

/// Tells the copy which file to change, and the step at which to end.
const FILE: &str = "GOOSE_TEST_SAVE_FILE";
const STEP: &str = "GOOSE_TEST_SAVE_STEP";

const STEPS: [SaveStep; 6] = [
    SaveStep::Locked,
    SaveStep::Created,
    SaveStep::Written,
    SaveStep::Synced,
    SaveStep::Compared,
    SaveStep::Renamed,
];

const LIMIT: u64 = 1 << 20;

fn old() -> String {
    "# old\n".repeat(5000)
}

fn new() -> String {
    "# new and longer\n".repeat(5000)
}

#[test]
#[ignore = "is run by the test below, in a process of its own"]
fn a_process_that_saves() {
    let (Ok(file), Ok(step)) = (env::var(FILE), env::var(STEP)) else { return };
    let end_at = |step_now: SaveStep| {
        if format!("{step_now:?}") == step {
            abort();
        }
    };
    let saved = update_watched(Path::new(&file), LIMIT, Audience::AsBefore, |_| Ok(new()), end_at);
    assert!(saved.is_err(), "the step {step} was never reached");
}

#[test]
fn a_save_that_is_ended_anywhere_leaves_the_old_file_or_the_new_one() {
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        fs::write(&path, old()).unwrap();
        let status = Command::new(env::current_exe().unwrap())
            .args(["--exact", "editor::tests::a_process_that_saves", "--ignored"])
            .env(FILE, &path)
            .env(STEP, format!("{step:?}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.code().is_none(), "it was not ended at {step:?}: {status}");
        let expected = if step == SaveStep::Renamed { new() } else { old() };
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{step:?}");

        let changed = update(&path, LIMIT, Audience::AsBefore, |_| Ok("after: 1\n".to_owned()));
        assert_eq!(changed, Ok(true), "the lock was left behind at {step:?}");
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["config.yaml"], "something was left behind at {step:?}");
    }
}

#[test]
fn a_change_is_made_again_on_what_somebody_else_wrote_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    fs::write(&path, "a").unwrap();
    let mut seen = Vec::new();
    let mut others = vec!["b", "c"];
    let saved = update_watched(
        &path,
        LIMIT,
        Audience::AsBefore,
        |text| {
            seen.push(text.to_owned());
            Ok(format!("{text}!"))
        },
        |step| {
            if step == SaveStep::Synced && !others.is_empty() {
                fs::write(&path, others.remove(0)).unwrap();
            }
        },
    );
    assert_eq!(saved, Ok(true));
    assert_eq!(
        (seen, fs::read_to_string(&path).unwrap()),
        (vec!["a".into(), "b".into(), "c".into()], "c!".into())
    );

    let mut count = 0;
    let never = update_watched(
        &path,
        LIMIT,
        Audience::AsBefore,
        |text| Ok(format!("{text}!")),
        |step| {
            if step == SaveStep::Synced {
                count += 1;
                fs::write(&path, count.to_string()).unwrap();
            }
        },
    );
    assert!(never.is_err_and(|error| error.to_string().contains("keeps changing it")));
    assert_eq!(fs::read_to_string(&path).unwrap(), "5");
}

#[test]
fn a_link_that_leads_nowhere_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    std::os::unix::fs::symlink("gone/config.yaml", &path).unwrap();
    assert!(update(&path, LIMIT, Audience::AsBefore, |_| Ok("a: 1\n".to_owned())).is_err());
    assert!(path.is_symlink() && !path.exists());
}
