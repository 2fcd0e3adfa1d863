//! [`ToolIndex`]: tools by name, each with the [`ToolHandle`] that a call uses.
//!
//! A manager has an index of all tools that its extensions list; a toolset has one of the tools that its mode
//! may use.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, OnceLock},
};

use goose_extension::{JsonObject, Tool, ToolAction, ToolError};

use super::{
    bound_service::BoundService, manifest::FileRestriction, tool_names as names, trim_schema::trim_schema,
};
use crate::{
    builtins::{self, ExtensionClass},
    permission::{CallToJudge, Origin},
    services::ToolFingerprint,
};

/// Maximum number of names that an error suggests.
const MAX_SUGGESTIONS: usize = 10;

/// Maximum length of an unknown name in an error.
const MAX_SHOWN_NAME: usize = 128;

/// A resolved tool: its definition, and the service that runs it. Checks, approvals and the call use the same
/// handle, so that the tool that runs is the one that was checked.
#[derive(Clone)]
pub struct ToolHandle {
    /// Definition, under the name that the model sees.
    pub tool: Tool,
    /// Name of the extension.
    pub extension: String,
    /// Name within the extension.
    pub bare_name: String,
    /// Origin of the tool: goose itself, or an external extension.
    pub origin: Origin,
    /// Class of the extension.
    pub class: ExtensionClass,
    /// Restrictions of the files that the tool may touch; each file must match one. Empty if all files are
    /// allowed.
    files: Vec<FileRestriction>,
    /// Restriction of a tool that reads with some operations and writes with others.
    reading: Reading,
    pub(super) service: Arc<BoundService>,
    fingerprint: OnceLock<ToolFingerprint>,
    /// Position in the service's list, so that the call needs no second lookup by name.
    pub(super) position: usize,
}

/// Reading operations of a tool that also writes, in a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// The restrictions of files are the same for all operations.
    AsWriting,
    /// Reading is allowed for all files.
    Free,
    /// Only reading is allowed, for all files.
    Only,
}

impl ToolHandle {
    pub(super) fn new(service: &Arc<BoundService>, position: usize, tool: Tool, name: String) -> Self {
        let (extension, bare_name) = (service.name(), tool.name().to_owned());
        let origin = service.service.origin();
        let class = match origin {
            Origin::Own => builtins::class_of(extension),
            Origin::Foreign => ExtensionClass::Service,
        };
        // Delegation is part of goose itself, so its tool has no extension prefix.
        let is_function = origin == Origin::Own && tool.action() == Some(&ToolAction::Delegates);
        let name = if is_function { bare_name.clone() } else { name };
        Self {
            tool: tool.with_name(name),
            extension: extension.to_owned(),
            bare_name,
            origin,
            class,
            files: Vec::new(),
            reading: Reading::AsWriting,
            service: Arc::clone(service),
            fingerprint: OnceLock::new(),
            position,
        }
    }

    /// Returns the same tool, restricted to some files.
    pub(super) fn restricted_to(&self, files: Vec<FileRestriction>) -> Self {
        Self { files, ..self.clone() }
    }

    /// Returns the same tool, with another restriction for its reading operations.
    pub(super) fn with_reading(&self, reading: Reading) -> Self {
        Self { reading, ..self.clone() }
    }

    /// Returns the tool as the model sees it. Definitions of external tools are not changed.
    fn offered(&self) -> Tool {
        let tool = match self.origin {
            Origin::Own => trim_schema(&self.tool),
            Origin::Foreign => self.tool.clone(),
        };
        match self.restriction() {
            Some(files) => {
                let description = format!("{} In this mode: {files}.", tool.description());
                tool.with_description(description)
            }
            None => tool,
        }
    }

    fn restriction(&self) -> Option<String> {
        if let (Reading::Only, Some(ToolAction::ByOperation(operation))) = (self.reading, self.action()) {
            return Some(format!("reading only, not {}", operation.writing.join(", ")));
        }
        let files: Vec<String> = self.files.iter().map(ToString::to_string).collect();
        let only = if self.reading == Reading::Free { "writing only to " } else { "" };
        (!files.is_empty()).then(|| format!("{only}{}", files.join(", or ")))
    }

    /// Checks the resolved files that a call touches against the restriction of the mode.
    ///
    /// # Errors
    ///
    /// Returns the reason for the model if a file is not allowed, or if the call does not say which files it
    /// touches.
    pub(crate) fn check_files<'a>(
        &self,
        arguments: &JsonObject,
        files: impl IntoIterator<Item = &'a Path>,
        working_dir: &Path,
    ) -> Result<(), String> {
        let Some(restriction) = self.restriction() else { return Ok(()) };
        let name = self.tool.name();
        let only_reads = match self.action() {
            Some(ToolAction::ByOperation(operation)) => operation.only_reads(arguments),
            _ => false,
        };
        match self.reading {
            Reading::Free | Reading::Only if only_reads => return Ok(()),
            Reading::Only => {
                return Err(format!(
                    "`{name}` is for {restriction} in this mode. Say what should change instead."
                ));
            }
            Reading::Free | Reading::AsWriting => {}
        }
        let mut files = files.into_iter().peekable();
        if files.peek().is_none() {
            return Err(format!("`{name}` is for {restriction} in this mode, and this call names no file."));
        }
        // The paths are resolved, so the folder has to be too.
        let folder = working_dir.canonicalize().unwrap_or_else(|_| working_dir.to_owned());
        for file in files {
            let shown = file.strip_prefix(&folder).unwrap_or(file).to_string_lossy();
            if !self.files.iter().any(|files| files.allows(&shown)) {
                return Err(format!(
                    "`{name}` is for {restriction} in this mode, not for {shown}. Say what should change there instead."
                ));
            }
        }
        Ok(())
    }

    /// Returns the fingerprint of the tool's definition.
    pub fn fingerprint(&self) -> &ToolFingerprint {
        self.fingerprint.get_or_init(|| ToolFingerprint::new(&self.bare_name, &self.tool))
    }

    /// Returns the declared effect of a call. Declarations of external servers are ignored.
    pub(crate) fn action(&self) -> Option<&ToolAction> {
        self.tool.action().filter(|_| self.origin == Origin::Own)
    }

    /// Returns true for the tool that keeps the task list of a mode that requests one.
    pub(crate) fn keeps_task_list(&self) -> bool {
        self.class == ExtensionClass::ModeBound && self.action() == Some(&ToolAction::KeepsPlan)
    }

    /// Returns true for goose's own tool that gives tasks to other agents.
    pub(crate) fn delegates(&self) -> bool {
        self.action() == Some(&ToolAction::Delegates)
    }

    /// Returns a call of this tool, for the permissions to judge.
    pub fn call<'a>(&'a self, arguments: &'a JsonObject, working_dir: &'a Path) -> CallToJudge<'a> {
        CallToJudge {
            tool: &self.tool,
            bare_name: &self.bare_name,
            origin: self.origin,
            arguments,
            working_dir,
            concern: None,
        }
    }
}

/// Error for a name that no tool has, or that is ambiguous. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownTool(String);

impl UnknownTool {
    /// Creates the error for a name that no tool has, with a hint.
    pub(super) fn new(name: &str, hint: &str) -> Self {
        let name: String = name.chars().take(MAX_SHOWN_NAME).collect();
        Self(format!("There is no tool `{name}`. {hint}"))
    }
}

impl From<UnknownTool> for ToolError {
    fn from(error: UnknownTool) -> Self {
        Self::NotFound(error.0)
    }
}

/// Tools by name: the name that the model sees, the plain `extension__tool`, and the bare name if it is
/// unique.
#[derive(Default)]
pub(super) struct ToolIndex {
    handles: Vec<Arc<ToolHandle>>,
    /// Tools as the model sees them, in the same order; computed on first use.
    tools: OnceLock<Arc<[Tool]>>,
    by_name: HashMap<String, usize>,
    by_bare_name: HashMap<String, Vec<usize>>,
}

impl ToolIndex {
    pub(super) fn new(handles: Vec<Arc<ToolHandle>>) -> Self {
        let mut by_name = HashMap::with_capacity(handles.len());
        let mut by_bare_name: HashMap<String, Vec<usize>> = HashMap::with_capacity(handles.len());
        for (index, handle) in handles.iter().enumerate() {
            by_bare_name.entry(handle.bare_name.clone()).or_default().push(index);
            by_name.entry(names::plain(&handle.extension, &handle.bare_name)).or_insert(index);
        }
        // Added last, so that a name that the model sees wins over the plain name of another tool.
        for (index, handle) in handles.iter().enumerate() {
            by_name.insert(handle.tool.name().to_owned(), index);
        }
        Self { handles, tools: OnceLock::new(), by_name, by_bare_name }
    }

    /// Returns the tools as the model sees them.
    pub(super) fn tools(&self) -> &Arc<[Tool]> {
        self.tools.get_or_init(|| self.handles.iter().map(|handle| handle.offered()).collect())
    }

    pub(super) fn handles(&self) -> &[Arc<ToolHandle>] {
        &self.handles
    }

    pub(super) fn find(&self, name: &str) -> Result<&Arc<ToolHandle>, UnknownTool> {
        if let Some(&index) = self.by_name.get(name) {
            return Ok(&self.handles[index]);
        }
        // A name with a separator includes the extension, so tools of other extensions do not match.
        let is_bare = !name.contains(names::SEPARATOR);
        match self.by_bare_name.get(name).filter(|_| is_bare).map(Vec::as_slice) {
            Some([index]) => Ok(&self.handles[*index]),
            Some(several) => {
                let candidates = Self::listed(several.iter().map(|index| &self.handles[*index]));
                Err(UnknownTool(format!(
                    "Several extensions have a tool `{name}`. Use one of these full names: {candidates}."
                )))
            }
            None => Err(UnknownTool::new(name, &self.hint(name))),
        }
    }

    fn hint(&self, name: &str) -> String {
        let name: String = name.chars().take(MAX_SHOWN_NAME).collect();
        if self.handles.is_empty() {
            return "There are no tools.".to_owned();
        }
        let near = self.near(&name);
        match near.is_empty() {
            true => format!("Available tools: {}.", Self::listed(self.handles.iter())),
            false => format!("Did you mean one of these: {}?", Self::listed(near.into_iter())),
        }
    }

    /// Returns the tools whose name contains the wanted one or is contained in it; if there are none, those
    /// of the extension.
    fn near(&self, name: &str) -> Vec<&Arc<ToolHandle>> {
        let wanted = name.rsplit(names::SEPARATOR).next().unwrap_or(name).to_lowercase();
        let extension = name.split_once(names::SEPARATOR).map(|(extension, _)| extension);
        let has_similar_name = |handle: &&Arc<ToolHandle>| {
            let tool = handle.bare_name.to_lowercase();
            !wanted.is_empty() && (tool.contains(&wanted) || wanted.contains(&tool))
        };
        let near: Vec<_> = self.handles.iter().filter(has_similar_name).collect();
        match near.is_empty() {
            true => self.handles.iter().filter(|handle| extension == Some(&handle.extension)).collect(),
            false => near,
        }
    }

    fn listed<'a>(handles: impl ExactSizeIterator<Item = &'a Arc<ToolHandle>>) -> String {
        let left = handles.len().saturating_sub(MAX_SUGGESTIONS);
        let mut names: Vec<String> =
            handles.take(MAX_SUGGESTIONS).map(|handle| handle.tool.name().to_owned()).collect();
        if left > 0 {
            names.push(format!("and {left} more"));
        }
        names.join(", ")
    }
}

impl std::fmt::Debug for ToolHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolHandle")
            .field("tool", &self.tool)
            .field("extension", &self.extension)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
