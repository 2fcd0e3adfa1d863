//! A save that ends at each of its steps. The saving process is a copy of this test program, which aborts
//! itself there.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio, abort},
};

use super::*;

/// Variable with the file that the copy changes.
const FILE: &str = "GOOSE_TEST_SAVE_FILE";

/// Variable with the step at which the copy aborts.
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
#[ignore = "runs in a child process of the test below"]
fn saving_process() {
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
fn killed_save_leaves_the_old_file_or_the_new_one() {
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        fs::write(&path, old()).unwrap();
        let status = Command::new(env::current_exe().unwrap())
            .args(["--exact", "editor::tests::saving_process", "--ignored"])
            .env(FILE, &path)
            .env(STEP, format!("{step:?}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.code().is_none(), "not aborted at {step:?}: {status}");
        let expected = if step == SaveStep::Renamed { new() } else { old() };
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{step:?}");

        let changed = update(&path, LIMIT, Audience::AsBefore, |_| Ok("after: 1\n".to_owned()));
        assert_eq!(changed, Ok(true), "the lock stayed after {step:?}");
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["config.yaml"], "a temporary file stayed after {step:?}");
    }
}

#[test]
fn change_is_repeated_on_text_that_another_program_wrote() {
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
fn dangling_link_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    std::os::unix::fs::symlink("gone/config.yaml", &path).unwrap();
    assert!(update(&path, LIMIT, Audience::AsBefore, |_| Ok("a: 1\n".to_owned())).is_err());
    assert!(path.is_symlink() && !path.exists());
}
