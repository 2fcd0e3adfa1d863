//! [`Values`]: the values that the words of a script may have when it runs.
//!
//! Assignments, loops, braces, here-documents and commands such as `echo` and `find` are followed without
//! regard to their order, so a word has at least the values that it really gets. Everything else is unknown.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    path::Path,
};

use super::{
    Form, LooseWord, Script, Segment,
    read_only::{is_checked, is_read_only},
    streams::read_variables,
    trim,
    word::{Unknown, Word},
};
use crate::protected::known_parts;

/// Maximum number of values of a word, and of its unknown parts.
pub(super) const MAX_PER_WORD: usize = 512;
const MAX_UNKNOWN: usize = 16;

/// Maximum number of values that are computed for one script, and of their bytes.
const MAX_VALUES: usize = 4000;
const MAX_BYTES: usize = 512 * 1024;

/// Longest value. Longer ones are split into shorter words, or name no file.
const MAX_LENGTH: usize = 16 * 1024;

/// A value of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Text, in which `*` may be a wildcard.
    Text(String),
    /// Path of a file, which may be written in another way.
    Same(String),
    /// Name of a file that a command lists.
    Listed(Listed),
}

/// Name of a file that a command lists, with other text around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) before: String,
    pub(crate) after: String,
    /// Number of the command in the script; `None` if its files need no check.
    pub(crate) lister: Option<usize>,
    /// True if the name is split at its blanks.
    pub(crate) is_split: bool,
}

/// Reason why a value is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The variable is not set in the script, or the file is one that a command lists.
    Environment,
    /// The script computes it.
    Computed,
}

impl Value {
    pub(super) fn same(self) -> Self {
        match self {
            Self::Text(text) => Self::Same(text),
            other => other,
        }
    }
}

pub(super) type Found = Result<Vec<Value>, Cause>;

/// Origin of a variable's value.
enum Source<'s> {
    Word(&'s LooseWord),
    /// A line of what this command reads.
    Input(&'s Segment),
}

/// A variable or stream, for the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Variable(String),
    Stream(usize),
}

/// Values of the variables and streams of one script that are known so far.
#[derive(Default)]
pub(crate) struct KnownValues<'p> {
    home: Option<&'p str>,
    working: Option<&'p str>,
    /// Values are unknown while they are computed, because a value that depends on itself is unknown.
    found: RefCell<HashMap<Key, Found>>,
    /// Number of values that were computed, and of their bytes.
    values: Cell<usize>,
    bytes: Cell<usize>,
}

impl<'p> KnownValues<'p> {
    /// Creates an empty set, with the folders that `$HOME` and `$PWD` are.
    pub(crate) fn new(home: Option<&'p Path>, working: &'p Path) -> Self {
        Self { home: home.and_then(Path::to_str), working: working.to_str(), ..Self::default() }
    }
}

/// Values of the variables and streams of a script.
pub(crate) struct Values<'s> {
    pub(super) script: &'s Script,
    known: &'s KnownValues<'s>,
    /// Values of the variables, collected on first use.
    variables: OnceCell<HashMap<&'s str, Vec<Source<'s>>>>,
    /// Commands that write to a stream, by their numbers, collected on first use.
    writers: OnceCell<HashMap<usize, Vec<usize>>>,
}

/// Maximum number of variants of a command that are checked.
const MAX_VARIANTS: usize = 16;

/// Marks the commands that only read with all values of their words.
pub(super) fn mark_readers(script: &mut Script, known: &KnownValues<'_>) {
    // Programs whose words decide whether they only read.
    let may_read = |form: &&Form| form.words.first().and_then(Word::program).is_some_and(is_checked);
    let is_unknown = |word: &Word| word.text.is_none() && !word.is_pattern();
    let has_unknown = |form: &&Form| !form.reads_only && form.words.iter().any(is_unknown) && may_read(form);
    let mut readers = Vec::new();
    if !script.segments.iter().flat_map(|segment| &segment.forms).any(|form| has_unknown(&form)) {
        return;
    }
    let values = Values::new(script, known);
    for (number, segment) in script.segments.iter().enumerate() {
        for (index, form) in segment.forms.iter().enumerate() {
            let variants = has_unknown(&form).then(|| values.variants(&form.words)).flatten();
            if variants.is_some_and(|variants| variants.iter().all(|words| is_read_only(words))) {
                readers.push((number, index));
            }
        }
    }
    for (number, index) in readers {
        script.segments[number].forms[index].reads_only = true;
    }
}

impl<'s> Values<'s> {
    /// Returns the words of a command with all of their values; `None` if one is not known, or there are too
    /// many.
    fn variants(&self, words: &[Word]) -> Option<Vec<Vec<Word>>> {
        let mut variants: Vec<Vec<Word>> = vec![Vec::new()];
        for word in words {
            let texts: Vec<Word> = match &word.text {
                Some(_) => vec![word.clone()],
                // Braces become several words at once.
                None if !word.alternatives().is_empty() => return None,
                None => {
                    let found = self.of(word).ok()?;
                    let text = |value: Value| match value {
                        Value::Text(text) if !text.contains(['*', ' ', '\t', '\n']) => {
                            Some(Word::literal(text))
                        }
                        _ => None,
                    };
                    found.into_iter().map(text).collect::<Option<_>>()?
                }
            };
            if texts.is_empty() || variants.len() * texts.len() > MAX_VARIANTS {
                return None;
            }
            let with = |variant: &Vec<Word>| {
                let variant = variant.clone();
                texts.iter().map(move |text| {
                    // An empty word outside of quotes is none.
                    let is_none = word.splits() && text.text.as_deref() == Some("");
                    let more = if is_none { &[][..] } else { std::slice::from_ref(text) };
                    [variant.as_slice(), more].concat()
                })
            };
            variants = variants.iter().flat_map(with).collect();
        }
        Some(variants)
    }

    /// Returns the values of a script that was read with these known ones.
    pub(crate) fn new(script: &'s Script, known: &'s KnownValues<'s>) -> Self {
        Self { script, known, variables: OnceCell::new(), writers: OnceCell::new() }
    }

    fn variables(&self) -> &HashMap<&'s str, Vec<Source<'s>>> {
        self.variables.get_or_init(|| {
            let mut variables: HashMap<&str, Vec<Source<'_>>> = HashMap::new();
            for loose in &self.script.loose {
                if let Some(name) = &loose.variable {
                    variables.entry(name).or_default().push(Source::Word(loose));
                }
            }
            for segment in &self.script.segments {
                for name in read_variables(segment) {
                    variables.entry(name).or_default().push(Source::Input(segment));
                }
            }
            variables
        })
    }

    pub(super) fn writers(&self, stream: usize) -> &[usize] {
        let writers = self.writers.get_or_init(|| {
            let mut writers: HashMap<usize, Vec<usize>> = HashMap::new();
            for (number, segment) in self.script.segments.iter().enumerate() {
                for stream in [Some(segment.context.output), segment.found].into_iter().flatten() {
                    writers.entry(stream).or_default().push(number);
                }
            }
            writers
        });
        writers.get(&stream).map_or(&[], Vec::as_slice)
    }

    pub(super) fn working(&self) -> Result<&'s str, Cause> {
        self.known.working.ok_or(Cause::Computed)
    }

    /// Returns the command that lists a file.
    pub(crate) fn lister(&self, listed: &Listed) -> Option<&'s Segment> {
        listed.lister.and_then(|number| self.script.segments.get(number))
    }

    /// Returns the values that a word may have.
    ///
    /// # Errors
    ///
    /// A part of the word is unknown, or there are too many values.
    pub(crate) fn of(&self, word: &Word) -> Found {
        if let Some(text) = &word.text {
            // The shell puts the home folder in its place.
            let rest = text
                .strip_prefix('~')
                .filter(|rest| word.has_tilde() && (rest.is_empty() || rest.starts_with('/')));
            return match (rest, self.known.home) {
                (Some(rest), Some(home)) => Ok(vec![Value::Text(format!("{home}{rest}"))]),
                _ => Ok(vec![Value::Text(text.clone())]),
            };
        }
        if !word.alternatives().is_empty() {
            let found: Result<Vec<_>, Cause> = word.alternatives().iter().map(|word| self.of(word)).collect();
            return found.map(|found| found.concat());
        }
        match word.unknown() {
            [Unknown::Pipe] => return Ok(Vec::new()),
            unknown if unknown.len() > MAX_UNKNOWN => return Err(Cause::Computed),
            _ => {}
        }
        let pieces = known_parts(word);
        let (first, rest) = pieces.split_first().ok_or(Cause::Computed)?;
        let first = match (first.strip_prefix('~').filter(|_| word.has_tilde()), self.known.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
            _ => (*first).to_owned(),
        };
        let mut found = vec![Value::Text(first)];
        for (unknown, piece) in word.unknown().iter().zip(rest) {
            found = self.join(&found, &self.part(unknown)?, piece)?;
        }
        let is_variable = |unknown: &Unknown| matches!(unknown, Unknown::Variable { .. });
        let is_split = word.splits() && word.unknown().iter().any(is_variable);
        found = with_split(found, is_split);
        if word.splits() { self.split(found) } else { Ok(found) }
    }

    /// Appends each of these values and a piece to each value.
    fn join(&self, starts: &[Value], ends: &[Value], piece: &str) -> Found {
        if starts.len() * ends.len() > MAX_PER_WORD {
            return Err(Cause::Computed);
        }
        let mut found = Vec::with_capacity(starts.len() * ends.len());
        for start in starts {
            for end in ends {
                let value = match (start, end) {
                    (Value::Text(start), Value::Text(end)) => Value::Text([start, end, piece].concat()),
                    (Value::Text(start), Value::Listed(end)) => Value::Listed(Listed {
                        before: [start, end.before.as_str()].concat(),
                        after: [end.after.as_str(), piece].concat(),
                        ..end.clone()
                    }),
                    (Value::Listed(start), Value::Text(end)) => {
                        let after = [start.after.as_str(), end, piece].concat();
                        Value::Listed(Listed { after, ..start.clone() })
                    }
                    // Only text behind it keeps the path.
                    (Value::Text(start), Value::Same(end)) if start.is_empty() => {
                        same_or_below(end, piece).ok_or(Cause::Computed)?
                    }
                    (Value::Same(start), Value::Text(end)) => {
                        same_or_below(start, &[end, piece].concat()).ok_or(Cause::Computed)?
                    }
                    _ => return Err(Cause::Computed),
                };
                self.spend(&value)?;
                found.push(value);
            }
        }
        Ok(found)
    }

    pub(super) fn spend(&self, value: &Value) -> Result<(), Cause> {
        let length = match value {
            Value::Text(text) | Value::Same(text) => text.len(),
            Value::Listed(listed) => listed.before.len() + listed.after.len(),
        };
        let (values, bytes) = (self.known.values.get() + 1, self.known.bytes.get() + length);
        if values > MAX_VALUES || bytes > MAX_BYTES || length > MAX_LENGTH {
            return Err(Cause::Computed);
        }
        self.known.values.set(values);
        self.known.bytes.set(bytes);
        Ok(())
    }

    /// Adds the words that the shell makes of values outside of quotes: it splits them at blanks, and expands
    /// wildcards in them.
    pub(super) fn split(&self, mut values: Vec<Value>) -> Found {
        let mut more = Vec::new();
        for value in &values {
            let Value::Text(text) = value else { continue };
            // A backslash before a wildcard is not a part of the name.
            if text.contains('\\') && text.contains(['*', '?', '[']) {
                return Err(Cause::Computed);
            }
            let fields: Vec<&str> =
                text.split_whitespace().filter(|field| field.len() < text.len()).collect();
            more.extend(fields.iter().copied().chain([text.as_str()]).filter_map(with_stars));
            more.extend(fields.into_iter().map(str::to_owned));
        }
        for text in more {
            let value = Value::Text(text);
            self.spend(&value)?;
            values.push(value);
        }
        if values.len() > MAX_PER_WORD { Err(Cause::Computed) } else { Ok(values) }
    }

    fn part(&self, unknown: &Unknown) -> Found {
        match unknown {
            Unknown::Wildcard => Ok(vec![text("*")]),
            Unknown::Number => Ok(vec![text("*"), text("")]),
            Unknown::Variable { name, operator, operand, at } => {
                let mut found = self.variable(name, operator, operand)?;
                if !self.has_value(name, *at) {
                    found.push(text(""));
                }
                Ok(found)
            }
            // There may be no output.
            Unknown::Stream { stream, is_split } => {
                let mut found = with_split(self.stream(*stream)?, *is_split);
                found.push(text(""));
                Ok(found)
            }
            Unknown::Pipe | Unknown::Anything => Err(Cause::Computed),
        }
    }

    /// Returns true if a variable certainly has a value at this position: that of a loop in its body.
    fn has_value(&self, name: &str, at: Option<usize>) -> bool {
        let sources = self.variables().get(name).map_or(&[][..], Vec::as_slice);
        let is_within = |source: &Source<'_>| match (source, at) {
            (Source::Word(loose), Some(at)) => loose.body.contains(&at),
            _ => false,
        };
        let is_read = |source: &Source<'_>| matches!(source, Source::Input(_));
        let is_unset = |segment: &Segment| {
            segment.forms.iter().any(|form| form.words.first().and_then(Word::program) == Some("unset"))
        };
        matches!(name, "HOME" | "PWD") && sources.is_empty()
            || sources.iter().any(is_within)
                && !sources.iter().any(is_read)
                && !self.script.segments.iter().any(is_unset)
    }

    fn variable(&self, name: &str, operator: &str, operand: &str) -> Found {
        match operator {
            "" => self.values_of(name),
            "+" | ":+" => Ok(vec![text(operand), text("")]),
            "-" | ":-" => {
                let mut found = self.values_of(name)?;
                found.push(text(operand));
                Ok(found)
            }
            _ => {
                let mut found = Vec::new();
                for value in self.values_of(name)? {
                    let Value::Text(value) = value else { return Err(Cause::Computed) };
                    found.extend(trim::trimmed(&value, operator, operand).ok_or(Cause::Computed)?);
                }
                Ok(found.into_iter().map(Value::Text).collect())
            }
        }
    }

    /// Returns the values that a variable has in the script.
    fn values_of(&self, name: &str) -> Found {
        let Some(sources) = self.variables().get(name) else {
            return match name {
                "HOME" => self.known.home.map(|home| vec![text(home)]).ok_or(Cause::Environment),
                "PWD" if self.script.segments.iter().all(|segment| segment.folders.is_here()) => {
                    self.working().map(|folder| vec![text(folder).same()])
                }
                "PWD" => Err(Cause::Computed),
                _ => Err(Cause::Environment),
            };
        };
        // The shell sets it itself.
        if name == "_" {
            return Err(Cause::Computed);
        }
        self.cached(Key::Variable(name.to_owned()), || {
            let mut found = Vec::new();
            for source in sources {
                found.extend(match source {
                    Source::Word(loose) => self.of(&loose.word)?,
                    Source::Input(segment) => self.lines(segment)?,
                });
                if found.len() > MAX_PER_WORD {
                    return Err(Cause::Computed);
                }
            }
            found.dedup();
            Ok(found)
        })
    }

    pub(super) fn cached(&self, key: Key, compute: impl FnOnce() -> Found) -> Found {
        let known = &self.known.found;
        if let Some(found) = known.borrow().get(&key) {
            return found.clone();
        }
        known.borrow_mut().insert(key.clone(), Err(Cause::Computed));
        let found = compute();
        known.borrow_mut().insert(key, found.clone());
        found
    }
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Returns a path below another one, or itself.
fn same_or_below(path: &str, rest: &str) -> Option<Value> {
    let is_below = rest.is_empty() || (rest.starts_with('/') && !rest.split('/').any(|name| name == ".."));
    is_below.then(|| Value::Same(format!("{path}{rest}")))
}

/// Returns the values, with names that are split.
pub(super) fn with_split(mut values: Vec<Value>, is_split: bool) -> Vec<Value> {
    for value in &mut values {
        if let Value::Listed(listed) = value {
            listed.is_split |= is_split;
        }
    }
    values
}

/// Returns a text with `*` instead of its other wildcards, if it has any.
fn with_stars(text: &str) -> Option<String> {
    if !text.contains(['?', '[']) {
        return None;
    }
    let mut names = text.split('/').map(|name| {
        let name = name.replace('?', "*");
        match (name.find('['), name.rfind(']')) {
            (Some(open), Some(close)) if open < close => format!("{}*{}", &name[..open], &name[close + 1..]),
            _ => name,
        }
    });
    let first = names.next().unwrap_or_default();
    Some(names.fold(first, |path, name| path + "/" + &name))
}
