//! The drawing of sequence diagrams.

use super::{
    super::{
        drawing::{Drawing, Paint, Rect, at},
        text,
    },
    lines::{self, LINE_HEIGHT},
    sequence::{Diagram, Side, Step},
};

const MARGIN: f64 = 16.0;

const HEAD_HEIGHT: f64 = 40.0;

/// Least distance of two lifelines, and width of an activation.
const MIN_DISTANCE: f64 = 110.0;

const ACTIVE_WIDTH: f64 = 10.0;

/// Width of a message to oneself.
const SELF_WIDTH: f64 = 40.0;

/// The diagram as it is drawn, from top to bottom.
pub(super) struct Canvas<'a> {
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

/// Space that the texts need: left of the first participant, between two, and right of the last one.
struct Spaces {
    before: f64,
    between: Vec<f64>,
    after: f64,
}

impl Spaces {
    fn of(diagram: &Diagram) -> Self {
        let heads: Vec<f64> =
            diagram.participants.iter().map(|who| text_width(&who.lines).max(40.0) + 28.0).collect();
        let between =
            heads.windows(2).map(|pair| MIN_DISTANCE.max((pair[0] + pair[1]) / 2.0 + 24.0)).collect();
        let half = |head: Option<&f64>| head.copied().unwrap_or_default() / 2.0;
        let mut spaces = Self { before: half(heads.first()), between, after: half(heads.last()) };
        for step in &diagram.steps {
            match step {
                Step::Message { from, to, lines, .. } if from == to => {
                    let needed = SELF_WIDTH + text_width(lines) + 20.0;
                    spaces.widen_right(*from, needed, needed);
                }
                Step::Message { from, to, lines, .. } => {
                    let (left, right) = (*from.min(to), *from.max(to));
                    let needed = (text_width(lines) + 36.0) / (right - left) as f64;
                    for space in &mut spaces.between[left..right] {
                        *space = space.max(needed);
                    }
                }
                Step::Note { first, last, side, lines } => {
                    spaces.widen_for_note(*first, *last, *side, text_width(lines) + 40.0);
                }
                _ => {}
            }
        }
        spaces
    }

    /// Widens the space right of a participant, to `inner` before another one.
    fn widen_right(&mut self, index: usize, inner: f64, outer: f64) {
        match self.between.get_mut(index) {
            Some(space) => *space = space.max(inner),
            None => self.after = self.after.max(outer),
        }
    }

    fn widen_for_note(&mut self, first: usize, last: usize, side: Side, needed: f64) {
        match side {
            Side::Right => self.widen_right(last, needed + 16.0, needed),
            Side::Left if first > 0 => self.widen_right(first - 1, needed + 16.0, needed),
            Side::Left => self.before = self.before.max(needed),
            Side::Over => {
                if first == 0 {
                    self.before = self.before.max(needed / 2.0);
                }
                if last == self.between.len() {
                    self.after = self.after.max(needed / 2.0);
                }
            }
        }
    }
}

impl<'a> Canvas<'a> {
    pub(super) fn new(diagram: &'a Diagram) -> Self {
        let spaces = Spaces::of(diagram);
        let first = MARGIN + spaces.before + MARGIN;
        let mut xs = vec![first];
        xs.extend(spaces.between.iter().scan(first, |x, space| {
            *x += space;
            Some(*x)
        }));
        let width = xs.last().copied().unwrap_or(first) + spaces.after + 2.0 * MARGIN;
        let mut canvas = Self {
            diagram,
            active: vec![Vec::new(); xs.len()],
            xs,
            width,
            y: 0.0,
            bars: Vec::new(),
            blocks: Vec::new(),
            frames: Drawing::new(width, 0.0),
            front: Vec::new(),
        };
        canvas.y = canvas.head_height() + MARGIN + 14.0;
        canvas
    }

    fn head_height(&self) -> f64 {
        self.diagram.participants.iter().map(|who| text_height(&who.lines) + 22.0).fold(HEAD_HEIGHT, f64::max)
    }

    pub(super) fn draw(mut self) -> Drawing {
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
                lines::draw_lines(&mut drawing, "middle strong", rect.center(), &who.lines);
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
                    lines::draw_lines(drawing, "middle", rect.center(), lines);
                });
            }
            Front::Divider { from, to, y, lines } => {
                drawing.line("edge dotted", at(*from, *y), at(*to, *y));
                let middle = at(f64::midpoint(*from, *to), y + 6.0 + text_height(lines) / 2.0);
                lines::draw_lines(drawing, "middle small soft halo", middle, lines);
            }
            Front::Tag { at: (x, y), word, lines } => {
                let width = text::width(word, 12.0) + 16.0;
                drawing.rect("plate", Rect { x: x + 1.0, y: y + 1.0, width, height: 18.0 }, 2.0);
                drawing.text("start small strong", at(x + 8.0, y + 11.0), word);
                let middle = at(self.width / 2.0, y + 4.0 + text_height(lines).max(LINE_HEIGHT) / 2.0);
                lines::draw_lines(drawing, "middle small soft halo", middle, lines);
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
                lines::draw_end(drawing, ends.1, at(start + 1.0, y + 20.0), at(-1.0, 0.0));
                let middle = at(start + 12.0, y - 4.0 - text_height(lines) / 2.0);
                lines::draw_lines(drawing, "start halo", middle, lines);
                return;
            }
            drawing.line(class, at(start, y), at(end, y));
            let axis = at((end - start).signum(), 0.0);
            lines::draw_end(drawing, ends.0, at(start, y), at(-axis.x, 0.0));
            lines::draw_end(drawing, ends.1, at(end, y), axis);
            let middle = at(f64::midpoint(start, end), y - 4.0 - text_height(lines) / 2.0);
            lines::draw_lines(drawing, "middle halo", middle, lines);
        });
    }
}
