//! The model.

use goose::config::Settings;

use super::check::Check;

pub(super) async fn look(_settings: &Settings, _online: bool) -> Vec<Check> {
    Vec::new()
}
