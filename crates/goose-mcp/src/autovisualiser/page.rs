//! [`Page`]: a self-contained HTML document with drawings and the data behind them as tables.
//!
//! A page has no script and no network. As an MCP App it gets one small script, which tells the program that shows it
//! how large the page is; the page's policy allows this script by its hash, and nothing else.

use super::{
    drawing::{Drawing, Paint, escape},
    text::{self, clean},
};

/// Maximum size of a page.
pub(super) const MAX_PAGE_BYTES: usize = 6 * 1024 * 1024;

/// Width of the content in a window of the usual width, and the height of the highest window.
const CONTENT_WIDTH: f64 = 984.0;
const MAX_HEIGHT: f64 = 6_000.0;

const STYLE: &str = include_str!("page.css");

/// Policy of a page in a browser.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Script of a page in a program that shows MCP Apps, and the policy with its hash.
const HOST_SCRIPT: &str = include_str!("host.js");
const HOST_SCRIPT_SOURCE: &str = "script-src 'sha256-Eh+MzEzfqJjEWBkloy4AxsOWNLd7Q3NKV2tuPP/Etmg='";

/// A page.
#[derive(Debug, Clone)]
pub(super) struct Page {
    /// Kind of the page, as in `ui://autovisualiser/KIND-…`.
    pub(super) kind: &'static str,
    /// Name of the kind, for people.
    pub(super) noun: &'static str,
    pub(super) title: Option<String>,
    pub(super) subtitle: Option<String>,
    /// Sizes of the data, such as "5 nodes, 6 links".
    pub(super) summary: String,
    pub(super) figures: Vec<Figure>,
}

/// A drawing with its data.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) caption: Option<String>,
    pub(super) drawing: Drawing,
    pub(super) legend: Vec<(Paint, String)>,
    pub(super) table: Table,
}

/// The data of a drawing.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&title| title.to_owned()).collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn html(&self, name: &str) -> String {
        let class = |cell: &str| if is_number(cell) { " class=\"number\"" } else { "" };
        let mut html = format!("<table>\n<caption class=\"skip\">{}</caption>\n<tr>", escape(name));
        for (column, title) in self.head.iter().enumerate() {
            let class = self.rows.first().and_then(|row| row.get(column)).map_or("", |cell| class(cell));
            html += &format!("<th scope=\"col\"{class}>{}</th>", escape(title));
        }
        html += "</tr>\n";
        for row in &self.rows {
            html += "<tr>";
            for cell in row {
                html += &format!("<td{}>{}</td>", class(cell), escape(cell));
            }
            html += "</tr>\n";
        }
        html + "</table>"
    }
}

fn is_number(cell: &str) -> bool {
    let is_numeric = |c: char| c.is_ascii_digit() || "-+.,%e".contains(c);
    cell.chars().any(|c| c.is_ascii_digit()) && cell.chars().all(is_numeric)
}

impl Page {
    /// Returns the title that is shown.
    pub(super) fn heading(&self) -> String {
        self.title
            .as_deref()
            .map(clean)
            .filter(|title| !title.is_empty())
            .unwrap_or_else(|| capitalized(self.noun))
    }

    /// Returns the approximate height of the document in a window of the usual width, in pixels.
    pub(super) fn height(&self) -> u32 {
        let columns = if self.figures.len() > 1 { 2.0 } else { 1.0 };
        let rows = (self.figures.len() as f64 / columns).ceil();
        let highest =
            self.figures.iter().map(|figure| figure.height(CONTENT_WIDTH / columns)).fold(0.0, f64::max);
        let around = 190.0 + 40.0 * self.figures.len() as f64;
        (rows * highest + around).min(MAX_HEIGHT) as u32
    }

    /// Returns the document for a browser.
    pub(super) fn html(self) -> String {
        let heading = escape(&self.heading());
        let subtitle = self.subtitle.as_deref().map(clean).filter(|text| !text.is_empty());
        let subtitle = subtitle.map(|text| format!("<p>{}</p>\n", escape(&text))).unwrap_or_default();
        let least = if self.figures.len() > 1 { " style=\"--least:20rem\"" } else { "" };
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{heading}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#data\">Skip to the data as a table</a>\n\
             <main>\n<h1>{heading}</h1>\n{subtitle}<div class=\"figures\"{least}>\n"
        );
        let mut tables = String::new();
        let names: Vec<String> =
            self.figures.iter().enumerate().map(|(at, figure)| figure.name(at, &self)).collect();
        for (figure, name) in self.figures.into_iter().zip(names) {
            tables += &details(&figure.table, &name);
            html += &figure.html(&name);
        }
        html + "</div>\n<div id=\"data\">\n" + &tables + "</div>\n</main>\n</body>\n</html>\n"
    }
}

/// Returns a page for a program that shows MCP Apps.
pub(super) fn for_host(html: &str) -> String {
    let policy = format!("{POLICY}; {HOST_SCRIPT_SOURCE}");
    let html = html.replacen(POLICY, &policy, 1);
    html.replacen("</body>", &format!("<script>{HOST_SCRIPT}</script>\n</body>"), 1)
}

fn details(table: &Table, name: &str) -> String {
    let escaped = escape(name);
    format!(
        "<details>\n<summary>{escaped}: data as a table</summary>\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{escaped}: data\">\n{}\n</div>\n</details>\n",
        table.html(name)
    )
}

impl Figure {
    fn height(&self, width: f64) -> f64 {
        let legend: f64 = self.legend.iter().map(|(_, label)| text::width(label, 14.0) + 40.0).sum();
        self.drawing.height_at(width) + (legend / width).ceil() * 26.0 + 50.0
    }

    fn name(&self, at: usize, page: &Page) -> String {
        match &self.caption {
            Some(caption) => clean(caption),
            None if page.figures.len() > 1 => format!("{} {}", capitalized(page.noun), at + 1),
            None => page.heading(),
        }
    }

    fn html(self, name: &str) -> String {
        let caption = self.caption.map(|_| format!("<h2>{}</h2>\n", escape(name))).unwrap_or_default();
        let mut html = format!("<figure>\n{caption}{}\n", self.drawing.into_svg(name));
        if !self.legend.is_empty() {
            html += "<ul class=\"legend\">\n";
            for (paint, label) in &self.legend {
                html += &format!("<li{}>{}</li>\n", paint.style(), escape(label));
            }
            html += "</ul>\n";
        }
        html + "</figure>\n"
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
