//! The list of tools: in pages or at once, true or without end. Made while it is written, so that a million tools take
//! no memory.

use std::{
    io::{self, Write},
    ops::Range,
    sync::atomic::Ordering,
    thread,
};

use serde_json::{Value, json};

use super::{
    bad_tools, greeting,
    message::{INVALID_PARAMS, Reply, Request},
    options::{Cursors, Options, Wire},
    server::Server,
    strange, tools,
};

/// One page of the list.
struct Page {
    /// The tools that are not made by counting.
    named: Vec<Value>,
    /// Which tools of the list are on the page; those beyond `named` are made by counting.
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
            Some(_) => vec![tools::plain(&format!("page_{own}"))],
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
            for (name, value) in greeting::freshness() {
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
                Ok(serde_json::to_writer(output, &tools::plain(&format!("tool_{number}")))?)
            }
        }
    }
}

/// The tools that are always there, and those that flags speak of.
fn named_tools(options: &Options, grown: u64) -> Vec<Value> {
    let mut all = tools::defaults();
    let mut names: Vec<&str> = options.named_tools().collect();
    if options.strange_results {
        names.extend(strange::NAMES);
    }
    names.extend(options.list.changing.then_some("grow"));
    names.extend(options.notify_flood.map(|_| "flood"));
    names.extend(options.start.grandchildren.then_some("grandchildren"));
    for name in names {
        if !all.iter().any(|tool| tool["name"] == name) {
            all.push(tools::plain(name));
        }
    }
    all.extend((0..grown).map(|number| tools::plain(&format!("grown_{number}"))));
    all.extend(options.list.bad.iter().map(|kind| bad_tools::make(kind)));
    all
}
