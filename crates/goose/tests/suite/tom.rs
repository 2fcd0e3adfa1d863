//! Top of mind: a text and a file, from the environment or the configuration, as they are now.

use std::{fs, path::PathBuf};

use goose::{
    config::{Paths, Settings, SettingsSource},
    platform::tom::{FILE_KEY, MAX_BYTES, TEXT_KEY, TopOfMind},
};
use tempfile::TempDir;

struct Home(TempDir);

impl Home {
    fn new() -> anyhow::Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn write(&self, path: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(self.0.path()))?;
        fs::write(&path, text)?;
        Ok(path)
    }

    fn top_of_mind(&self, environment: &[(&str, &str)]) -> anyhow::Result<TopOfMind> {
        let source = SettingsSource::new(Paths::under(self.0.path()))
            .with_builtins(goose_mcp::BUILTINS)
            .with_environment(environment.iter().copied());
        let settings = Settings::load(source)?;
        Ok(TopOfMind::new(&settings, Some(self.0.path()), self.0.path())?)
    }
}

#[tokio::test]
async fn the_text_and_the_file_are_joined_and_the_environment_wins() -> anyhow::Result<()> {
    let home = Home::new()?;
    home.write("config/config.yaml", &format!("{TEXT_KEY}: from the config\n{FILE_KEY}: ~/notes.md\n"))?;
    home.write("notes.md", "- remember: the walrus\n")?;
    let request = home.top_of_mind(&[])?.for_request().await;
    assert_eq!(request.text.as_deref(), Some("from the config\n\n- remember: the walrus"));
    assert_eq!(request.notices, Vec::<String>::new());
    let request =
        home.top_of_mind(&[(TEXT_KEY, "key: value [x"), (FILE_KEY, "notes.md")])?.for_request().await;
    assert_eq!(request.text.as_deref(), Some("key: value [x\n\n- remember: the walrus"));
    Ok(())
}

#[tokio::test]
async fn nothing_configured_gives_nothing() -> anyhow::Result<()> {
    let home = Home::new()?;
    let none = home.top_of_mind(&[(TEXT_KEY, " \n")])?;
    assert!(none.is_empty());
    assert_eq!(none.for_request().await.text, None);
    Ok(())
}

#[tokio::test]
async fn a_changed_file_is_read_again_and_a_missing_one_is_reported_once() -> anyhow::Result<()> {
    let home = Home::new()?;
    let top_of_mind = home.top_of_mind(&[(TEXT_KEY, "always"), (FILE_KEY, "~/notes.md")])?;
    let missing = top_of_mind.for_request().await;
    assert_eq!(missing.text.as_deref(), Some("always"));
    assert!(missing.notices.len() == 1 && missing.notices[0].contains("notes.md"), "{missing:?}");
    assert_eq!(top_of_mind.for_request().await.notices, Vec::<String>::new());

    let file = home.write("notes.md", "one")?;
    assert_eq!(top_of_mind.for_request().await.text.as_deref(), Some("always\n\none"));
    home.write("notes.md", "one and two")?;
    assert_eq!(top_of_mind.clone().for_request().await.text.as_deref(), Some("always\n\none and two"));

    fs::write(&file, "x".repeat(MAX_BYTES + 1))?;
    let large = top_of_mind.for_request().await;
    assert_eq!(large.text.as_deref(), Some("always"));
    assert!(large.notices.len() == 1 && large.notices[0].contains("more than 65536 bytes"), "{large:?}");
    fs::write(&file, "x".repeat(MAX_BYTES))?;
    assert!(top_of_mind.for_request().await.text.is_some_and(|text| text.len() > MAX_BYTES));
    fs::remove_file(&file)?;
    fs::create_dir(&file)?;
    assert!(top_of_mind.for_request().await.notices[0].contains("not a regular file"));
    Ok(())
}

#[tokio::test]
async fn a_text_that_is_too_large_is_left_out_with_one_notice() -> anyhow::Result<()> {
    let home = Home::new()?;
    home.write("config/config.yaml", &format!("{TEXT_KEY}: {}\n", "x".repeat(MAX_BYTES + 1)))?;
    let top_of_mind = home.top_of_mind(&[])?;
    let request = top_of_mind.for_request().await;
    assert_eq!((request.text, request.notices.len()), (None, 1));
    assert_eq!(top_of_mind.for_request().await.notices, Vec::<String>::new());
    Ok(())
}
