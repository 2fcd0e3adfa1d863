//! The services that can be chosen: those that goose knows, and the user's own.

use anyhow::anyhow;
use goose::config::Paths;

use crate::aside;

/// TEMP until the registry is there.
#[derive(Debug, Clone)]
pub(super) struct ProviderInfo {
    pub(super) name: String,
    pub(super) display_name: String,
    pub(super) key_variables: Vec<String>,
    pub(super) needs_key: bool,
    pub(super) settings: Vec<SettingInfo>,
    pub(super) default_model: Option<String>,
    pub(super) models: Vec<String>,
    pub(super) docs_url: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct SettingInfo {
    pub(super) name: String,
    pub(super) default: Option<String>,
    pub(super) example: Option<String>,
}

pub(super) struct Services(Vec<ProviderInfo>);

impl Services {
    pub(super) fn load(_paths: &Paths) -> Self {
        aside::end_status();
        let info = |name: &str, key: &str, model: &str| ProviderInfo {
            name: name.into(),
            display_name: name.into(),
            key_variables: vec![key.into()],
            needs_key: true,
            settings: vec![],
            default_model: Some(model.into()),
            models: vec![model.into()],
            docs_url: None,
        };
        Self(vec![
            info("openai", "OPENAI_API_KEY", "gpt-5"),
            info("anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-5"),
        ])
    }

    pub(super) fn known(&self) -> &[ProviderInfo] {
        &self.0
    }

    pub(super) fn find(&self, name: &str) -> anyhow::Result<&ProviderInfo> {
        self.0.iter().find(|info| info.name == name).ok_or_else(|| anyhow!("There is no service '{name}'."))
    }
}
