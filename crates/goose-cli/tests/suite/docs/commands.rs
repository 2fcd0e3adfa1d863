//! The commands of the documentation. Those in fenced blocks are run, page by page, in a home with a project and a
//! scripted model; what a `console` block shows below a command is what it prints, where `…` stands for any text.
//! Commands of goose that cannot be run (`not run:`), and those within sentences, are parsed: `--help` behind them must
//! be reached.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use fancy_regex::Regex;
use goose_test_support::{ModelServer, Turn};
use serde_json::json;
use tempfile::TempDir;

use super::{Block, Page, pages};
use crate::support::{UNREACHABLE_SERVERS, wait_until};

/// Time limit of one command.
const LIMIT: Duration = Duration::from_secs(60);

/// The tool by which `goose review` gets its answer.
const REVIEW: &str = "recipe__final_output";

/// Text that stands for any other in what a command prints.
const ANYTHING: &str = "…";

/// A home with a configured model, and a project in it: a git repository with a change.
struct World {
    home: TempDir,
    model: ModelServer,
}

impl World {
    fn new() -> anyhow::Result<Self> {
        let model = ModelServer::answering(|asked| match asked.tool_names().contains(&REVIEW) {
            true => Turn::call(REVIEW, json!({"findings": [], "summary": "Fine."})),
            false => Turn::text("Done."),
        })?;
        let world = Self { home: tempfile::tempdir_in("/tmp")?, model };
        fs::create_dir(world.home.path().join("bin"))?;
        for (name, program) in
            [("goose", env!("CARGO_BIN_EXE_goose")), ("goosed", env!("CARGO_BIN_EXE_goosed"))]
        {
            symlink(program, world.home.path().join("bin").join(name))?;
        }
        let config =
            format!("GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-4\nOPENAI_HOST: {}\n", world.model.url());
        world.put("~/.config/goose/config.yaml", &config)?;
        world.put("README.md", "# Pond\n\nA small library.\n")?;
        world.put("src/pond.py", "def depth():\n    return 14\n")?;
        world.put("task.md", "Describe this project.\n")?;
        let commit =
            "git init -q && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm Begin";
        let (is_success, printed) = world.shell(commit)?;
        ensure!(is_success, "{printed}");
        world.put("src/pond.py", "def depth():\n    return 15\n")?;
        Ok(world)
    }

    fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// Writes a file of the project, or, after `~/`, of the home.
    fn put(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = match path.strip_prefix("~/") {
            Some(path) => self.home.path().join(path),
            None => self.project().join(path),
        };
        fs::create_dir_all(path.parent().context("a folder")?)?;
        Ok(fs::write(path, text)?)
    }

    /// Runs shell commands in the project. Returns whether they succeeded, and everything that they printed.
    fn shell(&self, commands: &str) -> anyhow::Result<(bool, String)> {
        let output = self.home.path().join("output");
        let mut command = Command::new("bash");
        command.args(["-e", "-o", "pipefail", "-c", commands]).current_dir(self.project());
        let path = std::env::var("PATH")?;
        command.env_clear().env("PATH", format!("{}/bin:{path}", self.home.path().display()));
        command.env("HOME", self.home.path()).envs(UNREACHABLE_SERVERS).env("LANG", "C.UTF-8");
        command.env("ANTHROPIC_HOST", self.model.url()).env("OPENAI_API_KEY", "key").env("MY_KEY", "key");
        command.env("GOOSE_DISABLE_KEYRING", "1");
        let file = File::create(&output)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut child = command.spawn()?;
        let ended = wait_until(LIMIT, commands, || Ok(child.try_wait()?.is_some()));
        if ended.is_err() {
            child.kill()?;
        }
        let status = child.wait()?;
        ended?;
        Ok((status.success(), fs::read_to_string(output)?))
    }

    /// Runs a block: all of it, or each command of a console with its output.
    fn run(&self, block: &Block) -> anyhow::Result<()> {
        if block.info == "sh" {
            let (is_success, printed) = self.shell(&block.text)?;
            ensure!(is_success, "failed:\n{}\n{printed}", block.text);
            return Ok(());
        }
        for (command, expected) in console(&block.text)? {
            let (is_success, printed) = self.shell(&command)?;
            ensure!(is_success, "failed: {command}\n{printed}");
            let is_shown = expected.is_empty() || pattern(&expected)?.is_match(&printed)?;
            ensure!(is_shown, "{command}\nprints\n{printed}\nand not\n{expected}");
        }
        Ok(())
    }
}

/// Splits a console into its commands, after `$ `, and what each of them prints.
fn console(text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((command, output))) if output.is_empty() && command.ends_with('\\') => {
                command.push('\n');
                command.push_str(line);
            }
            (None, Some((_, output))) => {
                output.push_str(line);
                output.push('\n');
            }
            (None, None) => bail!("a console begins with a command after '$ ', not with '{line}'"),
        }
    }
    Ok(commands)
}

/// A pattern of an output: a line `…` stands for any lines, and `…` within a line for any text.
fn pattern(expected: &str) -> anyhow::Result<Regex> {
    let line = |line: &str| match line {
        ANYTHING => "(?:.*\n)*?".to_owned(),
        line => line.split(ANYTHING).map(fancy_regex::escape).collect::<Vec<_>>().join(".*") + "\n",
    };
    Ok(Regex::new(&format!("^{}$", expected.lines().map(line).collect::<String>()))?)
}

/// Returns the commands of goose in text for a shell, without assignments before them and redirections after them.
fn commands_of_goose(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let lines = lines.map(|line| line.split(" #").next().unwrap_or(line));
    let one_each = |line: &str| line.replace(" | ", "\n").replace(" && ", "\n").replace("; ", "\n");
    let parts: Vec<String> = lines.map(one_each).collect();
    parts.iter().flat_map(|part| part.lines()).filter_map(command_of_goose).collect()
}

fn command_of_goose(part: &str) -> Option<String> {
    let is_assignment = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_variable(name));
    let words: Vec<&str> = part.trim().split(' ').skip_while(|word| is_assignment(word)).collect();
    matches!(words.first(), Some(&("goose" | "goosed"))).then(|| {
        let command = words.join(" ");
        command.split(" >").next().unwrap_or(&command).to_owned()
    })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// The commands that are only parsed, with the place of the first.
fn parsed_commands(pages: &[Page]) -> BTreeMap<String, String> {
    let mut commands = BTreeMap::new();
    for page in pages.iter().filter(|page| page.is_guide()) {
        let blocks = page.blocks().into_iter().filter(|block| block.is_shell() && block.not_run().is_some());
        let blocks = blocks.map(|block| (block.line, block.text));
        for (line, text) in blocks.chain(page.inline_code()) {
            for command in commands_of_goose(&text) {
                commands.entry(command).or_insert_with(|| format!("{}:{line}", page.name));
            }
        }
    }
    commands
}

#[test]
fn commands_of_each_page_run() -> anyhow::Result<()> {
    let mut failures = Vec::new();
    for page in pages()?.iter().filter(|page| page.is_guide()) {
        let blocks = page.blocks();
        if !blocks.iter().any(|block| block.is_shell() && block.not_run().is_none()) {
            continue;
        }
        let world = World::new()?;
        for block in blocks {
            if let Some(path) = block.file() {
                world.put(path, &block.text)?;
            } else if block.is_shell() && block.not_run().is_none() {
                let done = world.run(&block);
                failures.extend(done.err().map(|error| format!("{}:{}: {error:#}", page.name, block.line)));
            }
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

#[test]
fn commands_that_are_not_run_have_a_reason_and_known_flags() -> anyhow::Result<()> {
    let (world, pages) = (World::new()?, pages()?);
    let mut failures = Vec::new();
    let blocks = pages.iter().flat_map(|page| page.blocks().into_iter().map(move |block| (page, block)));
    for (page, block) in blocks.filter(|(_, block)| block.is_shell()) {
        if block.not_run().is_some_and(str::is_empty) {
            failures.push(format!("{}:{}: no reason", page.name, block.line));
        }
    }
    let commands = parsed_commands(&pages);
    ensure!(commands.len() > 30, "few commands were found: {commands:?}");
    for (command, place) in commands {
        let with_help = match command.split_once(" -- ") {
            Some((flags, text)) => format!("{flags} --help -- {text}"),
            None => format!("{command} --help"),
        };
        let (is_success, printed) = world.shell(&format!("set -f; {with_help}"))?;
        if !is_success {
            failures.push(format!("{place}: {command}: {}", printed.lines().next().unwrap_or_default()));
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

#[test]
fn commands_are_found_in_text_for_a_shell() -> anyhow::Result<()> {
    let text = "$ A_KEY=x goose run -t 'a b' # why\ncargo run | goose mcp memory > file && goosed \\\n  --root x\nls goose";
    assert_eq!(commands_of_goose(text), ["goose run -t 'a b'", "goose mcp memory", "goosed    --root x"]);
    assert_eq!(
        console("$ a \\\n  b\nout\n…\n$ c\n")?,
        [("a \\\n  b".to_owned(), "out\n…\n".to_owned()), ("c".to_owned(), String::new())]
    );
    let shown = pattern("a … c\n…\nend\n")?;
    ensure!(shown.is_match("a b c\nx\ny\nend\n")? && shown.is_match("a  c\nend\n")?);
    ensure!(!shown.is_match("a b c\n")? && !shown.is_match("a b d\nend\n")?);
    Ok(())
}
