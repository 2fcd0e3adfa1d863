//! `goose info` and `goose completion`.

use std::fs;

use anyhow::ensure;
use serde_json::json;

use crate::support::{Home, Run};

const CONFIG: &str = "\
GOOSE_PROVIDER: openai
GOOSE_MODEL: from-file
OPENAI_API_KEY: very-secret
extensions:
  memory: {type: builtin}
  old: {type: sse, enabled: false}
";

#[test]
fn what_is_configured_is_shown_with_where_it_comes_from() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run: Run = home.goose(&["info"]).env("GOOSE_MODEL", "from-environment").output()?.try_into()?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        home.normal(&run.stdout)?,
        format!(
            "\
version       {}
model         openai:from-environment
              GOOSE_MODEL = from-environment  (the environment variable GOOSE_MODEL)
              GOOSE_PROVIDER = openai  (HOME/config/config.yaml:1:1)
config        HOME/config
data          HOME/data
state         HOME/state
cache         HOME/state/cache
settings      HOME/config/config.yaml
secrets       HOME/config/secrets.yaml (missing)
extensions    memory, old (off)
sessions      HOME/data/sessions/goose.db (not created yet)
",
            env!("CARGO_PKG_VERSION")
        )
    );
    let verbose = home.run(&["info", "-v"])?;
    ensure!(verbose.stdout.contains("OPENAI_API_KEY = (hidden)  ("), "{}", verbose.stdout);
    ensure!(!verbose.stdout.contains("very-secret"));
    Ok(())
}

#[test]
fn programs_get_json() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    fs::create_dir_all(home.path().join(".goose"))?;
    fs::write(home.path().join(".goose/config.yaml"), "A: 1\n")?;
    let json = home.run(&["info", "--json"])?.json()?;
    assert_eq!(json["model"], "openai:from-file");
    assert_eq!(
        json["extensions"][0],
        json!({"key": "memory", "type": "builtin", "enabled": true, "error": null})
    );
    assert_eq!(json["files"][2]["trust"], "unknown");
    assert_eq!(json["problems"], json!([]));
    ensure!(!json.to_string().contains("very-secret"));
    Ok(())
}

#[test]
fn a_broken_file_is_a_problem_and_the_rest_is_shown() -> anyhow::Result<()> {
    let home = Home::with_config("A: [\n")?;
    let run = home.run(&["info"])?;
    assert_eq!(run.code, Some(0));
    ensure!(run.stdout.contains("problem: ") && run.stdout.contains("config.yaml:"), "{}", run.stdout);
    ensure!(run.stdout.starts_with("version"), "{}", run.stdout);
    Ok(())
}

#[test]
fn each_shell_has_its_script() -> anyhow::Result<()> {
    let home = Home::new()?;
    for (shell, expected) in
        [("bash", "complete -F _goose"), ("zsh", "#compdef goose"), ("fish", "complete -c goose")]
    {
        let run = home.run(&["completion", shell])?;
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        ensure!(run.stdout.contains(expected) && run.stdout.contains("configure"), "{shell}");
        ensure!(run.stdout.contains("coding-agent/backend"), "{shell}: agents are completed");
        ensure!(run.stdout.contains("smart_approve") && run.stdout.contains("openrouter"), "{shell}: values");
    }
    assert_eq!(home.run(&["completion", "tcl"])?.code, Some(2));
    Ok(())
}
