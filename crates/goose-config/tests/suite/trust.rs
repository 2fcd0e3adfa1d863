//! Trust in the files of a project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use goose_config::{ConfigError, Paths, ProjectFile, Trust, TrustStore};
use tempfile::TempDir;

const SERVER: &str = "extensions:\n  build: {type: stdio, cmd: make-server, args: [--port, 1]}\n";

struct TestProject {
    home: TempDir,
    store: TrustStore,
}

impl TestProject {
    fn new() -> Result<Self> {
        let home = tempfile::tempdir()?;
        let store = TrustStore::new(&Paths::under(home.path().join("goose")));
        let project = Self { home, store };
        project.write("project", SERVER)?;
        Ok(project)
    }

    fn write(&self, folder: &str, text: &str) -> Result<PathBuf> {
        let path = self.home.path().join(folder).join(".goose/config.yaml");
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(&path, text)?;
        Ok(path)
    }

    fn file(&self, folder: impl AsRef<Path>) -> Result<ProjectFile> {
        ProjectFile::find(&self.home.path().join(folder))?.context("no file")
    }

    fn trust(&self, folder: &str) -> Result<Trust> {
        Ok(self.store.check(&self.file(folder)?)?)
    }
}

/// Changes of the command, arguments, environment or address of a server, and of comments.
#[test]
fn changed_file_needs_new_consent() -> Result<()> {
    let project = TestProject::new()?;
    assert_eq!(project.trust("project")?, Trust::Unknown);
    project.store.trust(&project.file("project")?)?;
    assert_eq!(project.trust("project")?, Trust::Trusted);
    for changed in [
        SERVER.replace("make-server", "other-server"),
        SERVER.replace("1]", "2]"),
        SERVER.replace("1]", "1], envs: {A: b}"),
        SERVER.replace(
            "type: stdio, cmd: make-server, args: [--port, 1]",
            "type: streamable_http, uri: 'http://x/'",
        ),
        format!("{SERVER}# only words\n"),
    ] {
        project.write("project", &changed)?;
        assert_eq!(project.trust("project")?, Trust::Changed, "{changed}");
    }
    project.write("project", SERVER)?;
    assert_eq!(project.trust("project")?, Trust::Trusted);
    ensure!(project.store.forget(project.file("project")?.path())?);
    ensure!(!project.store.forget(project.file("project")?.path())?);
    assert_eq!(project.trust("project")?, Trust::Unknown);
    Ok(())
}

#[test]
fn consent_is_for_one_folder_and_the_text_that_was_read() -> Result<()> {
    let project = TestProject::new()?;
    project.write("copy", SERVER)?;
    let read = project.file("project")?;
    project.write("project", "extensions: {}\n")?;
    project.store.trust(&read)?;
    assert_eq!(project.store.check(&read)?, Trust::Trusted);
    assert_eq!(project.trust("project")?, Trust::Changed, "the current text was never shown");
    assert_eq!(project.trust("copy")?, Trust::Unknown);
    let config = read.parse()?;
    assert_eq!(config.extensions().len(), 1);
    Ok(())
}

#[cfg(unix)]
#[test]
fn folder_is_identified_by_its_resolved_path() -> Result<()> {
    let project = TestProject::new()?;
    std::os::unix::fs::symlink("project", project.home.path().join("link"))?;
    project.store.trust(&project.file("link")?)?;
    assert_eq!(project.trust("project")?, Trust::Trusted);
    fs::remove_file(project.home.path().join("link"))?;
    project.write("link", SERVER)?;
    assert_eq!(project.trust("link")?, Trust::Unknown, "another folder has the same name");
    Ok(())
}

#[test]
fn unreadable_list_trusts_nothing_and_is_unchanged() -> Result<()> {
    let project = TestProject::new()?;
    project.store.trust(&project.file("project")?)?;
    fs::write(project.store.path(), "trusted: [\n")?;
    let file = project.file("project")?;
    ensure!(matches!(project.store.check(&file), Err(ConfigError::Malformed { .. })));
    ensure!(project.store.trust(&file).is_err());
    assert_eq!(fs::read_to_string(project.store.path())?, "trusted: [\n");
    Ok(())
}

/// Consent for one file does not cover others of the same project.
#[test]
fn each_file_of_a_project_is_trusted_separately() -> Result<()> {
    let project = TestProject::new()?;
    let folder = project.home.path().join("project");
    let recipes = folder.join(".goose/recipes");
    fs::create_dir_all(recipes.join("nested"))?;
    fs::write(recipes.join("b.yaml"), "b")?;
    fs::write(recipes.join("a.yaml"), "a")?;
    let found = ProjectFile::find_in(&folder, ".goose/recipes")?;
    let texts: Vec<&str> = found.iter().map(ProjectFile::text).collect();
    assert_eq!(texts, ["a", "b"]);
    project.store.trust(&found[0])?;
    let named = |name: &str| ProjectFile::find_named(&folder, name)?.context("no file");
    assert_eq!(project.store.check(&named(".goose/recipes/a.yaml")?)?, Trust::Trusted);
    assert_eq!(project.store.check(&named(".goose/recipes/b.yaml")?)?, Trust::Unknown);
    fs::write(recipes.join("a.yaml"), "other")?;
    assert_eq!(project.store.check(&named(".goose/recipes/a.yaml")?)?, Trust::Changed);
    assert_eq!(project.trust("project")?, Trust::Unknown);
    ensure!(ProjectFile::find_in(&folder, ".goose/none")?.is_empty());
    Ok(())
}
