//! Lines that commands of a script pass to others: through pipes, `$(…)`, here-documents and `read`.

use super::{
    Folders, LooseWord, Segment, SegmentKind,
    output::{Output, output},
    values::{Cause, Found, Key, Listed, MAX_PER_WORD, Value, Values, text, with_split},
    word::Word,
};

/// Maximum number of filters behind each other.
const MAX_FILTERS: usize = 16;

impl Values<'_> {
    /// Returns the lines that `read` gets, and their parts.
    pub(super) fn lines(&self, segment: &Segment) -> Found {
        let sets_separator = |loose: &LooseWord| {
            loose.variable.as_deref() == Some("IFS") && loose.word.text.as_deref() != Some("")
        };
        if self.script.loose.iter().any(sets_separator) {
            return Err(Cause::Computed);
        }
        // Several variables get parts of a line.
        let mut found = with_split(self.input(segment)?, read_variables(segment).count() > 1);
        let mut rests = Vec::new();
        for value in &found {
            // The last variable gets the rest of the line.
            let Value::Text(mut line) = value.clone() else { continue };
            while let Some((_, rest)) = line.split_once([' ', '\t']) {
                rests.push(Value::Text(rest.trim().to_owned()));
                line = rest.to_owned();
            }
        }
        found.extend(rests);
        self.split(found)
    }

    /// Returns the lines that a command reads: from a stream, and from here-documents.
    fn input(&self, segment: &Segment) -> Found {
        if self.script.has_shared_input || segment.redirected.reads_file {
            return Err(Cause::Computed);
        }
        let mut found = match segment.context.input {
            0 => Vec::new(),
            stream => self.stream(stream)?,
        };
        for line in self.script.heredocs.iter().flat_map(|text| text.lines()) {
            let value = Value::Text(line.trim().to_owned());
            self.spend(&value)?;
            found.push(value);
        }
        self.plain(found)
    }

    /// Returns the lines that commands write to a stream.
    pub(super) fn stream(&self, stream: usize) -> Found {
        self.cached(Key::Stream(stream), || {
            if self.script.mixes_errors || self.script.file_streams.contains(&stream) {
                return Err(Cause::Computed);
            }
            let writers = self.writers(stream);
            // What does not end its lines is joined with what follows.
            let is_joined = writers.len() > 1 || writers.iter().any(|number| self.runs_again(*number));
            if is_joined && !writers.iter().all(|number| self.ends_lines(*number, MAX_FILTERS)) {
                return Err(Cause::Computed);
            }
            let mut found = Vec::new();
            for number in writers {
                let is_found = self.script.segments[*number].found == Some(stream);
                found.extend(match is_found {
                    true => vec![listed(Some(*number))],
                    false => self.written(*number)?,
                });
                if found.len() > MAX_PER_WORD {
                    return Err(Cause::Computed);
                }
            }
            self.plain(found)
        })
    }

    /// Refuses lines with quotes and backslashes, which `xargs`, `read` and `echo` remove.
    fn plain(&self, found: Vec<Value>) -> Found {
        let is_odd =
            |value: &Value| matches!(value, Value::Text(text) if text.contains(['\\', '\'', '"', '\n']));
        if found.iter().any(is_odd) { Err(Cause::Computed) } else { self.split(found) }
    }

    /// Returns true if a command may run several times, and write each time.
    fn runs_again(&self, number: usize) -> bool {
        let segment = &self.script.segments[number];
        segment.context.loops > 0 || segment.forms.len() > 1 || segment.kind == SegmentKind::Carrier
    }

    /// Returns true if everything that a command writes ends with a line end. Filters pass on what they read.
    fn ends_lines(&self, number: usize, left: usize) -> bool {
        let segment = &self.script.segments[number];
        if segment.kind == SegmentKind::Carrier {
            return true;
        }
        let words = segment.forms.last().map_or(&[][..], |form| form.words.as_slice());
        match output(words) {
            Output::Words { ends_line, .. } => ends_line,
            Output::Input if left == 0 => false,
            Output::Input => {
                self.writers(segment.context.input).iter().all(|number| self.ends_lines(*number, left - 1))
            }
            Output::Listed => !words.iter().any(separates_by_nul),
            _ => true,
        }
    }

    /// Returns the lines that a command writes.
    fn written(&self, number: usize) -> Found {
        let segment = &self.script.segments[number];
        if segment.redirected.mixes_errors {
            return Err(Cause::Computed);
        }
        if segment.kind == SegmentKind::Carrier {
            return Ok(Vec::new());
        }
        let words = segment.forms.last().map_or(&[][..], |form| form.words.as_slice());
        match output(words) {
            Output::Nothing => Ok(Vec::new()),
            Output::Words { words, .. } => {
                let found: Result<Vec<_>, Cause> = words.iter().map(|word| self.of(word)).collect();
                let line: Option<Vec<&str>> = words.iter().map(|word| word.text.as_deref()).collect();
                let line = line.map(|words| Value::Text(words.join(" ")));
                Ok(found?.into_iter().flatten().chain(line).collect())
            }
            Output::Part { word, part } => {
                let of_value = |value: Value| match value {
                    Value::Text(path) => Ok(text(part(&path))),
                    _ => Err(Cause::Computed),
                };
                self.of(word)?.into_iter().map(of_value).collect()
            }
            // The text differs from that of the word, the file does not.
            Output::Same(word) => match self.of(word)?.as_slice() {
                values if values.iter().all(|value| matches!(value, Value::Text(_))) => {
                    Ok(values.iter().cloned().map(Value::same).collect())
                }
                _ => Err(Cause::Computed),
            },
            Output::Listed => Ok(vec![listed(Some(number))]),
            Output::Existing => Ok(vec![listed(None)]),
            Output::Input => self.input(segment),
            Output::Folder => match &segment.folders {
                Folders::Known(folders) => {
                    let working = self.working()?;
                    let absolute = |folder: &String| match folder.starts_with(['/', '~']) {
                        true => text(folder),
                        false => text(&format!("{working}/{folder}")),
                    };
                    Ok(folders.iter().map(absolute).map(Value::same).collect())
                }
                Folders::Unknown => Err(Cause::Computed),
            },
            Output::Name => Ok(vec![text("*")]),
            Output::Unknown => Err(Cause::Computed),
        }
    }
}

/// Returns true for the options that end names with a NUL, which `$(…)` drops.
fn separates_by_nul(word: &Word) -> bool {
    word.text.as_deref().is_some_and(|text| {
        text == "-print0"
            || (text.starts_with('-') && !text.starts_with("--") && text.contains(['z', 'Z', '0']))
    })
}

fn listed(lister: Option<usize>) -> Value {
    Value::Listed(Listed { lister, ..Listed::default() })
}

/// Returns the variables that `read` sets.
pub(super) fn read_variables(segment: &Segment) -> impl Iterator<Item = &str> {
    let form = segment.forms.last().filter(|form| form.words.first().and_then(Word::program) == Some("read"));
    let words = form.into_iter().flat_map(|form| form.words.iter().skip(1));
    words.filter_map(|word| word.text.as_deref()).filter(|text| !text.starts_with('-'))
}
