//! Boxes and lines between them: the layout of flowcharts and class diagrams.
//!
//! A group is laid out by itself and is then a box of the graph around it.

use super::super::{
    drawing::{Point, Rect, at},
    layers::{self, Edge, Layered},
};

/// Space between boxes side by side, between layers, between a layer and the labels beside it, between lines, and around a
/// group.
const SIDE_GAP: f64 = 34.0;
const LAYER_GAP: f64 = 46.0;
const LABEL_GAP: f64 = 29.0;
const BEND_GAP: f64 = 18.0;
const PADDING: f64 = 18.0;

/// Height of the title of a group.
const TITLE_HEIGHT: f64 = 22.0;

/// Number of times that boxes are moved towards their neighbours.
const ROUNDS: usize = 10;

/// Distance of a line that leads back to its own box.
const LOOP_SIZE: f64 = 26.0;

/// Direction of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Down,
    Up,
    Right,
    Left,
}

impl Direction {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "TD" | "TB" => Self::Down,
            "BT" => Self::Up,
            "LR" => Self::Right,
            "RL" => Self::Left,
            _ => return None,
        })
    }

    fn is_sideways(self) -> bool {
        matches!(self, Self::Left | Self::Right)
    }
}

/// A size, as width and height.
pub(super) type Size = (f64, f64);

/// A line between two boxes.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Option<Size>,
}

/// A box, or a group of boxes with its index.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Node(usize),
    Group(usize),
}

/// Boxes that are laid out together.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) title: String,
    pub(super) direction: Direction,
    pub(super) items: Vec<Item>,
}

/// A graph: groups contain boxes and other groups; the first one is the whole.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) sizes: Vec<Size>,
    pub(super) groups: Vec<Group>,
    pub(super) links: Vec<GraphLink>,
}

/// A line between boxes or groups.
#[derive(Debug, Clone)]
pub(super) struct GraphLink {
    pub(super) from: Item,
    pub(super) to: Item,
    pub(super) label: Option<Size>,
}

/// The way of a line: points, and whether it goes sideways.
#[derive(Debug, Clone, Default)]
pub(super) struct Route {
    pub(super) points: Vec<Point>,
    pub(super) is_sideways: bool,
    pub(super) label: Option<Point>,
}

/// Places of everything.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) size: Size,
    pub(super) nodes: Vec<Rect>,
    pub(super) groups: Vec<Rect>,
    pub(super) routes: Vec<Route>,
}

/// Returns the layout of a graph, or the index of a link between a group and something within it.
pub(super) fn layout(graph: &Graph) -> Result<Layout, usize> {
    let none = Rect { x: 0.0, y: 0.0, width: 0.0, height: 0.0 };
    let parents = Parents::new(graph);
    let mut links_of = vec![Vec::new(); graph.groups.len()];
    for (index, link) in graph.links.iter().enumerate() {
        let (group, from, to) = parents.meeting(&link.from, &link.to).ok_or(index)?;
        links_of[group].push((index, Link { from, to, label: link.label }));
    }
    let mut layout = Layout {
        size: (0.0, 0.0),
        nodes: vec![none; graph.sizes.len()],
        groups: vec![none; graph.groups.len()],
        routes: vec![Route::default(); graph.links.len()],
    };
    let mut placer = Placer { graph, links_of, layout: &mut layout };
    let size = placer.place(0);
    layout.size = (size.0 + 2.0 * PADDING, size.1 + 2.0 * PADDING);
    layout.shift(graph, 0, PADDING, PADDING, &|index| {
        parents.meeting(&graph.links[index].from, &graph.links[index].to).map(|it| it.0)
    });
    layout.connect(graph);
    Ok(layout)
}

/// The groups that contain each box and group.
struct Parents {
    of_node: Vec<usize>,
    of_group: Vec<Option<usize>>,
    /// Position in the list of the parent.
    place_of_node: Vec<usize>,
    place_of_group: Vec<usize>,
}

impl Parents {
    fn new(graph: &Graph) -> Self {
        let mut parents = Self {
            of_node: vec![0; graph.sizes.len()],
            of_group: vec![None; graph.groups.len()],
            place_of_node: vec![0; graph.sizes.len()],
            place_of_group: vec![0; graph.groups.len()],
        };
        for (group, content) in graph.groups.iter().enumerate() {
            for (place, item) in content.items.iter().enumerate() {
                match *item {
                    Item::Node(node) => (parents.of_node[node], parents.place_of_node[node]) = (group, place),
                    Item::Group(inner) => {
                        (parents.of_group[inner], parents.place_of_group[inner]) = (Some(group), place);
                    }
                }
            }
        }
        parents
    }

    /// Returns the groups around something with the position within each, from inside out.
    fn path(&self, item: &Item) -> Vec<(usize, usize)> {
        let (mut group, place) = match *item {
            Item::Node(node) => (Some(self.of_node[node]), self.place_of_node[node]),
            Item::Group(group) => (self.of_group[group], self.place_of_group[group]),
        };
        let mut path = Vec::new();
        let mut place = place;
        while let Some(current) = group {
            path.push((current, place));
            (group, place) = (self.of_group[current], self.place_of_group[current]);
        }
        path
    }

    /// Returns the smallest group around two things, and their positions in it.
    fn meeting(&self, one: &Item, other: &Item) -> Option<(usize, usize, usize)> {
        let (path, others) = (self.path(one), self.path(other));
        let is_within = |outer: &Item, path: &[(usize, usize)]| matches!(outer, Item::Group(group) if path.iter().any(|(inner, _)| inner == group));
        if is_within(one, &others) || is_within(other, &path) {
            return None;
        }
        path.iter().find_map(|&(group, place)| {
            others.iter().find(|(other, _)| *other == group).map(|&(_, other)| (group, place, other))
        })
    }
}

struct Placer<'a> {
    graph: &'a Graph,
    links_of: Vec<Vec<(usize, Link)>>,
    layout: &'a mut Layout,
}

impl Placer<'_> {
    /// Places what is in a group, relative to its corner. Returns its size.
    fn place(&mut self, group: usize) -> Size {
        let content = &self.graph.groups[group];
        let mut sizes = Vec::new();
        for item in &content.items {
            sizes.push(match *item {
                Item::Node(node) => self.graph.sizes[node],
                Item::Group(inner) => {
                    let (width, height) = self.place(inner);
                    let title = super::super::text::width(&self.graph.groups[inner].title, 13.0);
                    (width.max(title) + 2.0 * PADDING, height + 2.0 * PADDING + TITLE_HEIGHT)
                }
            });
        }
        let links: Vec<Link> = self.links_of[group].iter().map(|(_, link)| link.clone()).collect();
        let flat = flat_layout(&sizes, &links, content.direction);
        for (item, rect) in content.items.iter().zip(&flat.rects) {
            match *item {
                Item::Node(node) => self.layout.nodes[node] = *rect,
                Item::Group(inner) => self.layout.groups[inner] = *rect,
            }
        }
        for ((index, _), route) in self.links_of[group].iter().zip(flat.routes) {
            self.layout.routes[*index] = route;
        }
        flat.size
    }
}

impl Layout {
    /// Moves what is in a group to its place on the page.
    fn shift(
        &mut self,
        graph: &Graph,
        group: usize,
        x: f64,
        y: f64,
        group_of: &dyn Fn(usize) -> Option<usize>,
    ) {
        for (index, route) in self.routes.iter_mut().enumerate() {
            if group_of(index) == Some(group) {
                for point in route.points.iter_mut().chain(&mut route.label) {
                    *point = at(point.x + x, point.y + y);
                }
            }
        }
        for item in &graph.groups[group].items {
            match *item {
                Item::Node(node) => {
                    self.nodes[node].x += x;
                    self.nodes[node].y += y;
                }
                Item::Group(inner) => {
                    self.groups[inner].x += x;
                    self.groups[inner].y += y;
                    let Rect { x, y, .. } = self.groups[inner];
                    self.shift(graph, inner, x + PADDING, y + PADDING + TITLE_HEIGHT, group_of);
                }
            }
        }
    }

    /// Leads lines to the boxes themselves where these are within groups.
    fn connect(&mut self, graph: &Graph) {
        for (link, route) in graph.links.iter().zip(&mut self.routes) {
            if link.from == link.to {
                continue;
            }
            let rect = |item: &Item| match *item {
                Item::Node(node) => self.nodes[node],
                Item::Group(group) => self.groups[group],
            };
            let [first, .., last] = route.points.as_mut_slice() else { continue };
            let is_forward = if route.is_sideways { first.x <= last.x } else { first.y <= last.y };
            *first = port(rect(&link.from), route.is_sideways, is_forward);
            *last = port(rect(&link.to), route.is_sideways, !is_forward);
        }
    }
}

/// Returns the middle of the side where a line leaves a box.
fn port(rect: Rect, is_sideways: bool, is_forward: bool) -> Point {
    let center = rect.center();
    match (is_sideways, is_forward) {
        (false, true) => at(center.x, rect.y + rect.height),
        (false, false) => at(center.x, rect.y),
        (true, true) => at(rect.x + rect.width, center.y),
        (true, false) => at(rect.x, center.y),
    }
}

/// Places of boxes and lines on one level.
struct FlatLayout {
    size: Size,
    rects: Vec<Rect>,
    routes: Vec<Route>,
}

/// Lays out boxes in layers. Inside, layers follow each other along *main*, and boxes along *cross*.
fn flat_layout(sizes: &[Size], links: &[Link], direction: Direction) -> FlatLayout {
    let is_sideways = direction.is_sideways();
    let turn = |(width, height): Size| if is_sideways { (height, width) } else { (width, height) };
    let ends: Vec<Edge> = links.iter().map(|link| (link.from, link.to)).collect();
    let turned = layers::turned(sizes.len(), &ends);
    let straight = |(index, &(from, to)): (usize, &Edge)| if turned[index] { (to, from) } else { (from, to) };
    let edges: Vec<Edge> = ends.iter().enumerate().map(straight).collect();
    let between: Vec<usize> = (0..edges.len()).filter(|&index| edges[index].0 != edges[index].1).collect();
    let acyclic: Vec<Edge> = between.iter().map(|&index| edges[index]).collect();
    let mut layer_of = layers::assign(sizes.len(), &acyclic).unwrap_or_else(|_| vec![0; sizes.len()]);
    pull_sources(&mut layer_of, &acyclic);
    let has_labels = links.iter().any(|link| link.label.is_some());
    let has_doubles = acyclic.iter().enumerate().any(|(index, edge)| acyclic[..index].contains(edge));
    let is_doubled = has_labels || has_doubles;
    if is_doubled {
        // A layer between two others has the labels, and keeps lines between the same boxes apart.
        layer_of.iter_mut().for_each(|layer| *layer *= 2);
    }
    let layered = Layered::new(&layer_of, &acyclic);
    let mut extents: Vec<Size> = sizes.iter().copied().map(turn).collect();
    extents.resize(layered.count, (0.0, 0.0));
    for (chain, &index) in layered.chains.iter().zip(&between) {
        if let Some(label) = links[index].label {
            extents[chain[chain.len() / 2]] = turn(label);
        }
    }
    let cross = cross_places(&layered, &extents, sizes.len());
    let gap = if is_doubled { LABEL_GAP } else { LAYER_GAP };
    let (mains, length) = main_places(&layered, &extents, gap);
    let place = Placement { direction, length, breadth: breadth(&cross, &extents), cross, mains };
    place.finish(sizes, links, &layered, &between, &turned)
}

/// Moves boxes without lines into them next to the first box that they lead to.
fn pull_sources(layer_of: &mut [usize], edges: &[Edge]) {
    for node in 0..layer_of.len() {
        let nearest = edges.iter().filter(|edge| edge.0 == node).map(|edge| layer_of[edge.1]).min();
        if let Some(nearest) = nearest.filter(|_| edges.iter().all(|edge| edge.1 != node)) {
            layer_of[node] = nearest.saturating_sub(1);
        }
    }
}

/// Returns the centre of each box and bend along the layers.
fn cross_places(layered: &Layered, extents: &[Size], nodes: usize) -> Vec<f64> {
    let (mut before, mut after) = (vec![Vec::new(); layered.count], vec![Vec::new(); layered.count]);
    for (from, to) in layered.steps() {
        after[from].push(to);
        before[to].push(from);
    }
    let distance = |pair: &[usize]| {
        let gap = if pair.iter().all(|item| *item < nodes) { SIDE_GAP } else { BEND_GAP };
        (extents[pair[0]].0 + extents[pair[1]].0) / 2.0 + gap
    };
    let mut places = vec![0.0; layered.count];
    for round in 0..=ROUNDS {
        let neighbours = if round % 2 == 1 { &before } else { &after };
        let rows: Vec<&Vec<usize>> =
            if round % 2 == 1 { layered.rows.iter().collect() } else { layered.rows.iter().rev().collect() };
        for row in rows {
            let wanted = |&node: &usize| {
                let all = &neighbours[node];
                let sum: f64 = all.iter().map(|&other| places[other]).sum();
                if all.is_empty() { places[node] } else { sum / all.len() as f64 }
            };
            let wanted: Vec<f64> = row.iter().map(wanted).collect();
            let distances: Vec<f64> = row.windows(2).map(distance).collect();
            for (node, place) in row.iter().zip(layers::place(&wanted, &distances)) {
                places[*node] = place;
            }
        }
    }
    let least =
        (0..layered.count).map(|item| places[item] - extents[item].0 / 2.0).fold(f64::INFINITY, f64::min);
    places.iter_mut().for_each(|place| *place -= least);
    places
}

fn breadth(cross: &[f64], extents: &[Size]) -> f64 {
    cross.iter().zip(extents).map(|(center, extent)| center + extent.0 / 2.0).fold(0.0, f64::max)
}

/// Returns the centre of each layer, and the length of all.
fn main_places(layered: &Layered, extents: &[Size], gap: f64) -> (Vec<f64>, f64) {
    let mut mains = vec![0.0; layered.count];
    let mut end = 0.0;
    for (index, row) in layered.rows.iter().enumerate() {
        let thickness = row.iter().map(|&node| extents[node].1).fold(0.0, f64::max);
        let start = if index == 0 { 0.0 } else { end + gap };
        for &node in row {
            mains[node] = start + thickness / 2.0;
        }
        end = start + thickness;
    }
    (mains, end)
}

/// Places along and across the layers, and how these become places on the page.
struct Placement {
    direction: Direction,
    length: f64,
    breadth: f64,
    cross: Vec<f64>,
    mains: Vec<f64>,
}

impl Placement {
    fn point(&self, item: usize) -> Point {
        let (cross, main) = (self.cross[item], self.mains[item]);
        match self.direction {
            Direction::Down => at(cross, main),
            Direction::Up => at(cross, self.length - main),
            Direction::Right => at(main, cross),
            Direction::Left => at(self.length - main, cross),
        }
    }

    fn finish(
        &self,
        sizes: &[Size],
        links: &[Link],
        layered: &Layered,
        between: &[usize],
        turned: &[bool],
    ) -> FlatLayout {
        let is_sideways = self.direction.is_sideways();
        let rect = |(node, &(width, height)): (usize, &Size)| {
            let center = self.point(node);
            Rect { x: center.x - width / 2.0, y: center.y - height / 2.0, width, height }
        };
        let rects: Vec<Rect> = sizes.iter().enumerate().map(rect).collect();
        let mut size = if is_sideways { (self.length, self.breadth) } else { (self.breadth, self.length) };
        let mut routes: Vec<Route> =
            links.iter().map(|link| own_loop(rects[link.from], link.label)).collect();
        for (chain, &index) in layered.chains.iter().zip(between) {
            let mut points: Vec<Point> = chain.iter().map(|&item| self.point(item)).collect();
            let label = links[index].label.map(|_| points[chain.len() / 2]);
            if turned[index] {
                points.reverse();
            }
            routes[index] = Route { points, is_sideways, label };
        }
        for (link, route) in links.iter().zip(&routes).filter(|(link, _)| link.from == link.to) {
            let right = route.points.iter().map(|point| point.x).fold(0.0, f64::max);
            size.0 = f64::max(size.0, right + link.label.map_or(0.0, |label| label.0 + 4.0));
        }
        FlatLayout { size, rects, routes }
    }
}

/// Returns a line from the right side of a box back to it.
fn own_loop(rect: Rect, label: Option<Size>) -> Route {
    let (right, middle) = (rect.x + rect.width, rect.y + rect.height / 2.0);
    let points = vec![
        at(right, middle - 7.0),
        at(right + LOOP_SIZE, middle - 7.0),
        at(right + LOOP_SIZE, middle + 7.0),
        at(right, middle + 7.0),
    ];
    let label = label.map(|label| at(right + LOOP_SIZE + label.0 / 2.0, middle));
    Route { points, is_sideways: true, label }
}
