//! Matching of commands against rules.
//!
//! An allow rule must match with certainty. A restricting rule also applies if it may match: if a word is
//! unknown, with options in between, or under another path of the same program.

use super::{
    glob::Glob,
    rule::RuleError,
    shell::{self, Form, Word},
};

/// Certainty of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    No,
    Maybe,
    Yes,
}

/// Words of a command in a rule: `cargo test *`. A `*` at the end matches any further words, including none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPattern {
    words: Vec<Glob>,
    open: bool,
}

/// Characters that end or change a plain command in a shell.
const OPERATORS: &str = ";|&<>()$`\n\\";

impl CommandPattern {
    /// Parses the words of a pattern.
    ///
    /// # Errors
    ///
    /// Fails if an operator is not quoted, if a quote is not closed, or if there are no words.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let mut words = split(text)?;
        let open = words.last().is_some_and(Glob::is_any) && words.len() > 1;
        if open {
            words.pop();
        }
        if words.is_empty() { Err(RuleError::NoCommand) } else { Ok(Self { words, open }) }
    }

    /// Returns true if any further words match.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns true if the rule allows this command.
    pub(super) fn allows(&self, words: &[Word]) -> bool {
        let enough =
            if self.open { words.len() >= self.words.len() } else { words.len() == self.words.len() };
        enough
            && self
                .words
                .iter()
                .zip(words)
                .all(|(glob, word)| word.text.as_deref().is_some_and(|text| glob.matches(text)))
            && !shell::has_exec_option(words, self.words.len())
    }

    /// Matches a command against a restricting rule.
    pub(super) fn restricts(&self, form: &Form) -> Certainty {
        let words = &form.words;
        if let Some(certainty) = self.in_order(words) {
            return certainty;
        }
        // The first word that may be the program is enough: a later match is a part of that one.
        let start = match runs_arguments(form) {
            Certainty::No => Some(0),
            Certainty::Yes => words.iter().position(|word| self.may_start_with(word)),
            Certainty::Maybe => {
                words.iter().position(|word| word.text.is_some() && self.may_start_with(word))
            }
        };
        match start.is_some_and(|start| self.is_scattered_in(&words[start..])) {
            true => Certainty::Maybe,
            false => Certainty::No,
        }
    }

    fn may_start_with(&self, word: &Word) -> bool {
        let is_program = |name: &str| self.words.first().is_some_and(|glob| is_program(glob, name, word));
        word.program().is_none_or(is_program)
    }

    /// Compares word for word; `None` if a word differs.
    fn in_order(&self, words: &[Word]) -> Option<Certainty> {
        for (index, glob) in self.words.iter().enumerate() {
            let word = words.get(index)?;
            match &word.text {
                None => return Some(Certainty::Maybe),
                Some(_) if index == 0 => word.program().filter(|name| is_program(glob, name, word))?,
                Some(text) => Some(text.as_str()).filter(|text| glob.matches(text))?,
            };
        }
        let rest = &words[self.words.len()..];
        match (self.open || rest.is_empty(), rest.iter().any(|word| word.text.is_none())) {
            (true, _) => Some(Certainty::Yes),
            (false, true) => Some(Certainty::Maybe),
            (false, false) => None,
        }
    }

    /// Returns true if the command has all words of the pattern in order, with other words in between.
    fn is_scattered_in(&self, words: &[Word]) -> bool {
        let mut wanted = self.words.iter().enumerate().peekable();
        for word in words {
            let Some((index, glob)) = wanted.peek() else { break };
            let Some(text) = &word.text else { return true };
            let same = match index {
                0 => word.program().is_some_and(|name| is_program(glob, name, word)),
                _ => glob.matches(text),
            };
            match (same, index) {
                (true, _) => drop(wanted.next()),
                (false, 0) => return false,
                (false, _) => {}
            }
        }
        wanted.peek().is_none()
    }
}

/// Compares a program's name, in any folder. Ignores case: some file systems do.
fn is_program(glob: &Glob, name: &str, word: &Word) -> bool {
    glob.matches_any_case(name) || word.text.as_deref().is_some_and(|text| glob.matches_any_case(text))
}

/// Estimates whether a program runs commands that are among its arguments, in ways that are not analysed.
fn runs_arguments(form: &Form) -> Certainty {
    // Programs with subcommands and operands that are also names of programs: `git rm`, `apt install make`.
    const OTHERS: [&str; 20] = [
        "apk", "apt", "apt-get", "aws", "brew", "cargo", "cp", "dnf", "gcloud", "gh", "git", "go", "helm",
        "mkdir", "mv", "pip", "rustup", "touch", "yarn", "yum",
    ];
    match form.words.first().and_then(Word::program) {
        None => Certainty::No,
        Some(program)
            if shell::is_launcher(program) || matches!(program, "fd" | "find" | "npm" | "uv" | "ip") =>
        {
            Certainty::Yes
        }
        Some(program) if OTHERS.contains(&program) || form.reads_only => Certainty::No,
        Some(_) => Certainty::Maybe,
    }
}

/// Splits a pattern into words. Blanks and `*` in quotes are literal.
fn split(text: &str) -> Result<Vec<Glob>, RuleError> {
    let (mut words, mut quote) = (Vec::new(), None);
    // The pieces between the `*`s of the current word.
    let mut word: Vec<String> = Vec::new();
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, _) if c.is_whitespace() => end(&mut words, &mut word),
            (None, _) if OPERATORS.contains(c) => return Err(RuleError::UnquotedOperator(c)),
            (None, '\'' | '"') => {
                quote = Some(c);
                push(&mut word, "");
            }
            (None, '*') => {
                push(&mut word, "");
                word.push(String::new());
            }
            _ => push(&mut word, c.encode_utf8(&mut [0; 4])),
        }
    }
    end(&mut words, &mut word);
    if quote.is_some() { Err(RuleError::UnclosedQuote) } else { Ok(words) }
}

fn push(word: &mut Vec<String>, text: &str) {
    match word.last_mut() {
        Some(piece) => piece.push_str(text),
        None => word.push(text.to_owned()),
    }
}

fn end(words: &mut Vec<Glob>, word: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(Glob::from_pieces(std::mem::take(word)));
    }
}
