//! [`Word`]: a word of a command as the shell would see it after removing quotes, as far as that is known beforehand.

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::permission) struct Word {
    /// Its text; `None` where it is not known before the command runs.
    pub(in crate::permission) text: Option<String>,
    /// The texts around what is not known of it; none where all is known.
    pieces: Vec<String>,
    /// Whether it may become several words, or none.
    splits: bool,
    /// Whether all that is not known are names of files that a shell looks up: `src/*.rs`.
    only_names: bool,
    /// Whether it begins with a `~` that stands for a home.
    tilde: bool,
}

/// Which files a word may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permission) enum Reach<'w> {
    /// What it says.
    Exactly(&'w str),
    /// Something in this folder, or deeper.
    Within(&'w str),
    /// Anything.
    Anywhere,
}

impl Word {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        let text = Some(text.into());
        Self { text, pieces: Vec::new(), splits: false, only_names: true, tilde: false }
    }

    /// Any words, also none.
    pub(super) fn anything() -> Self {
        let pieces = vec![String::new(); 2];
        Self { text: None, pieces, splits: true, only_names: false, tilde: false }
    }

    /// Some file in this folder.
    pub(super) fn below(folder: &str) -> Self {
        let pieces = vec![folder.to_owned(), String::new()];
        Self { text: None, pieces, splits: false, only_names: false, tilde: false }
    }

    /// What it begins with, as far as that is known.
    fn prefix(&self) -> &str {
        self.pieces().first().map_or("", String::as_str)
    }

    /// The name of the program that this word starts, without its folder.
    pub(in crate::permission) fn program(&self) -> Option<&str> {
        let text = self.text.as_deref()?;
        text.rsplit('/').next()
    }

    /// Whether it is, or may become, an option.
    pub(in crate::permission) fn may_be_option(&self) -> bool {
        match &self.text {
            Some(text) => text.starts_with('-'),
            None => self.splits || self.prefix().is_empty() || self.prefix().starts_with('-'),
        }
    }

    /// Whether it may become several words, or none.
    pub(super) fn splits(&self) -> bool {
        self.splits || (self.text.is_none() && self.only_names)
    }

    /// Whether this text may be in it.
    pub(super) fn may_hold(&self, text: &str) -> bool {
        self.text.as_ref().is_none_or(|own| own.contains(text))
    }

    /// The texts that are known of it.
    pub(in crate::permission) fn pieces(&self) -> &[String] {
        self.text.as_ref().map_or(&self.pieces, std::slice::from_ref)
    }

    /// The path that it is, where it is known. In quotes, `~` is a name and no home.
    pub(super) fn path(&self) -> Option<&str> {
        self.text.as_deref().filter(|text| !text.starts_with('~') || self.tilde)
    }

    /// Whether all that is not known of it are names of files that a shell looks up: `../*.rs`.
    pub(in crate::permission) fn is_pattern(&self) -> bool {
        self.text.is_none() && self.only_names && !self.splits
    }

    /// Which files it may stand for.
    pub(in crate::permission) fn reach(&self) -> Reach<'_> {
        if let Some(text) = &self.text {
            return Reach::Exactly(text);
        }
        // `.*` may be `..`, which leads out again.
        let leads_out = self.pieces.iter().any(|piece| piece.contains("..") || piece.ends_with('.'));
        if self.splits || !self.only_names || leads_out {
            return Reach::Anywhere;
        }
        match self.prefix().rfind('/') {
            Some(end) => Reach::Within(&self.prefix()[..=end]),
            None => Reach::Within("."),
        }
    }
}

/// Puts a word together while it is read.
#[derive(Debug)]
pub(super) struct WordBuilder {
    /// The texts before each part that is not known.
    pieces: Vec<String>,
    /// The text behind all of these.
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

    /// A `*`, `?` or `[`: names that a shell looks up.
    pub(super) fn glob(&mut self) {
        self.pieces.push(std::mem::take(&mut self.last));
    }

    /// A `~` at the start. That of another user is not known.
    pub(super) fn tilde(&mut self, is_own_home: bool) {
        self.tilde = true;
        self.push("~");
        if !is_own_home {
            self.lose(false);
        }
    }

    /// Something that is not known before the command runs.
    pub(super) fn lose(&mut self, splits: bool) {
        self.glob();
        self.splits |= splits;
        self.only_names = false;
    }

    /// From the first brace on nothing is known: some shells make several words of `{a,b}`.
    fn lose_from_brace(&mut self) {
        self.lose(true);
        if let Some(at) = self.pieces.iter().position(|piece| piece.contains('{')) {
            self.pieces.truncate(at + 1);
            self.pieces[at] = self.pieces[at].split('{').next().unwrap_or_default().to_owned();
        }
    }

    /// The word that has this source.
    pub(super) fn finish(mut self, source: &str, has_brace: bool) -> Word {
        // Alone it is a program.
        if source == "[" {
            return Word::literal("[");
        }
        if has_brace && (source.contains(',') || source.contains("..")) {
            self.lose_from_brace();
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
