//! Commands, lists, pipelines and brackets.

use super::{
    current_folders::{Flow, Folders},
    reader::{DIFFERS, Reader, is_delimiter, is_name, is_name_start},
    script::{Context, MAX_PARTS, Redirected, TOO_MANY_PARTS},
    variables,
    word::Word,
};

/// Parts of a simple command.
#[derive(Default)]
struct SimpleCommand {
    words: Vec<Word>,
    /// Names of the variables that are set for the command.
    variables: Vec<String>,
    /// True if the command has a redirection.
    has_file: bool,
    redirected: Redirected,
}

impl Reader<'_, '_> {
    /// Parses the whole text.
    pub(super) fn whole(&mut self) -> Flow {
        let flow = self.list(&[], false);
        if !self.heredocs.is_empty() {
            self.doubt("a here-document has no text");
        }
        flow
    }

    /// Parses commands up to one of these reserved words, a bracket, or `;;`. The caller parses the end.
    pub(super) fn list(&mut self, ends: &[&str], bracket: bool) -> Flow {
        let mut flow = Flow::stays(self.folders.clone());
        // An empty script is fine; an empty nested list is an error.
        let mut is_empty = bracket || !ends.is_empty();
        loop {
            self.lines();
            if self.is_at_end(ends, bracket) {
                break;
            }
            is_empty = false;
            let (before, moves) = (flow.either(), self.moves);
            self.folders = before.clone();
            let start = self.at;
            flow = self.and_or();
            match self.byte(0) {
                Some(b';') if !self.starts(";;") => self.at += 1,
                Some(b'&') => {
                    self.at += 1;
                    (flow, self.moves) = (Flow::stays(before), moves);
                }
                _ => {}
            }
            if self.at == start {
                self.doubt_at(start, "is not understood");
                self.at += self.text[start..].chars().next().map_or(1, char::len_utf8);
            }
        }
        if is_empty && ends != [";;"] {
            self.doubt("a part of it is empty");
        }
        self.folders = flow.either();
        flow
    }

    /// Returns true if the list ends here. An unexpected end is a doubt and skipped.
    fn is_at_end(&mut self, ends: &[&str], bracket: bool) -> bool {
        loop {
            match self.byte(0) {
                None => return true,
                Some(b')') if bracket => return true,
                Some(b';') if self.starts(";;") && ends == [";;"] => return true,
                Some(b')' | b';' | b'&' | b'|') => {
                    self.doubt_at(self.at, "is out of place");
                    self.at += 1;
                    self.lines();
                }
                _ => break,
            }
        }
        let Some(word) = self.reserved() else { return false };
        // `esac` also ends a branch of `case`.
        if ends.contains(&word) || (ends == [";;"] && word == "esac") {
            return true;
        }
        if matches!(word, "}" | "do" | "done" | "elif" | "else" | "esac" | "fi" | "then") {
            self.doubt_at(self.at, "is out of place");
            self.at += word.len();
            self.lines();
            return self.is_at_end_again(ends, bracket);
        }
        false
    }

    /// Like [`is_at_end`](Self::is_at_end) but without recursion: the list skips further unexpected words one
    /// by one.
    fn is_at_end_again(&mut self, ends: &[&str], bracket: bool) -> bool {
        match self.byte(0) {
            None => true,
            Some(b')') => bracket,
            _ => self.reserved().is_some_and(|word| ends.contains(&word)),
        }
    }

    /// Parses `a && b || c`.
    fn and_or(&mut self) -> Flow {
        let mut flow = self.pipeline();
        loop {
            self.blanks();
            let is_and = self.starts("&&");
            if !is_and && !self.starts("||") {
                return flow;
            }
            self.at += 2;
            self.lines();
            self.folders = if is_and { flow.success.clone() } else { flow.failure.clone() };
            let next = self.pipeline();
            flow = match is_and {
                true => Flow { success: next.success, failure: flow.failure.or(&next.failure) },
                false => Flow { success: flow.success.or(&next.success), failure: next.failure },
            };
        }
    }

    /// Parses `! a | b`. Each part runs in its own shell.
    fn pipeline(&mut self) -> Flow {
        let (before, moves) = (self.folders.clone(), self.moves);
        let is_negated = self.accept("!");
        self.blanks();
        if is_negated && self.reserved() == Some("!") {
            self.doubt_at(self.at, "is out of place");
        }
        let Context { input, output, .. } = self.context;
        let mut from = self.script.segments.len();
        let mut flow = self.command();
        loop {
            self.blanks();
            if self.byte(0) != Some(b'|') || self.starts("||") {
                self.context.input = input;
                return if is_negated { flow.negated() } else { flow };
            }
            self.context.input = self.new_stream();
            for segment in &mut self.script.segments[from..] {
                if segment.context.output == output {
                    segment.context.output = self.context.input;
                }
            }
            from = self.script.segments.len();
            self.at += 1;
            if self.byte(0) == Some(b'&') {
                self.doubt_at(self.at - 1, DIFFERS);
                self.script.mixes_errors = true;
                self.at += 1;
            }
            self.lines();
            self.folders = before.clone();
            self.command();
            (flow, self.moves) = (Flow::stays(before.clone()), moves);
        }
    }

    /// Parses a command of any kind.
    fn command(&mut self) -> Flow {
        let flow = if self.enter() { self.any_command() } else { Flow::stays(Folders::Unknown) };
        self.leave();
        flow
    }

    fn any_command(&mut self) -> Flow {
        self.blanks();
        let (start, before) = (self.at, self.folders.clone());
        if self.byte(0) == Some(b'(') {
            // bash calculates in `((…))`, dash starts two subshells.
            if self.byte(1) == Some(b'(') {
                self.doubt_at(start, DIFFERS);
            }
            return self.subshell();
        }
        let Some(word) = self.reserved() else { return self.simple() };
        self.at += word.len();
        let flow = match word {
            "{" => {
                let flow = self.list(&["}"], false);
                self.expect("}", start);
                flow
            }
            "if" => self.condition(start),
            "for" => self.for_loop(start),
            "while" | "until" => self.while_loop(start),
            "case" => self.case(start),
            // dash runs a program of this name.
            "function" => {
                self.doubt_at(start, DIFFERS);
                self.blanks();
                self.word();
                self.blanks();
                if self.starts("()") {
                    self.at += 2;
                }
                return self.function_body();
            }
            _ => {
                self.doubt_at(start, "is not understood");
                return self.command();
            }
        };
        self.trailing_redirections(&before);
        flow
    }

    /// Parses `( … )`.
    fn subshell(&mut self) -> Flow {
        let (start, before, moves) = (self.at, self.folders.clone(), self.moves);
        self.at += 1;
        self.list(&[], true);
        if self.byte(0) == Some(b')') {
            self.at += 1;
        } else {
            self.doubt_at(start, "has no end");
        }
        self.moves = moves;
        self.trailing_redirections(&before);
        Flow::stays(before)
    }

    /// Parses the body of a function. It runs later, in an unknown folder.
    fn function_body(&mut self) -> Flow {
        self.lines();
        self.folders = Folders::Unknown;
        self.context.loops += 1;
        self.command();
        self.context.loops -= 1;
        self.moves += 1;
        Flow::stays(Folders::Unknown)
    }

    pub(super) fn expect(&mut self, word: &str, start: usize) {
        if !self.accept(word) {
            self.doubt_at(start, "has no end");
        }
    }

    /// Records a variable that is set for the following commands.
    pub(super) fn set(&mut self, name: &str) {
        if !variables::is_local(name) && !self.script.set.iter().any(|set| set == name) {
            self.script.set.push(name.to_owned());
        }
    }

    /// Parses variables, words and redirections up to the end of the command.
    fn simple(&mut self) -> Flow {
        let (start, folders) = (self.at, self.folders.clone());
        let mut command = SimpleCommand::default();
        let mut end = self.at;
        loop {
            if command.words.len() + self.script.parts > MAX_PARTS {
                return self.leave_unread(TOO_MANY_PARTS);
            }
            self.blanks();
            match self.byte(0) {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if self.byte(1) != Some(b'>') => break,
                Some(b'#') => {
                    self.comment();
                    break;
                }
                Some(b'(') => {
                    self.doubt_at(start, "is not understood");
                    if !self.starts("()") || command.words.len() != 1 {
                        break;
                    }
                    self.at += 2;
                    return self.function_body();
                }
                Some(byte) => self.simple_part(byte, &mut command, &folders),
            }
            end = self.at;
        }
        let SimpleCommand { words, variables, has_file, redirected } = command;
        if words.is_empty() && has_file {
            self.script.file_streams.push(self.context.output);
        }
        match (words.is_empty(), variables.is_empty()) {
            (true, true) if !has_file => self.doubt_at(start, "is empty where a command is expected"),
            (true, _) => variables.iter().for_each(|name| self.set(name)),
            (false, _) => {
                let first = self.script.segments.len();
                let flow = self.segment(words, variables, start, end);
                self.mark_redirected(first, redirected);
                return flow;
            }
        }
        Flow::stays(folders)
    }

    /// Marks the commands from this one on, which were added for the same source, by their redirections.
    fn mark_redirected(&mut self, first: usize, redirected: Redirected) {
        self.script.segments[first..].iter_mut().for_each(|segment| segment.redirected.add(redirected));
    }

    /// Parses a variable, word or redirection that starts with this byte.
    fn simple_part(&mut self, byte: u8, command: &mut SimpleCommand, folders: &Folders) {
        let from = self.at;
        match byte {
            // bash redirects with `&>`; dash runs the command in the background and opens the file.
            b'&' => {
                self.doubt_at(from, DIFFERS);
                self.at += 1;
            }
            b'<' | b'>' if self.byte(1) == Some(b'(') => command.words.push(self.process()),
            b'<' | b'>' => self.redirected(command, folders),
            _ if command.words.is_empty() && self.is_assignment() => {
                command.variables.push(self.assignment());
            }
            _ => {
                let may_start = command.words.is_empty() && !command.variables.is_empty();
                if may_start && self.reserved().is_some() {
                    self.doubt_at(from, "is out of place");
                }
                let word = self.word();
                if self.is_descriptor(from) {
                    self.redirected(command, folders);
                } else {
                    command.words.push(word);
                }
            }
        }
    }

    fn redirected(&mut self, command: &mut SimpleCommand, folders: &Folders) {
        command.redirected.add(self.redirection(folders));
        command.has_file = true;
    }

    /// Parses `<(…)`: a file that another command writes or reads. A shell without it reports an error and
    /// runs nothing.
    fn process(&mut self) -> Word {
        self.substituted("<(");
        if self.byte(0).is_some_and(|byte| !is_delimiter(byte)) {
            self.doubt_at(self.at, "is in the middle of a word");
        }
        Word::pipe()
    }

    /// Returns true if an assignment starts here.
    fn is_assignment(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|byte| is_name(**byte)).count();
        rest.first().is_some_and(|byte| is_name_start(*byte))
            && (rest.get(length) == Some(&b'=') || rest[length..].starts_with(b"+="))
    }

    /// Parses `name=value` and returns the name.
    fn assignment(&mut self) -> String {
        let start = self.at;
        let name = self.name().to_owned();
        // dash takes `x+=1` for a command.
        if self.byte(0) == Some(b'+') {
            self.doubt_at(start, DIFFERS);
            self.at += 1;
        }
        self.at += 1;
        let value = self.word();
        if self.byte(0) == Some(b'(') {
            self.doubt_at(start, DIFFERS);
        }
        self.loose_word(Some(name.clone()), value);
        name
    }
}
