//! Line, bar and scatter charts.

use goose_extension::prelude::*;

use super::{
    drawing::{Drawing, Paint, Point, Rect, at},
    fault::{Checked, Fault, check_count, check_number},
    page::{Figure, Page, Table},
    scale::Scale,
    text::{clean, counted, fit, number, width},
};

const MAX_DATASETS: usize = 20;
const MAX_POINTS: usize = 5_000;
const MAX_LABELS: usize = 1_000;
const MAX_BORDER_WIDTH: f64 = 20.0;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 460.0;
const TOP: f64 = 16.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 34.0;

/// Height for the name of the x axis, and width for that of the y axis.
const AXIS_LABEL: f64 = 24.0;

/// Greatest width of a label below the x axis, and of a bar.
const MAX_LABEL_WIDTH: f64 = 140.0;
const MAX_BAR_WIDTH: f64 = 72.0;

/// Number of points of a line up to which they are drawn as dots.
const MAX_DOTS: usize = 120;

/// Data of a chart.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ChartData {
    /// `line`, `bar` or `scatter`
    #[serde(rename = "type")]
    kind: ChartKind,
    /// One for each line or colour
    datasets: Vec<ChartDataset>,
    /// Labels below the x axis; default: the numbers of the points
    labels: Option<Vec<String>>,
    /// Title; default: none
    title: Option<String>,
    /// Line below the title; default: none
    subtitle: Option<String>,
    /// Name of the x axis; default: none
    #[serde(rename = "xAxisLabel")]
    x_axis_label: Option<String>,
    /// Name of the y axis; default: none
    #[serde(rename = "yAxisLabel")]
    y_axis_label: Option<String>,
}

/// Kind of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChartKind {
    Line,
    Bar,
    Scatter,
}

/// Values of a line or colour.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChartDataset {
    /// Name in the legend
    label: String,
    /// Numbers, one for each label, or points
    data: Vec<ChartValue>,
    /// CSS colour; default: one of the page
    background_color: Option<String>,
    /// CSS colour of lines; default: that of the background
    border_color: Option<String>,
    /// Width of lines, 0 to 20 pixels; default: 2.5
    border_width: Option<f64>,
    /// Curvature of lines, 0 to 1; default: 0, straight
    tension: Option<f64>,
    /// Fills the area below a line; default: false
    fill: Option<bool>,
}

/// A value of a dataset.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ChartValue {
    /// A number, at its place in the list.
    Number(f64),
    /// A point.
    Point {
        /// Horizontal position, in the unit of the x axis
        x: f64,
        /// Vertical position, in the unit of the y axis
        y: f64,
    },
}

/// A dataset, checked.
struct Series {
    label: String,
    paint: Paint,
    points: Vec<(f64, f64)>,
    stroke_width: f64,
    tension: f64,
    is_filled: bool,
}

/// The horizontal axis.
enum Across {
    /// A place for each label.
    Labels(Vec<String>),
    /// A range of numbers.
    Numbers(Scale),
}

/// The chart, with its axes placed.
struct Chart {
    kind: ChartKind,
    series: Vec<Series>,
    across: Across,
    up: Scale,
    plot: Rect,
}

/// Returns the page of a chart.
pub(super) fn page(data: ChartData) -> Checked<Page> {
    let chart = Chart::new(&data)?;
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    chart.draw_axes(&mut drawing);
    chart.draw_axis_labels(&mut drawing, &data);
    match chart.kind {
        ChartKind::Bar => chart.draw_bars(&mut drawing),
        ChartKind::Line => chart.draw_lines(&mut drawing),
        ChartKind::Scatter => chart.draw_dots(&mut drawing, 5.5),
    }
    let legend = chart.series.iter().map(|series| (series.paint.clone(), series.label.clone())).collect();
    let points = chart.series.iter().map(|series| series.points.len()).sum();
    let summary = format!("{}, {}", counted(chart.series.len(), "dataset"), counted(points, "value"));
    let noun = match chart.kind {
        ChartKind::Line => "line chart",
        ChartKind::Bar => "bar chart",
        ChartKind::Scatter => "scatter chart",
    };
    let x_name = data.x_axis_label.as_deref().map(clean);
    let table = chart.table(x_name.as_deref().filter(|name| !name.is_empty()));
    let figures = vec![Figure { caption: None, drawing, legend, table }];
    Ok(Page { kind: "chart", noun, title: data.title, subtitle: data.subtitle, summary, figures })
}

impl Series {
    fn new(index: usize, set: &ChartDataset, kind: ChartKind) -> Checked<Self> {
        let field = |name: &str| format!("data.datasets[{index}].{name}");
        let colour = |name: &str, given: &Option<String>| match given
            .as_deref()
            .map(|colour| (colour, Paint::parse(colour)))
        {
            Some((colour, None)) => {
                let problem = format!(
                    "{:?} is not a CSS colour; use for example \"#1f77b4\" or \"teal\".",
                    clean(colour)
                );
                Err(Fault::new(field(name), problem))
            }
            given => Ok(given.and_then(|(_, paint)| paint)),
        };
        let background = colour("backgroundColor", &set.background_color)?;
        let border = colour("borderColor", &set.border_color)?;
        let given = if kind == ChartKind::Line { border.or(background) } else { background.or(border) };
        let range = |name: &str, value: Option<f64>, default: f64, max: f64| match value.unwrap_or(default) {
            value if (0.0..=max).contains(&value) => Ok(value),
            value => Err(Fault::new(field(name), format!("{value} is out of range; use 0 to {max}."))),
        };
        let mut points = Vec::new();
        for (at, value) in set.data.iter().enumerate() {
            let (x, y) = match *value {
                ChartValue::Number(y) => (at as f64, y),
                ChartValue::Point { x, y } => (x, y),
            };
            check_number(|| format!("{}[{at}]", field("data")), x)?;
            check_number(|| format!("{}[{at}]", field("data")), y)?;
            points.push((x, y));
        }
        Ok(Self {
            label: clean(&set.label),
            paint: given.unwrap_or(Paint::Series(index)),
            points,
            stroke_width: range("borderWidth", set.border_width, 2.5, MAX_BORDER_WIDTH)?,
            tension: range("tension", set.tension, 0.0, 1.0)?,
            is_filled: set.fill.unwrap_or(false),
        })
    }
}

impl Chart {
    fn new(data: &ChartData) -> Checked<Self> {
        check_count("data.datasets", data.datasets.len(), 1, MAX_DATASETS, "datasets")?;
        let count = data.datasets.iter().map(|set| set.data.len()).sum();
        check_count("data.datasets", count, 1, MAX_POINTS, "values")?;
        let series = data.datasets.iter().enumerate().map(|(index, set)| Series::new(index, set, data.kind));
        let mut series = series.collect::<Checked<Vec<_>>>()?;
        let has_points = data
            .datasets
            .iter()
            .flat_map(|set| &set.data)
            .any(|value| matches!(value, ChartValue::Point { .. }));
        let across = across(data, has_points, &mut series)?;
        let ys = || series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
        let up = if data.kind == ChartKind::Bar || series.iter().any(|series| series.is_filled) {
            Scale::from_zero(ys(), 6.0)
        } else {
            covering(ys())
        };
        let widest = up.ticks().map(|tick| width(&number(tick), 13.0)).fold(0.0, f64::max);
        let is_named = |name: &Option<String>| name.as_deref().is_some_and(|name| !clean(name).is_empty());
        let left = widest + 14.0 + if is_named(&data.y_axis_label) { AXIS_LABEL } else { 0.0 };
        let bottom = BOTTOM + if is_named(&data.x_axis_label) { AXIS_LABEL } else { 0.0 };
        let plot = Rect { x: left, y: TOP, width: WIDTH - left - RIGHT, height: HEIGHT - TOP - bottom };
        Ok(Self { kind: data.kind, series, across, up, plot })
    }

    fn x(&self, x: f64) -> f64 {
        let share = match &self.across {
            // Bars and labels stand in the middle of their place; lines do so too, to be comparable.
            Across::Labels(labels) => (x + 0.5) / labels.len() as f64,
            Across::Numbers(scale) => scale.share(x),
        };
        self.plot.x + share * self.plot.width
    }

    fn y(&self, y: f64) -> f64 {
        self.plot.y + (1.0 - self.up.share(y)) * self.plot.height
    }

    fn place(&self, point: (f64, f64)) -> Point {
        at(self.x(point.0), self.y(point.1))
    }

    /// Returns the value of a point on the x axis, in words.
    fn x_name(&self, x: f64) -> String {
        match &self.across {
            Across::Labels(labels) => labels.get(x as usize).cloned().unwrap_or_default(),
            Across::Numbers(_) => number(x),
        }
    }

    fn draw_axes(&self, drawing: &mut Drawing) {
        let Rect { x, y, width: plot_width, height } = self.plot;
        for tick in self.up.ticks() {
            let line = self.y(tick);
            let class = if tick == 0.0 { "axis" } else { "grid" };
            drawing.line(class, at(x, line), at(x + plot_width, line));
            drawing.text("soft end", at(x - 8.0, line), &number(tick));
        }
        let below = y + height + 16.0;
        match &self.across {
            Across::Numbers(scale) => {
                for tick in scale.ticks() {
                    drawing.line("grid", at(self.x(tick), y), at(self.x(tick), y + height));
                    drawing.text("soft middle", at(self.x(tick), below), &number(tick));
                }
            }
            Across::Labels(labels) => {
                let room = plot_width / labels.len() as f64;
                let widest =
                    labels.iter().map(|label| width(label, 13.0)).fold(20.0, f64::max).min(MAX_LABEL_WIDTH);
                let every = ((widest + 10.0) / room).ceil().max(1.0) as usize;
                for (index, label) in labels.iter().enumerate().step_by(every) {
                    let label = fit(label, 13.0, (room * every as f64 - 6.0).max(24.0));
                    drawing.text("soft middle", at(self.x(index as f64), below), &label);
                }
            }
        }
    }

    fn draw_axis_labels(&self, drawing: &mut Drawing, data: &ChartData) {
        let Rect { x, y, width, height } = self.plot;
        if let Some(name) = &data.x_axis_label {
            let name = clean(name);
            drawing.text("middle", at(x + width / 2.0, HEIGHT - 10.0), &fit(&name, 13.0, width));
        }
        if let Some(name) = &data.y_axis_label {
            let name = clean(name);
            drawing.turned_text("middle", at(11.0, y + height / 2.0), -90.0, &fit(&name, 13.0, height));
        }
    }

    fn mark_name(&self, series: &Series, point: (f64, f64)) -> String {
        format!("{}, {}: {}", series.label, self.x_name(point.0), number(point.1))
    }

    fn draw_bars(&self, drawing: &mut Drawing) {
        let places = match &self.across {
            Across::Labels(labels) => labels.len() as f64,
            Across::Numbers(_) => 1.0,
        };
        let room = self.plot.width / places;
        let count = self.series.len() as f64;
        let bar = (room * 0.8 / count).min(MAX_BAR_WIDTH);
        for (index, series) in self.series.iter().enumerate() {
            for &point in &series.points {
                let (zero, end) = (self.y(0.0), self.y(point.1));
                let x = self.x(point.0) + (index as f64 - count / 2.0) * bar;
                let rect = Rect { x, y: zero.min(end), width: bar, height: (zero - end).abs().max(1.0) };
                drawing.mark(&series.paint, &self.mark_name(series, point), |drawing| {
                    drawing.rect("fill shape", rect, 1.5_f64.min(bar / 4.0));
                });
            }
        }
    }

    fn draw_lines(&self, drawing: &mut Drawing) {
        for (index, series) in self.series.iter().enumerate() {
            let places: Vec<Point> = series.points.iter().map(|&point| self.place(point)).collect();
            let (Some(first), Some(last)) = (places.first(), places.last()) else { continue };
            let path = curve(&places, series.tension);
            drawing.painted(&series.paint, |drawing| {
                if series.is_filled {
                    let zero = self.y(0.0);
                    drawing.path("area", &format!("{path}L{}L{}Z", at(last.x, zero), at(first.x, zero)));
                }
                drawing.stroke(&format!("curve dash{}", index % 4), &path, series.stroke_width);
            });
        }
        let longest = self.series.iter().map(|series| series.points.len()).max().unwrap_or(0);
        self.draw_dots(drawing, if longest > MAX_DOTS { 2.0 } else { 4.5 });
    }

    fn draw_dots(&self, drawing: &mut Drawing, radius: f64) {
        for (index, series) in self.series.iter().enumerate() {
            for &point in &series.points {
                let place = self.place(point);
                drawing.mark(&series.paint, &self.mark_name(series, point), |drawing| {
                    draw_dot(drawing, index, place, radius);
                });
            }
        }
    }

    fn table(&self, x_name: Option<&str>) -> Table {
        let Across::Labels(labels) = &self.across else {
            let mut table = Table::new(&["Dataset", x_name.unwrap_or("x"), "y"]);
            for series in &self.series {
                for (x, y) in &series.points {
                    table.row([series.label.clone(), number(*x), number(*y)]);
                }
            }
            return table;
        };
        let mut table = Table::new(&[x_name.unwrap_or("Label")]);
        table.head.extend(self.series.iter().map(|series| series.label.clone()));
        for (index, label) in labels.iter().enumerate() {
            let value =
                |series: &Series| series.points.get(index).map(|point| number(point.1)).unwrap_or_default();
            table.row([label.clone()].into_iter().chain(self.series.iter().map(value)));
        }
        table
    }
}

/// Returns the horizontal axis. Where points are at labels, their positions become the numbers of these.
fn across(data: &ChartData, has_points: bool, series: &mut [Series]) -> Checked<Across> {
    let longest = series.iter().map(|series| series.points.len()).max().unwrap_or(0);
    if let Some(labels) = &data.labels
        && !has_points
    {
        check_count("data.labels", labels.len(), 1, MAX_LABELS, "labels")?;
        if let Some(index) = series.iter().position(|series| series.points.len() > labels.len()) {
            let problem =
                format!("it has {} values for {} labels.", series[index].points.len(), labels.len());
            return Err(Fault::new(format!("data.datasets[{index}].data"), problem));
        }
        return Ok(Across::Labels(labels.iter().map(|label| clean(label)).collect()));
    }
    if data.kind != ChartKind::Bar {
        return Ok(Across::Numbers(covering(
            series.iter().flat_map(|series| series.points.iter().map(|point| point.0)),
        )));
    }
    check_count("data.datasets", longest, 1, MAX_LABELS, "bars")?;
    let mut positions: Vec<f64> =
        series.iter().flat_map(|series| series.points.iter().map(|point| point.0)).collect();
    positions.sort_by(f64::total_cmp);
    positions.dedup();
    for point in series.iter_mut().flat_map(|series| &mut series.points) {
        point.0 = positions.partition_point(|position| *position < point.0) as f64;
    }
    let name = |position: &f64| if has_points { number(*position) } else { number(position + 1.0) };
    Ok(Across::Labels(positions.iter().map(name).collect()))
}

/// Returns a scale over values, with 0 where that is near.
fn covering(values: impl Iterator<Item = f64>) -> Scale {
    let (min, max) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| (min.min(value), max.max(value)));
    if min > 0.0 && min < max / 2.0 {
        Scale::new(0.0, max, 6.0)
    } else if max < 0.0 && max > min / 2.0 {
        Scale::new(min, 0.0, 6.0)
    } else {
        Scale::new(min, max, 6.0)
    }
}

/// Returns the path through points: straight, or as a cardinal spline.
fn curve(points: &[Point], tension: f64) -> String {
    let mut path = points.first().map(|point| format!("M{point}")).unwrap_or_default();
    let part = tension / 2.0;
    for index in 1..points.len() {
        let (from, to) = (points[index - 1], points[index]);
        if tension == 0.0 {
            path += &format!("L{to}");
            continue;
        }
        let before = points[index.saturating_sub(2)];
        let after = points[(index + 1).min(points.len() - 1)];
        // A control point stays between its neighbours, so that the line does not overshoot them.
        let (low, high) = (from.y.min(to.y), from.y.max(to.y));
        let one = at(from.x + (to.x - before.x) * part, (from.y + (to.y - before.y) * part).clamp(low, high));
        let two = at(to.x - (after.x - from.x) * part, (to.y - (after.y - from.y) * part).clamp(low, high));
        path += &format!("C{one} {two} {to}");
    }
    path
}

/// Draws a dot whose shape tells datasets apart without their colours.
fn draw_dot(drawing: &mut Drawing, series: usize, center: Point, radius: f64) {
    let Point { x, y } = center;
    match series % 4 {
        0 => drawing.circle("fill shape", center, radius),
        1 => {
            let side = radius * 1.8;
            drawing.rect(
                "fill shape",
                Rect { x: x - side / 2.0, y: y - side / 2.0, width: side, height: side },
                0.0,
            );
        }
        2 => {
            let r = radius * 1.25;
            let corners = (at(x, y - r), at(x + r, y + r * 0.8), at(x - r, y + r * 0.8));
            drawing.path("fill shape", &format!("M{}L{}L{}Z", corners.0, corners.1, corners.2));
        }
        _ => {
            let r = radius * 1.3;
            let path = format!("M{}L{}L{}L{}Z", at(x, y - r), at(x + r, y), at(x, y + r), at(x - r, y));
            drawing.path("fill shape", &path);
        }
    }
}
