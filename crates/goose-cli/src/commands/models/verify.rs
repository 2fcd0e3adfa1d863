//! `goose models verify`.

use std::process::ExitCode;

use goose_local::model_store::{Event, ModelStore, State, Verdict};

use super::{explained, say};
use crate::aside;

pub(super) async fn run(store: &ModelStore, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => present(store)?,
    };
    if names.is_empty() {
        say("No model is downloaded. Run `goose models pull` to get one.")?;
    }
    let mut is_right = true;
    for name in &names {
        let verdict = store.verify(name, &|event| show(name, &event)).await;
        aside::end_status();
        match verdict.map_err(explained)? {
            Verdict::Right => say(&format!("{name} is verified."))?,
            Verdict::Unknown { found } => {
                say(&format!("{name} is your own file; its sha256 is {found}."))?;
            }
            Verdict::Wrong { expected, found } => {
                is_right = false;
                say(&format!(
                    "{name} is damaged or a different file: its sha256 is {found}, expected {expected}. Run `goose models \
                     remove {name}` and then `goose models pull {name}`."
                ))?;
            }
            _ => {}
        }
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn present(store: &ModelStore) -> anyhow::Result<Vec<String>> {
    let items = store.list().map_err(explained)?;
    let is_here = |state: State| matches!(state, State::Here { .. } | State::Damaged { .. });
    Ok(items.into_iter().filter(|item| is_here(item.state)).map(|item| item.name).collect())
}

fn show(name: &str, event: &Event<'_>) {
    if let Event::Checked { bytes, total } = event
        && aside::is_seen()
    {
        let percent = bytes.saturating_mul(100).checked_div(*total).unwrap_or(100);
        aside::status(&format!("Verifying {name}: {percent} %"));
    }
}
