//! Sequence diagrams.

use super::{
    super::{
        drawing::{Drawing, Paint, Rect, at},
        fault::{Checked, Fault},
        page::{Figure, Page, Table},
        text::{self, counted, wrap},
    },
    FIELD,
    graph::{self, End, LINE_HEIGHT},
    source::{Line, Source, fault, label},
};

const MAX_PARTICIPANTS: usize = 40;
const MAX_STEPS: usize = 500;
const MAX_DEPTH: usize = 12;

/// Width at which texts are broken.
const TEXT_WIDTH: f64 = 260.0;
const MAX_TEXT_LINES: usize = 8;

const MARGIN: f64 = 16.0;
const HEAD_HEIGHT: f64 = 40.0;

/// Least distance of two lifelines, and width of an activation.
const MIN_DISTANCE: f64 = 110.0;
const ACTIVE_WIDTH: f64 = 10.0;

/// Width of a message to oneself.
const SELF_WIDTH: f64 = 40.0;

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

struct Participant {
    id: String,
    lines: Vec<String>,
}

enum Step {
    Message { from: usize, to: usize, is_dotted: bool, ends: (End, End), lines: Vec<String>, name: String },
    Note { first: usize, last: usize, side: Side, lines: Vec<String> },
    Open { word: String, lines: Vec<String> },
    Divide { lines: Vec<String> },
    Close,
    Activate(usize),
    Deactivate(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Over,
}

#[derive(Default)]
struct Diagram {
    participants: Vec<Participant>,
    steps: Vec<Step>,
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

/// The diagram as it is drawn, from top to bottom.
struct Canvas<'a> {
    diagram: &'a Diagram,
    /// Place of each lifeline.
    xs: Vec<f64>,
    width: f64,
    y: f64,
    /// Starts of activations that are not over.
    active: Vec<Vec<f64>>,
    bars: Vec<Rect>,
    /// Blocks that are open: top, word, text.
    blocks: Vec<(f64, String, Vec<String>)>,
    /// Frames, drawn below everything else; then the rest.
    frames: Drawing,
    front: Vec<Front>,
}

/// Element that is drawn over the lifelines.
enum Front {
    Message { y: f64, index: usize },
    Note { rect: Rect, index: usize },
    Divider { from: f64, to: f64, y: f64, lines: Vec<String> },
    Tag { at: (f64, f64), word: String, lines: Vec<String> },
}

fn text_width(lines: &[String]) -> f64 {
    lines.iter().map(|line| text::width(line, 13.0)).fold(0.0, f64::max)
}

fn text_height(lines: &[String]) -> f64 {
    lines.len() as f64 * LINE_HEIGHT
}

impl<'a> Canvas<'a> {
    fn new(diagram: &'a Diagram) -> Self {
        let head = |who: &Participant| text_width(&who.lines).max(40.0) + 28.0;
        let count = diagram.participants.len();
        let mut distances = vec![MIN_DISTANCE; count];
        for (index, pair) in diagram.participants.windows(2).enumerate() {
            distances[index] = distances[index].max((head(&pair[0]) + head(&pair[1])) / 2.0 + 24.0);
        }
        let (mut before, mut after) =
            (head(&diagram.participants[0]) / 2.0, head(&diagram.participants[count - 1]) / 2.0);
        for step in &diagram.steps {
            match step {
                Step::Message { from, to, lines, .. } if from == to => {
                    let needed = SELF_WIDTH + text_width(lines) + 20.0;
                    if from + 1 < count {
                        distances[*from] = distances[*from].max(needed)
                    } else {
                        after = after.max(needed)
                    }
                }
                Step::Message { from, to, lines, .. } => {
                    let (left, right) = (*from.min(to), *from.max(to));
                    let needed = (text_width(lines) + 36.0) / (right - left) as f64;
                    for distance in &mut distances[left..right] {
                        *distance = distance.max(needed);
                    }
                }
                Step::Note { first, last, side, lines } => {
                    let needed = text_width(lines) + 40.0;
                    match side {
                        Side::Right if last + 1 < count => {
                            distances[*last] = distances[*last].max(needed + 16.0)
                        }
                        Side::Right => after = after.max(needed),
                        Side::Left if *first > 0 => {
                            distances[first - 1] = distances[first - 1].max(needed + 16.0)
                        }
                        Side::Left => before = before.max(needed),
                        Side::Over => {
                            before = if *first == 0 { before.max(needed / 2.0) } else { before };
                            after = if last + 1 == count { after.max(needed / 2.0) } else { after };
                        }
                    }
                }
                _ => {}
            }
        }
        let mut xs = Vec::new();
        let mut x = MARGIN + before + MARGIN;
        for distance in distances {
            xs.push(x);
            x += distance;
        }
        let width = xs[count - 1] + after + 2.0 * MARGIN;
        let top =
            diagram.participants.iter().map(|who| text_height(&who.lines) + 22.0).fold(HEAD_HEIGHT, f64::max);
        Self {
            diagram,
            xs,
            width,
            y: top + MARGIN + 14.0,
            active: vec![Vec::new(); count],
            bars: Vec::new(),
            blocks: Vec::new(),
            frames: Drawing::new(width, 0.0),
            front: Vec::new(),
        }
    }

    fn head_height(&self) -> f64 {
        self.diagram.participants.iter().map(|who| text_height(&who.lines) + 22.0).fold(HEAD_HEIGHT, f64::max)
    }

    fn draw(mut self) -> Drawing {
        for index in 0..self.diagram.steps.len() {
            self.step(index);
        }
        for who in 0..self.active.len() {
            while !self.active[who].is_empty() {
                self.deactivate(who);
            }
        }
        let bottom = self.y + 14.0;
        let head = self.head_height();
        let mut drawing = Drawing::new(self.width, bottom + head + MARGIN);
        drawing.append(&self.frames);
        for x in &self.xs {
            drawing.line("grid", at(*x, MARGIN + head), at(*x, bottom));
        }
        drawing.painted(&Paint::Series(0), |drawing| {
            for bar in &self.bars {
                drawing.rect("node", *bar, 1.0);
            }
        });
        for (who, x) in self.diagram.participants.iter().zip(&self.xs) {
            let width = text_width(&who.lines).max(40.0) + 28.0;
            for y in [MARGIN, bottom] {
                let rect = Rect { x: x - width / 2.0, y, width, height: head };
                drawing.painted(&Paint::Series(0), |drawing| drawing.rect("node", rect, 4.0));
                graph::draw_lines(&mut drawing, "middle strong", rect.center(), &who.lines);
            }
        }
        for front in &self.front {
            self.draw_front(&mut drawing, front);
        }
        drawing
    }

    fn step(&mut self, index: usize) {
        match &self.diagram.steps[index] {
            Step::Message { from, to, lines, .. } => {
                self.y += text_height(lines).max(LINE_HEIGHT) + 8.0;
                self.front.push(Front::Message { y: self.y, index });
                self.y += if from == to { 30.0 } else { 16.0 };
            }
            Step::Note { first, last, side, lines } => {
                let width = text_width(lines) + 20.0;
                let height = text_height(lines) + 14.0;
                let (left, right) = (self.xs[*first], self.xs[*last]);
                let (x, width) = match side {
                    Side::Left => (left - width - 10.0, width),
                    Side::Right => (right + 10.0, width),
                    Side::Over => {
                        let width = width.max(right - left + 60.0);
                        (f64::midpoint(left, right) - width / 2.0, width)
                    }
                };
                self.front.push(Front::Note { rect: Rect { x, y: self.y + 6.0, width, height }, index });
                self.y += height + 18.0;
            }
            Step::Open { word, lines } => {
                self.blocks.push((self.y + 4.0, word.clone(), lines.clone()));
                self.y += if word == "rect" || word == "box" {
                    10.0
                } else {
                    text_height(lines).max(LINE_HEIGHT) + 18.0
                };
            }
            Step::Divide { lines } => {
                let inset = self.blocks.len() as f64 * 5.0;
                let (from, to) = (MARGIN / 2.0 + inset, self.width - MARGIN / 2.0 - inset);
                self.front.push(Front::Divider { from, to, y: self.y + 6.0, lines: lines.clone() });
                self.y += text_height(lines) + 14.0;
            }
            Step::Close => self.close(),
            Step::Activate(who) => {
                let start = self.y - 16.0;
                self.active[*who].push(start);
            }
            Step::Deactivate(who) => self.deactivate(*who),
        }
    }

    fn close(&mut self) {
        let Some((top, word, lines)) = self.blocks.pop() else { return };
        self.y += 8.0;
        let inset = MARGIN / 2.0 + self.blocks.len() as f64 * 5.0;
        let rect = Rect { x: inset, y: top, width: self.width - 2.0 * inset, height: self.y - top };
        if word == "box" {
            return;
        }
        // A frame that is closed later lies around this one, so it must come before it.
        let mut frames = Drawing::new(self.width, 0.0);
        frames.painted(&Paint::Series(7), |drawing| drawing.rect("group", rect, 3.0));
        frames.append(&self.frames);
        self.frames = frames;
        if word != "rect" {
            self.front.push(Front::Tag { at: (inset, top), word, lines });
        }
        self.y += 8.0;
    }

    fn deactivate(&mut self, who: usize) {
        let Some(start) = self.active[who].pop() else { return };
        let x = self.xs[who] - ACTIVE_WIDTH / 2.0 + self.active[who].len() as f64 * 4.0;
        let height = (self.y - 16.0 - start).max(10.0);
        self.bars.push(Rect { x, y: start, width: ACTIVE_WIDTH, height });
    }

    fn draw_front(&self, drawing: &mut Drawing, front: &Front) {
        match front {
            Front::Message { y, index } => self.draw_message(drawing, *y, &self.diagram.steps[*index]),
            Front::Note { rect, index } => {
                let Step::Note { lines, .. } = &self.diagram.steps[*index] else { return };
                drawing.mark(&Paint::Series(6), &format!("Note: {}", lines.join(" ")), |drawing| {
                    drawing.rect("node shape", *rect, 2.0);
                    graph::draw_lines(drawing, "middle", rect.center(), lines);
                });
            }
            Front::Divider { from, to, y, lines } => {
                drawing.line("edge dotted", at(*from, *y), at(*to, *y));
                let middle = at(f64::midpoint(*from, *to), y + 6.0 + text_height(lines) / 2.0);
                graph::draw_lines(drawing, "middle small soft halo", middle, lines);
            }
            Front::Tag { at: (x, y), word, lines } => {
                let width = text::width(word, 12.0) + 16.0;
                drawing.rect("plate", Rect { x: x + 1.0, y: y + 1.0, width, height: 18.0 }, 2.0);
                drawing.text("start small strong", at(x + 8.0, y + 11.0), word);
                let middle = at(self.width / 2.0, y + 4.0 + text_height(lines).max(LINE_HEIGHT) / 2.0);
                graph::draw_lines(drawing, "middle small soft halo", middle, lines);
            }
        }
    }

    fn draw_message(&self, drawing: &mut Drawing, y: f64, step: &Step) {
        let Step::Message { from, to, is_dotted, ends, lines, name } = step else { return };
        let class = if *is_dotted { "edge dotted shape" } else { "edge shape" };
        let (start, end) = (self.xs[*from], self.xs[*to]);
        drawing.mark(&Paint::Series(0), name, |drawing| {
            if from == to {
                let right = start + SELF_WIDTH;
                let path = format!(
                    "M{}C{} {} {}",
                    at(start, y),
                    at(right, y),
                    at(right, y + 20.0),
                    at(start, y + 20.0)
                );
                drawing.path(class, &path);
                graph::draw_end(drawing, ends.1, at(start + 1.0, y + 20.0), at(-1.0, 0.0));
                let middle = at(start + 12.0, y - 4.0 - text_height(lines) / 2.0);
                graph::draw_lines(drawing, "start halo", middle, lines);
                return;
            }
            drawing.line(class, at(start, y), at(end, y));
            let axis = at((end - start).signum(), 0.0);
            graph::draw_end(drawing, ends.0, at(start, y), at(-axis.x, 0.0));
            graph::draw_end(drawing, ends.1, at(end, y), axis);
            let middle = at(f64::midpoint(start, end), y - 4.0 - text_height(lines) / 2.0);
            graph::draw_lines(drawing, "middle halo", middle, lines);
        });
    }
}
