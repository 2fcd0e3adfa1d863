//! Nodes of flowcharts: their shapes and sizes.

use super::{
    super::{
        drawing::{Drawing, Paint, Point, Rect, at},
        text,
    },
    graph::Size,
    lines::{self, LINE_HEIGHT},
};

/// Shape of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Rect,
    Rounded,
    Stadium,
    Subroutine,
    Cylinder,
    Circle,
    Diamond,
    Hexagon,
    Slanted,
    Flag,
}

/// A node with its text.
pub(super) struct Node {
    pub(super) lines: Vec<String>,
    pub(super) shape: Shape,
}

/// Returns the size of a node around its text.
pub(super) fn size(node: &Node) -> Size {
    let width = node.lines.iter().map(|line| text::width(line, 13.0)).fold(0.0, f64::max);
    let height = node.lines.len().max(1) as f64 * LINE_HEIGHT;
    match node.shape {
        Shape::Diamond => (width + height + 40.0, height * 1.4 + width * 0.25 + 26.0),
        Shape::Circle => {
            let side = width.hypot(height) + 18.0;
            (side, side)
        }
        Shape::Hexagon | Shape::Slanted | Shape::Flag | Shape::Subroutine => (width + 50.0, height + 20.0),
        Shape::Cylinder => (width + 28.0, height + 36.0),
        Shape::Stadium => (width + 40.0, height + 20.0),
        Shape::Rect | Shape::Rounded => (width + 28.0, height + 20.0),
    }
}

/// Returns the corners of a shape with straight sides, or of the box around another one.
fn corners(shape: Shape, rect: Rect) -> Vec<Point> {
    let Rect { x, y, .. } = rect;
    let (right, bottom, center) = (x + rect.width, y + rect.height, rect.center());
    match shape {
        Shape::Diamond => vec![at(center.x, y), at(right, center.y), at(center.x, bottom), at(x, center.y)],
        Shape::Hexagon => vec![
            at(x + 16.0, y),
            at(right - 16.0, y),
            at(right, center.y),
            at(right - 16.0, bottom),
            at(x + 16.0, bottom),
            at(x, center.y),
        ],
        Shape::Slanted => vec![at(x + 14.0, y), at(right, y), at(right - 14.0, bottom), at(x, bottom)],
        Shape::Flag => {
            vec![at(x, y), at(right, y), at(right, bottom), at(x, bottom), at(x + 14.0, center.y)]
        }
        _ => vec![at(x, y), at(right, y), at(right, bottom), at(x, bottom)],
    }
}

fn draw_cylinder(drawing: &mut Drawing, rect: Rect) {
    let Rect { x, y, .. } = rect;
    let (right, bottom) = (x + rect.width, y + rect.height);
    let (rim, half) = (8.0, rect.width / 2.0);
    let path = format!(
        "M{}A{half} {rim} 0 0 1 {}L{}A{half} {rim} 0 0 1 {}Z",
        at(x, y + rim),
        at(right, y + rim),
        at(right, bottom - rim),
        at(x, bottom - rim)
    );
    drawing.path("node shape", &path);
    drawing.path("curve", &format!("M{}A{half} {rim} 0 0 0 {}", at(x, y + rim), at(right, y + rim)));
}

pub(super) fn draw_node(drawing: &mut Drawing, node: &Node, rect: Rect, name: &str) {
    let (center, bottom) = (rect.center(), rect.y + rect.height);
    let colour = match node.shape {
        Shape::Diamond => 6,
        Shape::Stadium | Shape::Circle => 2,
        Shape::Cylinder => 3,
        Shape::Hexagon | Shape::Slanted | Shape::Flag => 5,
        _ => 0,
    };
    drawing.mark(&Paint::Series(colour), name, |drawing| {
        match node.shape {
            Shape::Rect => drawing.rect("node shape", rect, 2.0),
            Shape::Rounded => drawing.rect("node shape", rect, 9.0),
            Shape::Stadium => drawing.rect("node shape", rect, rect.height / 2.0),
            Shape::Circle => drawing.circle("node shape", center, rect.width / 2.0),
            Shape::Subroutine => {
                drawing.rect("node shape", rect, 0.0);
                for x in [rect.x + 9.0, rect.x + rect.width - 9.0] {
                    drawing.line("curve", at(x, rect.y), at(x, bottom));
                }
            }
            Shape::Cylinder => draw_cylinder(drawing, rect),
            Shape::Diamond | Shape::Hexagon | Shape::Slanted | Shape::Flag => {
                let corners: Vec<String> = corners(node.shape, rect).iter().map(Point::to_string).collect();
                drawing.path("node shape", &format!("M{}Z", corners.join("L")));
            }
        }
        let lower = if node.shape == Shape::Cylinder { 5.0 } else { 0.0 };
        lines::draw_lines(drawing, "middle", at(center.x, center.y + lower), &node.lines);
    });
}
