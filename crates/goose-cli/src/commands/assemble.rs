//! From the command line to a conversation: settings, model, store, permissions, extensions, exchange.
//!
//! Everything here happens before the model is asked for the first time, so nothing is done that the first request does
//! not need: no history, no list of sessions, no grammar. The store opens on its own thread while settings are read.

use std::{env, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use goose::{
    config::{Paths, Profile, Settings, SettingsSource},
    exchange::Exchange,
    permission::{Mode, Permissions},
    services::{PoolOptions, ServicePool},
    session::{NewSession, Opened, Session, SessionStore},
};
use goose_extension::SilentNotifier;
use serde_json::Value;

use super::{
    project::{self, Consent},
    session::{
        args::{ConversationArgs, ModelArgs},
        explained,
    },
};
use crate::{aside, cli::Which, login::login, person::Person, selection, terminal::input::Input};

/// How long everything may take to end.
const END_TIME: Duration = Duration::from_secs(5);

/// What the command line says about the conversation.
pub(crate) struct Wanted<'a> {
    pub(crate) model: &'a ModelArgs,
    pub(crate) conversation: &'a ConversationArgs,
    pub(crate) which: &'a Which,
    /// What the model is told besides.
    pub(crate) system: Option<&'a str>,
    /// What the answer must fit.
    pub(crate) schema: Option<Value>,
    pub(crate) keep: Keep,
}

/// Whether the conversation is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Saved,
    Unsaved,
}

/// A conversation that is ready to begin.
pub(crate) struct Assembled {
    pub(crate) exchange: Exchange,
    pub(crate) settings: Settings,
    pub(crate) permissions: Arc<Permissions>,
    /// The model's name.
    pub(crate) model: String,
    /// What there was before, where the conversation goes on.
    pub(crate) before: Option<Before>,
    pool: Arc<ServicePool>,
}
