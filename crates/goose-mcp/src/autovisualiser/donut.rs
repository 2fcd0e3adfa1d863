//! Donut and pie charts, one or several side by side.

use std::f64::consts::TAU;

use goose_extension::prelude::*;

use super::{
    drawing::{Drawing, Paint, Point, at, on_circle},
    fault::{Checked, Fault, check_count, check_size, check_total},
    page::{Figure, Page, Table},
    text::{clean, counted, number, percent},
};

const MAX_CHARTS: usize = 24;
const MAX_SLICES: usize = 100;

const SIZE: f64 = 360.0;
const RADIUS: f64 = 165.0;
const HOLE: f64 = 92.0;

/// Smallest share of a slice that has room for its percentage.
const MIN_LABELLED_SHARE: f64 = 0.05;

/// Share from which a slice is drawn as a full circle.
const MAX_ARC_SHARE: f64 = 0.999;

/// One donut or pie.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DonutChart {
    /// Numbers, or objects with label and value
    values: Vec<DonutValue>,
    /// Labels of the values; default: their own
    labels: Option<Vec<String>>,
    /// Title; default: none
    title: Option<String>,
    /// `doughnut` (default) or `pie`
    #[serde(rename = "type")]
    kind: Option<DonutKind>,
}

/// A value of a donut.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum DonutValue {
    /// A number; its label is in `labels`.
    Number(f64),
    /// A number with its label.
    Labelled {
        /// Label of the value
        label: String,
        /// Size of the slice, 0 or more
        value: f64,
    },
}

/// Shape of the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DonutKind {
    Doughnut,
    Pie,
}

/// A part of a whole.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) label: String,
    pub(super) value: f64,
}

/// Returns the page of the charts.
pub(super) fn page(charts: Vec<DonutChart>) -> Checked<Page> {
    check_count("data", charts.len(), 1, MAX_CHARTS, "charts")?;
    let mut figures = Vec::new();
    let mut slice_count = 0;
    let is_single = charts.len() == 1;
    let title = charts.first().filter(|_| is_single).and_then(|chart| chart.title.clone());
    for (index, chart) in charts.into_iter().enumerate() {
        let field = format!("data[{index}]");
        let slices = slices(&field, &chart)?;
        slice_count += slices.len();
        let hole = if chart.kind == Some(DonutKind::Pie) { 0.0 } else { HOLE };
        figures.push(figure(&slices, hole, chart.title.filter(|_| !is_single)));
    }
    let summary = match figures.len() {
        1 => counted(slice_count, "value"),
        charts => format!("{charts} charts, {}", counted(slice_count, "value")),
    };
    Ok(Page { kind: "donut", noun: "donut chart", title, subtitle: None, summary, figures })
}

fn slices(field: &str, chart: &DonutChart) -> Checked<Vec<Slice>> {
    let values = format!("{field}.values");
    check_count(&values, chart.values.len(), 1, MAX_SLICES, "values")?;
    if let Some(labels) = &chart.labels
        && labels.len() != chart.values.len()
    {
        let problem = format!("it has {} labels for {} values.", labels.len(), chart.values.len());
        return Err(Fault::new(format!("{field}.labels"), problem));
    }
    let mut slices = Vec::new();
    for (index, value) in chart.values.iter().enumerate() {
        let given = chart.labels.as_ref().and_then(|labels| labels.get(index));
        let (label, value) = match value {
            DonutValue::Labelled { label, value } => (given.unwrap_or(label), *value),
            DonutValue::Number(value) => {
                let missing = || {
                    Fault::new(format!("{values}[{index}]"), "it has no label; add `labels` to the chart.")
                };
                (given.ok_or_else(missing)?, *value)
            }
        };
        check_size(|| format!("{values}[{index}]"), value)?;
        slices.push(Slice { label: clean(label), value });
    }
    check_total(&values, slices.iter().map(|slice| slice.value).sum())?;
    Ok(slices)
}

/// Returns the drawing of parts of a whole. Their sum is not 0.
pub(super) fn figure(slices: &[Slice], hole: f64, caption: Option<String>) -> Figure {
    let total: f64 = slices.iter().map(|slice| slice.value).sum();
    let mut drawing = Drawing::new(SIZE, SIZE);
    let center = at(SIZE / 2.0, SIZE / 2.0);
    let mut table = Table::new(&["Label", "Value", "Share"]);
    let mut legend = Vec::new();
    let mut angle = 0.0;
    for (index, slice) in slices.iter().enumerate() {
        let share = percent(slice.value, total);
        let (paint, end) = (Paint::Series(index), angle + slice.value / total * TAU);
        let name = format!("{}: {} ({share})", slice.label, number(slice.value));
        drawing.mark(&paint, &name, |drawing| {
            drawing.path("fill shape", &ring_part(center, hole, RADIUS, angle, end));
            if slice.value / total >= MIN_LABELLED_SHARE {
                let place =
                    on_circle(center, (hole.max(RADIUS / 3.0) + RADIUS) / 2.0, f64::midpoint(angle, end));
                drawing.text("on middle strong", place, &share);
            }
        });
        legend.push((paint, name));
        table.row([slice.label.clone(), number(slice.value), share]);
        angle = end;
    }
    if hole > 0.0 {
        drawing.text("large middle", at(center.x, center.y - 8.0), &number(total));
        drawing.text("soft middle", at(center.x, center.y + 16.0), "total");
    }
    Figure { caption, drawing, legend, table }
}

/// Returns the path of a part of a ring, or of a disc where the inner radius is 0.
pub(super) fn ring_part(center: Point, inner: f64, outer: f64, from: f64, to: f64) -> String {
    let point = |radius, angle| on_circle(center, radius, angle);
    let arc = |radius: f64, angle: f64, sweep: u8, large: u8| {
        format!("A{radius} {radius} 0 {large} {sweep} {}", point(radius, angle))
    };
    if to - from > TAU * MAX_ARC_SHARE {
        // An arc from a point to itself is nothing, so a full ring is made of halves.
        let circle = |radius, sweep| {
            let start = point(radius, 0.0);
            format!("M{start}{}{}Z", arc(radius, TAU / 2.0, sweep, 0), arc(radius, 0.0, sweep, 0))
        };
        let hole = if inner > 0.0 { circle(inner, 0) } else { String::new() };
        return circle(outer, 1) + &hole;
    }
    let large = u8::from(to - from > TAU / 2.0);
    let path = format!("M{}{}", point(outer, from), arc(outer, to, 1, large));
    if inner > 0.0 {
        path + &format!("L{}{}Z", point(inner, to), arc(inner, from, 0, large))
    } else {
        path + &format!("L{center}Z")
    }
}
