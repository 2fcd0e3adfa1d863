//! Radar charts: several values of a few things, on axes around a centre.

use std::f64::consts::TAU;

use goose_extension::prelude::*;

use super::{
    drawing::{Drawing, Paint, Point, at, on_circle},
    fault::{Checked, Fault, check_count, check_number},
    page::{Figure, Page, Table},
    scale::Scale,
    text::{clean, counted, fit, number},
};

const MIN_AXES: usize = 3;
const MAX_AXES: usize = 40;
const MAX_DATASETS: usize = 12;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 540.0;
const RADIUS: f64 = 215.0;

/// Width for the name of an axis.
const LABEL_WIDTH: f64 = 130.0;

/// Data of a radar chart.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RadarData {
    /// Names of the axes, 3 to 40
    labels: Vec<String>,
    /// One for each thing that is compared
    datasets: Vec<RadarDataset>,
    /// Title; default: none
    title: Option<String>,
}

/// Values of one thing.
#[derive(Debug, Deserialize, JsonSchema)]
struct RadarDataset {
    /// Name of the thing
    label: String,
    /// A value for each axis
    data: Vec<f64>,
}

/// Returns the page of a chart.
pub(super) fn page(data: RadarData) -> Checked<Page> {
    check(&data)?;
    let axes: Vec<String> = data.labels.iter().map(|label| clean(label)).collect();
    let values = data.datasets.iter().flat_map(|set| set.data.iter().copied());
    let scale = Scale::from_zero(values, 5.0);
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    draw_axes(&mut drawing, &axes, scale);
    let mut table = Table::new(&["Axis"]);
    table.rows = axes.iter().map(|axis| vec![axis.clone()]).collect();
    let mut legend = Vec::new();
    for (index, set) in data.datasets.iter().enumerate() {
        let label = clean(&set.label);
        draw_dataset(&mut drawing, &axes, scale, index, (&label, &set.data));
        for (row, value) in table.rows.iter_mut().zip(&set.data) {
            row.push(number(*value));
        }
        table.head.push(label.clone());
        legend.push((Paint::Series(index), label));
    }
    let summary = format!("{}, {}", counted(data.datasets.len(), "dataset"), counted(axes.len(), "label"));
    let figures = vec![Figure { caption: None, drawing, legend, table }];
    Ok(Page { kind: "radar", noun: "radar chart", title: data.title, subtitle: None, summary, figures })
}

fn check(data: &RadarData) -> Checked<()> {
    check_count("data.labels", data.labels.len(), MIN_AXES, MAX_AXES, "labels")?;
    check_count("data.datasets", data.datasets.len(), 1, MAX_DATASETS, "datasets")?;
    for (index, set) in data.datasets.iter().enumerate() {
        let field = format!("data.datasets[{index}].data");
        if set.data.len() != data.labels.len() {
            let problem = format!("it has {} values for {} labels.", set.data.len(), data.labels.len());
            return Err(Fault::new(field, problem));
        }
        for (at, value) in set.data.iter().enumerate() {
            check_number(|| format!("{field}[{at}]"), *value)?;
        }
    }
    Ok(())
}

fn center() -> Point {
    at(WIDTH / 2.0, HEIGHT / 2.0)
}

fn angle(axis: usize, axes: usize) -> f64 {
    axis as f64 / axes as f64 * TAU
}

fn polygon(radii: impl ExactSizeIterator<Item = f64>) -> String {
    let count = radii.len();
    let points =
        radii.enumerate().map(|(axis, radius)| on_circle(center(), radius, angle(axis, count)).to_string());
    format!("M{}Z", points.collect::<Vec<_>>().join("L"))
}

fn draw_axes(drawing: &mut Drawing, axes: &[String], scale: Scale) {
    for tick in scale.ticks() {
        let radius = scale.share(tick) * RADIUS;
        let class = if tick == 0.0 { "axis" } else { "grid" };
        drawing.path(class, &polygon(axes.iter().map(|_| radius)));
    }
    for (index, axis) in axes.iter().enumerate() {
        let angle = angle(index, axes.len());
        drawing.line("grid", center(), on_circle(center(), RADIUS, angle));
        let class = match angle.sin() {
            sine if sine > 0.1 => "start",
            sine if sine < -0.1 => "end",
            _ => "middle",
        };
        drawing.text(class, on_circle(center(), RADIUS + 16.0, angle), &fit(axis, 13.0, LABEL_WIDTH));
    }
    for tick in scale.ticks() {
        let place = at(center().x - 5.0, center().y - scale.share(tick) * RADIUS);
        drawing.text("soft small end halo", place, &number(tick));
    }
}

fn draw_dataset(
    drawing: &mut Drawing,
    axes: &[String],
    scale: Scale,
    index: usize,
    (label, data): (&str, &[f64]),
) {
    let paint = Paint::Series(index);
    let radii = || data.iter().map(|value| scale.share(*value) * RADIUS);
    drawing.painted(&paint, |drawing| {
        let outline = polygon(radii());
        drawing.path("area", &outline);
        drawing.stroke(&format!("curve dash{}", index % 4), &outline, 2.5);
    });
    for (axis, (radius, value)) in radii().zip(data).enumerate() {
        let name = format!("{label}, {}: {}", axes[axis], number(*value));
        let place = on_circle(center(), radius, angle(axis, axes.len()));
        drawing.mark(&paint, &name, |drawing| drawing.circle("fill shape", place, 5.0));
    }
}
