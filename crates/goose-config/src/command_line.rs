//! An extension from one line of text, the value of `--with-extension`:
//! `[name:] KEY=VALUE … program argument …`.
//!
//! Words are split as in a shell (quotes, backslashes), but no shell runs: there are no variables, globs or
//! pipes.

use std::{iter::Peekable, path::Path, str::Chars};

use crate::{ConfigError, extension::ExtensionConfig};

/// Programs that run a package. The package names the extension better than the program does.
const PACKAGE_RUNNERS: [&str; 3] = ["npx", "uvx", "bunx"];

/// Options of these programs that take a value.
const OPTIONS_WITH_VALUE: [&str; 8] = [
    "-p",
    "--package",
    "--from",
    "--with",
    "--with-editable",
    "--python",
    "--index-url",
    "--extra-index-url",
];

impl ExtensionConfig {
    /// Creates an extension from a command line. Leading `KEY=VALUE` words are environment variables. Its name
    /// is what stands before a colon at the beginning, or else the package that `npx`, `uvx` or `bunx` runs, or
    /// else its program.
    ///
    /// ```
    /// # use goose_config::ExtensionConfig;
    /// let line = "DEBUG=1 npx -y @example/notes@1.2 --title 'My notes'";
    /// let config = ExtensionConfig::from_command_line(line)?;
    /// assert_eq!(config.name(), "notes");
    /// # Ok::<_, goose_config::ConfigError>(())
    /// ```
    pub fn from_command_line(line: &str) -> Result<Self, ConfigError> {
        let (name, command) = named(line);
        let mut words = split(command)?.into_iter().peekable();
        let mut envs = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
            envs.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        let no_program =
            || ConfigError::CommandLine(format!("'{line}' names no program; give 'program argument …'"));
        let program = words.next().filter(|program| !program.trim().is_empty()).ok_or_else(no_program)?;
        let args: Vec<String> = words.collect();
        let name = name.map_or_else(|| name_of(&program, &args), str::to_owned);
        let config = Self::stdio(name, program, args);
        Ok(envs.into_iter().fold(config, |config, (name, value)| config.with_env(name, value)))
    }
}

/// Splits a name from the rest of a line: `notes: npx …`. A colon in a later place, or of an address, is not one.
fn named(line: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        !name.is_empty() && name.chars().all(is_part)
    };
    match line.trim_start().split_once(':') {
        Some((name, rest)) if is_name(name) && !rest.starts_with("//") => (Some(name), rest),
        _ => (None, line),
    }
}

/// Splits `KEY=VALUE` if the key can be the name of a variable.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    (starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some((name, value))
}

fn name_of(program: &str, args: &[String]) -> String {
    let stem = Path::new(program).file_stem().map_or(program.into(), |stem| stem.to_string_lossy());
    let package = || package_of(args).map(str::to_owned);
    let runner = PACKAGE_RUNNERS.contains(&&*stem);
    runner.then(package).flatten().unwrap_or_else(|| stem.into_owned())
}

/// Returns the package without its scope and version: `notes` for `@example/notes@1.2`.
fn package_of(args: &[String]) -> Option<&str> {
    let mut args = args.iter();
    let package = loop {
        let word = args.next()?;
        if OPTIONS_WITH_VALUE.contains(&word.as_str()) {
            args.next();
        } else if !word.starts_with('-') {
            break word;
        }
    };
    let name = package.rsplit('/').next().unwrap_or(package);
    let end =
        name.char_indices().skip(1).find(|(_, c)| "@=[<>~".contains(*c)).map_or(name.len(), |(at, _)| at);
    name.get(..end).filter(|name| !name.is_empty())
}

/// Splits a line into words.
fn split(line: &str) -> Result<Vec<String>, ConfigError> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(words);
        }
        words.push(word(&mut chars).map_err(|why| ConfigError::CommandLine(format!("'{line}': {why}")))?);
    }
}

/// Reads the word that begins here.
fn word(chars: &mut Peekable<Chars<'_>>) -> Result<String, &'static str> {
    let mut word = String::new();
    while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
        match c {
            '\'' | '"' => quoted(chars, c, &mut word)?,
            '\\' => word.push(chars.next().ok_or("it ends with a backslash; write two backslashes for one")?),
            other => word.push(other),
        }
    }
    Ok(word)
}

/// Reads the rest of a quoted part. In double quotes, a backslash escapes a quote or a backslash; in single
/// quotes nothing is special.
fn quoted(chars: &mut Peekable<Chars<'_>>, quote: char, word: &mut String) -> Result<(), &'static str> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => word.push(chars.next_if(|next| "\"\\$`".contains(*next)).unwrap_or('\\')),
            other => word.push(other),
        }
    }
    Err("a quote is not closed; close it, or write a backslash before it")
}
