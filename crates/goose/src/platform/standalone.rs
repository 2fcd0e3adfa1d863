//! Platform extensions without a session, which `goose mcp` serves to other programs.
//!
//! | extension | served | because |
//! | --- | --- | --- |
//! | `apps` | yes | apps are kept in a folder; the configured model writes them |
//! | `chatrecall` | yes | it searches the store; no session is left out |
//! | `summon` | only `load` | knowledge is in files; a delegate needs a session to work under |
//! | `todo`, `extensionmanager`, `code_execution`, `tom` | no | see [`builtins`](crate::builtins) |

use std::{path::Path, sync::Arc};

use goose_extension::{Extension, Model};

use super::{
    apps::{self, Apps},
    chatrecall::ChatRecall,
    summon::Summon,
};
use crate::{config::Settings, session::SessionStore};

/// Builds a platform extension for a program without a session. Returns `None` if the extension needs one.
pub(crate) fn standalone(
    name: &str,
    settings: &Settings,
    store: &SessionStore,
    model: Arc<dyn Model>,
    working_dir: &Path,
) -> Option<Arc<dyn Extension>> {
    match name {
        "apps" => Some(Arc::new(Apps::new(apps::folder(settings.paths()), model))),
        "chatrecall" => Some(Arc::new(ChatRecall::new(store.clone(), None))),
        "summon" => Some(Arc::new(Summon::standalone(settings, working_dir))),
        _ => None,
    }
}
