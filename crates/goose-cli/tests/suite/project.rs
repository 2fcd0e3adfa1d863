//! The configuration that comes with a project: nothing of it counts before it is trusted, all of it does then, and
//! every command sees the same.

use std::fs;

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn, binary};
use serde_json::json;

use crate::{
    support::Home,
    talk::{at_terminal, prompted, say},
};

/// A project's file with an extension that leaves a mark when it is started.
fn config(home: &Home) -> anyhow::Result<String> {
    let kitchen_sink = binary("kitchen_sink")?;
    let start = format!("touch {}/started; exec {}", home.path().display(), kitchen_sink.display());
    Ok(format!(
        "GOOSE_MAX_TURNS: 7\nextensions:\n  bench:\n    type: stdio\n    name: bench\n    enabled: true\n    cmd: sh\n    \
         args: [-c, \"{start}\"]\n"
    ))
}

fn write(home: &Home, text: &str) -> anyhow::Result<()> {
    fs::create_dir_all(home.path().join(".goose"))?;
    Ok(fs::write(home.path().join(".goose/config.yaml"), text)?)
}

fn offers_bench(server: &ModelServer) -> bool {
    server
        .asked()
        .last()
        .is_some_and(|asked| asked.tool_names().iter().any(|name| name.starts_with("bench__")))
}

/// Asked, refused and not applied; asked again, agreed to and applied; not asked again until it changes.
#[test]
fn a_project_counts_from_when_it_is_trusted() -> anyhow::Result<()> {
    let home = Home::new()?;
    write(&home, &config(&home)?)?;
    let server = ModelServer::answering(|_| Turn::text("Here."))?;
    let started = home.path().join("started");

    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("Trust it in this form?")?;
    ensure!(terminal.screen().contains("GOOSE_MAX_TURNS: 7"), "{}", terminal.screen());
    ensure!(!started.exists(), "it was started before it was trusted");
    terminal.send("n\r")?;
    terminal.wait_for("is not used because it is not trusted")?;
    say(&terminal, "Hi", "Here.")?;
    ensure!(!offers_bench(&server) && !started.exists(), "it counts, though it is not trusted");
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));

    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("Trust it in this form?")?;
    terminal.send("y\r")?;
    say(&terminal, "Hi", "Here.")?;
    ensure!(offers_bench(&server) && started.exists(), "it does not count, though it is trusted");
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));

    let mut terminal = at_terminal(&home, &server, "auto", &["run", "-t", "Hi"])?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    ensure!(!terminal.screen().contains("Trust it") && offers_bench(&server), "{}", terminal.screen());

    write(&home, &format!("{}# changed\n", config(&home)?))?;
    let terminal = at_terminal(&home, &server, "auto", &["session"])?;
    terminal.wait_for("has changed since you trusted it")?;
    terminal.wait_for("Trust it in this form?")?;
    terminal.send("n\r")?;
    prompted(&terminal)?;
    say(&terminal, "Hi", "Here.")?;
    ensure!(!offers_bench(&server));
    Ok(())
}

/// The commands about extensions see what a conversation would: the project's, once it is trusted.
#[test]
fn extension_commands_see_a_trusted_project() -> anyhow::Result<()> {
    let home = Home::with_config(
        "extensions:\n  memory:\n    type: builtin\n    name: memory\n    enabled: true\n",
    )?;
    write(&home, &config(&home)?)?;
    let before = home.run(&["extension", "list", "--json"])?;
    let keys = |run: &crate::support::Run| -> anyhow::Result<Vec<(String, String)>> {
        let document = run.json()?;
        let rows = document["extensions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|row| row["enabled"] == true && row["type"] != "platform");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Ok(rows.map(|row| (text(&row["key"]), text(&row["source"]))).collect())
    };
    let own = ("memory".to_owned(), "config".to_owned());
    let default = ("developer".to_owned(), "builtin".to_owned());
    assert_eq!(keys(&before)?, [own.clone(), default.clone()]);
    ensure!(before.stderr.contains("is not used because it is not trusted"), "{}", before.stderr);
    let refused = home.run(&["extension", "call", "bench", "echo", "--args", "{\"message\": \"hi\"}"])?;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    ensure!(
        refused.stderr.contains("There is no extension `bench`") && !home.path().join("started").exists()
    );

    assert_eq!(home.run(&["configure", "trust", "--yes"])?.code, Some(0));
    let after = home.run(&["extension", "list", "--json"])?;
    assert_eq!(
        (keys(&after)?, after.stderr.as_str()),
        (vec![own, ("bench".into(), "project".into()), default], "")
    );
    let called =
        home.run(&["extension", "call", "bench", "echo", "--args", "{\"message\": \"hi\"}", "--json"])?;
    assert_eq!(called.json()?["structuredContent"], json!({"response": "hi"}), "{called:?}");
    Ok(())
}

/// `--config FILE` takes the place of the user's file, as it does for a conversation.
#[test]
fn extension_commands_take_another_file() -> anyhow::Result<()> {
    let home = Home::with_config(
        "extensions:\n  memory:\n    type: builtin\n    name: memory\n    enabled: true\n",
    )?;
    let other = home.path().join("other.yaml");
    fs::write(
        &other,
        "extensions:\n  tutorial:\n    type: builtin\n    name: tutorial\n    enabled: true\n",
    )?;
    let run = home.run(&["extension", "list", "--config", "other.yaml"])?;
    ensure!(run.stdout.starts_with("tutorial   on   builtin"), "{run:?}");
    let run = home.run(&["extension", "tools", "--config", "other.yaml"])?;
    ensure!(run.stdout.contains("tutorial__load_tutorial"), "{run:?}");
    let missing = home.run(&["extension", "list", "--config", "missing.yaml"])?;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    ensure!(missing.stderr.contains("missing.yaml"), "{}", missing.stderr);
    Ok(())
}

/// Without a configuration, a conversation has the developer's tools, so the extension is listed as enabled.
#[test]
fn the_default_extension_is_on_where_nothing_is_configured() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run = home.run(&["extension", "tools"])?;
    ensure!(run.code == Some(0) && run.stdout.contains("developer__shell"), "{run:?}");
    Ok(())
}
