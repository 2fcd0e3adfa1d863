//! Sankey diagrams: flows from left to right, as bands whose widths are the values.

use std::collections::HashMap;

use goose_extension::prelude::*;

use super::{
    drawing::{Drawing, Paint, Rect, at},
    fault::{Checked, Fault, check_count, check_size, check_total},
    layers::{self, Edge, Layered},
    page::{Figure, Page, Table},
    text::{clean, counted, fit, number},
};

const MAX_NODES: usize = 200;
const MAX_LINKS: usize = 1_000;

const WIDTH: f64 = 960.0;
const MIN_HEIGHT: f64 = 360.0;
const MAX_HEIGHT: f64 = 1_600.0;
const NODE_WIDTH: f64 = 16.0;

/// Space between nodes of a layer, and above and below all of them.
const GAP: f64 = 18.0;
const MARGIN: f64 = 14.0;

/// Height for each node of the largest layer.
const ROW_HEIGHT: f64 = 56.0;

/// Number of times that nodes are moved towards their neighbours.
const ROUNDS: usize = 12;

/// Longest list of a cycle in an error.
const MAX_CYCLE_NAMES: usize = 6;

/// Data of a Sankey diagram.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SankeyData {
    /// Nodes, at most 200
    nodes: Vec<SankeyNode>,
    /// Flows between nodes, without cycles
    links: Vec<SankeyLink>,
    /// Title; default: none
    title: Option<String>,
}

/// A node.
#[derive(Debug, Deserialize, JsonSchema)]
struct SankeyNode {
    /// Unique name
    name: String,
    /// Category, for the colour; default: a colour for each node
    category: Option<String>,
}

/// A flow.
#[derive(Debug, Deserialize, JsonSchema)]
struct SankeyLink {
    /// Name of the node that it comes from
    source: String,
    /// Name of the node that it goes to
    target: String,
    /// Size of the flow, 0 or more
    value: f64,
}

/// The graph with its sizes and places.
struct Sankey {
    names: Vec<String>,
    colours: Vec<usize>,
    links: Vec<(Edge, f64)>,
    /// Sum of the flows of each node: the larger of in and out.
    sizes: Vec<f64>,
    layer_of: Vec<usize>,
    /// Nodes of each layer, from top to bottom.
    rows: Vec<Vec<usize>>,
    height: f64,
    /// Pixels for one unit.
    scale: f64,
    /// Centre of each node.
    centers: Vec<f64>,
}

/// Returns the page of a diagram.
pub(super) fn page(data: SankeyData) -> Checked<Page> {
    let mut sankey = Sankey::new(&data)?;
    sankey.place();
    let categories = categories(&data.nodes);
    let mut drawing = Drawing::new(WIDTH, sankey.height);
    sankey.draw(&mut drawing);
    let mut table = Table::new(&["From", "To", "Value"]);
    for &((from, to), value) in &sankey.links {
        table.row([sankey.names[from].clone(), sankey.names[to].clone(), number(value)]);
    }
    let legend = categories.into_iter().enumerate().map(|(at, name)| (Paint::Series(at), name)).collect();
    let summary = format!("{}, {}", counted(sankey.names.len(), "node"), counted(sankey.links.len(), "link"));
    let figures = vec![Figure { caption: None, drawing, legend, table }];
    Ok(Page { kind: "sankey", noun: "Sankey diagram", title: data.title, subtitle: None, summary, figures })
}

/// Returns the categories in the order of their first nodes.
fn categories(nodes: &[SankeyNode]) -> Vec<String> {
    let mut categories: Vec<String> = Vec::new();
    for category in nodes.iter().filter_map(|node| node.category.as_deref()).map(clean) {
        if !categories.contains(&category) {
            categories.push(category);
        }
    }
    categories
}

impl Sankey {
    fn new(data: &SankeyData) -> Checked<Self> {
        check_count("data.nodes", data.nodes.len(), 2, MAX_NODES, "nodes")?;
        check_count("data.links", data.links.len(), 1, MAX_LINKS, "links")?;
        let mut by_name = HashMap::new();
        for (index, node) in data.nodes.iter().enumerate() {
            if by_name.insert(node.name.as_str(), index).is_some() {
                let problem =
                    format!("there is another node named {:?}. Names have to be unique.", clean(&node.name));
                return Err(Fault::new(format!("data.nodes[{index}].name"), problem));
            }
        }
        let find = |name: &str, index: usize, end: &str| {
            by_name.get(name).copied().ok_or_else(|| {
                let problem = format!("there is no node named {:?}. Use a name of data.nodes.", clean(name));
                Fault::new(format!("data.links[{index}].{end}"), problem)
            })
        };
        let mut links = Vec::new();
        for (index, link) in data.links.iter().enumerate() {
            let edge = (find(&link.source, index, "source")?, find(&link.target, index, "target")?);
            check_size(|| format!("data.links[{index}].value"), link.value)?;
            links.push((edge, link.value));
        }
        check_total("data.links", links.iter().map(|(_, value)| value).sum())?;
        let names: Vec<String> = data.nodes.iter().map(|node| clean(&node.name)).collect();
        let categories = categories(&data.nodes);
        let colour = |(index, node): (usize, &SankeyNode)| {
            let category = node.category.as_deref().map(clean);
            let known = category.and_then(|category| categories.iter().position(|known| *known == category));
            known.unwrap_or(if categories.is_empty() { index } else { categories.len() })
        };
        let colours = data.nodes.iter().enumerate().map(colour).collect();
        Self::layered(names, colours, links)
    }

    fn layered(names: Vec<String>, colours: Vec<usize>, links: Vec<(Edge, f64)>) -> Checked<Self> {
        let edges: Vec<Edge> = links.iter().map(|(edge, _)| *edge).collect();
        let mut layer_of =
            layers::assign(names.len(), &edges).map_err(|cycle| cycle_fault(&names, &cycle))?;
        let last = layer_of.iter().copied().max().unwrap_or(0);
        let (mut inward, mut outward) = (vec![0.0; names.len()], vec![0.0; names.len()]);
        let mut is_source = vec![false; names.len()];
        for &((from, to), value) in &links {
            outward[from] += value;
            inward[to] += value;
            is_source[from] = true;
        }
        for (node, layer) in layer_of.iter_mut().enumerate() {
            if !is_source[node] {
                *layer = last;
            }
        }
        let sizes: Vec<f64> =
            inward.iter().zip(&outward).map(|(one, other): (&f64, &f64)| one.max(*other)).collect();
        let layered = Layered::new(&layer_of, &edges);
        let mut rows = layered.rows;
        rows.iter_mut().for_each(|row| row.retain(|node| *node < names.len()));
        let longest = rows.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let height = (longest * ROW_HEIGHT).clamp(MIN_HEIGHT, MAX_HEIGHT);
        let scale = rows.iter().map(|row| {
            let sum: f64 = row.iter().map(|&node| sizes[node]).sum();
            (height - 2.0 * MARGIN - gap(row.len(), height) * (row.len() as f64 - 1.0)) / sum
        });
        let scale = scale.fold(f64::INFINITY, f64::min);
        let centers = vec![0.0; names.len()];
        Ok(Self { names, colours, links, sizes, layer_of, rows, height, scale, centers })
    }

    fn node_height(&self, node: usize) -> f64 {
        self.sizes[node] * self.scale
    }

    /// Moves nodes towards the mean of their neighbours, weighted by the flows, in both directions.
    fn place(&mut self) {
        let (mut before, mut after) =
            (vec![Vec::new(); self.names.len()], vec![Vec::new(); self.names.len()]);
        for &((from, to), value) in &self.links {
            after[from].push((to, value));
            before[to].push((from, value));
        }
        for row in self.rows.clone() {
            self.place_row(&row, |_| None);
        }
        for round in 0..ROUNDS {
            let neighbours = if round % 2 == 0 { &before } else { &after };
            let mut rows = self.rows.clone();
            if round % 2 == 1 {
                rows.reverse();
            }
            for row in rows {
                self.place_row(&row, |node| Some(neighbours[node].as_slice()));
            }
        }
    }

    fn place_row<'a>(&mut self, row: &[usize], neighbours: impl Fn(usize) -> Option<&'a [(usize, f64)]>) {
        let wanted = row.iter().map(|&node| {
            let all = neighbours(node).unwrap_or_default();
            let weight: f64 = all.iter().map(|(_, value)| value).sum();
            let sum: f64 = all.iter().map(|&(other, value)| self.centers[other] * value).sum();
            if weight > 0.0 { sum / weight } else { self.centers[node] }
        });
        let wanted: Vec<f64> = wanted.collect();
        let gap = gap(row.len(), self.height);
        let distance = |pair: &[usize]| (self.node_height(pair[0]) + self.node_height(pair[1])) / 2.0 + gap;
        let distances: Vec<f64> = row.windows(2).map(distance).collect();
        let span: f64 = distances.iter().sum();
        let placed = layers::place(&wanted, &distances);
        let (Some(first), Some(last)) = (row.first(), row.last()) else { return };
        let least = MARGIN + self.node_height(*first) / 2.0;
        let most = (self.height - MARGIN - self.node_height(*last) / 2.0 - span).max(least);
        let mut offset = 0.0;
        for (at, (&node, place)) in row.iter().zip(placed).enumerate() {
            offset += if at == 0 { 0.0 } else { distances[at - 1] };
            self.centers[node] = (place - offset).clamp(least, most) + offset;
        }
    }

    fn x(&self, node: usize) -> f64 {
        let last = (self.rows.len() - 1).max(1) as f64;
        (WIDTH - NODE_WIDTH) * self.layer_of[node] as f64 / last
    }

    fn draw(&self, drawing: &mut Drawing) {
        self.draw_links(drawing);
        let room = (WIDTH - NODE_WIDTH) / (self.rows.len().max(2) - 1) as f64 - NODE_WIDTH - 12.0;
        let is_last = |node: usize| self.layer_of[node] + 1 == self.rows.len();
        for (node, name) in self.names.iter().enumerate() {
            let (x, height) = (self.x(node), self.node_height(node).max(2.0));
            let rect = Rect { x, y: self.centers[node] - height / 2.0, width: NODE_WIDTH, height };
            let label = format!("{name}: {}", number(self.sizes[node]));
            drawing.mark(&Paint::Series(self.colours[node]), &label, |drawing| {
                drawing.rect("fill shape", rect, 2.0);
                // Two columns share the space between them.
                let label = fit(&label, 13.0, if self.rows.len() == 2 { room / 2.0 } else { room });
                match is_last(node) {
                    true => drawing.text("end halo", at(x - 6.0, self.centers[node]), &label),
                    false => drawing.text("start halo", at(x + NODE_WIDTH + 6.0, self.centers[node]), &label),
                }
            });
        }
    }

    /// Returns the places where each band leaves or enters its node: in the order of the nodes at the other ends.
    fn ends(&self, is_start: bool) -> Vec<f64> {
        let own = |index: usize| if is_start { self.links[index].0.0 } else { self.links[index].0.1 };
        let other = |index: usize| if is_start { self.links[index].0.1 } else { self.links[index].0.0 };
        let mut order: Vec<usize> = (0..self.links.len()).collect();
        order.sort_by(|&a, &b| self.centers[other(a)].total_cmp(&self.centers[other(b)]));
        let top = |node: usize| self.centers[node] - self.node_height(node) / 2.0;
        let mut next: Vec<f64> = (0..self.names.len()).map(top).collect();
        let mut places = vec![0.0; self.links.len()];
        for index in order {
            let width = self.links[index].1 * self.scale;
            places[index] = next[own(index)] + width / 2.0;
            next[own(index)] += width;
        }
        places
    }

    fn draw_links(&self, drawing: &mut Drawing) {
        let (starts, ends) = (self.ends(true), self.ends(false));
        for (index, &((from, to), value)) in self.links.iter().enumerate() {
            let (start, end) = (at(self.x(from) + NODE_WIDTH, starts[index]), at(self.x(to), ends[index]));
            let middle = f64::midpoint(start.x, end.x);
            let path = format!("M{start}C{} {} {end}", at(middle, start.y), at(middle, end.y));
            let name = format!("{} to {}: {}", self.names[from], self.names[to], number(value));
            let width = (value * self.scale).max(1.0);
            let paint = Paint::Series(self.colours[from]);
            drawing.mark(&paint, &name, |drawing| drawing.stroke("band", &path, width));
        }
    }
}

/// Returns the space between nodes: less where a layer has many.
fn gap(nodes: usize, height: f64) -> f64 {
    GAP.min(height / 2.0 / nodes as f64)
}

fn cycle_fault(names: &[String], cycle: &[usize]) -> Fault {
    let mut path: Vec<&str> = cycle.iter().take(MAX_CYCLE_NAMES).map(|&node| names[node].as_str()).collect();
    path.push(if cycle.len() > MAX_CYCLE_NAMES { "…" } else { path.first().copied().unwrap_or_default() });
    let path = path.join(" → ");
    let problem = format!(
        "they form a cycle ({path}); flows lead in one direction. Use a node of its own for what comes back."
    );
    Fault::new("data.links", problem)
}
