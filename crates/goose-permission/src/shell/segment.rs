//! From the words of a command to a [`Segment`]: the commands that it runs, and the shell's folder
//! afterwards.

use super::{
    builtins,
    current_folders::{Flow, Folders},
    launchers, read_only,
    reader::{RESERVED, Reader},
    script::{Coverage, Form, Redirected, Segment, SegmentKind, TOO_MANY_PARTS},
    word::Word,
    wrappers::{self, Unwrapped},
};

/// Maximum number of wrappers around a command.
const MAX_WRAPPERS: usize = 8;

/// Largest part of a command's source that is kept.
const MAX_SOURCE_BYTES: usize = 2000;

/// A script that a command runs.
struct Inner {
    text: String,
    /// True if the script runs in the same shell, as that of `eval` does.
    is_same_shell: bool,
}

/// Returns true for a reserved word or an assignment.
fn is_syntax(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    RESERVED.contains(&text) || (name.len() < text.len() && !name.contains('/'))
}

impl Form {
    pub(crate) fn new(words: Vec<Word>, coverage: Coverage) -> Self {
        Self { reads_only: read_only::is_read_only(&words), words, coverage }
    }
}

impl Reader<'_, '_> {
    /// Adds the command between two positions.
    pub(super) fn segment(
        &mut self,
        words: Vec<Word>,
        variables: Vec<String>,
        start: usize,
        end: usize,
    ) -> Flow {
        let mut length = (end - start).min(MAX_SOURCE_BYTES);
        while !self.text.is_char_boundary(start + length) {
            length -= 1;
        }
        let source = self.text[start..start + length].trim_end().to_owned();
        self.add(words, variables, source, start, self.folders.clone())
    }

    fn add(
        &mut self,
        words: Vec<Word>,
        mut variables: Vec<String>,
        source: String,
        start: usize,
        folders: Folders,
    ) -> Flow {
        if !self.spend(1 + words.len()) {
            return self.leave_unread(TOO_MANY_PARTS);
        }
        let (forms, inner) = self.forms(words, &mut variables, start);
        let is_carrier = inner.is_some() && forms.iter().all(|form| form.coverage == Coverage::Segment);
        let opaque_reason = match inner {
            Some(_) => None,
            None => forms
                .iter()
                .filter(|form| !form.reads_only)
                .find_map(|form| launchers::opaque_reason(&form.words)),
        };
        let stream = self.script.streams + 1;
        let carried: Vec<_> = forms.iter().flat_map(|form| wrappers::carried(&form.words, stream)).collect();
        let found = (!carried.is_empty()).then(|| self.new_stream());
        let flow = self.moved(&forms, &folders);
        let at = self.source_position(start);
        self.script.segments.push(Segment {
            forms,
            variables,
            // A command after `sudo` must be allowed with `sudo`.
            kind: if is_carrier { SegmentKind::Carrier } else { SegmentKind::Own },
            folders: folders.clone(),
            context: self.context,
            redirected: Redirected::default(),
            found,
            opaque_reason,
            source: source.clone(),
            at,
        });
        for carried in carried {
            let folders = if carried.is_elsewhere { Folders::Unknown } else { folders.clone() };
            self.add(carried.words, Vec::new(), source.clone(), start, folders);
        }
        let Some(inner) = inner else { return flow };
        let after = self.nested(&inner.text);
        if !inner.is_same_shell {
            return flow;
        }
        self.moves += 1;
        after
    }

    /// Returns the command, the commands inside its wrappers, and the script that it finally runs.
    fn forms(
        &mut self,
        words: Vec<Word>,
        variables: &mut Vec<String>,
        start: usize,
    ) -> (Vec<Form>, Option<Inner>) {
        let (mut forms, mut inner) = (vec![Form::new(words, Coverage::Segment)], None);
        while let Some(Form { words, coverage, .. }) = forms.last() {
            if words.first().is_none_or(|word| word.text.as_ref().is_none_or(String::is_empty)) {
                self.doubt_at(start, "runs a command that is only known at run time");
            }
            // After `time`, some shells still recognize reserved words, and `sudo` sets variables.
            if forms.len() > 1 && words.first().and_then(|word| word.text.as_deref()).is_some_and(is_syntax) {
                self.doubt_at(start, "runs a command in a way that is not understood");
            }
            if let Some(reason) = builtins::doubt(words) {
                self.doubt_at(start, reason);
            }
            let next = match wrappers::unwrap(words, self.context.input) {
                Unwrapped::Plain => break,
                Unwrapped::Inner { words, variables: more, coverage: inner } => {
                    variables.extend(more);
                    Form::new(words, if *coverage == Coverage::Nothing { Coverage::Nothing } else { inner })
                }
                Unwrapped::Script(text) => {
                    let is_same_shell = words.first().and_then(Word::program) == Some("eval");
                    inner = Some(Inner { text, is_same_shell });
                    break;
                }
                Unwrapped::Opaque(reason) => {
                    self.doubt_at(start, reason);
                    break;
                }
            };
            if forms.len() > MAX_WRAPPERS || !self.spend(next.words.len()) {
                self.leave_unread("it has too many commands that run others");
                break;
            }
            forms.push(next);
        }
        let same: Vec<Form> =
            forms.iter().filter_map(|form| launchers::git_by_other_name(&form.words)).collect();
        forms.extend(same);
        (forms, inner)
    }

    /// Returns the folders of the shell after a command.
    fn moved(&mut self, forms: &[Form], folders: &Folders) -> Flow {
        let programs = || forms.iter().filter_map(|form| form.words.first()?.program());
        // A new link may lead to any folder.
        const MOVES: [&str; 7] = [".", "source", "cd", "pushd", "popd", "ln", "link"];
        if !programs().any(|program| MOVES.contains(&program)) {
            return Flow::stays(folders.clone());
        }
        self.moves += 1;
        let is_plain = programs().all(|program| matches!(program, "cd" | "command" | "builtin"));
        let target = forms.last().and_then(|form| match form.words.as_slice() {
            [program] if program.text.as_deref() == Some("cd") => Some("~".to_owned()),
            [program, target] if program.text.as_deref() == Some("cd") => {
                target.folder().filter(|path| !path.is_empty() && !path.starts_with('-'))
            }
            _ => None,
        });
        match target.filter(|_| is_plain) {
            Some(target) => Flow { success: folders.join(&target), failure: folders.clone() },
            None => Flow::stays(Folders::Unknown),
        }
    }
}
