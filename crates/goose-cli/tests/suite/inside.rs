//! The model inside: chosen, looked at, taken up in the middle of a conversation, and forgotten. The model is one that
//! the test writes: it has nothing to say, but it runs.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_test_support::{GgufWriter, ModelServer, Terminal, Turn, tiny_model};

use crate::{
    support::{Home, Run, UNREACHABLE_SERVERS},
    talk::{at_terminal, say},
};

#[test]
fn a_file_is_used_from_now_on_and_comments_stay() -> anyhow::Result<()> {
    let home = Home::with_config("# mine\nGOOSE_MODE: auto # careful\n")?;
    tiny_model::write(&home.path().join("my own.gguf"), 1)?;
    let used = home.run(&["models", "use", "my own.gguf"])?;
    assert_eq!(used.code, Some(0), "{used:?}");
    let path = fs::canonicalize(home.path().join("my own.gguf"))?.display().to_string();
    let config = fs::read_to_string(home.config())?;
    assert_eq!(
        config,
        format!("# mine\nGOOSE_MODE: auto # careful\nGOOSE_PROVIDER: local\nGOOSE_MODEL: \"{path}\"\n")
    );
    let says = |text: &str| used.stdout.lines().any(|line| line.starts_with(text));
    ensure!(says("Memory: ") && says("Speed here: it reads "), "{used:?}");
    ensure!(used.stdout.contains("a conversation of 8192 tokens"), "{used:?}");
    assert_eq!(home.run(&["info", "--json"])?.json()?["model"], format!("local:{path}"));
    ensure!(home.run(&["models", "list"])?.stdout.contains(&format!("In use: {path}")));

    let absent = home.run(&["models", "use", "qwen2.5-coder-1.5b"])?;
    ensure!(
        absent.code == Some(1) && absent.stderr.contains("goose models pull qwen2.5-coder-1.5b"),
        "{absent:?}"
    );
    fs::write(home.path().join("text.gguf"), "this is only text, and no model at all")?;
    let wrong = home.run(&["models", "use", "text.gguf"])?;
    ensure!(wrong.code == Some(1) && wrong.stderr.contains("is not a model that goose can run"), "{wrong:?}");
    let mut of_another_kind = GgufWriter::default();
    of_another_kind.text("general.architecture", "mamba");
    fs::write(home.path().join("mamba.gguf"), of_another_kind.finish())?;
    let wrong = home.run(&["models", "use", "mamba.gguf"])?;
    ensure!(wrong.code == Some(1) && wrong.stderr.contains("its architecture is `mamba`"), "{wrong:?}");
    assert_eq!(fs::read_to_string(home.config())?, config, "a mistake changes nothing");

    fs::create_dir_all(home.path().join("data/models"))?;
    tiny_model::write(&home.path().join("data/models/mine.gguf"), 1)?;
    let named: Run =
        home.goose(&["models", "use", "mine"]).env("GOOSE_PROVIDER", "openai").output()?.try_into()?;
    ensure!(named.stdout.starts_with("Using local:mine from now on"), "{named:?}");
    ensure!(named.stderr.contains("GOOSE_PROVIDER overrides this"), "{named:?}");
    let listed = home.run(&["models", "list"])?.stdout;
    ensure!(listed.lines().any(|line| line.starts_with("mine") && line.ends_with("in use")), "{listed}");
    Ok(())
}

/// A service with the model of another one would not work.
#[test]
fn service_and_model_are_written_together_or_not_at_all() -> anyhow::Result<()> {
    // The name of the model is used elsewhere, too, and so cannot be changed.
    let written = "GOOSE_PROVIDER: openai\nGOOSE_MODEL: &name gpt-4\nother: *name\n";
    let home = Home::with_config(written)?;
    tiny_model::write(&home.path().join("own.gguf"), 1)?;
    let refused = home.run(&["models", "use", "own.gguf"])?;
    ensure!(refused.code == Some(1) && refused.stderr.contains("GOOSE_MODEL"), "{refused:?}");
    assert_eq!(fs::read_to_string(home.config())?, written);
    Ok(())
}

/// The purpose of the model is shown to the user, and a file that cannot run is reported as broken.
#[test]
fn doctor_opens_the_file_and_names_who_did_not_answer() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = |home: &Home| -> anyhow::Result<serde_json::Value> {
        let json = home.run(&["doctor", "--json"])?.json()?;
        let checks = json["checks"].as_array().context("checks")?;
        checks.iter().find(|check| check["name"] == "model").cloned().context("no check of the model")
    };
    let servers = home.run(&["doctor"])?.stdout;
    ensure!(servers.contains("none offers a model: Ollama at 127.0.0.1:9, LM Studio at"), "{servers}");
    tiny_model::write(&home.path().join("own.gguf"), 1)?;
    assert_eq!(home.run(&["models", "use", "own.gguf"])?.code, Some(0));
    let good = model(&home)?;
    assert_eq!(good["state"], "good", "{good:#}");
    ensure!(good["says"].as_str().is_some_and(|it| it.contains("fine for simple tasks")), "{good:#}");
    ensure!(!home.run(&["doctor"])?.stdout.contains("none offers a model"), "a model is chosen");
    let whole = fs::read(home.path().join("own.gguf"))?;
    fs::write(home.path().join("own.gguf"), &whole[..whole.len() / 2])?;
    let broken = model(&home)?;
    assert_eq!(broken["state"], "bad", "{broken:#}");
    ensure!(broken["says"].as_str().is_some_and(|it| it.contains("it is damaged")), "{broken:#}");
    Ok(())
}

#[test]
fn configure_says_what_it_is_good_for() -> anyhow::Result<()> {
    let home = Home::new()?;
    let path = home.path().display().to_string();
    let own = [("GOOSE_PATH_ROOT", path.clone()), ("HOME", path), ("GOOSE_DISABLE_KEYRING", "1".to_owned())];
    let environment =
        UNREACHABLE_SERVERS.map(|(name, value)| (name, value.to_owned())).into_iter().chain(own);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_goose"));
    let terminal = Terminal::start(program, ["configure"], environment, home.path())?;
    terminal.wait_for("❯ local")?;
    terminal.send("\r")?;
    terminal.wait_for("small local model: fine for simple tasks")?;
    Ok(())
}

/// `/model` takes the model inside as any other, and says what is no service.
#[test]
fn a_conversation_goes_on_with_the_model_inside() -> anyhow::Result<()> {
    let home = Home::new()?;
    fs::create_dir_all(home.path().join("data/models"))?;
    tiny_model::write(&home.path().join("data/models/mine.gguf"), 1)?;
    tiny_model::write(&home.path().join("other.gguf"), 2)?;
    fs::write(home.path().join("text.gguf"), "no model at all, only a text")?;
    let server = ModelServer::scripted([Turn::text("Still me.")])?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    say(&terminal, "/model antropic:claude-x", "there is no provider `antropic`")?;
    say(&terminal, "/model local:no-such", "there is no model `no-such`")?;
    say(&terminal, "/model local:text.gguf", "is not a model that goose can run")?;
    say(&terminal, "/model local:", "Download it with `goose models pull qwen2.5-coder-1.5b`")?;
    say(&terminal, "Who is it?", "Still me.")?;
    say(&terminal, "/model local:mine", "Switched to local:mine.")?;
    say(&terminal, "/model other.gguf", "Switched to local:other.gguf.")?;
    say(&terminal, "/model openai:gpt-4", "Switched to openai:gpt-4.")?;
    Ok(())
}

/// FNV-1a, as the names of kept states are made.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    format!("{hash:016x}")
}

#[test]
fn a_session_that_is_removed_leaves_nothing_in_the_model_s_memory() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Hello.")])?;
    let mut command = home.goose(&["run", "-n", "secret", "-t", "Hi"]);
    command.envs([("GOOSE_PROVIDER", "openai"), ("GOOSE_MODEL", "gpt-4"), ("OPENAI_API_KEY", "k")]);
    let ran: Run = command.env("OPENAI_HOST", server.url()).output()?.try_into()?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let listed = home.run(&["session", "list", "--json"])?.json()?;
    let id = listed["sessions"][0]["id"].as_str().context("its id")?.to_owned();
    let cache = home.path().join("state/cache/local");
    fs::create_dir_all(&cache)?;
    let names = |of: &str| ["state", "tokens"].map(|kind| cache.join(format!("0123-{of}.{kind}")));
    let (own, others) = (names(&hash(&id)), names(&hash("another")));
    for file in own.iter().chain(&others) {
        fs::write(file, "what was said")?;
    }
    assert_eq!(home.run(&["session", "remove", "secret", "--yes"])?.code, Some(0));
    ensure!(!own.iter().any(|file| file.exists()), "it is still there");
    ensure!(others.iter().all(|file| file.exists()), "another one is gone");
    Ok(())
}
