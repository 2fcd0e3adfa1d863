//! Class diagrams.

use std::collections::HashMap;

use super::{
    super::{
        drawing::{Drawing, Paint, Point, Rect, at},
        fault::{Checked, Fault},
        page::{Figure, Page, Table},
        text::{self, clean, counted, fit},
    },
    FIELD,
    graph::{self, Direction, Graph, GraphLink, Group, Item, Layout, Size},
    lines::{self, End, LINE_HEIGHT, Stroke},
    source::{Line, Source, fault, label},
};

const MAX_CLASSES: usize = 100;
const MAX_RELATIONS: usize = 300;
const MAX_MEMBERS: usize = 60;

/// Width at which members are cut.
const MAX_WIDTH: f64 = 320.0;

/// Space between the ends of lines on one side of a class.
const END_GAP: f64 = 28.0;

/// Ends of a relation on its left and on its right, longest first.
const LEFT_ENDS: [(&str, End); 6] = [
    ("<|", End::Triangle),
    ("()", End::Circle),
    ("<", End::Arrow),
    ("*", End::Diamond(true)),
    ("o", End::Diamond(false)),
    ("", End::None),
];
const RIGHT_ENDS: [(&str, End); 6] = [
    ("|>", End::Triangle),
    ("()", End::Circle),
    (">", End::Arrow),
    ("*", End::Diamond(true)),
    ("o", End::Diamond(false)),
    ("", End::None),
];

/// Statements that only decorate.
const DECORATION: [&str; 8] =
    ["classDef ", "cssClass ", "style ", "click ", "callback ", "link ", "note ", "hide "];

#[derive(Default)]
struct Class {
    name: String,
    annotation: Option<String>,
    attributes: Vec<String>,
    methods: Vec<String>,
}

struct Relation {
    from: usize,
    to: usize,
    stroke: Stroke,
    ends: (End, End),
    counts: (String, String),
    label: Vec<String>,
}

struct Diagram {
    classes: Vec<Class>,
    relations: Vec<Relation>,
    by_id: HashMap<String, usize>,
    direction: Direction,
    title: Option<String>,
    /// The class whose body is being read, and the number of open namespaces.
    body: Option<usize>,
    namespaces: usize,
}

/// Returns the page of a diagram.
pub(super) fn page(source: Source) -> Checked<Page> {
    let mut diagram = Diagram {
        classes: Vec::new(),
        relations: Vec::new(),
        by_id: HashMap::new(),
        direction: Direction::Down,
        title: source.title.clone(),
        body: None,
        namespaces: 0,
    };
    for line in source {
        diagram.line(&line)?;
    }
    if diagram.body.is_some() || diagram.namespaces > 0 {
        return Err(Fault::new(FIELD, "a `{` is not closed. Add `}`."));
    }
    if diagram.classes.is_empty() {
        return Err(Fault::new(FIELD, "the diagram has no classes. Write lines such as: Animal <|-- Dog"));
    }
    let mut table = Table::new(&["Class", "Members", "Relations"]);
    for (index, class) in diagram.classes.iter().enumerate() {
        let members: Vec<&str> = class.attributes.iter().chain(&class.methods).map(String::as_str).collect();
        table.row([class.name.clone(), members.join("; "), diagram.relations_of(index).join("; ")]);
    }
    let summary = format!(
        "{}, {}",
        counted(diagram.classes.len(), "class").replace("classs", "classes"),
        counted(diagram.relations.len(), "relation")
    );
    let drawing = diagram.draw()?;
    let figures = vec![Figure { caption: None, drawing, legend: Vec::new(), table }];
    Ok(Page {
        kind: "mermaid",
        noun: "class diagram",
        title: diagram.title,
        subtitle: None,
        summary,
        figures,
    })
}

impl Diagram {
    fn line(&mut self, line: &Line) -> Checked<()> {
        let text = line.text.as_str();
        if let Some(class) = self.body {
            if text == "}" {
                self.body = None;
                return Ok(());
            }
            return self.member(class, text, line);
        }
        if DECORATION.iter().any(|start| text.starts_with(start)) {
            return Ok(());
        }
        if text == "}" {
            self.namespaces =
                self.namespaces.checked_sub(1).ok_or_else(|| fault(line, "there is no open `{`."))?;
            return Ok(());
        }
        if text.starts_with("namespace ") && text.ends_with('{') {
            self.namespaces += 1;
            return Ok(());
        }
        if let Some(direction) = text.strip_prefix("direction ") {
            let known = Direction::parse(direction.trim());
            self.direction =
                known.ok_or_else(|| fault(line, "this is no direction. Use TB, BT, LR or RL."))?;
            return Ok(());
        }
        if let Some(title) = text.strip_prefix("title ") {
            self.title = Some(clean(title));
            return Ok(());
        }
        if let Some(declared) = text.strip_prefix("class ") {
            return self.declare(declared, line);
        }
        if let Some((annotation, name)) = text.strip_prefix("<<").and_then(|rest| rest.split_once(">>")) {
            let class = self.class(name, line)?;
            self.classes[class].annotation = Some(clean(annotation));
            return Ok(());
        }
        if let Some(relation) = self.relation(line)? {
            self.relations.push(relation);
            return Ok(());
        }
        match text.split_once(':') {
            Some((name, member)) => {
                let class = self.class(name, line)?;
                self.member(class, member, line)
            }
            None => self.class(text, line).map(drop),
        }
    }

    /// Reads `class Name~T~["Label"] { … }`, the body on this line or on the next ones.
    fn declare(&mut self, text: &str, line: &Line) -> Checked<()> {
        // A label may contain everything but a quote.
        let (text, shown) =
            match text.split_once("[\"").and_then(|(name, rest)| Some((name, rest.split_once("\"]")?))) {
                Some((name, (shown, rest))) => (format!("{name} {rest}"), Some(shown)),
                None => (text.to_owned(), None),
            };
        let (name, body) =
            text.split_once('{').map_or((text.as_str(), None), |(name, body)| (name, Some(body)));
        let (name, annotation) = match name.split_once("<<") {
            Some((name, annotation)) => (name, Some(clean(annotation.trim_end().trim_end_matches('>')))),
            None => (name, None),
        };
        let class = self.class(name, line)?;
        if let Some(shown) = shown {
            self.classes[class].name = label(shown).join(" ");
        }
        if annotation.is_some() {
            self.classes[class].annotation = annotation;
        }
        match body.map(str::trim) {
            Some("") => self.body = Some(class),
            Some(body) => {
                for member in body.trim_end_matches('}').split(';') {
                    self.member(class, member, line)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Returns the class of that name, a new one if there is none.
    fn class(&mut self, name: &str, line: &Line) -> Checked<usize> {
        let id = name.trim().split(":::").next().unwrap_or_default().trim().trim_matches('`');
        let is_name = |c: char| c.is_alphanumeric() || "_-~.<>, ".contains(c);
        if id.is_empty() || !id.chars().all(is_name) || (id.contains(' ') && !id.contains('~')) {
            return Err(fault(
                line,
                "this is neither a class nor a relation. Write for example: Animal <|-- Dog",
            ));
        }
        let key = id.split('~').next().unwrap_or(id).to_owned();
        if let Some(known) = self.by_id.get(&key) {
            return Ok(*known);
        }
        if self.classes.len() == MAX_CLASSES {
            return Err(fault(
                line,
                &format!("there are more than {MAX_CLASSES} classes. Draw a part of it."),
            ));
        }
        self.by_id.insert(key, self.classes.len());
        self.classes.push(Class { name: generic(id), ..Class::default() });
        Ok(self.classes.len() - 1)
    }

    fn member(&mut self, class: usize, text: &str, line: &Line) -> Checked<()> {
        let text = text.trim().trim_end_matches(['$', '*', ';']);
        let class = &mut self.classes[class];
        if text.is_empty() {
            return Ok(());
        }
        if let Some(annotation) = text.strip_prefix("<<").and_then(|text| text.strip_suffix(">>")) {
            class.annotation = Some(clean(annotation));
            return Ok(());
        }
        if class.attributes.len() + class.methods.len() == MAX_MEMBERS {
            return Err(fault(line, &format!("a class has more than {MAX_MEMBERS} members.")));
        }
        let shown = generic(&clean(text));
        if text.contains('(') {
            class.methods.push(shown)
        } else {
            class.attributes.push(shown)
        }
        Ok(())
    }

    /// Reads `A "1" <|-- "many" B : label`; `None` if the line has no relation.
    fn relation(&mut self, line: &Line) -> Checked<Option<Relation>> {
        let text = line.text.as_str();
        let (body, stroke) = match (text.find("--"), text.find("..")) {
            (Some(at), None) => (at, Stroke::Normal),
            (Some(at), Some(dots)) if at < dots => (at, Stroke::Normal),
            (_, Some(at)) => (at, Stroke::Dotted),
            _ => return Ok(None),
        };
        if text.find(':').is_some_and(|colon| colon < body && !text[colon..].starts_with(":::")) {
            return Ok(None);
        }
        if self.relations.len() == MAX_RELATIONS {
            return Err(fault(
                line,
                &format!("there are more than {MAX_RELATIONS} relations. Draw a part of it."),
            ));
        }
        let (left, right) = (text[..body].trim_end(), &text[body + 2..]);
        let find_left = LEFT_ENDS.into_iter().find(|(symbol, _)| ends_with(left, symbol));
        let (symbol, start) = find_left.unwrap_or(("", End::None));
        let left = &left[..left.len() - symbol.len()];
        let find_right = RIGHT_ENDS.into_iter().find(|(symbol, _)| starts_with(right, symbol));
        let (symbol, end) = find_right.unwrap_or(("", End::None));
        let (right, shown) = right[symbol.len()..].split_once(':').unwrap_or((&right[symbol.len()..], ""));
        let (from, from_count) = name_and_count(left, false);
        let (to, to_count) = name_and_count(right, true);
        let label = if shown.trim().is_empty() { Vec::new() } else { label(shown) };
        let (from, to) = (self.class(&from, line)?, self.class(&to, line)?);
        Ok(Some(Relation { from, to, stroke, ends: (start, end), counts: (from_count, to_count), label }))
    }

    /// Returns the relations of a class in words.
    fn relations_of(&self, class: usize) -> Vec<String> {
        let word = |end: End| match end {
            End::Triangle => "inherited by",
            End::Diamond(true) => "composed of",
            End::Diamond(false) => "aggregates",
            _ => "linked to",
        };
        let of = |relation: &Relation| {
            let label = if relation.label.is_empty() {
                String::new()
            } else {
                format!(" ({})", relation.label.join(" "))
            };
            match (relation.from == class, relation.to == class) {
                (true, _) => {
                    Some(format!("{} {}{label}", word(relation.ends.0), self.classes[relation.to].name))
                }
                (_, true) if relation.ends.1 != End::None && relation.ends.1 != End::Arrow => {
                    Some(format!("{} {}{label}", word(relation.ends.1), self.classes[relation.from].name))
                }
                _ => None,
            }
        };
        self.relations.iter().filter_map(of).collect()
    }

    fn draw(&self) -> Checked<Drawing> {
        let items = (0..self.classes.len()).map(Item::Node).collect();
        let links = self.relations.iter().map(|relation| GraphLink {
            from: Item::Node(relation.from),
            to: Item::Node(relation.to),
            label: (!relation.label.is_empty()).then(|| lines::label_size(&relation.label)),
        });
        let graph = Graph {
            sizes: self.classes.iter().map(size).collect(),
            groups: vec![Group { title: String::new(), direction: self.direction, items }],
            links: links.collect(),
        };
        let mut layout =
            graph::layout(&graph).map_err(|_| Fault::new(FIELD, "the diagram cannot be laid out."))?;
        self.spread_ends(&mut layout);
        let mut drawing = Drawing::new(layout.size.0, layout.size.1);
        for (relation, route) in self.relations.iter().zip(&layout.routes) {
            lines::draw_route(&mut drawing, route, relation.stroke, relation.ends, &relation.label);
            lines::draw_counts(&mut drawing, route, &relation.counts);
        }
        for (index, (class, rect)) in self.classes.iter().zip(&layout.nodes).enumerate() {
            draw_class(&mut drawing, class, *rect, &self.describe(index));
        }
        Ok(drawing)
    }

    /// Moves lines apart that end at one side of a class, so that their signs and numbers do not cover each other.
    fn spread_ends(&self, layout: &mut Layout) {
        let is_sideways = matches!(self.direction, Direction::Left | Direction::Right);
        for (class, rect) in layout.nodes.iter().enumerate() {
            let (center, extent) =
                if is_sideways { (rect.center().y, rect.height) } else { (rect.center().x, rect.width) };
            for is_far_side in [false, true] {
                // Position of the next point of the line, and the line with its end.
                let mut ends: Vec<(f64, usize, usize)> = Vec::new();
                for (index, (relation, route)) in self.relations.iter().zip(&layout.routes).enumerate() {
                    let last = route.points.len().saturating_sub(1);
                    for (of, end, next) in
                        [(relation.from, 0, 1), (relation.to, last, last.saturating_sub(1))]
                    {
                        let is_here = of == class && relation.from != relation.to && last > 0;
                        if is_here && is_far_side == is_far(route.points[end], *rect, is_sideways) {
                            let next = route.points[next];
                            ends.push((if is_sideways { next.y } else { next.x }, index, end));
                        }
                    }
                }
                ends.sort_by(|one, other| one.0.total_cmp(&other.0));
                let gap = END_GAP.min(extent / (ends.len() + 1) as f64);
                let first = center - gap * ends.len().saturating_sub(1) as f64 / 2.0;
                for (place, (_, index, end)) in ends.into_iter().enumerate() {
                    let point = &mut layout.routes[index].points[end];
                    *(if is_sideways { &mut point.y } else { &mut point.x }) = first + gap * place as f64;
                }
            }
        }
    }

    fn describe(&self, class: usize) -> String {
        let relations = self.relations_of(class);
        let members = self.classes[class].attributes.len() + self.classes[class].methods.len();
        let mut text = format!("{}: {}", self.classes[class].name, counted(members, "member"));
        for relation in relations {
            text += &format!("; {relation}");
        }
        text
    }
}

/// Returns true for a point on the right or lower side of a box.
fn is_far(point: Point, rect: Rect, is_sideways: bool) -> bool {
    if is_sideways { point.x > rect.center().x } else { point.y > rect.center().y }
}

fn ends_with(text: &str, symbol: &str) -> bool {
    // `o` is a diamond only where it does not belong to a name.
    text.ends_with(symbol) && (symbol != "o" || text.ends_with(" o") || text.ends_with("\"o"))
}

fn starts_with(text: &str, symbol: &str) -> bool {
    text.starts_with(symbol) && (symbol != "o" || text.starts_with("o ") || text.starts_with("o\""))
}

/// Splits `Name "count"`, or `"count" Name`.
fn name_and_count(text: &str, is_right: bool) -> (String, String) {
    let text = text.trim();
    let split = if is_right {
        text.strip_prefix('"').and_then(|rest| rest.split_once('"')).map(|(count, name)| (name, count))
    } else {
        text.strip_suffix('"').and_then(|rest| rest.rsplit_once('"'))
    };
    let (name, count) = split.unwrap_or((text, ""));
    (name.trim().to_owned(), clean(count))
}

/// Shows `List~int~` as `List<int>`.
fn generic(text: &str) -> String {
    let mut shown = String::new();
    let mut is_open = false;
    for c in text.chars() {
        match c {
            '~' => {
                shown.push(if is_open { '>' } else { '<' });
                is_open = !is_open;
            }
            c => shown.push(c),
        }
    }
    shown
}

fn members(class: &Class) -> impl Iterator<Item = &String> {
    class.attributes.iter().chain(&class.methods)
}

fn head_height(class: &Class) -> f64 {
    if class.annotation.is_some() { 46.0 } else { 30.0 }
}

fn size(class: &Class) -> Size {
    let annotation = class.annotation.as_ref().map_or(0.0, |text| text::width(text, 12.0) + 16.0);
    let widest = members(class).map(|member| text::width(member, 13.0)).fold(0.0, f64::max);
    let width = widest.max(text::width(&class.name, 14.0)).max(annotation).clamp(70.0, MAX_WIDTH) + 24.0;
    let part = |members: &[String]| members.len() as f64 * LINE_HEIGHT + 10.0;
    (width, head_height(class) + part(&class.attributes) + part(&class.methods))
}

fn draw_class(drawing: &mut Drawing, class: &Class, rect: Rect, name: &str) {
    let Rect { x, y, width, .. } = rect;
    drawing.mark(&Paint::Series(0), name, |drawing| {
        drawing.rect("node shape", rect, 3.0);
        let center = x + width / 2.0;
        let head = head_height(class);
        if let Some(annotation) = &class.annotation {
            drawing.text("soft small middle", at(center, y + 13.0), &format!("«{annotation}»"));
        }
        drawing.text("middle strong", at(center, y + head - 15.0), &fit(&class.name, 14.0, width - 12.0));
        let mut top = y + head;
        for part in [&class.attributes, &class.methods] {
            drawing.line("curve", at(x, top), at(x + width, top));
            for (index, member) in part.iter().enumerate() {
                let place = at(x + 10.0, top + 5.0 + (index as f64 + 0.5) * LINE_HEIGHT);
                drawing.text("start", place, &fit(member, 13.0, width - 16.0));
            }
            top += part.len() as f64 * LINE_HEIGHT + 10.0;
        }
    });
}
