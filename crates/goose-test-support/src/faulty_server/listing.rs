//! The list of tools: in pages or at once, true or without end. Made while it is written, so that a million tools take
//! no memory.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::{io, thread};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::message::{INVALID_PARAMS, Reply, Request};
use super::options::{Cursors, Options, Wire};
use super::server::Server;
use super::{call, server, start};

/// One page of the list.
struct Page {
    /// The tools that are not made by counting.
    named: Vec<Value>,
    /// The tools on the page, by index; those beyond `named` have generated names.
    range: Range<u64>,
    next: Option<String>,
    wire: Wire,
}

impl Server {
    pub(super) fn list_tools(&self, request: &Request) -> Reply {
        thread::sleep(self.options.list.slow);
        let cursor = request.params["cursor"].as_str();
        let Some(page) = self.page(cursor) else {
            return Reply::refused(INVALID_PARAMS, "There is no such page. List again without a cursor.");
        };
        let id = request.id.clone();
        Reply::written(move |output| page.write(output, &id))
    }

    fn page(&self, cursor: Option<&str>) -> Option<Page> {
        let list = &self.options.list;
        match list.cursors {
            Cursors::Honest => self.honest_page(cursor),
            Cursors::Endless => {
                let number: u64 = cursor.map_or(Some(0), |cursor| cursor.parse().ok())?;
                Some(self.odd_page(cursor, number.to_string(), (number + 1).to_string()))
            }
            Cursors::Same => Some(self.odd_page(cursor, "again".to_owned(), "again".to_owned())),
            Cursors::Cycle => {
                let next = if cursor == Some("a") { "b" } else { "a" };
                Some(self.odd_page(cursor, cursor.unwrap_or_default().to_owned(), next.to_owned()))
            }
        }
    }

    fn honest_page(&self, cursor: Option<&str>) -> Option<Page> {
        let named = named_tools(&self.options, self.grown.load(Ordering::SeqCst));
        let total = named.len() as u64 + self.options.list.tools;
        let start: u64 = cursor.map_or(Some(0), |cursor| cursor.parse().ok())?;
        let size = self.options.list.page_size.unwrap_or(total);
        let end = start.saturating_add(size).min(total);
        let next = (end < total).then(|| end.to_string());
        (start <= total).then_some(Page { named, range: start..end, next, wire: self.options.wire })
    }

    /// The first page has the tools, each other one a single tool that is named after it.
    fn odd_page(&self, cursor: Option<&str>, own: String, next: String) -> Page {
        let named = match cursor {
            None => named_tools(&self.options, self.grown.load(Ordering::SeqCst)),
            Some(_) => vec![call::plain(&format!("page_{own}"))],
        };
        let range = 0..named.len() as u64;
        Page { named, range, next: Some(next), wire: self.options.wire }
    }
}

impl Page {
    fn write(&self, output: &mut dyn Write, id: &Value) -> io::Result<()> {
        write!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":["#)?;
        for position in self.range.clone() {
            if position > self.range.start {
                output.write_all(b",")?;
            }
            self.write_tool(output, position)?;
        }
        output.write_all(b"]")?;
        if let Some(next) = &self.next {
            write!(output, r#","nextCursor":{}"#, json!(next))?;
        }
        if self.wire == Wire::New {
            output.write_all(br#","resultType":"complete""#)?;
            for (name, value) in server::freshness() {
                write!(output, r#","{name}":{value}"#)?;
            }
        }
        output.write_all(b"}}")
    }

    fn write_tool(&self, output: &mut dyn Write, position: u64) -> io::Result<()> {
        let named = usize::try_from(position).ok().and_then(|position| self.named.get(position));
        match named {
            Some(tool) => Ok(serde_json::to_writer(output, tool)?),
            None => {
                let number = position - self.named.len() as u64;
                Ok(serde_json::to_writer(output, &call::plain(&format!("tool_{number}")))?)
            }
        }
    }
}

/// The tools that are always there, and those that flags speak of.
fn named_tools(options: &Options, grown: u64) -> Vec<Value> {
    let mut all = call::defaults();
    if start::is_redefined(&options.start) {
        all[0]["description"] = json!("Gives back a text, and tells others.");
    }
    let mut names: Vec<&str> = options.named_tools().collect();
    if options.strange_results {
        names.extend(call::NAMES);
    }
    names.extend(options.list.changing.then_some("grow"));
    names.extend(options.notify_flood.map(|_| "flood"));
    names.extend(options.start.grandchildren.then_some("grandchildren"));
    for name in names {
        if !all.iter().any(|tool| tool["name"] == name) {
            all.push(call::plain(name));
        }
    }
    all.extend((0..grown).map(|number| call::plain(&format!("grown_{number}"))));
    all.extend(options.list.bad.iter().map(|kind| make(kind)));
    all
}

/// Length of a name that is too long.
const LONG_NAME: usize = 10_000;

/// Depth of a schema that is nested too deep.
const DEPTH: usize = 500;

const KINDS: &[&str] = &[
    "empty",
    "duplicate",
    "long",
    "control",
    "space",
    "not-object",
    "string-type",
    "wrong-keyword",
    "deep",
    "no-schema",
];

/// All kinds of bad tools.
pub(super) fn kinds() -> impl Iterator<Item = String> {
    KINDS.iter().map(|kind| (*kind).to_owned())
}

/// Checks that there is such a kind.
pub(super) fn kind(name: &str) -> Result<String> {
    let known = KINDS.contains(&name).then(|| name.to_owned());
    known.with_context(|| format!("`{name}` is no kind of bad tool; there are {}", KINDS.join(", ")))
}

/// A bad tool of a kind.
pub(super) fn make(kind: &str) -> Value {
    let good = json!({ "type": "object" });
    match kind {
        "empty" => tool("", good),
        "duplicate" => tool("echo", good),
        "long" => tool(&"n".repeat(LONG_NAME), good),
        "control" => tool("bell\u{7}\u{1b}[31m\nname", good),
        "space" => tool("two words", good),
        "not-object" => tool("schema_not_object", json!(["an", "array"])),
        "string-type" => tool("schema_string_type", json!({ "type": "string" })),
        "wrong-keyword" => {
            let properties = json!({ "value": { "type": 12, "minLength": "many" } });
            tool("schema_wrong_keyword", json!({ "type": "object", "properties": properties }))
        }
        "deep" => tool("schema_deep", deep()),
        _ => json!({ "name": "no_schema", "description": "A tool without a schema." }),
    }
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": "A tool that should not be listed so.", "inputSchema": schema })
}

fn deep() -> Value {
    (0..DEPTH).fold(
        json!({ "type": "object" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    )
}
