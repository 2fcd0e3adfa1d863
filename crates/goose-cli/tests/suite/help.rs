//! Help, versions, and command lines that make no sense.

use anyhow::ensure;

use crate::support::Home;

#[test]
fn without_a_command_there_is_help() -> anyhow::Result<()> {
    let home = Home::new()?;
    let models = cfg!(feature = "local").then_some(&["models"][..]);
    let others = [&[][..], &["extension"], &["apps"], &["agents"], &["permissions"]];
    for command in others.into_iter().chain(models) {
        let (run, help) = (home.run(command)?, home.run(&[command, &["--help"]].concat())?);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        assert_eq!(run.stdout, help.stdout);
    }
    Ok(())
}

#[test]
fn help_of_help_is_help() -> anyhow::Result<()> {
    let home = Home::new()?;
    let (run, help) = (home.run(&["help", "--help"])?, home.run(&["--help"])?);
    assert_eq!((run.code, run.stdout), (Some(0), help.stdout));
    Ok(())
}

#[test]
fn typing_errors_are_corrected() -> anyhow::Result<()> {
    let home = Home::new()?;
    for (arguments, expected) in [
        (vec!["rnu", "hi"], "'run'"),
        (vec!["run", "--modle", "x", "hi"], "'--model'"),
        (vec!["session", "lsit"], "'list'"),
        (vec!["session", "list", "--jsn"], "'--json'"),
    ] {
        let run = home.run(&arguments)?;
        ensure!(run.code == Some(2) && run.stderr.contains("tip: a similar"), "{run:?}");
        ensure!(run.stderr.contains(expected), "{expected}: {run:?}");
    }
    Ok(())
}

#[test]
fn every_subcommand_has_examples() -> anyhow::Result<()> {
    let home = Home::new()?;
    for command in ["agents list", "apps show", "configure set", "session remove", "session fork", "mcp"] {
        let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let run = home.run(&arguments)?;
        ensure!(run.stdout.contains("Examples:\n  goose "), "{command}: {}", run.stdout);
    }
    ensure!(!home.run(&["session", "remove", "--help"])?.stdout.contains("by default"));
    ensure!(home.run(&["apps", "show", "--help"])?.stdout.contains("show [OPTIONS] <NAME>"));
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
        (
            vec!["mcp", "nothing"],
            "[possible values: developer, memory, computercontroller, autovisualiser, tutorial, summon, chatrecall, apps",
        ),
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
