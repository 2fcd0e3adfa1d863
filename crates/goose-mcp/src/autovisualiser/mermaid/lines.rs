//! Lines of diagrams, with their ends and labels, and lines of text.

use super::{
    super::drawing::{Drawing, Paint, Point, Rect, at},
    graph::{Graph, Layout, Route, Size},
};

/// Shape at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    None,
    Arrow,
    Circle,
    Cross,
    /// Empty triangle.
    Triangle,
    /// Diamond, filled or empty.
    Diamond(bool),
}

/// Style of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stroke {
    Normal,
    Thick,
    Dotted,
    Hidden,
}

/// Draws a line with its ends and label.
pub(super) fn draw_route(
    drawing: &mut Drawing,
    route: &Route,
    stroke: Stroke,
    ends: (End, End),
    label: &[String],
) {
    let class = match stroke {
        Stroke::Normal => "edge",
        Stroke::Thick => "edge thick",
        Stroke::Dotted => "edge dotted",
        Stroke::Hidden => return,
    };
    let [first, .., last] = route.points.as_slice() else { return };
    drawing.path(class, &route.path());
    let axis = |from: &Point, to: &Point| match route.is_sideways {
        true => at((to.x - from.x).signum(), 0.0),
        false => at(0.0, (to.y - from.y).signum()),
    };
    let count = route.points.len();
    draw_end(drawing, ends.0, *first, axis(&route.points[1], first));
    draw_end(drawing, ends.1, *last, axis(&route.points[count - 2], last));
    if let Some(place) = route.label {
        draw_label(drawing, place, label);
    }
}

impl Route {
    /// Returns the path: each part leaves and enters its points along the layers.
    fn path(&self) -> String {
        let mut path = self.points.first().map(|point| format!("M{point}")).unwrap_or_default();
        for pair in self.points.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let middle = at(f64::midpoint(from.x, to.x), f64::midpoint(from.y, to.y));
            let (one, two) = match self.is_sideways {
                true => (at(middle.x, from.y), at(middle.x, to.y)),
                false => (at(from.x, middle.y), at(to.x, middle.y)),
            };
            path += &format!("C{one} {two} {to}");
        }
        path
    }
}

/// Draws a label over its line.
fn draw_label(drawing: &mut Drawing, place: Point, label: &[String]) {
    let (width, height) = label_size(label);
    drawing.rect("plate", Rect { x: place.x - width / 2.0, y: place.y - height / 2.0, width, height }, 3.0);
    draw_lines(drawing, "middle small", place, label);
}

/// Draws lines of text around a place.
pub(super) fn draw_lines(drawing: &mut Drawing, class: &str, place: Point, lines: &[String]) {
    let top = place.y - (lines.len() as f64 - 1.0) * LINE_HEIGHT / 2.0;
    for (index, line) in lines.iter().enumerate() {
        drawing.text(class, at(place.x, top + index as f64 * LINE_HEIGHT), line);
    }
}

/// Height of a line of text.
pub(super) const LINE_HEIGHT: f64 = 17.0;

/// Returns the size of a label at a line.
pub(super) fn label_size(label: &[String]) -> Size {
    let width = label.iter().map(|line| super::super::text::width(line, 12.0)).fold(0.0, f64::max);
    (width + 8.0, label.len() as f64 * LINE_HEIGHT + 2.0)
}

/// Draws the end of a line. `axis` points to the tip.
pub(super) fn draw_end(drawing: &mut Drawing, end: End, tip: Point, axis: Point) {
    let back = |along: f64, aside: f64| {
        at(tip.x - axis.x * along + axis.y * aside, tip.y - axis.y * along + axis.x * aside)
    };
    match end {
        End::None => {}
        End::Arrow => drawing.path("tip-end", &format!("M{tip}L{}L{}Z", back(9.0, 4.5), back(9.0, -4.5))),
        End::Circle => drawing.circle("tip-end", back(4.0, 0.0), 4.0),
        End::Cross => {
            let path =
                format!("M{}L{}M{}L{}", back(2.0, 5.0), back(12.0, -5.0), back(2.0, -5.0), back(12.0, 5.0));
            drawing.path("tip-end", &path);
        }
        End::Triangle => {
            drawing.path("tip-end open-end", &format!("M{tip}L{}L{}Z", back(13.0, 7.0), back(13.0, -7.0)));
        }
        End::Diamond(is_filled) => {
            let class = if is_filled { "tip-end" } else { "tip-end open-end" };
            let path = format!("M{tip}L{}L{}L{}Z", back(8.0, 5.0), back(16.0, 0.0), back(8.0, -5.0));
            drawing.path(class, &path);
        }
    }
}

/// Draws the frames and titles of groups, except for the whole.
pub(super) fn draw_groups(drawing: &mut Drawing, graph: &Graph, layout: &Layout) {
    // A group comes before those within it.
    for (group, rect) in graph.groups.iter().zip(&layout.groups).skip(1) {
        let paint = Paint::Series(7);
        drawing.painted(&paint, |drawing| {
            drawing.rect("group", *rect, 6.0);
            drawing.text("start small strong", at(rect.x + 10.0, rect.y + 14.0), &group.title);
        });
    }
}

/// Draws how many of each side take part in a line, beside its ends.
pub(super) fn draw_counts(drawing: &mut Drawing, route: &Route, counts: &(String, String)) {
    let [first, .., last] = route.points.as_slice() else { return };
    let is_forward = if route.is_sideways { first.x <= last.x } else { first.y <= last.y };
    for (point, text, is_start) in [(first, &counts.0, true), (last, &counts.1, false)] {
        let away = if is_forward == is_start { 1.0 } else { -1.0 };
        let place = match route.is_sideways {
            true => at(point.x + away * 22.0, point.y - 10.0),
            false => at(point.x + 12.0, point.y + away * 11.0),
        };
        drawing.text(if route.is_sideways { "middle small halo" } else { "start small halo" }, place, text);
    }
}
