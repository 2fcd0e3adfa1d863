//! The screens of commands that answer at once, recorded. A change of wording shows here; look at it before it is
//! accepted.

use std::{fs, path::Path};

use goose_test_support::{ModelServer, Terminal, write_program};

use crate::{
    redacted::screen,
    sessions,
    support::{Home, UNREACHABLE_SERVERS},
    talk::SIZES,
};

const CONFIG: &str = "\
GOOSE_PROVIDER: openai
GOOSE_MODEL: gpt-4
extensions:
  notes: {type: stdio, name: notes, description: Keeps notes, cmd: notes, args: [--title, My notes]}
  remote: {enabled: false, type: streamable_http, name: remote, uri: 'https://example.com/mcp'}
  gone: {type: stdio, name: gone, cmd: no-such-program-here}
  memory: {type: builtin, name: memory}
";

/// `goose` at a terminal, with the programs that it looks for in a folder of the home.
fn at_terminal(home: &Home, arguments: &[&str], more: &[(&str, String)]) -> anyhow::Result<Terminal> {
    at_terminal_sized(home, arguments, more, (Terminal::COLUMNS, Terminal::ROWS))
}

fn at_terminal_sized(
    home: &Home,
    arguments: &[&str],
    more: &[(&str, String)],
    size: (u16, u16),
) -> anyhow::Result<Terminal> {
    let path = home.path().display().to_string();
    let programs = home.path().join("bin");
    fs::create_dir_all(&programs)?;
    for program in ["git", "notes"].map(|name| programs.join(name)) {
        write_program(&program, "")?;
    }
    let environment = [
        ("PATH", format!("{}:{}", programs.display(), std::env::var("PATH")?)),
        ("GOOSE_PATH_ROOT", path.clone()),
        ("HOME", path),
        ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
    ];
    let unreachable = UNREACHABLE_SERVERS.map(|(name, value)| (name, value.to_owned()));
    let environment = environment.into_iter().chain(unreachable).chain(more.iter().cloned());
    let program = Path::new(env!("CARGO_BIN_EXE_goose"));
    Terminal::start_sized(program, arguments, environment, home.path(), size)
}

/// The screen after the end of a command. The provider can be reached and has a key.
fn shown(home: &Home, arguments: &[&str]) -> anyhow::Result<String> {
    let server = ModelServer::scripted([])?;
    let more = [("OPENAI_API_KEY", "test".to_owned()), ("OPENAI_HOST", server.url())];
    let mut terminal = at_terminal(home, arguments, &more)?;
    terminal.wait()?;
    screen(&terminal, home)
}

#[test]
fn session_list() -> anyhow::Result<()> {
    let home = sessions::with_two()?;
    insta::assert_snapshot!(shown(&home, &["session", "list"])?);
    Ok(())
}

#[test]
fn extension_list() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    insta::assert_snapshot!(shown(&home, &["extension", "list"])?);
    Ok(())
}

#[test]
fn info() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    insta::assert_snapshot!(shown(&home, &["info"])?);
    Ok(())
}

#[test]
fn info_at_terminals_of_all_sizes() -> anyhow::Result<()> {
    for size in SIZES {
        let home = Home::with_short_path()?.configured(CONFIG)?;
        let mut terminal = at_terminal_sized(&home, &["info"], &[], size)?;
        terminal.wait()?;
        insta::assert_snapshot!(format!("info_{}x{}", size.0, size.1), screen(&terminal, &home)?);
    }
    Ok(())
}

#[test]
fn doctor() -> anyhow::Result<()> {
    let home = Home::with_short_path()?.configured(CONFIG)?;
    insta::assert_snapshot!(shown(&home, &["doctor"])?);
    Ok(())
}

#[cfg(feature = "local")]
#[test]
fn configure() -> anyhow::Result<()> {
    let home = Home::with_short_path()?;
    let terminal = at_terminal(&home, &["configure"], &[])?;
    terminal.wait_for("❯ local")?;
    insta::assert_snapshot!(screen(&terminal, &home)?);
    Ok(())
}
