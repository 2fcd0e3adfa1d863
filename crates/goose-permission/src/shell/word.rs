//! [`Word`]: a word of a command after quote removal, as far as it is known before the command runs.

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Text of the word; `None` if it is only known at run time.
    pub(crate) text: Option<String>,
    /// Known texts around the unknown parts; empty if the whole word is known.
    pieces: Vec<String>,
    /// True if the word may become several words, or none.
    splits: bool,
    /// True if all unknown parts are wildcards: `src/*.rs`.
    only_names: bool,
    /// True if the word starts with an unquoted `~`.
    tilde: bool,
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
    pub(super) fn literal(text: impl Into<String>) -> Self {
        let text = Some(text.into());
        Self { text, pieces: Vec::new(), splits: false, only_names: true, tilde: false }
    }

    /// Creates a placeholder for any words, including none.
    pub(super) fn anything() -> Self {
        let pieces = vec![String::new(); 2];
        Self { text: None, pieces, splits: true, only_names: false, tilde: false }
    }

    /// Creates a placeholder for a file in this folder.
    pub(super) fn below(folder: &str) -> Self {
        let pieces = vec![folder.to_owned(), String::new()];
        Self { text: None, pieces, splits: false, only_names: false, tilde: false }
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

    /// Returns true if the word may become several words, or none.
    pub(super) fn splits(&self) -> bool {
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

    /// Returns the path, if it is known. A quoted `~` is a name, not a home folder.
    pub(super) fn path(&self) -> Option<&str> {
        self.text.as_deref().filter(|text| !text.starts_with('~') || self.tilde)
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
#[derive(Debug)]
pub(super) struct WordBuilder {
    /// Texts before each unknown part.
    pieces: Vec<String>,
    /// Text after the last unknown part.
    last: String,
    splits: bool,
    only_names: bool,
    tilde: bool,
}

impl WordBuilder {
    pub(super) fn new() -> Self {
        Self { pieces: Vec::new(), last: String::new(), splits: false, only_names: true, tilde: false }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.last.push_str(text);
    }

    /// Adds a wildcard: `*`, `?` or `[`.
    pub(super) fn glob(&mut self) {
        self.pieces.push(std::mem::take(&mut self.last));
    }

    /// Adds a `~` at the start. The home folder of another user is not known.
    pub(super) fn tilde(&mut self, is_own_home: bool) {
        self.tilde = true;
        self.push("~");
        if !is_own_home {
            self.push_unknown(false);
        }
    }

    /// Adds a part that is only known at run time.
    pub(super) fn push_unknown(&mut self, splits: bool) {
        self.glob();
        self.splits |= splits;
        self.only_names = false;
    }

    /// Makes everything from the first brace on unknown: some shells make several words of `{a,b}`.
    fn forget_from_brace(&mut self) {
        self.push_unknown(true);
        if let Some(at) = self.pieces.iter().position(|piece| piece.contains('{')) {
            self.pieces.truncate(at + 1);
            self.pieces[at] = self.pieces[at].split('{').next().unwrap_or_default().to_owned();
        }
    }

    /// Returns the word with this source.
    pub(super) fn finish(mut self, source: &str, has_brace: bool) -> Word {
        // A single `[` is a program.
        if source == "[" {
            return Word::literal("[");
        }
        if has_brace && (source.contains(',') || source.contains("..")) {
            self.forget_from_brace();
        }
        let Self { mut pieces, last, splits, only_names, tilde } = self;
        let text = match pieces.is_empty() {
            true => Some(last),
            false => {
                pieces.push(last);
                None
            }
        };
        Word { text, pieces, splits, only_names, tilde }
    }
}
