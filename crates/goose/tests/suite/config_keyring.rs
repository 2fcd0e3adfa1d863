//! The keyring, asked through a program that stands in for the system's own: the real one needs a desktop.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeMap,
    fs,
    pin::pin,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use goose::{
    agent_manager::{AgentManager, OpenOptions},
    config::{Keyring, KeyringSecrets, Paths, Profile, Secret, Secrets as _, Settings, SettingsSource},
    session::Session,
};
use goose_test_support::{
    model_server::{ModelServer, Wire},
    write_program,
};
use tempfile::TempDir;

use crate::exchange_support::provider;

/// A machine with a `secret-tool` that does what a shell script says. It notes each question in `asked`.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new(script: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let tool = folder.path().join("secret-tool");
        let head = format!("#!/bin/sh\ncd {}\necho \"$@\" >> asked\n", folder.path().display());
        write_program(&tool, &format!("{head}{script}\n"))?;
        Ok(Self { folder })
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
        [("PATH".to_owned(), path), ("DBUS_SESSION_BUS_ADDRESS".to_owned(), "unix:path=/nowhere".to_owned())]
            .into()
    }

    fn keyring(&self) -> Result<Keyring> {
        Keyring::of_system(&self.environment()).context("no keyring")
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.folder.path().join("asked")).unwrap_or_default()
    }
}

#[test]
fn secrets_are_found_and_it_is_asked_once() -> Result<()> {
    let machine = Machine::new(r#"echo '{"OPENAI_API_KEY": "hush", "OTHER": "x"}'"#)?;
    let secrets = KeyringSecrets::new(Some(machine.keyring()?));
    assert_eq!(machine.asked(), "");
    assert_eq!(secrets.get("OPENAI_API_KEY")?, Some(Secret::new("hush")));
    assert_eq!(secrets.get("NOT_THERE")?, None);
    assert_eq!(machine.asked(), "lookup service goose username secrets\n");
    Ok(())
}

#[test]
fn a_secret_is_stored_beside_the_others_and_is_no_argument() -> Result<()> {
    let machine = Machine::new("case $1 in lookup) cat entry 2>/dev/null;; store) cat > entry;; esac")?;
    let keyring = machine.keyring()?;
    keyring.store("A", &Secret::new("first \"secret\""))?;
    keyring.store("B", &Secret::new("second"))?;
    let entry = keyring.read()?;
    assert_eq!(entry.get("A"), Some(&Secret::new("first \"secret\"")));
    assert_eq!(entry.get("B"), Some(&Secret::new("second")));
    ensure!(!machine.asked().contains("second"), "{}", machine.asked());
    Ok(())
}

#[test]
fn an_entry_that_is_not_ours_is_not_overwritten() -> Result<()> {
    let machine = Machine::new("case $1 in lookup) echo 'no json';; store) cat > entry;; esac")?;
    let error = machine.keyring()?.store("A", &Secret::new("x")).err().context("it was stored")?.to_string();
    ensure!(error.contains("not a JSON mapping") && !error.contains("no json"), "{error}");
    ensure!(!machine.asked().contains("store"), "{}", machine.asked());
    Ok(())
}

/// Complaint 10: a keyring that nobody can unlock.
#[test]
fn a_keyring_that_does_not_answer_says_so_in_time() -> Result<()> {
    let machine = Machine::new("sleep 600")?;
    let begun = Instant::now();
    let secrets = KeyringSecrets::new(Some(machine.keyring()?));
    for name in ["A", "B"] {
        let error = secrets.get(name).err().context("it answered")?.to_string();
        ensure!(error.contains("did not answer within 3 seconds"), "{error}");
    }
    ensure!(begun.elapsed() < Duration::from_secs(30), "it took {:?}", begun.elapsed());
    assert_eq!(machine.asked().lines().count(), 1);

    let broken = Machine::new("echo 'Cannot autolaunch D-Bus' >&2; exit 1")?;
    ensure!(KeyringSecrets::new(Some(broken.keyring()?)).get("A").is_err());
    let error = broken.keyring()?.read().err().context("it answered")?.to_string();
    ensure!(error.contains("autolaunch") && error.contains("GOOSE_DISABLE_KEYRING=1"), "{error}");
    Ok(())
}

#[test]
fn without_a_session_or_a_program_there_is_no_keyring() -> Result<()> {
    let machine = Machine::new("echo '{}'")?;
    let mut headless = machine.environment();
    headless.remove("DBUS_SESSION_BUS_ADDRESS");
    ensure!(Keyring::of_system(&headless).is_none());
    let mut without_program = machine.environment();
    without_program.insert("PATH".to_owned(), "/nowhere:relative".to_owned());
    ensure!(Keyring::of_system(&without_program).is_none());
    Ok(())
}

#[test]
fn it_is_asked_last_and_not_at_all_where_that_is_not_wanted() -> Result<()> {
    let machine = Machine::new(r#"echo '{"IN_ENV": "ring", "IN_FILE": "ring", "IN_RING": "ring"}'"#)?;
    let paths = Paths::under(machine.folder.path().join("goose"));
    fs::create_dir_all(&paths.config)?;
    fs::write(paths.secrets_file(), "IN_FILE: file\n")?;
    let source =
        SettingsSource::new(paths).with_builtins(goose_mcp::BUILTINS).with_environment(machine.environment());
    let source = source.with_environment([("IN_ENV", "environment")]);

    let secrets = Settings::load(source.clone())?.secrets();
    assert_eq!(secrets.get("IN_ENV")?, Some(Secret::new("environment")));
    assert_eq!(secrets.get("IN_FILE")?, Some(Secret::new("file")));
    assert_eq!(machine.asked(), "", "it was asked although others knew");
    assert_eq!(secrets.get("IN_RING")?, Some(Secret::new("ring")));
    assert_eq!(machine.asked().lines().count(), 1);

    let off = Settings::load(source.with_environment([("GOOSE_DISABLE_KEYRING", "true")]))?;
    assert_eq!(off.secrets().get("IN_RING")?, None);
    assert_eq!(machine.asked().lines().count(), 1);
    Ok(())
}

#[tokio::test]
async fn it_can_be_asked_from_inside_of_a_runtime() -> Result<()> {
    let machine = Machine::new(r#"echo '{"A": "ring"}'"#)?;
    let secrets = KeyringSecrets::new(Some(machine.keyring()?));
    assert_eq!(secrets.get("A")?, Some(Secret::new("ring")));
    Ok(())
}

/// A runtime with one thread goes on with other work while the keyring thinks.
#[tokio::test]
async fn opening_a_session_does_not_hold_up_the_runtime() -> Result<()> {
    let machine = Machine::new(r#"sleep 1; echo '{"OPENAI_API_KEY": "hush"}'"#)?;
    let paths = Paths::under(machine.folder.path().join("goose"));
    let settings = Settings::load(
        SettingsSource::new(paths).with_builtins(goose_mcp::BUILTINS).with_environment(machine.environment()),
    )?;
    let mut profile = Profile::default();
    profile.processor = Some("openai:gpt-5".parse()?);
    let agents = AgentManager::new(settings);
    let options = OpenOptions::new(profile).with_session(Session::unsaved());
    let (opened, pauses) = with_pauses(agents.open(options)).await;
    opened?.close().await;
    assert_eq!(machine.asked().lines().count(), 1);
    ensure!(pauses > 5, "there were {pauses} pauses of 20 ms in the second that the keyring took");
    Ok(())
}

#[tokio::test]
async fn switching_the_model_does_not_hold_up_the_runtime() -> Result<()> {
    let machine = Machine::new(r#"sleep 1; echo '{"OPENAI_API_KEY": "hush"}'"#)?;
    let paths = Paths::under(machine.folder.path().join("goose"));
    let settings = Settings::load(
        SettingsSource::new(paths).with_builtins(goose_mcp::BUILTINS).with_environment(machine.environment()),
    )?;
    let model = ModelServer::scripted([])?;
    let options = OpenOptions::new(Profile::default())
        .with_provider(provider(&model, Wire::Chat)?)
        .with_session(Session::unsaved());
    let exchange = AgentManager::new(settings).open(options).await?;
    assert_eq!(machine.asked().lines().count(), 0, "nothing needed a key yet");
    let (switched, pauses) = with_pauses(exchange.set_model("openai:gpt-5")).await;
    assert_eq!(switched?.to_string(), "openai:gpt-5");
    assert_eq!(machine.asked().lines().count(), 1);
    ensure!(pauses > 5, "there were {pauses} pauses of 20 ms in the second that the keyring took");
    exchange.close().await;
    Ok(())
}

/// Does some work, and counts the pauses of 20 ms that a task beside it gets meanwhile.
async fn with_pauses<T>(work: impl Future<Output = T>) -> (T, usize) {
    let mut work = pin!(work);
    let mut pause = tokio::time::interval(Duration::from_millis(20));
    let mut pauses = 0;
    loop {
        tokio::select! {
            done = &mut work => return (done, pauses),
            _ = pause.tick() => pauses += 1,
        }
    }
}

/// Others keep their sign-ins in the same entry, as objects.
#[test]
fn whatever_else_is_in_the_entry_is_passed_over_and_kept() -> Result<()> {
    let machine = Machine::new("case $1 in lookup) cat entry;; store) cat > entry;; esac")?;
    let before =
        r#"{"OPENAI_API_KEY":"hush","oauth_creds_x":{"token":"t","scopes":["a"]},"PIN":1234,"none":null}"#;
    fs::write(machine.folder.path().join("entry"), before)?;
    let keyring = machine.keyring()?;
    let secrets = KeyringSecrets::new(Some(keyring.clone()));
    assert_eq!(secrets.get("OPENAI_API_KEY")?, Some(Secret::new("hush")));
    assert_eq!(secrets.get("PIN")?, Some(Secret::new("1234")));
    assert_eq!(secrets.get("oauth_creds_x")?, None);

    keyring.store("NEW", &Secret::new("n"))?;
    ensure!(keyring.remove("PIN")? && !keyring.remove("PIN")?);
    let after: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(machine.folder.path().join("entry"))?)?;
    let expected = serde_json::json!({
        "OPENAI_API_KEY": "hush", "oauth_creds_x": {"token": "t", "scopes": ["a"]}, "none": null, "NEW": "n"
    });
    assert_eq!(after, expected);
    Ok(())
}

#[test]
fn nothing_is_stored_where_it_is_not_certain_what_is_there() -> Result<()> {
    for (what, script) in [
        ("killed", "case $1 in lookup) kill -9 $$;; store) cat > entry;; esac"),
        ("locked", "case $1 in lookup) exit 1;; search) echo '[/1]';; store) cat > entry;; esac"),
        ("forgetful", "case $1 in lookup) exit 1;; store) cat > /dev/null;; esac"),
    ] {
        let machine = Machine::new(script)?;
        let error = machine.keyring()?.store("A", &Secret::new("x")).err().context(what)?.to_string();
        ensure!(error.contains("the keyring d"), "{error}");
        ensure!(!machine.folder.path().join("entry").exists(), "{what}");
    }
    Ok(())
}

#[test]
fn a_key_that_is_missing_says_that_the_keyring_did_not_answer() -> Result<()> {
    let machine = Machine::new("echo 'Cannot autolaunch D-Bus' >&2; exit 1")?;
    let paths = Paths::under(machine.folder.path().join("goose"));
    let source =
        SettingsSource::new(paths).with_builtins(goose_mcp::BUILTINS).with_environment(machine.environment());
    let made = |source: SettingsSource| -> Result<_> {
        let settings = Settings::load(source)?;
        Ok(settings.registry().provider(&"openai:gpt-5".parse()?, &settings, &settings.model_overrides()?))
    };
    let error = made(source.clone())?.err().context("there is no key")?;
    let text = error.to_string();
    ensure!(
        text.contains("OPENAI_API_KEY is not set; the keyring did not answer (Cannot autolaunch"),
        "{text}"
    );
    ensure!(error.hint().is_some());
    // With a key elsewhere nobody needs the keyring.
    ensure!(made(source.with_environment([("OPENAI_API_KEY", "k")]))?.is_ok());
    Ok(())
}
