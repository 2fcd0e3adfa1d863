//! One symbol: where it is defined, who calls it, and whom it calls. By name: where several things have the same one,
//! all of them are meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use goose_extension::{ToolError, ToolResult};

use super::code::Code;

/// Maximum number of places shown of one step.
const MAX_PLACES: usize = 60;
/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 8;

pub(super) fn map(code: &Code, symbol: &str, follow: usize) -> ToolResult<String> {
    let graph = Graph::new(code);
    let mut map = String::new();
    for (place, signature) in graph.defined.get(symbol).into_iter().flatten() {
        let _ = writeln!(map, "defined at {place}: {signature}");
    }
    if map.is_empty() && !graph.callers.contains_key(symbol) {
        return Err(unknown(&graph, symbol, code.remark.as_deref()));
    }
    section(&mut map, "Callers", &graph.callers, symbol, follow);
    section(&mut map, "Calls", &graph.callees, symbol, follow);
    map.extend(code.remark.clone());
    Ok(map)
}

/// Definitions and calls, by name.
#[derive(Default)]
struct Graph<'a> {
    defined: BTreeMap<&'a str, Vec<(String, &'a str)>>,
    callers: Edges<'a>,
    callees: Edges<'a>,
}

/// From a name to names, each with a place.
type Edges<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

impl<'a> Graph<'a> {
    fn new(code: &'a Code) -> Self {
        let mut graph = Self::default();
        for (file, symbols) in &code.files {
            let at = |line: usize| format!("{}:{line}", file.display());
            for definition in symbols.definitions.iter().filter(|definition| definition.kind != "impl") {
                let place = (at(definition.line), definition.signature.as_str());
                graph.defined.entry(&definition.name).or_default().push(place);
            }
            for (call, function) in symbols.calls_with_callers() {
                let caller = function.map_or("(top level)", |it| it.name.as_str());
                graph.callers.entry(&call.name).or_default().entry(caller).or_insert_with(|| at(call.line));
                graph.callees.entry(caller).or_default().entry(&call.name).or_insert_with(|| at(call.line));
            }
        }
        // Calls into libraries would bury the rest.
        let known: BTreeSet<&str> = graph.defined.keys().copied().collect();
        for callees in graph.callees.values_mut() {
            callees.retain(|name, _| known.contains(name));
        }
        graph
    }
}

fn section(map: &mut String, title: &str, edges: &Edges<'_>, symbol: &str, follow: usize) {
    let _ = writeln!(map, "{title}:");
    let before = map.len();
    let mut seen = BTreeSet::from([symbol]);
    descend(map, edges, symbol, 1, follow, &mut seen);
    if map.len() == before {
        map.push_str("  (none found)\n");
    }
}

fn descend<'a>(
    map: &mut String,
    edges: &Edges<'a>,
    symbol: &str,
    depth: usize,
    follow: usize,
    seen: &mut BTreeSet<&'a str>,
) {
    let Some(next) = edges.get(symbol).filter(|_| depth <= follow) else { return };
    for (name, place) in next.iter().take(MAX_PLACES) {
        let _ = writeln!(map, "{}{name}  {place}", "  ".repeat(depth));
        if seen.insert(name) {
            descend(map, edges, name, depth + 1, follow, seen);
        }
    }
    if next.len() > MAX_PLACES {
        let _ = writeln!(map, "{}… {} more", "  ".repeat(depth), next.len() - MAX_PLACES);
    }
}

fn unknown(graph: &Graph<'_>, symbol: &str, remark: Option<&str>) -> ToolError {
    let wanted = symbol.to_lowercase();
    let similar: Vec<&str> = graph
        .defined
        .keys()
        .filter(|name| name.to_lowercase().contains(&wanted) || wanted.contains(&name.to_lowercase()))
        .take(MAX_SUGGESTIONS)
        .copied()
        .collect();
    let advice = if similar.is_empty() {
        "Use `search` to find how it is written.".to_owned()
    } else {
        format!("Did you mean {}?", similar.join(", "))
    };
    let remark = remark.map(|remark| format!("\n{remark}")).unwrap_or_default();
    ToolError::ExecutionError(format!("Nothing here is called `{symbol}`. {advice}{remark}"))
}
