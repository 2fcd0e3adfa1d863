//! shim
#![allow(missing_docs, unused)]
use super::*;
use std::{path::PathBuf, sync::Arc, time::Duration};
use crate::ToolResult;
#[derive(Clone)]
pub struct OAuth;
impl OAuth {
    pub fn with_client(self, id: impl Into<String>, secret: Option<String>) -> Self { self }
    pub fn with_redirect_port(self, port: u16) -> Self { self }
    pub fn with_scopes(self, s: Vec<String>) -> Self { self }
}
impl ConnectOptions {
    pub fn with_oauth(self, o: OAuth) -> Self { self }
}
