//! Flowcharts: `graph` and `flowchart`.

use std::collections::HashMap;

use super::{
    super::{
        drawing::Drawing,
        fault::{Checked, Fault},
        page::{Figure, Page, Table},
        text::{counted, wrap},
    },
    FIELD,
    flowchart_line::Reader,
    graph::{self, Direction, Graph, GraphLink, Group, Item},
    lines::{self, End, Stroke},
    shapes::{Node, Shape, draw_node, size},
    source::{Line, Source, fault, label},
};

const MAX_NODES: usize = 200;
const MAX_EDGES: usize = 400;
const MAX_GROUPS: usize = 40;
const MAX_GROUP_DEPTH: usize = 6;

/// Width at which labels are broken, and the number of their lines.
const TEXT_WIDTH: f64 = 190.0;
const MAX_TEXT_LINES: usize = 6;

/// Statements that only decorate.
const DECORATION: [&str; 6] = ["classDef ", "class ", "style ", "linkStyle ", "click ", "href "];

struct Link {
    from: Item,
    to: Item,
    label: Vec<String>,
    stroke: Stroke,
    ends: (End, End),
}

/// The chart as it is read.
struct Chart {
    nodes: Vec<Node>,
    links: Vec<Link>,
    groups: Vec<Group>,
    by_id: HashMap<String, Item>,
    /// The groups that are open, the innermost last.
    open: Vec<usize>,
}

/// Returns the page of a chart.
pub(super) fn page(header: &Line, source: Source) -> Checked<Page> {
    let title = source.title.clone();
    let mut chart = Chart::read(header, source)?;
    chart.resolve_groups();
    let graph = chart.graph();
    let layout = graph::layout(&graph).map_err(|index| {
        let link = &chart.links[index];
        let problem = format!(
            "a line leads from {} to {}: between a subgraph and a part of it there is none.",
            chart.name(&link.from),
            chart.name(&link.to)
        );
        Fault::new(FIELD, problem)
    })?;
    let mut drawing = Drawing::new(layout.size.0, layout.size.1);
    lines::draw_groups(&mut drawing, &graph, &layout);
    for (link, route) in chart.links.iter().zip(&layout.routes) {
        lines::draw_route(&mut drawing, route, link.stroke, link.ends, &link.label);
    }
    for (index, (node, rect)) in chart.nodes.iter().zip(&layout.nodes).enumerate() {
        draw_node(&mut drawing, node, *rect, &chart.describe(index));
    }
    let mut table = Table::new(&["From", "To", "Label"]);
    for link in &chart.links {
        table.row([chart.name(&link.from), chart.name(&link.to), link.label.join(" ")]);
    }
    let summary = format!("{}, {}", counted(chart.nodes.len(), "node"), counted(chart.links.len(), "line"));
    let figures = vec![Figure { caption: None, drawing, legend: Vec::new(), table }];
    Ok(Page { kind: "mermaid", noun: "flowchart", title, subtitle: None, summary, figures })
}

impl Chart {
    fn read(header: &Line, source: Source) -> Checked<Self> {
        let mut words = header.text.splitn(2, [' ', '\t', ';']);
        let rest = words.nth(1).unwrap_or_default().trim();
        let (direction, rest) = match rest.split([' ', ';']).next().and_then(Direction::parse) {
            Some(direction) => (direction, rest[2..].to_owned()),
            None => (Direction::Down, rest.to_owned()),
        };
        let whole = Group { title: String::new(), direction, items: Vec::new() };
        let mut chart = Self {
            nodes: Vec::new(),
            links: Vec::new(),
            groups: vec![whole],
            by_id: HashMap::new(),
            open: vec![0],
        };
        chart.line(&Line { number: header.number, text: rest })?;
        let mut last = header.clone();
        for line in source {
            chart.line(&line)?;
            last = line;
        }
        if chart.open.len() > 1 {
            return Err(fault(&last, "a subgraph is not closed. Add `end`."));
        }
        if chart.nodes.is_empty() {
            return Err(Fault::new(
                FIELD,
                "the flowchart has no nodes. Write lines such as: A[Start] --> B[End]",
            ));
        }
        Ok(chart)
    }

    fn line(&mut self, line: &Line) -> Checked<()> {
        let text = line.text.trim().trim_end_matches(';');
        if text.is_empty() || DECORATION.iter().any(|start| text.starts_with(start)) {
            return Ok(());
        }
        if let Some(title) = text.strip_prefix("subgraph") {
            return self.open_group(title.trim(), line);
        }
        if text == "end" {
            if self.open.len() == 1 {
                return Err(fault(line, "there is no open subgraph."));
            }
            self.open.pop();
            return Ok(());
        }
        if let Some(direction) = text.strip_prefix("direction ") {
            let known = Direction::parse(direction.trim());
            let known = known.ok_or_else(|| fault(line, "this is no direction. Use TB, BT, LR or RL."))?;
            let group = self.open.last().copied().unwrap_or(0);
            self.groups[group].direction = known;
            return Ok(());
        }
        let mut reader = Reader { rest: text, line };
        while !reader.rest.is_empty() {
            self.statement(&mut reader)?;
            reader.skip(&[' ', '\t', ';']);
        }
        Ok(())
    }

    fn open_group(&mut self, title: &str, line: &Line) -> Checked<()> {
        if self.groups.len() > MAX_GROUPS || self.open.len() > MAX_GROUP_DEPTH {
            return Err(fault(
                line,
                &format!("at most {MAX_GROUPS} subgraphs in {MAX_GROUP_DEPTH} levels can be drawn."),
            ));
        }
        let (id, shown) = match title.split_once('[') {
            Some((id, shown)) => (id.trim(), shown.trim_end_matches(']')),
            None => (title, title),
        };
        let group = self.groups.len();
        let parent = self.open.last().copied().unwrap_or(0);
        let direction = self.groups[parent].direction;
        self.groups.push(Group { title: label(shown).join(" "), direction, items: Vec::new() });
        self.groups[parent].items.push(Item::Group(group));
        self.open.push(group);
        if !id.is_empty() {
            self.by_id.insert(id.trim_matches('"').to_owned(), Item::Group(group));
        }
        Ok(())
    }

    /// Reads nodes with lines between them: `A & B --> C --> D`.
    fn statement(&mut self, reader: &mut Reader<'_>) -> Checked<()> {
        let mut from = self.node_list(reader)?;
        loop {
            reader.skip(&[' ', '\t']);
            if reader.rest.is_empty() || reader.rest.starts_with(';') {
                return Ok(());
            }
            let (stroke, ends, label) = reader.edge()?;
            let to = self.node_list(reader)?;
            for from in &from {
                for to in &to {
                    if self.links.len() == MAX_EDGES {
                        return Err(fault(
                            reader.line,
                            &format!("there are more than {MAX_EDGES} lines. Draw a part of it."),
                        ));
                    }
                    let (from, to, label) = (from.clone(), to.clone(), label.clone());
                    self.links.push(Link { from, to, label, stroke, ends });
                }
            }
            from = to;
        }
    }

    fn node_list(&mut self, reader: &mut Reader<'_>) -> Checked<Vec<Item>> {
        let mut items = vec![self.node(reader)?];
        loop {
            reader.skip(&[' ', '\t']);
            if !reader.take("&") {
                return Ok(items);
            }
            items.push(self.node(reader)?);
        }
    }

    fn node(&mut self, reader: &mut Reader<'_>) -> Checked<Item> {
        reader.skip(&[' ', '\t']);
        let id = reader.id()?;
        let shape = reader.shape()?;
        if reader.take(":::") {
            reader.id()?;
        }
        if let Some(known) = self.by_id.get(id) {
            if let (Item::Node(node), Some((shape, lines))) = (known, shape) {
                self.nodes[*node] = Node { lines, shape };
            }
            return Ok(known.clone());
        }
        if self.nodes.len() == MAX_NODES {
            return Err(fault(
                reader.line,
                &format!("there are more than {MAX_NODES} nodes. Draw a part of it."),
            ));
        }
        let item = Item::Node(self.nodes.len());
        let (shape, lines) = shape.unwrap_or_else(|| (Shape::Rect, label(id)));
        self.nodes.push(Node { lines, shape });
        self.by_id.insert(id.to_owned(), item.clone());
        let group = self.open.last().copied().unwrap_or(0);
        self.groups[group].items.push(item.clone());
        Ok(item)
    }

    /// A name that was used before its subgraph began is a node that stands for it: the lines lead to the subgraph then.
    fn resolve_groups(&mut self) {
        let groups: Vec<(String, usize)> = self
            .by_id
            .iter()
            .filter_map(|(id, item)| match item {
                Item::Group(group) => Some((id.clone(), *group)),
                Item::Node(_) => None,
            })
            .collect();
        for (id, group) in groups {
            let stands_for = |node: &Node| node.shape == Shape::Rect && node.lines == [id.clone()];
            let Some(index) = self.nodes.iter().position(stands_for) else { continue };
            let item = Item::Node(index);
            for link in &mut self.links {
                for end in [&mut link.from, &mut link.to] {
                    if *end == item {
                        *end = Item::Group(group);
                    }
                }
            }
            self.remove_node(index);
        }
    }

    fn remove_node(&mut self, removed: usize) {
        self.nodes.remove(removed);
        let renumber = |item: &mut Item| {
            if let Item::Node(node) = item
                && *node > removed
            {
                *node -= 1;
            }
        };
        for group in &mut self.groups {
            group.items.retain(|item| *item != Item::Node(removed));
            group.items.iter_mut().for_each(renumber);
        }
        for link in &mut self.links {
            renumber(&mut link.from);
            renumber(&mut link.to);
        }
    }

    fn name(&self, item: &Item) -> String {
        match *item {
            Item::Node(node) => self.nodes[node].lines.join(" "),
            Item::Group(group) => self.groups[group].title.clone(),
        }
    }

    /// Returns the name of a node, and where its lines lead.
    fn describe(&self, node: usize) -> String {
        let item = Item::Node(node);
        let next = self.links.iter().filter(|link| link.from == item && link.stroke != Stroke::Hidden);
        let next: Vec<String> = next
            .map(|link| match link.label.join(" ") {
                label if label.is_empty() => self.name(&link.to),
                label => format!("{} ({label})", self.name(&link.to)),
            })
            .collect();
        match next.is_empty() {
            true => self.name(&item),
            false => format!("{}, leads to {}", self.name(&item), next.join(", ")),
        }
    }

    fn graph(&mut self) -> Graph {
        for node in &mut self.nodes {
            node.lines =
                node.lines.iter().flat_map(|line| wrap(line, 13.0, TEXT_WIDTH, MAX_TEXT_LINES)).collect();
        }
        let links = self.links.iter().map(|link| GraphLink {
            from: link.from.clone(),
            to: link.to.clone(),
            label: (!link.label.is_empty()).then(|| lines::label_size(&link.label)),
        });
        Graph {
            sizes: self.nodes.iter().map(size).collect(),
            groups: self.groups.clone(),
            links: links.collect(),
        }
    }
}
