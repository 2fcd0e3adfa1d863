//! `goose configure` step by step, at a terminal.

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use goose_test_support::{
    HttpAnswer, Loopback, Terminal,
    model_server::{ModelServer, Turn},
};

use crate::support::{Home, UNREACHABLE_SERVERS};

fn configure(home: &Home, server: &ModelServer) -> anyhow::Result<Terminal> {
    start(home, &[("OPENAI_HOST", server.url())])
}

fn start(home: &Home, more: &[(&'static str, String)]) -> anyhow::Result<Terminal> {
    start_sized(home, more, (Terminal::COLUMNS, Terminal::ROWS))
}

fn start_sized(home: &Home, more: &[(&'static str, String)], size: (u16, u16)) -> anyhow::Result<Terminal> {
    let path = home.path().display().to_string();
    let environment = [
        ("GOOSE_PATH_ROOT", path.clone()),
        ("HOME", path),
        ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ("PATH", std::env::var("PATH")?),
    ];
    let nobody = UNREACHABLE_SERVERS.map(|(name, value)| (name, value.to_owned()));
    let environment = environment.into_iter().chain(nobody).chain(more.iter().cloned());
    let program = Path::new(env!("CARGO_BIN_EXE_goose"));
    Terminal::start_sized(program, ["configure"], environment, home.path(), size)
}

#[test]
fn every_step_is_asked_and_enter_keeps_what_is_there() -> anyhow::Result<()> {
    let home = Home::with_config("# mine\nGOOSE_PROVIDER: anthropic # before\n")?;
    let server = ModelServer::scripted([Turn::text("Hello from the script.")])?;
    let mut terminal = configure(&home, &server)?;
    terminal.wait_for("❯ anthropic")?;
    terminal.send("opnai\r")?;
    terminal.wait_for("No match.")?;
    terminal.send("\x15openai\r")?;
    terminal.wait_for("OPENAI_API_KEY (hidden):")?;
    terminal.send("very-hush\r")?;
    terminal.wait_for("type another name")?;
    terminal.send("my-model\r")?;
    terminal.wait_for("OPENAI_API_KEY is stored in")?;
    terminal.wait_for("Send the model a test message? (y/N):")?;
    terminal.send("y\r")?;
    terminal.wait_for("openai:my-model says: Hello from the script.")?;
    terminal.wait_for("❯ auto")?;
    terminal.send("\x1b[B\r")?;
    terminal.wait_for("❯ Done")?;
    terminal.send("memory\r")?;
    terminal.wait_for("❯ memory (off)")?;
    terminal.send("\x1b[H\r")?;
    ensure!(terminal.wait()?.success(), "{}", terminal.screen());
    ensure!(!terminal.screen().contains("very-hush"), "{}", terminal.screen());

    let config = fs::read_to_string(home.config())?;
    ensure!(
        config.starts_with(
            "# mine\nGOOSE_PROVIDER: openai # before\nGOOSE_MODEL: my-model\nGOOSE_MODE: smart_approve\n"
        ),
        "{config}"
    );
    ensure!(
        config.contains("  memory:\n    enabled: false\n") && !config.contains("developer"),
        "only the switched extension is written: {config}"
    );
    assert_eq!(fs::read_to_string(home.path().join("config/secrets.yaml"))?, "OPENAI_API_KEY: very-hush\n");
    let asked = server.asked();
    let first = asked.first().context("the model was not asked")?;
    ensure!(format!("{first:?}").contains("my-model"), "{first:?}");

    // Again, with Enter alone: nothing changes.
    let mut again = configure(&home, &server)?;
    for prompt in ["❯ openai", "[keep OPENAI_API_KEY]:", "❯ my-model", "(y/N):", "❯ smart_approve", "❯ Done"]
    {
        again.wait_for(prompt)?;
        again.send("\r")?;
    }
    ensure!(again.wait()?.success(), "{}", again.screen());
    assert_eq!(fs::read_to_string(home.config())?, config);
    Ok(())
}

#[test]
fn who_leaves_before_a_model_is_known_has_changed_nothing_and_the_terminal_works() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([])?;
    let mut terminal = configure(&home, &server)?;
    if cfg!(feature = "local") {
        terminal.wait_for("goose would use local:qwen2.5-coder-1.5b (a small local model")?;
        terminal.wait_for("❯ local")?;
    } else {
        terminal.wait_for("Provider:")?;
    }
    terminal.send("openai\r")?;
    terminal.wait_for("OPENAI_API_KEY (hidden):")?;
    terminal.send("half\x03")?;
    ensure!(!terminal.wait()?.success());
    terminal.wait_for("Cancelled.")?;
    ensure!(!home.config().exists(), "a service was written without its model");
    ensure!(!home.path().join("config/secrets.yaml").exists());

    let mut terminal = configure(&home, &server)?;
    terminal.wait_for("Provider")?;
    terminal.send("openai\r")?;
    terminal.wait_for("OPENAI_API_KEY (hidden):")?;
    terminal.send("a-whole-key\r")?;
    terminal.wait_for("type another name")?;
    terminal.send("\x03")?;
    ensure!(!terminal.wait()?.success());
    ensure!(!home.path().join("config/secrets.yaml").exists(), "the key was kept");
    Ok(())
}

/// The address and the key that were typed are used at once for the list of models.
#[test]
fn address_is_asked_for_and_models_are_listed() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = Loopback::answering(|asked| match (asked.path.as_str(), asked.header("authorization")) {
        ("/v1/models", Some("Bearer hush")) => HttpAnswer::new(
            200,
            r#"{"data": [{"id": "pond-large"}, {"id": "pond-embed"}, {"id": "pond-small"}]}"#,
        ),
        _ => HttpAnswer::new(404, "{}"),
    })?;
    let terminal = start(&home, &[])?;
    terminal.wait_for("Provider")?;
    terminal.send("openai\r")?;
    terminal.wait_for("OPENAI_HOST [https://api.openai.com]:")?;
    terminal.send("nowhere\r")?;
    terminal.wait_for("Type an address such as https://api.openai.com.")?;
    terminal.send(&format!("{}\r", server.url()))?;
    terminal.wait_for("OPENAI_API_KEY (hidden):")?;
    terminal.send("hush\r")?;
    terminal.wait_for("models that OpenAI offers now")?;
    terminal.wait_until("the list is not there", |screen| {
        screen.contains("pond-large") && screen.contains("pond-small") && !screen.contains("pond-embed")
    })?;
    terminal.send("pond-s\r")?;
    terminal.wait_for("test message? (y/N):")?;
    let config = fs::read_to_string(home.config())?;
    ensure!(config.contains("GOOSE_MODEL: pond-small") && config.contains(&server.url()), "{config}");
    Ok(())
}
