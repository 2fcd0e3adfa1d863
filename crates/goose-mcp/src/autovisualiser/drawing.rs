//! [`Drawing`]: an SVG image as it is built.
//!
//! Every text and attribute of the data is escaped here and nowhere else. A *mark* is a part that stands for a value:
//! it has a name for screen readers, can be reached with the keyboard, and shows its name in a line below the image
//! when it is pointed at or focused.

use std::fmt;

/// Number of marks of one page that can be focused. Behind these the table is quicker.
const MAX_FOCUSABLE: usize = 400;

/// Height of the line below the image, in pixels.
const READOUT_HEIGHT: f64 = 30.0;

/// Number of colours in the style sheet.
pub(super) const COLOURS: usize = 10;

/// A place in the drawing, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Shorthand for a [`Point`].
pub(super) fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// Returns the point on a circle, by the angle in radians from the top, clockwise.
pub(super) fn on_circle(center: Point, radius: f64, angle: f64) -> Point {
    at(center.x + radius * angle.sin(), center.y - radius * angle.cos())
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Px(self.x), Px(self.y))
    }
}

/// A length or coordinate, with one decimal at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Px(pub(super) f64);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() + 0.0;
        if tenths % 10.0 == 0.0 {
            write!(f, "{:.0}", tenths / 10.0)
        } else {
            write!(f, "{:.1}", tenths / 10.0)
        }
    }
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    pub(super) fn center(self) -> Point {
        at(self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// The colour of a mark.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Paint {
    /// A colour of the style sheet, by its number.
    Series(usize),
    /// A colour that the data gives, which [`Paint::parse`] has checked.
    Custom(String),
}

impl Paint {
    /// Reads a CSS colour: a name, `#rgb` and its longer forms, `rgb(…)` or `hsl(…)`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_hex = |digits: &str| {
            matches!(digits.len(), 3 | 4 | 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let is_name = (3..=24).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_function = || {
            let (name, rest) = text.split_once('(')?;
            let inner = rest.strip_suffix(')')?;
            let is_known =
                ["rgb", "rgba", "hsl", "hsla"].iter().any(|known| known.eq_ignore_ascii_case(name));
            let is_plain = inner.bytes().all(|byte| byte.is_ascii_digit() || b"., %/-".contains(&byte));
            (is_known && is_plain && inner.len() <= 40).then_some(())
        };
        let is_colour = is_name || text.strip_prefix('#').is_some_and(is_hex) || is_function().is_some();
        is_colour.then(|| Self::Custom(text.to_owned()))
    }

    /// Returns the value for the property `--c`.
    fn css(&self) -> String {
        match self {
            Self::Series(number) => format!("var(--c{})", number % COLOURS),
            Self::Custom(colour) => colour.clone(),
        }
    }

    /// Returns the attribute that colours an element and everything in it.
    pub(super) fn style(&self) -> String {
        format!(" style=\"--c:{}\"", escape(&self.css()))
    }
}

/// An SVG image.
#[derive(Debug, Clone)]
pub(super) struct Drawing {
    width: f64,
    height: f64,
    body: String,
    marks: usize,
}

impl Drawing {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new(), marks: 0 }
    }

    /// Returns the height in a space of this width.
    pub(super) fn height_at(&self, width: f64) -> f64 {
        (self.height + READOUT_HEIGHT) * (width / self.width).min(1.0)
    }

    /// Draws a shape that stands for a value.
    pub(super) fn mark(&mut self, paint: &Paint, label: &str, draw: impl FnOnce(&mut Self)) {
        self.marks += 1;
        let focus = if self.marks <= MAX_FOCUSABLE { " tabindex=\"0\"" } else { "" };
        let label = escape(label);
        self.body +=
            &format!("<g class=\"mark\" role=\"img\"{focus} aria-label=\"{label}\"{}>", paint.style());
        draw(self);
        self.body +=
            &format!("<text class=\"tip\" x=\"8\" y=\"{}\">{label}</text></g>\n", Px(self.height + 20.0));
    }

    /// Adds what another drawing has.
    pub(super) fn append(&mut self, other: &Self) {
        self.body += &other.body;
        self.marks += other.marks;
    }

    /// Draws shapes in a colour.
    pub(super) fn painted(&mut self, paint: &Paint, draw: impl FnOnce(&mut Self)) {
        self.body += &format!("<g{}>", paint.style());
        draw(self);
        self.body += "</g>\n";
    }

    /// Draws within a rectangle.
    pub(super) fn clipped(&mut self, id: &str, rect: Rect, draw: impl FnOnce(&mut Self)) {
        let Rect { x, y, width, height } = rect;
        self.body += &format!(
            "<clipPath id=\"{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath><g clip-path=\"url(#{id})\">",
            Px(x),
            Px(y),
            Px(width),
            Px(height)
        );
        draw(self);
        self.body += "</g>\n";
    }

    /// Draws a path. `data` is made of numbers and commands only.
    pub(super) fn path(&mut self, class: &str, data: &str) {
        self.body += &format!("<path class=\"{class}\" d=\"{data}\"/>");
    }

    /// Draws a path with a line of its own width.
    pub(super) fn stroke(&mut self, class: &str, data: &str, width: f64) {
        self.body += &format!("<path class=\"{class}\" d=\"{data}\" stroke-width=\"{}\"/>", Px(width));
    }

    pub(super) fn rect(&mut self, class: &str, rect: Rect, radius: f64) {
        let Rect { x, y, width, height } = rect;
        self.body += &format!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            Px(x),
            Px(y),
            Px(width.max(0.1)),
            Px(height.max(0.1))
        );
        if radius > 0.0 {
            self.body += &format!(" rx=\"{}\"", Px(radius));
        }
        self.body += "/>";
    }

    pub(super) fn circle(&mut self, class: &str, center: Point, radius: f64) {
        let (x, y, radius) = (Px(center.x), Px(center.y), Px(radius));
        self.body += &format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
    }

    pub(super) fn line(&mut self, class: &str, from: Point, to: Point) {
        self.path(class, &format!("M{from}L{to}"));
    }

    /// Draws a text. The class says how it is aligned: `start`, `middle` or `end`.
    pub(super) fn text(&mut self, class: &str, place: Point, text: &str) {
        if !text.is_empty() {
            let (x, y) = (Px(place.x), Px(place.y));
            self.body += &format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escape(text));
        }
    }

    /// Draws a text that is turned clockwise around its place.
    pub(super) fn turned_text(&mut self, class: &str, place: Point, degrees: f64, text: &str) {
        let turn = format!("translate({place}) rotate({})", Px(degrees));
        self.body += &format!("<text class=\"{class}\" transform=\"{turn}\">{}</text>", escape(text));
    }

    /// Returns the SVG element, with a name for screen readers.
    pub(super) fn into_svg(self, name: &str) -> String {
        let height = self.height + if self.marks > 0 { READOUT_HEIGHT } else { 0.0 };
        format!(
            "<svg viewBox=\"0 0 {} {}\" style=\"max-width:{}px\" role=\"group\" aria-label=\"{}\">\n{}</svg>",
            Px(self.width),
            Px(height),
            Px(self.width),
            escape(name),
            self.body
        )
    }
}

/// Returns a text for HTML, also within an attribute. Characters that no document may have are left out.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c if c.is_control() && c != '\n' => {}
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_colours() {
        for good in ["red", "#abc", "#AABBCC80", "rgb(1, 2, 3)", "RGBA(1 2 3 / 50%)", "hsl(120,5%,5%)"] {
            assert_eq!(Paint::parse(good), Some(Paint::Custom(good.to_owned())), "{good}");
        }
        let long = "a".repeat(30);
        for bad in ["", "url(x)", "red;fill:url(x)", "var(--c0)", "rgb(url(x))", "#12", "\"", "rgb(1", &long]
        {
            assert_eq!(Paint::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn coordinates_are_short() {
        let shown = [0.04, -0.04, 12.34, 12.96, -3.0, 1e6].map(|value| Px(value).to_string());
        assert_eq!(shown, ["0", "0", "12.3", "13", "-3", "1000000"]);
    }

    #[test]
    fn everything_is_escaped() {
        let mut drawing = Drawing::new(10.0, 10.0);
        let text = "\"'><script>&\u{1}";
        drawing.mark(&Paint::Series(11), text, |drawing| drawing.text("start", at(1.0, 2.0), text));
        let svg = drawing.into_svg(text);
        assert!(!svg.contains("<script>") && !svg.contains('\u{1}') && svg.contains("var(--c1)"), "{svg}");
        assert_eq!(svg.matches("&quot;&#39;&gt;&lt;script&gt;&amp;").count(), 4, "{svg}");
    }
}
