//! Preview of a call of `write` or `edit`: the tool itself runs, on files that are not written.

use std::{io, sync::Arc};

use goose_extension::{
    Backend, CallContext, CheckedArguments, CommandSpec, FileError, FileRead, FileTarget, FileVersion,
    Notifier, RichRenderable, StartedCommand,
};
use parking_lot::Mutex;

use super::super::{Developer, TOOLS};

impl Developer {
    /// Returns the change that a call would make; `None` if it would make none, or fail.
    pub(in super::super) async fn preview_change(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> Option<RichRenderable> {
        if !matches!(tool_name, "edit" | "write") {
            return None;
        }
        let shown = Arc::new(Shown::default());
        let context = context
            .clone()
            .with_backend(Arc::new(Unwritten(self.backend(context))))
            .with_notifier(Arc::clone(&shown) as _);
        TOOLS.call_checked(self, tool_name, arguments, &context).await.ok()?;
        shown.0.lock().take()
    }
}

/// The files of another backend. What is written to them is forgotten.
struct Unwritten(Arc<dyn Backend>);

impl Backend for Unwritten {
    fn is_local(&self) -> bool {
        self.0.is_local()
    }

    fn keeps_changes(&self) -> bool {
        false
    }

    fn read(&self, file: &FileTarget, limit: u64) -> Result<FileRead, FileError> {
        self.0.read(file, limit)
    }

    fn replace(&self, _: &FileTarget, _: &[u8], _: Option<&FileVersion>) -> Result<(), FileError> {
        Ok(())
    }

    fn spawn(&self, _: CommandSpec) -> io::Result<StartedCommand> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The last thing that a tool showed.
#[derive(Default)]
struct Shown(Mutex<Option<RichRenderable>>);

impl Notifier for Shown {
    fn log(&self, content: RichRenderable) {
        *self.0.lock() = Some(content);
    }

    fn status(&self, _: String) {}
}
