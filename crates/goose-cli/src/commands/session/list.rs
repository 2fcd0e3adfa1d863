//! `goose session list` and `goose session search`.

use std::{env, io, process::ExitCode};

use goose::session::{Found, ListOptions, SearchQuery, SearchResults, SessionStore, SessionSummary};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use serde_json::json;

use super::{args::ListArgs, explained, importable};
use crate::{
    args::{JsonArgs, ListFormat},
    escape,
    output::{self, FAINT, NAME, Output, WARNING, counted},
    stderr,
    terminal::size::fitted,
};

/// The width of a name.
const NAME_WIDTH: usize = 60;

/// Lists sessions, the newest first.
pub(super) async fn list(store: &SessionStore, args: ListArgs) -> anyhow::Result<ExitCode> {
    let form = JsonArgs { json: args.form.json || args.format == Some(ListFormat::Json) };
    // One more than is shown tells whether there are more.
    let enough = args.limit.saturating_add(1);
    let folder = match &args.working_dir {
        Some(folder) => Some(std::path::absolute(folder)?),
        None if args.here => Some(env::current_dir()?),
        None => None,
    };
    let mut sessions = match &args.search {
        // Opening the store would create it, which fails in a home that is read-only.
        _ if !store.path().exists() => Vec::new(),
        Some(text) => {
            let mut query = SearchQuery::new(text, enough).per_session(1);
            if let Some(folder) = folder {
                query = query.in_folder(folder);
            }
            searched(store, &query).await?
        }
        None => {
            let mut options = ListOptions::newest(enough);
            if let Some(folder) = folder {
                options = options.in_folder(folder);
            }
            if args.ascending {
                options = options.ascending();
            }
            if args.all {
                options = options.all_kinds();
            }
            store.list(options).await.map_err(explained)?
        }
    };
    let has_more = sessions.len() > args.limit as usize;
    sessions.truncate(args.limit as usize);
    let document = || sessions_json(&sessions);
    output::print(&form, document, |out| {
        if sessions.is_empty() {
            importable(store).into_iter().try_for_each(|line| out.line(line))?;
            return out.line("No sessions found. Run `goose session` to start one.");
        }
        print(out, &sessions)?;
        if has_more {
            let note = format!("Only {} shown; there are more. Use --limit N to list more.", args.limit);
            out.line(out.paint(FAINT, note))?;
        }
        Ok(())
    })
}

/// A session in JSON output.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(flatten)]
    session: &'a SessionSummary,
}

/// Returns the document of `--json`.
fn sessions_json(sessions: &[SessionSummary]) -> serde_json::Value {
    let row = |session| Row { name: SessionSummary::name(session), session };
    json!({ "sessions": sessions.iter().map(row).collect::<Vec<_>>() })
}

/// Returns the sessions that contain the text, the best match first.
async fn searched(store: &SessionStore, query: &SearchQuery) -> anyhow::Result<Vec<SessionSummary>> {
    let results = store.search(query).await.map_err(explained)?;
    tell_unindexed(&results);
    let mut sessions = Vec::new();
    for found in results.found {
        sessions.push(store.summary(&found.session).await.map_err(explained)?);
    }
    Ok(sessions)
}

/// Tells the user if older sessions could not be searched yet, as after an import of many. Each search indexes more of
/// them.
fn tell_unindexed(results: &SearchResults) {
    let sessions = match results.unindexed {
        0 => return,
        1 => "1 older session is".to_owned(),
        count => format!("{count} older sessions are"),
    };
    stderr::line(format_args!(
        "{WARNING}{sessions} not indexed yet and not searched. Search again to include more of them.{WARNING:#}"
    ));
}

fn print(out: &mut Output, sessions: &[SessionSummary]) -> io::Result<()> {
    let ids = sessions.iter().map(|session| session.id.as_str().len()).max().unwrap_or_default();
    for session in sessions {
        let id = out.paint(NAME, format!("{:ids$}", session.id));
        let name = fitted(&escape::line(session.name()), NAME_WIDTH);
        let count = counted(session.messages, "message");
        let folder = escape::path(&session.working_dir);
        let when = local(session.updated_at);
        let agent =
            session.agent.as_deref().map(|agent| format!("  {}", escape::line(agent))).unwrap_or_default();
        let details = out.paint(FAINT, format!("{when}  {count}{agent}  {folder}"));
        out.line(format_args!("{id}  {name}"))?;
        out.line(format_args!("{:ids$}  {details}", ""))?;
    }
    Ok(())
}

/// Prints sessions as the list does.
pub(crate) fn session_rows(sessions: &[SessionSummary], form: &JsonArgs) -> anyhow::Result<ExitCode> {
    output::print(form, || sessions_json(sessions), |out| print(out, sessions))
}

/// Formats a moment in the local time zone.
pub(super) fn local(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Searches the content of sessions.
pub(super) async fn search(
    store: &SessionStore,
    text: &str,
    limit: u32,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    let results = store.search(&SearchQuery::new(text, limit)).await.map_err(explained)?;
    tell_unindexed(&results);
    let found = &results.found;
    let document = || {
        let found: Vec<_> = found.iter().map(found_json).collect();
        json!({ "found": found, "unindexed": results.unindexed })
    };
    output::print(form, document, |out| {
        if found.is_empty() {
            out.line("No matches found.")?;
        }
        for found in found {
            let id = out.paint(NAME, &found.session);
            let when = out.paint(FAINT, local(found.at));
            let name = fitted(&escape::line(&found.name), NAME_WIDTH);
            out.line(format_args!("{id}  {name}  {when}"))?;
            out.indented(4, FAINT, &found.snippet.replace('\n', " "))?;
        }
        Ok(())
    })
}

fn found_json(found: &Found) -> serde_json::Value {
    json!({
        "session": found.session,
        "name": found.name,
        "step": found.seq,
        "at": found.at.to_string(),
        "kind": found.kind,
        "snippet": found.snippet,
    })
}
