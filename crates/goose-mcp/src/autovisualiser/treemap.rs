//! Treemaps: a hierarchy as rectangles within rectangles, whose areas are the values.

use std::collections::HashMap;

use goose_extension::prelude::*;

use super::{
    drawing::{Drawing, Paint, Rect, at},
    fault::{Checked, Fault, check_size, check_total},
    page::{Figure, Page, Table},
    text::{clean, counted, fit, number, percent},
};

const MAX_NODES: usize = 2_000;
const MAX_DEPTH: usize = 8;
const MAX_CATEGORIES: usize = 60;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 560.0;

/// Height of the name above the parts of a node.
const HEADER: f64 = 22.0;

/// Space between a node and its parts.
const GAP: f64 = 3.0;

/// Smallest rectangles that have a name, and whose parts are drawn within a frame.
const MIN_LABELLED: (f64, f64) = (44.0, 20.0);
const MIN_FRAMED: (f64, f64) = (60.0, 50.0);

/// A node of a treemap.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TreemapNode {
    /// Name of the node
    name: String,
    /// Size of a node without children, 0 or more; default: the sum of its children
    value: Option<f64>,
    /// Category, for the colour; default: that of the branch
    category: Option<String>,
    /// Parts of the node; default: none
    children: Option<Vec<Self>>,
}

/// A node with its size.
struct Sized {
    name: String,
    category: Option<String>,
    value: f64,
    children: Vec<Self>,
}

/// Returns the page of a hierarchy.
pub(super) fn page(root: &TreemapNode) -> Checked<Page> {
    let mut count = 0;
    let root = sized(root, "data", 0, &mut count)?;
    check_total("data", root.value)?;
    let mut map = Treemap::new(&root)?;
    let canvas = Rect { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    if root.children.is_empty() {
        map.leaf(&root, canvas, &root.name, 0);
    } else {
        map.parts(&root.children, canvas, "", None);
    }
    let legend = map.legend();
    let summary = counted(count, "node");
    let figure = Figure { caption: None, drawing: map.drawing, legend, table: map.table };
    let (title, figures) = (Some(root.name), vec![figure]);
    Ok(Page { kind: "treemap", noun: "treemap", title, subtitle: None, summary, figures })
}

fn sized(node: &TreemapNode, field: &str, depth: usize, count: &mut usize) -> Checked<Sized> {
    *count += 1;
    if *count > MAX_NODES {
        return Err(Fault::new(
            "data",
            format!("it has more than {MAX_NODES} nodes. Combine the smallest ones."),
        ));
    }
    if depth > MAX_DEPTH {
        return Err(Fault::new(
            field,
            format!("it is more than {MAX_DEPTH} levels below the root. Leave out a level."),
        ));
    }
    let given = node.children.as_deref().unwrap_or_default();
    let children = given.iter().enumerate();
    let children =
        children.map(|(at, child)| sized(child, &format!("{field}.children[{at}]"), depth + 1, count));
    let children = children.collect::<Checked<Vec<_>>>()?;
    let value = match node.value {
        _ if !children.is_empty() => children.iter().map(|child| child.value).sum(),
        Some(value) => value,
        None => {
            return Err(Fault::new(
                format!("{field}.value"),
                "it is missing; a node without children needs one.",
            ));
        }
    };
    check_size(|| format!("{field}.value"), value)?;
    let category = node.category.as_deref().map(clean);
    Ok(Sized { name: clean(&node.name), category, value, children })
}

/// The drawing, and what it is painted by.
struct Treemap {
    drawing: Drawing,
    table: Table,
    total: f64,
    /// Categories with their colours; empty where there are none.
    categories: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Treemap {
    fn new(root: &Sized) -> Checked<Self> {
        let mut categories = Vec::new();
        let mut numbers = HashMap::new();
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            if let Some(category) = &node.category {
                numbers.entry(category.clone()).or_insert_with(|| {
                    categories.push(category.clone());
                    categories.len() - 1
                });
            }
            nodes.extend(node.children.iter().rev());
        }
        if categories.len() > MAX_CATEGORIES {
            let problem =
                format!("it has {} categories; at most {MAX_CATEGORIES} are allowed.", categories.len());
            return Err(Fault::new("data", problem));
        }
        let table = Table::new(&["Name", "Category", "Value", "Share"]);
        Ok(Self { drawing: Drawing::new(WIDTH, HEIGHT), table, total: root.value, categories, numbers })
    }

    fn legend(&self) -> Vec<(Paint, String)> {
        let paints = self.categories.iter().enumerate();
        paints.map(|(number, category)| (Paint::Series(number), category.clone())).collect()
    }

    /// Draws nodes within a rectangle. `branch` is the colour of nodes without a category.
    fn parts(&mut self, nodes: &[Sized], area: Rect, path: &str, branch: Option<usize>) {
        let mut order: Vec<usize> = (0..nodes.len()).filter(|&at| nodes[at].value > 0.0).collect();
        order.sort_by(|&one, &other| nodes[other].value.total_cmp(&nodes[one].value));
        let values: Vec<f64> = order.iter().map(|&at| nodes[at].value).collect();
        for (at, rect) in order.into_iter().zip(squarify(&values, area)) {
            let node = &nodes[at];
            let path = if path.is_empty() { node.name.clone() } else { format!("{path} › {}", node.name) };
            let own = node.category.as_ref().and_then(|category| self.numbers.get(category)).copied();
            let colour = own.or(branch).unwrap_or(at);
            match node.children.as_slice() {
                [] => self.leaf(node, rect, &path, colour),
                children => {
                    let area = self.frame(node, rect);
                    self.parts(children, area, &path, Some(colour));
                }
            }
        }
    }

    /// Draws the name of a node with parts. Returns the rectangle for these.
    fn frame(&mut self, node: &Sized, rect: Rect) -> Rect {
        let Rect { x, y, width, height } = rect;
        if width < MIN_FRAMED.0 || height < MIN_FRAMED.1 {
            return rect;
        }
        let name = fit(&node.name, 13.0, width - 2.0 * GAP - 6.0);
        self.drawing.rect(
            "group",
            Rect { x: x + 1.0, y: y + 1.0, width: width - 2.0, height: height - 2.0 },
            3.0,
        );
        self.drawing.text("start strong", at(x + GAP + 4.0, y + HEADER / 2.0 + 1.0), &name);
        Rect { x: x + GAP, y: y + HEADER, width: width - 2.0 * GAP, height: height - HEADER - GAP }
    }

    fn leaf(&mut self, node: &Sized, rect: Rect, path: &str, colour: usize) {
        let (value, share) = (number(node.value), percent(node.value, self.total));
        let name = format!("{path}: {value} ({share})");
        self.drawing.mark(&Paint::Series(colour), &name, |drawing| {
            drawing.rect("fill shape", rect, 0.0);
            let Rect { x, y, width, height } = rect;
            if width < MIN_LABELLED.0 || height < MIN_LABELLED.1 {
                return;
            }
            drawing.text("on start strong", at(x + 6.0, y + 13.0), &fit(&node.name, 13.0, width - 10.0));
            if height >= 2.0 * MIN_LABELLED.1 {
                drawing.text("on start", at(x + 6.0, y + 31.0), &fit(&value, 13.0, width - 10.0));
            }
        });
        let category = node.category.clone().unwrap_or_default();
        self.table.row([path.to_owned(), category, value, share]);
    }
}

/// Divides a rectangle into areas in proportion to values, which are sorted from large to small, as close to squares as
/// possible. (Bruls, Huizing, van Wijk: Squarified Treemaps.)
fn squarify(values: &[f64], mut area: Rect) -> Vec<Rect> {
    let mut rects = Vec::with_capacity(values.len());
    let mut left: f64 = values.iter().sum();
    let mut rest = values;
    while !rest.is_empty() {
        let scale = area.width * area.height / left;
        let side = area.width.min(area.height);
        let count = row_length(rest, scale, side);
        let (row, others) = rest.split_at(count);
        let sum: f64 = row.iter().sum();
        area = place_row(row, sum, (sum / left).min(1.0), area, &mut rects);
        left -= sum;
        rest = others;
    }
    rects
}

/// Returns the number of values in a row along the shorter side, for which its worst rectangle is closest to a square.
fn row_length(values: &[f64], scale: f64, side: f64) -> usize {
    let mut sum = 0.0;
    let mut best = f64::INFINITY;
    for (count, value) in values.iter().enumerate() {
        sum += value;
        let thickness = sum * scale / side;
        let ratio = |value: f64| {
            let length = value * scale / thickness;
            (length / thickness).max(thickness / length)
        };
        let worst = ratio(values[0]).max(ratio(*value));
        if worst > best || worst.is_nan() {
            return count.max(1);
        }
        best = worst;
    }
    values.len()
}

/// Places a row along the shorter side. Returns the rectangle that is left.
fn place_row(row: &[f64], sum: f64, share: f64, area: Rect, rects: &mut Vec<Rect>) -> Rect {
    let Rect { mut x, mut y, width, height } = area;
    if width >= height {
        let thickness = width * share;
        for value in row {
            let length = height * value / sum;
            rects.push(Rect { x, y, width: thickness, height: length });
            y += length;
        }
        Rect { x: area.x + thickness, y: area.y, width: width - thickness, height }
    } else {
        let thickness = height * share;
        for value in row {
            let length = width * value / sum;
            rects.push(Rect { x, y, width: length, height: thickness });
            x += length;
        }
        Rect { x: area.x, y: area.y + thickness, width, height: height - thickness }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn areas_are_in_proportion_and_within(mut values in proptest::collection::vec(1e-6..1e9, 1..60)) {
            values.sort_by(|one: &f64, other| other.total_cmp(one));
            let area = Rect { x: 10.0, y: 20.0, width: 900.0, height: 500.0 };
            let rects = squarify(&values, area);
            prop_assert_eq!(rects.len(), values.len());
            let total: f64 = values.iter().sum();
            for (rect, value) in rects.iter().zip(&values) {
                let expected = value / total * area.width * area.height;
                prop_assert!((rect.width * rect.height - expected).abs() < 1e-6 * area.width * area.height);
                prop_assert!(rect.x > 9.9 && rect.x + rect.width < 910.1 && rect.y > 19.9 && rect.y + rect.height < 520.1);
            }
        }
    }

    #[test]
    fn rectangles_are_close_to_squares() {
        let rects =
            squarify(&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], Rect { x: 0.0, y: 0.0, width: 6.0, height: 4.0 });
        let worst = rects
            .iter()
            .map(|rect| (rect.width / rect.height).max(rect.height / rect.width))
            .fold(0.0, f64::max);
        assert!(worst < 2.8, "{rects:?}");
    }
}
