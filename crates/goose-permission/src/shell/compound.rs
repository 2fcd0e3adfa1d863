//! Conditions, loops and branches: their commands, and the folders that these may run in.

use super::{
    current_folders::{Flow, Folders},
    reader::{DIFFERS, Reader, is_delimiter, is_name_start},
};

impl Reader<'_, '_> {
    /// Parses `if … then … elif … else … fi`.
    pub(super) fn condition(&mut self, start: usize) -> Flow {
        let mut result: Option<Flow> = None;
        let mut with = |flow: Flow| result = Some(result.as_ref().map_or(flow.clone(), |all| all.or(&flow)));
        loop {
            let tested = self.list(&["then"], false);
            self.expect("then", start);
            self.folders = tested.success;
            with(self.list(&["elif", "else", "fi"], false));
            self.folders = tested.failure.clone();
            if self.accept("elif") {
                continue;
            }
            let otherwise = match self.accept("else") {
                true => self.list(&["fi"], false),
                false => Flow::stays(tested.failure),
            };
            with(otherwise);
            self.expect("fi", start);
            return result.unwrap_or_else(|| Flow::stays(Folders::Unknown));
        }
    }

    /// Parses `for x in a b; do … done`.
    pub(super) fn for_loop(&mut self, start: usize) -> Flow {
        let (before, mark) = (self.folders.clone(), self.mark());
        let first = self.script.loose.len();
        self.blanks();
        let from = self.at;
        let name = self.name().to_owned();
        let is_name = name.bytes().next().is_some_and(is_name_start) && self.byte(0).is_none_or(is_delimiter);
        self.blanks();
        let is_in = self.starts("in") && self.byte(2).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if is_name && is_in {
            self.at += 2;
            self.set(&name);
            while self.has_next_word() {
                let word = self.word();
                self.loose_word(Some(name.clone()), word);
            }
        } else {
            self.doubt_at(from, "is not understood as a loop");
            while self.has_next_word() {
                self.word();
            }
        }
        if self.byte(0) == Some(b';') {
            self.at += 1;
        }
        self.lines();
        let (items, begin) = (first..self.script.loose.len(), self.at);
        self.body(start);
        if self.origin.is_none() {
            let body = begin..self.at;
            self.script.loose[items].iter_mut().for_each(|item| item.body = body.clone());
        }
        self.looped(before, mark)
    }

    /// Returns true if another word follows in this line.
    fn has_next_word(&mut self) -> bool {
        self.blanks();
        self.byte(0).is_some_and(|byte| !is_delimiter(byte) && byte != b'#')
    }

    /// Parses `while …; do … done`.
    pub(super) fn while_loop(&mut self, start: usize) -> Flow {
        let (before, mark) = (self.folders.clone(), self.mark());
        self.context.loops += 1;
        self.list(&["do"], false);
        self.context.loops -= 1;
        self.body(start);
        self.looped(before, mark)
    }

    fn body(&mut self, start: usize) {
        self.expect("do", start);
        self.context.loops += 1;
        self.list(&["done"], false);
        self.context.loops -= 1;
        self.expect("done", start);
    }

    /// Returns the numbers of moves, segments, files and loose words so far.
    fn mark(&self) -> (usize, usize, usize, usize) {
        let script = &self.script;
        (self.moves, script.segments.len(), script.files.len(), script.loose.len())
    }

    /// Returns the flow after a loop. If the loop changes the folder, it may do so repeatedly.
    fn looped(&mut self, before: Folders, mark: (usize, usize, usize, usize)) -> Flow {
        let (moves, segments, files, loose) = mark;
        if self.moves == moves {
            return Flow::stays(before);
        }
        self.script.segments[segments..].iter_mut().for_each(|one| one.folders = Folders::Unknown);
        self.script.files[files..].iter_mut().for_each(|one| one.folders = Folders::Unknown);
        self.script.loose[loose..].iter_mut().for_each(|one| one.folders = Folders::Unknown);
        Flow::stays(Folders::Unknown)
    }

    /// Parses `case x in a|b) …;; esac`.
    pub(super) fn case(&mut self, start: usize) -> Flow {
        let before = self.folders.clone();
        if self.substitutions > 0 {
            self.doubt_at(start, "is in `$(…)`, where shells parse it differently");
        }
        self.blanks();
        self.word();
        self.lines();
        if self.starts("in") && self.byte(2).is_none_or(is_delimiter) {
            self.at += 2;
        } else {
            self.doubt_at(start, "is not understood");
        }
        let mut flow = Flow::stays(before.clone());
        loop {
            self.lines();
            if self.is_done() {
                self.doubt_at(start, "has no end");
                break;
            }
            if self.accept("esac") {
                break;
            }
            self.patterns();
            self.folders = before.clone();
            flow = flow.or(&self.list(&[";;"], false));
            if self.starts(";;") {
                self.at += 2;
                if self.byte(0) == Some(b'&') {
                    self.doubt_at(self.at - 2, DIFFERS);
                    self.at += 1;
                }
            } else if self.reserved() != Some("esac") {
                self.doubt_at(start, "has no end");
                break;
            }
        }
        flow
    }

    /// Parses the patterns of a branch, and the bracket after them.
    fn patterns(&mut self) {
        let start = self.at;
        if self.byte(0) == Some(b'(') {
            self.at += 1;
        }
        loop {
            self.blanks();
            let from = self.at;
            self.word();
            let is_empty = from == self.at;
            self.blanks();
            match self.byte(0) {
                Some(b'|') if !is_empty && self.byte(1) != Some(b'|') => self.at += 1,
                Some(b')') if !is_empty => {
                    self.at += 1;
                    return;
                }
                _ => {
                    self.doubt_at(start, "is not understood as a branch");
                    if self.byte(0) == Some(b')') {
                        self.at += 1;
                    }
                    return;
                }
            }
        }
    }
}
