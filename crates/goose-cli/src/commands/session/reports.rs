//! `/status`, `/context`, `/permissions`, `/mcp` and `/doctor`: the state of the session and of the installation.

use goose::{exchange::ContextReport, services::Phase};

use super::{
    chat::{After, Chat, Next},
    commands::told,
    picker::short_path,
};
use crate::{
    commands::{doctor, extension, permissions},
    escape,
    output::{FAINT, NAME},
    settings::ConfigArgs,
    stderr,
    terminal::status::{context_use, tokens},
};

/// Width of the labels of `/status`.
const LABELS: usize = 11;

impl Chat {
    /// Shows the session, its folder, model, agent, mode and extensions.
    pub(super) async fn show_status(&self) {
        let exchange = &self.assembled.exchange;
        let title = self.title().await.map(|title| format!(" · {title}")).unwrap_or_default();
        let agent = exchange.agent().id();
        let mode = self.assembled.permissions.mode();
        let extensions = exchange.extensions().status();
        let extensions: Vec<String> = extensions
            .iter()
            .map(|status| match status.service.phase {
                Phase::Ready | Phase::Idle => status.name.clone(),
                phase => format!("{} ({})", status.name, phase.as_str()),
            })
            .collect();
        let rows = [
            ("session", format!("{}{title}", exchange.session_id())),
            ("folder", short_path(exchange.working_dir())),
            ("model", self.standing()),
            ("agent", agent),
            ("permissions", mode.to_string()),
            ("extensions", if extensions.is_empty() { "none".to_owned() } else { extensions.join(", ") }),
        ];
        for (label, text) in rows {
            stderr::line(format_args!("{NAME}{label:LABELS$}{NAME:#}  {}", escape::line(&text)));
        }
    }

    /// Shows what fills the model's context.
    pub(super) async fn show_context(&mut self) -> Next {
        let exchange = self.assembled.exchange.clone();
        let report = self.working("counting", exchange.context_report()).await??;
        let report = report.map_err(|failure| told(failure.message))?;
        context_lines(&report).iter().for_each(stderr::line);
        Ok(After::Line)
    }

    /// Shows the mode and the rules of the session.
    pub(super) fn show_permissions(&self) -> anyhow::Result<()> {
        let settings = self.assembled.manager().settings();
        permissions::show(settings, &self.assembled.permissions, self.assembled.exchange.working_dir())
    }

    /// Lists the extensions of the agent with their states.
    pub(super) fn show_extensions(&self) -> anyhow::Result<()> {
        let extensions = self.assembled.exchange.extensions();
        if extensions.names().is_empty() {
            stderr::line("The current agent has no extensions.");
            return Ok(());
        }
        extension::show(&extensions)
    }

    /// Checks the installation as `goose doctor` does.
    pub(super) async fn check_installation(&mut self) -> Next {
        let config = ConfigArgs { config: self.setup.model.config.clone() };
        // Some checks run their own runtime.
        let checks = tokio::task::spawn_blocking(move || doctor::check(&config));
        let checked = self.working("checking", checks).await??;
        let checked = checked.map_err(|error| told(format_args!("The checks failed: {error}")))?;
        checked.map_err(told)?.print()?;
        Ok(After::Line)
    }
}

/// Returns the parts of the context with their sizes.
fn context_lines(report: &ContextReport) -> Vec<String> {
    let mut rows = vec![("system prompt".to_owned(), report.system)];
    rows.extend(report.hints.iter().map(|hint| (escape::line(&hint.name).into_owned(), hint.tokens)));
    rows.extend(report.tools.iter().map(|tools| {
        let name = escape::line(&tools.name);
        (format!("tools of {name} ({})", tools.count), tools.tokens)
    }));
    rows.push((format!("messages ({})", report.messages.count), report.messages.tokens));
    if report.limit > 0 {
        rows.push(("free".to_owned(), report.limit.saturating_sub(report.used)));
    }
    let width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or_default();
    let share = |count: u64| match count.saturating_mul(100).checked_div(report.limit) {
        Some(share) => format!("  {share:>3} %"),
        None => String::new(),
    };
    let row = |(label, count): (String, u64)| {
        format!("  {label:width$}  {:>6}{FAINT}{}{FAINT:#}", tokens(count), share(count))
    };
    let mut lines = vec![format!("{NAME}Context{NAME:#}: about {}", context_use(report.used, report.limit))];
    lines.extend(rows.into_iter().map(row));
    lines
}
