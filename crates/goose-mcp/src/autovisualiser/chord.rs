//! Chord diagrams: flows between the parts of a circle.

use std::f64::consts::TAU;

use goose_extension::prelude::*;

use super::{
    donut::ring_part,
    drawing::{Drawing, Paint, Point, at, on_circle},
    fault::{Checked, Fault, check_count, check_size, check_total},
    page::{Figure, Page, Table},
    text::{clean, counted, fit, number},
};

const MIN_LABELS: usize = 2;
const MAX_LABELS: usize = 40;

const SIZE: f64 = 760.0;
const RADIUS: f64 = 240.0;
const THICKNESS: f64 = 20.0;

/// Width for a label.
const LABEL_WIDTH: f64 = 110.0;

/// Share of the circle that is left empty between its parts.
const EMPTY_SHARE: f64 = 0.08;

/// Data of a chord diagram.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ChordData {
    /// Names of the parts, 2 to 40
    labels: Vec<String>,
    /// `matrix[i][j]`: flow from part i to part j, 0 or more
    matrix: Vec<Vec<f64>>,
    /// Title; default: none
    title: Option<String>,
}

/// Start and end of an arc, in radians from the top.
type Arc = (f64, f64);

/// Returns the page of a diagram.
pub(super) fn page(data: ChordData) -> Checked<Page> {
    check(&data)?;
    let labels: Vec<String> = data.labels.iter().map(|label| clean(label)).collect();
    let matrix = &data.matrix;
    let chords = Chords::new(matrix);
    let mut drawing = Drawing::new(SIZE, SIZE);
    let mut table = Table::new(&["From", "To", "Value"]);
    let mut flows = 0;
    for from in 0..labels.len() {
        for to in from..labels.len() {
            let (there, back) = (matrix[from][to], matrix[to][from]);
            if there.max(back) > 0.0 {
                let name = match (from == to, there > 0.0, back > 0.0) {
                    (true, ..) => format!("{} to itself: {}", labels[from], number(there)),
                    (_, true, true) => format!(
                        "{0} to {1}: {2}; {1} to {0}: {3}",
                        labels[from],
                        labels[to],
                        number(there),
                        number(back)
                    ),
                    (_, true, false) => format!("{} to {}: {}", labels[from], labels[to], number(there)),
                    _ => format!("{} to {}: {}", labels[to], labels[from], number(back)),
                };
                let colour = if back > there { to } else { from };
                let path = ribbon(chords.parts[from][to], chords.parts[to][from]);
                drawing.mark(&Paint::Series(colour), &name, |drawing| drawing.path("ribbon shape", &path));
            }
        }
        for (to, value) in matrix[from].iter().enumerate().filter(|(_, value)| **value > 0.0) {
            flows += 1;
            table.row([labels[from].clone(), labels[to].clone(), number(*value)]);
        }
    }
    for (index, label) in labels.iter().enumerate() {
        draw_part(&mut drawing, chords.arcs[index], index, label, matrix[index].iter().sum());
    }
    let summary = format!("{}, {}", counted(labels.len(), "label"), counted(flows, "flow"));
    let figures = vec![Figure { caption: None, drawing, legend: Vec::new(), table }];
    Ok(Page { kind: "chord", noun: "chord diagram", title: data.title, subtitle: None, summary, figures })
}

fn check(data: &ChordData) -> Checked<()> {
    let count = data.labels.len();
    check_count("data.labels", count, MIN_LABELS, MAX_LABELS, "labels")?;
    let misfit = |field: String, rows: &str, found: usize| {
        Err(Fault::new(field, format!("it has {found} {rows}; data.labels has {count} labels.")))
    };
    if data.matrix.len() != count {
        return misfit("data.matrix".to_owned(), "rows", data.matrix.len());
    }
    for (index, row) in data.matrix.iter().enumerate() {
        if row.len() != count {
            return misfit(format!("data.matrix[{index}]"), "numbers", row.len());
        }
        for (column, value) in row.iter().enumerate() {
            check_size(|| format!("data.matrix[{index}][{column}]"), *value)?;
        }
    }
    check_total("data.matrix", data.matrix.iter().flatten().sum())
}

/// Places on the circle.
struct Chords {
    /// Arc of each part.
    arcs: Vec<Arc>,
    /// Arc of each flow, within the arc of the part that it starts from.
    parts: Vec<Vec<Arc>>,
}

impl Chords {
    fn new(matrix: &[Vec<f64>]) -> Self {
        let total: f64 = matrix.iter().flatten().sum();
        let gap = TAU * EMPTY_SHARE / matrix.len() as f64;
        let scale = TAU * (1.0 - EMPTY_SHARE) / total;
        let mut chords = Self { arcs: Vec::new(), parts: Vec::new() };
        let mut angle = gap / 2.0;
        for row in matrix {
            let start = angle;
            let mut parts = Vec::new();
            for value in row {
                parts.push((angle, angle + value * scale));
                angle += value * scale;
            }
            chords.parts.push(parts);
            chords.arcs.push((start, angle));
            angle += gap;
        }
        chords
    }
}

fn center() -> Point {
    at(SIZE / 2.0, SIZE / 2.0)
}

/// Returns the path of a ribbon between two arcs.
fn ribbon(one: Arc, other: Arc) -> String {
    let radius = RADIUS - 3.0;
    let point = |angle| on_circle(center(), radius, angle);
    let arc = |(from, to): Arc| {
        let large = u8::from(to - from > TAU / 2.0);
        format!("A{radius} {radius} 0 {large} 1 {}", point(to))
    };
    let bend = |to: f64| format!("Q{} {}", center(), point(to));
    let mut path = format!("M{}{}", point(one.0), arc(one));
    if one != other {
        path += &bend(other.0);
        path += &arc(other);
    }
    path + &bend(one.0) + "Z"
}

fn draw_part(drawing: &mut Drawing, arc: Arc, index: usize, label: &str, total: f64) {
    let name = format!("{label}: {} in all", number(total));
    drawing.mark(&Paint::Series(index), &name, |drawing| {
        let end = arc.1.max(arc.0 + 0.004);
        drawing.path("fill shape", &ring_part(center(), RADIUS, RADIUS + THICKNESS, arc.0, end));
    });
    let middle = f64::midpoint(arc.0, arc.1);
    let place = on_circle(center(), RADIUS + THICKNESS + 8.0, middle);
    let shown = fit(label, 13.0, LABEL_WIDTH);
    // Text on the left is turned around, so that it is never upside down.
    let degrees = middle.to_degrees() - 90.0;
    if middle <= TAU / 2.0 {
        drawing.turned_text("start", place, degrees, &shown);
    } else {
        drawing.turned_text("end", place, degrees + 180.0, &shown);
    }
}
