//! Tests of hints, with real folders.

use std::{fs, os::unix::fs::symlink};

use tempfile::TempDir;

use super::*;

struct World {
    home: TempDir,
    config: PathBuf,
    project: PathBuf,
}

fn world() -> World {
    let home = tempfile::tempdir().unwrap();
    let (config, project) = (home.path().join("config"), home.path().join("project"));
    fs::create_dir_all(&config).unwrap();
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join("src/deep")).unwrap();
    World { home, config, project }
}

impl World {
    fn load(&self, working_dir: &Path, names: &[&str]) -> Hints {
        self.load_project(working_dir, names, ProjectHints::Used)
    }

    fn load_project(&self, working_dir: &Path, names: &[&str], project: ProjectHints) -> Hints {
        let (config_dir, home) = (&*self.config, Some(self.home.path()));
        load(Places { config_dir, working_dir, home, project }, names)
    }
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

    let hints = world.load(&world.project.join("src/deep"), DEFAULT_NAMES);

    assert_eq!(texts(&hints), ["everywhere", "in the project", "in src"]);
}

#[test]
fn without_a_git_root_only_the_working_folder_counts() {
    let world = world();
    fs::remove_dir(world.project.join(".git")).unwrap();
    fs::write(world.project.join("AGENTS.md"), "above").unwrap();
    fs::write(world.project.join("src/AGENTS.md"), "here").unwrap();

    let hints = world.load(&world.project.join("src"), DEFAULT_NAMES);

    assert_eq!(texts(&hints), ["here"]);
}

#[test]
fn imports_are_put_in_once_and_circles_end() {
    let world = world();
    fs::write(world.project.join("AGENTS.md"), "See @docs.md, and mail me@example.org.").unwrap();
    fs::write(world.project.join("docs.md"), "Back to @AGENTS.md and @docs.md").unwrap();

    let hints = world.load(&world.project, DEFAULT_NAMES);

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

    let hints = world.load(&world.project, DEFAULT_NAMES);

    assert!(!texts(&hints)[0].contains("canary"));
    assert_eq!(hints.problems.len(), 3, "{:?}", hints.problems);
}

#[test]
fn a_file_that_is_too_large_is_left_out_and_named() {
    let world = world();
    fs::write(world.project.join("AGENTS.md"), "x".repeat(70_000)).unwrap();

    let hints = world.load(&world.project, DEFAULT_NAMES);

    assert_eq!(hints.iter().count(), 0);
    assert!(hints.problems[0].contains("AGENTS.md"), "{:?}", hints.problems);
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_hang() {
    let world = world();
    let made = std::process::Command::new("mkfifo").arg(world.project.join("AGENTS.md")).status().unwrap();
    assert!(made.success());

    let hints = world.load(&world.project, DEFAULT_NAMES);

    assert_eq!(hints.iter().count(), 0);
}

/// If the home folder is one repository, a hint file in one of its folders cannot import from other folders.
#[test]
fn a_home_that_is_a_repository_opens_nothing() {
    let world = world();
    fs::create_dir_all(world.home.path().join(".git")).unwrap();
    fs::remove_dir(world.project.join(".git")).unwrap();
    fs::write(world.home.path().join("private"), "secret").unwrap();
    fs::write(world.config.join("secrets.yaml"), "secret").unwrap();
    fs::write(world.project.join("own.md"), "own").unwrap();
    fs::write(world.project.join("AGENTS.md"), "@../private @../config/secrets.yaml @own.md").unwrap();

    let hints = world.load(&world.project, DEFAULT_NAMES);

    let all = texts(&hints).concat();
    assert!(!all.contains("secret\n") && !all.ends_with("secret") && all.ends_with("own"), "{all}");
    assert_eq!(hints.problems.len(), 2, "{:?}", hints.problems);
}

#[test]
fn nothing_is_imported_from_the_config_folder() {
    let world = world();
    fs::create_dir_all(world.home.path().join(".git")).unwrap();
    fs::remove_dir(world.project.join(".git")).unwrap();
    fs::write(world.config.join("secrets.yaml"), "key: 1").unwrap();
    fs::write(world.home.path().join("AGENTS.md"), "@config/secrets.yaml").unwrap();

    let hints = world.load(world.home.path(), DEFAULT_NAMES);

    assert_eq!(texts(&hints), ["@config/secrets.yaml"]);
}

#[test]
fn thousands_of_imports_are_a_few_problems() {
    let world = world();
    let outside: String = (0..40).map(|n| format!("@../outside{n} @../outside{n} ")).collect();
    (0..40).for_each(|n| fs::write(world.home.path().join(format!("outside{n}")), "x").unwrap());
    fs::write(world.project.join("AGENTS.md"), outside).unwrap();

    let hints = world.load(&world.project, DEFAULT_NAMES);

    assert_eq!(hints.problems.len(), MAX_PROBLEMS + 1);
    assert_eq!(hints.problems[MAX_PROBLEMS], "30 more hint files were left out.");
}

#[test]
fn hints_of_an_untrusted_project_are_left_out_and_named() {
    let world = world();
    fs::write(world.config.join(".goosehints"), "everywhere").unwrap();
    fs::write(world.project.join("AGENTS.md"), "in the project").unwrap();
    let hints = world.load_project(&world.project.join("src"), DEFAULT_NAMES, ProjectHints::LeftOut);
    assert_eq!(texts(&hints), ["everywhere"]);
    let [problem] = hints.problems.as_slice() else { panic!("{:?}", hints.problems) };
    assert!(problem.contains("AGENTS.md") && problem.contains("not trusted"), "{problem}");
}

/// Only root can change the owner of a file, so this test runs only as root.
#[test]
fn files_of_other_users_are_not_hints() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let give_away = |path: &Path| std::os::unix::fs::chown(path, Some(12_345), None).unwrap();
    let world = world();
    let deep = world.project.join("src/deep");
    fs::write(world.project.join("AGENTS.md"), "mine").unwrap();
    fs::write(world.project.join("src/AGENTS.md"), "theirs").unwrap();
    give_away(&world.project.join("src/AGENTS.md"));
    let hints = world.load(&deep, DEFAULT_NAMES);
    assert_eq!(texts(&hints), ["mine"]);
    assert!(hints.problems[0].contains("another user"), "{:?}", hints.problems);
    // A repository above the working folder that belongs to another user.
    give_away(&world.project.join(".git"));
    assert!(texts(&world.load(&deep, DEFAULT_NAMES)).is_empty());
    // The working folder counts, whatever its owner, because the user chose it.
    give_away(&world.project.join("src"));
    assert_eq!(texts(&world.load(&world.project.join("src"), DEFAULT_NAMES)), ["theirs"]);
}
