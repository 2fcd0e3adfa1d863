//! Sequence diagrams.

use super::{
    super::{
        fault::{Checked, Fault},
        page::{Figure, Page, Table},
        text::{counted, wrap},
    },
    FIELD,
    lifelines::Canvas,
    lines::End,
    source::{Line, Source, fault, label},
};

const MAX_PARTICIPANTS: usize = 40;
const MAX_STEPS: usize = 500;
const MAX_DEPTH: usize = 12;

/// Width at which texts are broken.
const TEXT_WIDTH: f64 = 260.0;
const MAX_TEXT_LINES: usize = 8;

/// Arrows, longest first: the text, whether it is dotted, the ends.
const ARROWS: [(&str, bool, End, End); 10] = [
    ("<<-->>", true, End::Arrow, End::Arrow),
    ("<<->>", false, End::Arrow, End::Arrow),
    ("-->>", true, End::None, End::Arrow),
    ("->>", false, End::None, End::Arrow),
    ("--x", true, End::None, End::Cross),
    ("--)", true, End::None, End::Arrow),
    ("-->", true, End::None, End::None),
    ("-x", false, End::None, End::Cross),
    ("-)", false, End::None, End::Arrow),
    ("->", false, End::None, End::None),
];

/// Words that begin a block, and words that divide one.
const BLOCKS: [&str; 7] = ["loop", "alt", "opt", "par", "critical", "break", "rect"];
const DIVIDERS: [&str; 3] = ["else", "and", "option"];

/// Words that only decorate or that are drawn anyway.
const DECORATION: [&str; 6] = ["link ", "links ", "properties ", "details ", "create ", "destroy "];

pub(super) struct Participant {
    pub(super) id: String,
    pub(super) lines: Vec<String>,
}

pub(super) enum Step {
    Message { from: usize, to: usize, is_dotted: bool, ends: (End, End), lines: Vec<String>, name: String },
    Note { first: usize, last: usize, side: Side, lines: Vec<String> },
    Open { word: String, lines: Vec<String> },
    Divide { lines: Vec<String> },
    Close,
    Activate(usize),
    Deactivate(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
    Over,
}

#[derive(Default)]
pub(super) struct Diagram {
    pub(super) participants: Vec<Participant>,
    pub(super) steps: Vec<Step>,
    messages: usize,
    depth: usize,
    is_numbered: bool,
    title: Option<String>,
}

/// Returns the page of a diagram.
pub(super) fn page(source: Source) -> Checked<Page> {
    let mut diagram = Diagram { title: source.title.clone(), ..Diagram::default() };
    for line in source {
        diagram.line(&line)?;
        if diagram.steps.len() > MAX_STEPS {
            return Err(fault(&line, &format!("there are more than {MAX_STEPS} steps. Draw a part of it.")));
        }
    }
    if diagram.participants.is_empty() {
        return Err(Fault::new(
            FIELD,
            "the diagram has no participants. Write lines such as: Alice->>Bob: Hello",
        ));
    }
    if diagram.depth > 0 {
        return Err(Fault::new(FIELD, "a block is not closed. Add `end`."));
    }
    let mut table = Table::new(&["From", "To", "Message"]);
    for step in &diagram.steps {
        if let Step::Message { from, to, lines, .. } = step {
            table.row([diagram.name(*from), diagram.name(*to), lines.join(" ")]);
        }
    }
    let summary = format!(
        "{}, {}",
        counted(diagram.participants.len(), "participant"),
        counted(diagram.messages, "message")
    );
    let title = diagram.title.take();
    let drawing = Canvas::new(&diagram).draw();
    let figures = vec![Figure { caption: None, drawing, legend: Vec::new(), table }];
    Ok(Page { kind: "mermaid", noun: "sequence diagram", title, subtitle: None, summary, figures })
}

fn wrapped(text: &str) -> Vec<String> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    label(text).iter().flat_map(|line| wrap(line, 13.0, TEXT_WIDTH, MAX_TEXT_LINES)).collect()
}

impl Diagram {
    fn line(&mut self, line: &Line) -> Checked<()> {
        let text = line.text.trim_end_matches(';');
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word.to_ascii_lowercase().as_str() {
            "participant" | "actor" => self.declare(rest, line),
            "note" => self.note(rest, line),
            "activate" => {
                let who = self.participant(rest, line)?;
                self.steps.push(Step::Activate(who));
                Ok(())
            }
            "deactivate" => {
                let who = self.participant(rest, line)?;
                self.steps.push(Step::Deactivate(who));
                Ok(())
            }
            "autonumber" => {
                self.is_numbered = rest != "off";
                Ok(())
            }
            "title" | "title:" => {
                self.title = Some(rest.trim_start_matches(':').trim().to_owned());
                Ok(())
            }
            "end" => self.close(line),
            "box" => self.open(word, "", line),
            block if BLOCKS.contains(&block) => {
                self.open(word, if block == "rect" { "" } else { rest }, line)
            }
            divider if DIVIDERS.contains(&divider) && !has_arrow(text) => {
                self.steps.push(Step::Divide { lines: wrapped(rest) });
                Ok(())
            }
            _ if DECORATION.iter().any(|start| text.starts_with(start)) => match text.strip_prefix("create ")
            {
                Some(declared) => self.line(&Line { number: line.number, text: declared.to_owned() }),
                None => Ok(()),
            },
            _ => self.message(text, line),
        }
    }

    fn open(&mut self, word: &str, rest: &str, line: &Line) -> Checked<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(fault(line, &format!("blocks are more than {MAX_DEPTH} levels deep.")));
        }
        self.steps.push(Step::Open { word: word.to_owned(), lines: wrapped(rest) });
        Ok(())
    }

    fn close(&mut self, line: &Line) -> Checked<()> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| fault(line, "there is no open block."))?;
        self.steps.push(Step::Close);
        Ok(())
    }

    fn declare(&mut self, text: &str, line: &Line) -> Checked<()> {
        let (id, shown) = text.split_once(" as ").unwrap_or((text, text));
        let id = id.split('@').next().unwrap_or_default();
        let who = self.participant(id, line)?;
        self.participants[who].lines = wrapped(shown);
        Ok(())
    }

    /// Returns the participant of that name, a new one if there is none.
    fn participant(&mut self, id: &str, line: &Line) -> Checked<usize> {
        let id = id.trim();
        if id.is_empty() {
            return Err(fault(line, "the name of a participant is missing."));
        }
        if let Some(known) = self.participants.iter().position(|known| known.id == id) {
            return Ok(known);
        }
        if self.participants.len() == MAX_PARTICIPANTS {
            return Err(fault(line, &format!("there are more than {MAX_PARTICIPANTS} participants.")));
        }
        self.participants.push(Participant { id: id.to_owned(), lines: wrapped(id) });
        Ok(self.participants.len() - 1)
    }

    fn note(&mut self, text: &str, line: &Line) -> Checked<()> {
        let wrong = || fault(line, "this is no note. Write for example: Note over Alice,Bob: Text");
        let (place, shown) = text.split_once(':').ok_or_else(wrong)?;
        let small = place.to_ascii_lowercase();
        let sides = [("left of", Side::Left), ("right of", Side::Right), ("over", Side::Over)];
        let (start, side) =
            sides.into_iter().find(|(start, _)| small.starts_with(start)).ok_or_else(wrong)?;
        let mut who = Vec::new();
        for id in place[start.len()..].split(',') {
            who.push(self.participant(id, line)?);
        }
        let (first, last) = (who.iter().copied().min().unwrap_or(0), who.iter().copied().max().unwrap_or(0));
        self.steps.push(Step::Note { first, last, side, lines: wrapped(shown) });
        Ok(())
    }

    fn message(&mut self, text: &str, line: &Line) -> Checked<()> {
        let wrong = || fault(line, "this is no message. Write for example: Alice->>Bob: Hello");
        let (ends, shown) = text.split_once(':').unwrap_or((text, ""));
        let (at, arrow) = first_arrow(ends).ok_or_else(wrong)?;
        let (symbol, is_dotted, start, end) = arrow;
        let target = ends[at + symbol.len()..].trim();
        let from = self.participant(&ends[..at], line)?;
        let to = self.participant(target.trim_start_matches(['+', '-']), line)?;
        self.messages += 1;
        let mut lines = wrapped(shown);
        if self.is_numbered {
            match lines.first_mut() {
                Some(first) => *first = format!("{}. {first}", self.messages),
                None => lines.push(format!("{}.", self.messages)),
            }
        }
        let name = format!("{} to {}: {}", self.name(from), self.name(to), lines.join(" "));
        self.steps.push(Step::Message { from, to, is_dotted, ends: (start, end), lines, name });
        match target.chars().next() {
            Some('+') => self.steps.push(Step::Activate(to)),
            Some('-') => self.steps.push(Step::Deactivate(from)),
            _ => {}
        }
        Ok(())
    }

    fn name(&self, who: usize) -> String {
        self.participants[who].lines.join(" ")
    }
}

type Arrow = (&'static str, bool, End, End);

/// Returns the first arrow of a line, the longest of those that start there.
fn first_arrow(text: &str) -> Option<(usize, Arrow)> {
    let places = ARROWS.iter().filter_map(|arrow| Some((text.find(arrow.0)?, *arrow)));
    places.min_by_key(|(at, arrow)| (*at, usize::MAX - arrow.0.len()))
}

fn has_arrow(text: &str) -> bool {
    first_arrow(text.split(':').next().unwrap_or_default()).is_some()
}
