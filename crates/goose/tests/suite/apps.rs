//! `apps`: a model writes documents; they are checked, made safe, stored, listed and served.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use anyhow::Context as _;
use goose::platform::apps::{AppError, AppStore, Apps, CONTENT_SECURITY_POLICY};
use goose_extension::{CallContext, Extension as _, ToolError, ToolOutput};
use goose_providers::ProviderModel;
use goose_test_support::model_server::{ModelServer, Turn, Wire};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::exchange_support::provider;

fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>{title}</title>\
         <meta name=\"description\" content=\"Shows the time.\"></head><body>{body}</body></html>"
    )
}

struct World {
    folder: TempDir,
    model: ModelServer,
    apps: Apps,
}

impl World {
    fn new(answers: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let model = ModelServer::scripted(answers.into_iter().map(Turn::text))?;
        let folder = tempfile::tempdir()?;
        let writer = ProviderModel::new(provider(&model, Wire::Chat)?);
        let apps = Apps::new(folder.path().join("apps"), Arc::new(writer));
        Ok(Self { folder, model, apps })
    }

    fn dir(&self) -> std::path::PathBuf {
        self.folder.path().join("apps")
    }

    fn store(&self) -> AppStore {
        AppStore::new(self.dir())
    }

    async fn call(&self, tool: &str, arguments: Value) -> anyhow::Result<ToolOutput> {
        let arguments = arguments.as_object().context("an object")?.clone();
        Ok(self.apps.call(tool, arguments, &CallContext::new()).await?)
    }

    async fn text(&self, tool: &str, arguments: Value) -> anyhow::Result<String> {
        let output = self.call(tool, arguments).await?;
        anyhow::ensure!(!output.is_error, "{}", output.as_text());
        Ok(output.as_text())
    }

    async fn refusal(&self, tool: &str, arguments: Value) -> anyhow::Result<String> {
        let output = self.call(tool, arguments).await?;
        anyhow::ensure!(output.is_error, "{}", output.as_text());
        Ok(output.as_text())
    }
}

fn mode(path: &Path) -> anyhow::Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

#[tokio::test]
async fn an_app_is_created_changed_listed_served_and_deleted() -> anyhow::Result<()> {
    let fenced = format!("Here it is:\n```html\n{}\n```", page("World Clock", "12:00"));
    let world = World::new([fenced, page("World Clock", "13:00"), page("World clock", "again")])?;
    assert!(world.text("list_apps", json!({})).await?.starts_with("There are no apps yet"));

    let created = world.text("create_app", json!({"prd": "A clock for </script> the wall"})).await?;
    assert!(
        created.contains("world-clock: Shows the time.") && created.contains("ui://apps/world-clock"),
        "{created}"
    );
    let asked = &world.model.asked()[0];
    assert_eq!(
        asked.body["max_tokens"]
            .as_u64()
            .or(asked.body["max_completion_tokens"].as_u64())
            .map(|most| most <= 32_000),
        Some(true)
    );
    assert_eq!(asked.body["stream"], json!(true));
    assert!(asked.tool_names().is_empty());

    let resources = world.apps.list_resources().await?;
    let resource = serde_json::to_value(resources.first().context("it is listed")?)?;
    assert_eq!(resource["uri"], "ui://apps/world-clock");
    assert_eq!(resource["mimeType"], "text/html;profile=mcp-app");
    let read = world.apps.read_resource("ui://apps/world-clock", &CallContext::new()).await?;
    let read = serde_json::to_value(&read)?;
    let html = read[0]["text"].as_str().context("a text")?;
    assert!(html.starts_with(&format!("<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">")), "{html}");
    assert!(html.contains("12:00"), "{html}");
    assert_eq!(read[0]["mimeType"], "text/html;profile=mcp-app");

    world.text("iterate_app", json!({"name": "world-clock", "feedback": "an hour later"})).await?;
    let asked = world.model.asked()[1].last_user_text().context("a question")?;
    assert!(
        asked.contains("12:00")
            && asked.contains("an hour later")
            && asked.contains("for </script> the wall"),
        "{asked}"
    );
    assert!(!asked.contains("Content-Security-Policy"), "{asked}");
    let app = world.store().show("world-clock")?;
    assert!(app.html.contains("13:00") && app.task.as_deref() == Some("A clock for </script> the wall"));
    assert_eq!(
        world.store().versions("world-clock")?.iter().map(|version| version.number).collect::<Vec<_>>(),
        [1]
    );

    // The same title does not replace the first app.
    world.text("create_app", json!({"prd": "another clock"})).await?;
    let listed = world.text("list_apps", json!({})).await?;
    assert!(listed.contains("world-clock: ") && listed.contains("world-clock-2: "), "{listed}");
    assert_eq!(mode(&world.dir())?, 0o700);
    assert_eq!(mode(&world.dir().join("world-clock.html"))?, 0o600);
    assert_eq!(mode(&world.dir().join(".versions/world-clock/1.html"))?, 0o600);

    world.text("delete_app", json!({"name": "world-clock"})).await?;
    assert!(
        !world.dir().join("world-clock.html").exists() && !world.dir().join(".versions/world-clock").exists()
    );
    let missing = world.refusal("delete_app", json!({"name": "world-clock"})).await?;
    assert!(missing.contains("There is no app `world-clock`; there are: world-clock-2"), "{missing}");
    let gone = world.apps.read_resource("ui://apps/world-clock", &CallContext::new()).await;
    assert!(matches!(gone, Err(ToolError::ResourceNotFound(_))), "{gone:?}");
    Ok(())
}

#[tokio::test]
async fn the_model_corrects_what_is_refused_once() -> anyhow::Result<()> {
    let bad = page("Chart", "<script src=\"https://cdn.example.com/chart.js\"></script>");
    let world = World::new([bad.clone(), page("Chart", "<svg></svg>"), bad.clone(), bad])?;
    world.text("create_app", json!({"prd": "a chart"})).await?;
    let asked = world.model.asked()[1].last_user_text().context("the correction")?;
    assert!(
        asked.contains("cdn.example.com") && asked.contains("write the script into the document"),
        "{asked}"
    );

    let refused = world.refusal("create_app", json!({"prd": "a chart"})).await?;
    assert!(refused.contains("cannot be an app") && refused.contains("cdn.example.com"), "{refused}");
    assert_eq!(world.model.asked().len(), 4);
    assert_eq!(world.store().list()?.len(), 1, "nothing of it is stored");
    let empty = world.refusal("create_app", json!({"prd": " "})).await?;
    assert!(empty.contains("empty"), "{empty}");
    for name in ["../secret", ".versions", "a/b"] {
        let refused = world.refusal("iterate_app", json!({"name": name, "feedback": "x"})).await?;
        assert!(refused.contains("cannot be the name of an app"), "{refused}");
    }
    let uri = world.apps.read_resource("ui://apps/../../etc/passwd", &CallContext::new()).await;
    assert!(matches!(uri, Err(ToolError::ResourceNotFound(_))), "{uri:?}");
    Ok(())
}

/// What cannot be written is said, and the version before stays.
#[tokio::test]
async fn an_app_that_cannot_be_written_is_an_error() -> anyhow::Result<()> {
    let world =
        World::new([page("Timer", "<p>1</p>"), page("Timer", "<p>2</p>"), page("Other", "<p>3</p>")])?;
    world.text("create_app", json!({"prd": "a timer"})).await?;
    let before = world.store().list()?;
    // A file where the folder with earlier versions would be.
    let versions = world.dir().join(".versions");
    if versions.exists() {
        fs::remove_dir_all(&versions)?;
    }
    fs::write(&versions, "")?;
    let name = before[0].name.clone();
    let refused = world.refusal("iterate_app", json!({"name": name, "feedback": "more"})).await?;
    assert!(refused.contains(".versions"), "{refused}");
    assert!(world.store().show(&name)?.html.contains("<p>1</p>"), "the app is as it was");
    Ok(())
}

/// As goose 1.52 writes them.
#[test]
fn apps_of_goose_1_are_listed_and_shown_without_network() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let old = r#"<!DOCTYPE html>
<html><head>
<script type="application/ld+json">
{"@context": "https://goose.ai/schema", "@type": "GooseApp", "name": "pong", "description": "A game", "width": 800, "height": 600, "resizable": true}
</script>
<script type="application/x-goose-prd">
Two paddles
</script>
<script src="https://cdn.example.com/x.js"></script>
</head><body>pong</body></html>"#;
    fs::write(folder.path().join("pong.html"), old)?;
    fs::write(folder.path().join("plain.html"), "<p>no description")?;
    fs::write(folder.path().join("not an app name.html"), "x")?;
    fs::write(folder.path().join("notes.txt"), "x")?;
    let store = AppStore::new(folder.path());
    let apps = store.list()?;
    assert_eq!(apps.iter().map(|app| app.name.as_str()).collect::<Vec<_>>(), ["plain", "pong"]);
    assert_eq!((apps[1].description.as_str(), apps[1].window), ("A game", Some((800, 600))));
    let app = store.show("pong")?;
    assert_eq!(app.task.as_deref(), Some("Two paddles"));
    assert!(app.html.starts_with("<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\""));
    assert_eq!(fs::read_to_string(folder.path().join("pong.html"))?, old, "the file is left as it is");
    store.change("pong", &page("Pong", "new"))?;
    let app = store.show("pong")?;
    assert_eq!(
        (app.task.as_deref(), app.info.description.as_str()),
        (Some("Two paddles"), "Shows the time.")
    );
    assert!(store.show_version("pong", 1)?.source.contains("cdn.example.com"));
    store.restore("pong", 1)?;
    assert!(
        store.show("pong")?.html.starts_with("<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\"")
    );
    Ok(())
}

#[test]
fn versions_are_bounded_and_can_be_restored_and_exported() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = AppStore::new(folder.path().join("apps"));
    let app = store.create(&page("Counter", "version 0"), "count")?;
    for number in 1..=15 {
        store.change(&app.name, &page("Counter", &format!("version {number}")))?;
    }
    let versions = store.versions("counter")?;
    assert_eq!(
        versions.iter().map(|version| version.number).collect::<Vec<_>>(),
        (6..=15).rev().collect::<Vec<_>>()
    );
    store.restore("counter", 10)?;
    assert!(store.show("counter")?.html.contains("version 9"));
    let gone = store.show_version("counter", 1);
    assert!(matches!(gone, Err(AppError::NoVersion { number: 1, .. })), "{gone:?}");
    let file = folder.path().join("counter.html");
    store.export("counter", &file)?;
    let exported = fs::read_to_string(&file)?;
    assert!(exported.contains(CONTENT_SECURITY_POLICY), "{exported}");
    let frame =
        "<iframe autofocus title=\"App\" sandbox=\"allow-scripts allow-forms allow-modals\" srcdoc=\"";
    let framed = exported.split_once(frame).map_or("", |(_, rest)| rest);
    let framed = framed.split('"').next().unwrap_or_default().replace("&quot;", "\"").replace("&amp;", "&");
    assert!(framed.ends_with(&store.show("counter")?.html), "{exported}");
    let refused = store.change("counter", "<html>cut");
    assert!(matches!(refused, Err(AppError::BadDocument(_))), "{refused:?}");
    Ok(())
}
