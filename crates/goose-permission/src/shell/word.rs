//! [`Word`]: a word of a command after quote removal, as far as it is known before the command runs.

use super::braces::{self, Item};

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Text of the word; `None` if it is only known at run time.
    pub(crate) text: Option<String>,
    /// Known texts around the unknown parts; empty if the whole word is known.
    pieces: Vec<String>,
    /// Unknown parts, one between each two pieces.
    unknown: Vec<Unknown>,
    /// Words that some shells make of the braces in this one; empty if there are none, or too many.
    alternatives: Box<[Word]>,
    /// True if the word may become several words, or none.
    splits: bool,
    /// True if all unknown parts are wildcards: `src/*.rs`.
    only_names: bool,
    /// True if the word starts with an unquoted `~`.
    tilde: bool,
}

/// A part of a word that is only known at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// A wildcard.
    Wildcard,
    /// A number, or nothing: `$#`, `$!`.
    Number,
    /// Value of a variable, changed by an operator and its word: `${x%.rs}`. The position is not known within a nested
    /// script.
    Variable { name: String, operator: &'static str, operand: String, at: Option<usize> },
    /// Text from a stream, output of `$(…)` or input of `xargs`; `is_split` if it is split at blanks.
    Stream { stream: usize, is_split: bool },
    /// A pipe from or to another command: `<(…)`.
    Pipe,
    /// Anything.
    Anything,
}

/// Files that a word may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach<'w> {
    /// This path.
    Exactly(&'w str),
    /// A file in this folder, at any depth.
    Below(&'w str),
    /// Any file.
    Anywhere,
}

impl Word {
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        WordBuilder { last: text.into(), ..WordBuilder::new() }.word()
    }

    /// Creates a word from text in which `*` is a wildcard.
    pub(crate) fn pattern(text: &str) -> Self {
        let mut pieces = text.split('*');
        let mut word = WordBuilder::new();
        word.push(pieces.next().unwrap_or_default());
        for piece in pieces {
            word.glob();
            word.push(piece);
        }
        word.word()
    }

    /// Creates a placeholder for any words, including none, with these texts around the unknown parts.
    pub(super) fn unknown_words(pieces: &[&str], unknown: &Unknown) -> Self {
        let mut word = WordBuilder::new();
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                word.push_unknown(unknown.clone(), true);
            }
            word.push(piece);
        }
        word.word()
    }

    /// Creates the word that `<(…)` becomes.
    pub(super) fn pipe() -> Self {
        let mut word = WordBuilder::new();
        word.push("/dev/fd/");
        word.push_unknown(Unknown::Pipe, false);
        word.word()
    }

    /// Returns the known start of the word.
    fn prefix(&self) -> &str {
        self.pieces().first().map_or("", String::as_str)
    }

    /// Returns the name of the program that this word starts, without its folder.
    pub(crate) fn program(&self) -> Option<&str> {
        let text = self.text.as_deref()?;
        text.rsplit('/').next()
    }

    /// Returns true if the word is, or may become, an option.
    pub(crate) fn may_be_option(&self) -> bool {
        match &self.text {
            Some(text) => text.starts_with('-'),
            None => self.splits || self.prefix().is_empty() || self.prefix().starts_with('-'),
        }
    }

    /// Returns the start of an option whose value is not known: `--author=` of `--author=$x`.
    pub(super) fn option_name(&self) -> Option<&str> {
        let name = self.prefix().split_inclusive('=').next().filter(|name| name.ends_with('='))?;
        (name.starts_with("--") && !self.splits).then_some(name)
    }

    /// Returns true if the word may become several words, or none.
    pub(crate) fn splits(&self) -> bool {
        self.splits || (self.text.is_none() && self.only_names)
    }

    /// Returns true if the word may contain this text.
    pub(super) fn may_hold(&self, text: &str) -> bool {
        self.text.as_ref().is_none_or(|own| own.contains(text))
    }

    /// Returns the known texts.
    pub(crate) fn pieces(&self) -> &[String] {
        self.text.as_ref().map_or(&self.pieces, std::slice::from_ref)
    }

    /// Returns the word as it is shown to the user.
    pub(crate) fn shown(&self) -> String {
        let name = |unknown: &Unknown| match unknown {
            Unknown::Variable { name, .. } if !name.is_empty() => format!("${name}"),
            Unknown::Wildcard => "*".to_owned(),
            _ => "…".to_owned(),
        };
        let mut names = self.unknown.iter().map(name);
        self.pieces().iter().map(|piece| piece.clone() + &names.next().unwrap_or_default()).collect()
    }

    /// Returns the unknown parts, each of which follows the piece with the same number.
    pub(crate) fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// Returns the words that some shells make of the braces in this one.
    pub(crate) fn alternatives(&self) -> &[Word] {
        &self.alternatives
    }

    /// Returns the path, if it is known. A quoted `~` is a name, not a home folder.
    pub(super) fn path(&self) -> Option<&str> {
        self.text.as_deref().filter(|text| !text.starts_with('~') || self.tilde)
    }

    /// Returns true if the word starts with an unquoted `~`.
    pub(super) fn has_tilde(&self) -> bool {
        self.tilde
    }

    /// Returns the path that `cd` changes to, if it is known: a literal one, or one below `$HOME`.
    pub(super) fn folder(&self) -> Option<String> {
        match (self.unknown.as_slice(), self.pieces.as_slice()) {
            ([Unknown::Variable { name, operator: "", .. }], [before, after])
                if name == "HOME" && before.is_empty() =>
            {
                Some(format!("~{after}"))
            }
            _ => self.path().map(str::to_owned),
        }
    }

    /// Returns true if all unknown parts are wildcards: `../*.rs`.
    pub(crate) fn is_pattern(&self) -> bool {
        self.text.is_none() && self.only_names && !self.splits
    }

    /// Returns the files that the word may name.
    pub(crate) fn reach(&self) -> Reach<'_> {
        if let Some(text) = &self.text {
            return Reach::Exactly(text);
        }
        // `.*` may match `..`, which leads out of the folder.
        let leads_out = self.pieces.iter().any(|piece| piece.contains("..") || piece.ends_with('.'));
        if self.splits || !self.only_names || leads_out {
            return Reach::Anywhere;
        }
        match self.prefix().rfind('/') {
            Some(end) => Reach::Below(&self.prefix()[..=end]),
            None => Reach::Below("."),
        }
    }
}

/// Builds a word while it is parsed.
#[derive(Debug, Clone)]
pub(super) struct WordBuilder {
    /// Texts before each unknown part.
    pieces: Vec<String>,
    unknown: Vec<Unknown>,
    /// Text after the last unknown part.
    last: String,
    /// Unquoted braces and commas: the number of the piece, and the position in it.
    braces: Vec<(usize, usize)>,
    splits: bool,
    only_names: bool,
    tilde: bool,
}

impl WordBuilder {
    pub(super) fn new() -> Self {
        Self {
            pieces: Vec::new(),
            unknown: Vec::new(),
            last: String::new(),
            braces: Vec::new(),
            splits: false,
            only_names: true,
            tilde: false,
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.last.push_str(text);
    }

    /// Adds an unquoted brace, or a comma that may be between braces.
    pub(super) fn push_brace(&mut self, text: &str) {
        self.braces.push((self.pieces.len(), self.last.len()));
        self.push(text);
    }

    fn push_part(&mut self, unknown: Unknown) {
        self.pieces.push(std::mem::take(&mut self.last));
        self.unknown.push(unknown);
    }

    /// Adds a wildcard: `*`, `?` or `[`.
    pub(super) fn glob(&mut self) {
        self.push_part(Unknown::Wildcard);
    }

    /// Adds a `~` at the start. The home folder of another user is not known.
    pub(super) fn tilde(&mut self, is_own_home: bool) {
        self.tilde = true;
        self.push("~");
        if !is_own_home {
            self.push_unknown(Unknown::Anything, false);
        }
    }

    /// Adds a part that is only known at run time.
    pub(super) fn push_unknown(&mut self, unknown: Unknown, splits: bool) {
        self.push_part(unknown);
        self.splits |= splits;
        self.only_names = false;
    }

    /// Makes everything from the first brace on unknown: some shells make several words of `{a,b}`.
    fn forget_from_brace(&mut self) {
        self.push_unknown(Unknown::Anything, true);
        if let Some(at) = self.pieces.iter().position(|piece| piece.contains('{')) {
            self.pieces.truncate(at + 1);
            self.unknown.truncate(at);
            self.unknown.push(Unknown::Anything);
            self.pieces[at] = self.pieces[at].split('{').next().unwrap_or_default().to_owned();
        }
    }

    /// Returns the word with this source.
    pub(super) fn finish(mut self, source: &str) -> Word {
        // A single `[` is a program.
        if source == "[" {
            return Word::literal("[");
        }
        if self.braces.is_empty() || !(source.contains(',') || source.contains("..")) {
            return self.word();
        }
        let items = if self.braces.len() <= braces::MAX_BRACES { self.items() } else { Vec::new() };
        let alternatives = if items.is_empty() { None } else { braces::expand(&items) }.unwrap_or_default();
        match alternatives.as_slice() {
            // There is nothing to expand.
            [one] if one.len() == items.len() => self.word(),
            _ => {
                let mut alternatives: Vec<Word> =
                    alternatives.into_iter().map(|items| self.with_items(items)).collect();
                // Other shells leave it as it is.
                if !alternatives.is_empty() {
                    alternatives.push(self.clone().word());
                }
                self.forget_from_brace();
                Word { alternatives: alternatives.into(), ..self.word() }
            }
        }
    }

    /// Returns the texts, braces and unknown parts in order.
    fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for (index, piece) in self.pieces.iter().chain([&self.last]).enumerate() {
            let mut from = 0;
            for (_, at) in self.braces.iter().filter(|(number, _)| *number == index) {
                items.push(Item::Text(piece[from..*at].to_owned()));
                items.push(Item::Brace(piece.as_bytes()[*at]));
                from = at + 1;
            }
            items.push(Item::Text(piece[from..].to_owned()));
            items.extend(self.unknown.get(index).cloned().map(Item::Unknown));
        }
        items
    }

    /// Returns a word with the same properties and these parts.
    fn with_items(&self, items: Vec<Item>) -> Word {
        let mut word = Self { splits: self.splits, tilde: self.tilde, ..Self::new() };
        for item in items {
            match item {
                Item::Text(text) => word.push(&text),
                Item::Brace(byte) => word.push(&char::from(byte).to_string()),
                Item::Unknown(unknown) => word.push_part(unknown),
            }
        }
        Self { only_names: self.only_names, ..word }.word()
    }

    fn word(self) -> Word {
        let Self { mut pieces, unknown, last, splits, only_names, tilde, .. } = self;
        let text = match pieces.is_empty() {
            true => Some(last),
            false => {
                pieces.push(last);
                None
            }
        };
        Word { text, pieces, unknown, alternatives: Box::default(), splits, only_names, tilde }
    }
}

/// Returns the words if all of them are known.
pub(super) fn texts(rest: &[Word]) -> Option<Vec<&str>> {
    rest.iter().map(|word| word.text.as_deref()).collect()
}
