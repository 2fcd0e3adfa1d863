//! Tests of hints, with real folders.

use std::{fs, os::unix::fs::symlink};

use tempfile::TempDir;

use super::*;

struct World {
    _home: TempDir,
    config: PathBuf,
    project: PathBuf,
}

fn world() -> World {
    let home = tempfile::tempdir().unwrap();
    let (config, project) = (home.path().join("config"), home.path().join("project"));
    fs::create_dir_all(&config).unwrap();
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join("src/deep")).unwrap();
    World { _home: home, config, project }
}

fn texts(hints: &Hints) -> Vec<&str> {
    hints.iter().map(|hint| hint.text.as_str()).collect()
}

#[test]
fn the_general_comes_before_the_particular() {
    let world = world();
    fs::write(world.config.join(".goosehints"), "everywhere").unwrap();
    fs::write(world.project.join("AGENTS.md"), "in the project").unwrap();
    fs::write(world.project.join("src/.goosehints"), "in src").unwrap();

    let hints = load(&world.config, &world.project.join("src/deep"), DEFAULT_NAMES);

    assert_eq!(texts(&hints), ["everywhere", "in the project", "in src"]);
}

#[test]
fn without_a_git_root_only_the_working_folder_counts() {
    let world = world();
    fs::remove_dir(world.project.join(".git")).unwrap();
    fs::write(world.project.join("AGENTS.md"), "above").unwrap();
    fs::write(world.project.join("src/AGENTS.md"), "here").unwrap();

    let hints = load(&world.config, &world.project.join("src"), DEFAULT_NAMES);

    assert_eq!(texts(&hints), ["here"]);
}

#[test]
fn imports_are_put_in_once_and_circles_end() {
    let world = world();
    fs::write(world.project.join("AGENTS.md"), "See @docs.md, and mail me@example.org.").unwrap();
    fs::write(world.project.join("docs.md"), "Back to @AGENTS.md and @docs.md").unwrap();

    let hints = load(&world.config, &world.project, DEFAULT_NAMES);

    assert_eq!(
        texts(&hints),
        ["See @docs.md, and mail me@example.org.\n\n--- docs.md ---\nBack to @AGENTS.md and @docs.md"]
    );
    assert!(hints.problems.is_empty());
}

#[test]
fn nothing_outside_the_project_is_imported() {
    let world = world();
    let secret = world.config.join("secrets.yaml");
    fs::write(&secret, "OPENAI_API_KEY: canary").unwrap();
    symlink(&secret, world.project.join("link.md")).unwrap();
    fs::write(
        world.project.join("AGENTS.md"),
        format!("@../config/secrets.yaml @link.md @{}", secret.display()),
    )
    .unwrap();

    let hints = load(&world.config, &world.project, DEFAULT_NAMES);

    assert!(!texts(&hints)[0].contains("canary"));
    assert_eq!(hints.problems.len(), 3, "{:?}", hints.problems);
}

#[test]
fn a_file_that_is_too_large_is_left_out_and_named() {
    let world = world();
    fs::write(world.project.join("AGENTS.md"), "x".repeat(70_000)).unwrap();

    let hints = load(&world.config, &world.project, DEFAULT_NAMES);

    assert_eq!(hints.iter().count(), 0);
    assert!(hints.problems[0].contains("AGENTS.md"), "{:?}", hints.problems);
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_hang() {
    let world = world();
    let made = std::process::Command::new("mkfifo").arg(world.project.join("AGENTS.md")).status().unwrap();
    assert!(made.success());

    let hints = load(&world.config, &world.project, DEFAULT_NAMES);

    assert_eq!(hints.iter().count(), 0);
}
