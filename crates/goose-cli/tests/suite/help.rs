//! Help, versions, and command lines that make no sense.

use anyhow::ensure;

use crate::support::Home;

#[test]
fn without_arguments_there_is_help() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run = home.run(&[])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout, home.run(&["--help"])?.stdout);
    ensure!(run.stdout.starts_with("An AI agent that works with your tools\n\nUsage: goose [COMMAND]\n"));
    for expected in [
        "  session     Start a session, or manage saved ones [alias: s]\n",
        "  run         Run a single task and exit\n",
        "\nExamples:\n",
        "\nRun `goose COMMAND --help` for more about a command.\n",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(squeezed(&run.stdout).contains(&squeezed(expected)), "no `{expected}` in:\n{}", run.stdout);
    }
    Ok(())
}

#[test]
fn every_command_has_examples() -> anyhow::Result<()> {
    let home = Home::new()?;
    assert_eq!(home.run(&["extension"])?.stdout, home.run(&["extension", "--help"])?.stdout);
    for command in ["list", "status", "tools", "call"] {
        let run = home.run(&["extension", command, "--help"])?;
        assert_eq!(run.code, Some(0));
        for expected in ["\nExamples:\n", "\nWith --json: ", "--with-builtin", "--no-profile"] {
            ensure!(run.stdout.contains(expected), "no `{expected}` in:\n{}", run.stdout);
        }
    }
    for command in ["run", "session"] {
        let run = home.run(&[command, "--help"])?;
        for expected in
            ["\nExamples:\n", "--with-builtin", "--no-profile", "--max-turns", "--resume", "--model"]
        {
            ensure!(run.stdout.contains(expected), "no `{expected}` in:\n{}", run.stdout);
        }
    }
    Ok(())
}

#[test]
fn the_version_is_shown() -> anyhow::Result<()> {
    let run = Home::new()?.run(&["--version"])?;
    assert_eq!(
        (run.code, run.stdout),
        (Some(0), concat!("goose ", env!("CARGO_PKG_VERSION"), "\n").to_owned())
    );
    Ok(())
}

#[test]
fn a_command_line_that_makes_no_sense_exits_with_2() -> anyhow::Result<()> {
    let home = Home::new()?;
    for (arguments, expected) in [
        (vec!["extention"], "extension"),
        (vec!["extension", "list", "--colour"], "--colour"),
        (vec!["extension", "call", "memory"], "<TOOL>"),
        (vec!["mcp", "nothing"], "[possible values: developer, memory, tutorial, summon, chatrecall, apps"),
        (vec!["extension", "list", "--with-builtin", "memory,x"], "invalid value 'x'"),
    ] {
        let run = home.run(&arguments)?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        ensure!(run.stderr.starts_with("error: ") && run.stderr.contains(expected), "{}", run.stderr);
    }
    Ok(())
}

#[test]
fn a_bad_command_line_of_an_extension_is_an_error() -> anyhow::Result<()> {
    let home = Home::new()?;
    for (arguments, expected) in [
        (["--with-extension", "npx 'open"], "a quote is not closed"),
        (["--with-extension", "A=1"], "names no program"),
        (["--with-streamable-http-extension", "ftp://example.com"], "only http and https"),
    ] {
        let run = home.run(&[&["extension", "list"], &arguments[..]].concat())?;
        assert_eq!(run.code, Some(1));
        ensure!(run.stderr.contains(expected), "{}", run.stderr);
    }
    Ok(())
}
