//! Mermaid diagrams: flowcharts, sequence diagrams, class diagrams and pies.
//!
//! Each kind has a parser for what people write, and a layout of its own. What only decorates (styles, classes, links)
//! is read and left out.

mod class;
mod flowchart;
mod flowchart_line;
mod graph;
mod lifelines;
mod lines;
mod pie;
mod sequence;
mod shapes;
mod source;

use self::source::{Source, fault};
use super::{
    fault::{Checked, Fault},
    page::Page,
};

/// Name of the argument.
const FIELD: &str = "mermaid_code";

/// The kinds that can be drawn, for errors.
const KINDS: &str = "flowchart (or graph), sequenceDiagram, classDiagram, pie";

/// Returns the page of a diagram.
pub(super) fn page(code: &str) -> Checked<Page> {
    let mut source = Source::new(code)?;
    let Some(header) = source.next() else {
        return Err(Fault::new(FIELD, format!("it is empty. Start with one of: {KINDS}.")));
    };
    let kind = header.text.split([' ', '\t']).next().unwrap_or_default();
    match kind {
        "graph" | "flowchart" | "flowchart-elk" => flowchart::page(&header, source),
        "sequenceDiagram" => sequence::page(source),
        "classDiagram" | "classDiagram-v2" => class::page(source),
        "pie" => pie::page(&header, source),
        _ => Err(fault(&header, &format!("{kind:?} cannot be drawn. Kinds that can be: {KINDS}."))),
    }
}
