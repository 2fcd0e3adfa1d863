//! [`Catalog`]: all tools of a manager under the names that a model sees, made once for each change.

use std::{collections::HashMap, sync::Arc};

use goose_extension::{Tool, ToolError, ToolResult};

use super::{bound::Bound, names};

/// How many names an error lists.
const MAX_SUGGESTIONS: usize = 10;

/// The tools of all extensions of a manager, at one time.
pub(super) struct Catalog {
    /// The editions of the listings that this was made of.
    editions: Vec<u64>,
    /// What the model sees, sorted by name so that its order is the same in every run.
    tools: Arc<[Tool]>,
    /// The same order.
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    by_bare_name: HashMap<String, Vec<usize>>,
}

/// Where a tool is.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) bound: Arc<Bound>,
    /// What its extension calls it.
    pub(super) tool: String,
}

impl Catalog {
    /// Reads the listings of extensions. Those that are not known yet have no tools.
    pub(super) fn of(bounds: &[Arc<Bound>]) -> Self {
        // Before the listings are read: a change in between is seen at the next look.
        let editions = editions(bounds);
        let mut found: Vec<(Entry, Tool)> = Vec::new();
        for bound in bounds {
            let Some(listing) = bound.service.listing() else { continue };
            found.extend(listing.tools.iter().filter(|tool| bound.allows(tool.name())).map(|tool| {
                (Entry { bound: Arc::clone(bound), tool: tool.name().to_owned() }, tool.clone())
            }));
        }
        found.sort_by(|(a, _), (b, _)| (a.bound.name(), &a.tool).cmp(&(b.bound.name(), &b.tool)));
        let pairs: Vec<(&str, &str)> =
            found.iter().map(|(entry, _)| (entry.bound.name(), entry.tool.as_str())).collect();
        let names = names::assign(&pairs);
        Self::index(editions, found, names)
    }

    fn index(editions: Vec<u64>, found: Vec<(Entry, Tool)>, names: Vec<String>) -> Self {
        let mut by_name = HashMap::with_capacity(found.len());
        let mut by_bare_name: HashMap<String, Vec<usize>> = HashMap::with_capacity(found.len());
        let (mut tools, mut entries) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
        for (index, ((entry, tool), name)) in found.into_iter().zip(names).enumerate() {
            by_bare_name.entry(entry.tool.clone()).or_default().push(index);
            // Under its real name as well, for people who know that one.
            by_name.entry(names::plain(entry.bound.name(), &entry.tool)).or_insert(index);
            tools.push(tool.with_name(name.clone()));
            entries.push(entry);
            by_name.insert(name, index);
        }
        Self { editions, tools: tools.into(), entries, by_name, by_bare_name }
    }

    /// Whether the listings are still the ones that this was made of.
    pub(super) fn is_current(&self, bounds: &[Arc<Bound>]) -> bool {
        self.editions.len() == bounds.len()
            && self.editions.iter().zip(bounds).all(|(edition, bound)| *edition == bound.service.edition())
    }

    pub(super) fn tools(&self) -> Arc<[Tool]> {
        Arc::clone(&self.tools)
    }

    /// The number of tools of an extension.
    pub(super) fn count(&self, bound: &Arc<Bound>) -> usize {
        self.entries.iter().filter(|entry| Arc::ptr_eq(&entry.bound, bound)).count()
    }

    /// The tool that is meant by a name: the full one, or a bare one that only one extension has.
    pub(super) fn find(&self, name: &str) -> ToolResult<&Entry> {
        if let Some(index) = self.by_name.get(name) {
            return Ok(&self.entries[*index]);
        }
        // What looks like a full name is one: no other extension may answer for one that is not there.
        let bare = Some(name).filter(|name| !name.contains(names::SEPARATOR));
        match bare.and_then(|name| self.by_bare_name.get(name)).map(Vec::as_slice) {
            Some([index]) => Ok(&self.entries[*index]),
            Some(several) => Err(self.ambiguous(name, several)),
            None => Err(self.unknown(name)),
        }
    }

    fn ambiguous(&self, name: &str, candidates: &[usize]) -> ToolError {
        let candidates = self.list(candidates.iter().copied());
        ToolError::NotFound(format!(
            "Several extensions have a tool `{name}`. Use one of these full names: {candidates}."
        ))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let name: String = name.chars().take(128).collect();
        let near = self.near(&name);
        let hint = match (self.tools.is_empty(), near.is_empty()) {
            (true, _) => "There are no tools.".to_owned(),
            (_, true) => format!("Available tools: {}.", self.list(0..self.tools.len())),
            (_, false) => format!("Did you mean one of these: {}?", self.list(near.into_iter())),
        };
        ToolError::NotFound(format!("There is no tool `{name}`. {hint}"))
    }

    /// The tools whose extension or whose own name is in the wanted one, or the other way round.
    fn near(&self, name: &str) -> Vec<usize> {
        let wanted = name.rsplit(names::SEPARATOR).next().unwrap_or(name).to_lowercase();
        let extension = name.split_once(names::SEPARATOR).map(|(extension, _)| extension);
        let same_tool = |entry: &Entry| {
            let tool = entry.tool.to_lowercase();
            !wanted.is_empty() && (tool.contains(&wanted) || wanted.contains(&tool))
        };
        let matching = |wanted: &dyn Fn(&Entry) -> bool| -> Vec<usize> {
            (0..self.entries.len()).filter(|index| wanted(&self.entries[*index])).collect()
        };
        let near = matching(&same_tool);
        if !near.is_empty() {
            return near;
        }
        matching(&|entry| extension == Some(entry.bound.name()))
    }

    fn list(&self, indices: impl ExactSizeIterator<Item = usize>) -> String {
        let left = indices.len().saturating_sub(MAX_SUGGESTIONS);
        let mut names: Vec<String> =
            indices.take(MAX_SUGGESTIONS).map(|index| self.tools[index].name().to_owned()).collect();
        if left > 0 {
            names.push(format!("and {left} more"));
        }
        names.join(", ")
    }
}

fn editions(bounds: &[Arc<Bound>]) -> Vec<u64> {
    bounds.iter().map(|bound| bound.service.edition()).collect()
}
