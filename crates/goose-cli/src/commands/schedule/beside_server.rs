//! The scheduler of `goose serve --enable-scheduler` and `goose acp --enable-scheduler`.

use std::time::Duration;

use goose::{config::Paths, session::SessionStore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{import_old, runner, user_zone, warn};
use crate::settings::ConfigArgs;

/// Pause of the scheduler of a server after an error, such as a store that is locked.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(20);

/// Runs scheduled jobs beside a server, until `stop` is cancelled, which ends their runs.
pub(crate) async fn run(paths: &Paths, config: &ConfigArgs, stop: &CancellationToken) {
    let (store, zone) = (SessionStore::at(SessionStore::file(paths)), user_zone());
    while !stop.is_cancelled() {
        let ended = match import_old(&store, paths, &zone).await {
            Ok(()) => runner::run_due(&store, config, false, &zone, stop).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            warn(&format!("The scheduler begins again, because it failed: {error:#}"));
            stop.run_until_cancelled(sleep(PAUSE_AFTER_ERROR)).await;
        }
    }
}
