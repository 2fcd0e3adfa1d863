//! Code mode in a session: many calls for the price of one, through the same checks as the calls of the model.
#![cfg(all(target_os = "linux", feature = "code-execution"))]

use std::sync::{Arc, Weak};

use anyhow::ensure;
use goose::{
    agent_manager::OpenOptions,
    agents::catalog::AgentCatalog,
    exchange::{Approval, Decision, Event},
    permission::{Effect, Mode, PermissionOptions, Permissions, Rule},
    platform::code_execution::CodeExecution,
};
use goose_extension::{CheckedArguments, JsonObject, prelude::*};
use goose_test_support::model_server::{ModelServer, Turn, Wire};

use crate::exchange_support::{Stage, all, all_with, done, outcome};

/// The number of calls in the task.
const CALLS: usize = 50;

/// A tool with results of some length, and one that rules forbid.
struct Desk;

#[extension(name = "desk", description = "Pages")]
impl Desk {
    /// Reads a page.
    #[tool]
    async fn page(&self, number: u32) -> String {
        format!("Page {number}\n{}\ntotal: {}", "Some words that are not needed. ".repeat(30), number * 2)
    }

    /// Is forbidden.
    #[tool]
    async fn secret(&self) -> String {
        "the secret".to_owned()
    }
}

/// Code mode as a service, so that any mode has it: here it is the path of its calls that matters.
struct Programs(CodeExecution);

#[async_trait]
impl Extension for Programs {
    fn name(&self) -> &str {
        "programs"
    }

    fn description(&self) -> &str {
        self.0.description()
    }

    fn instructions(&self) -> &str {
        self.0.instructions()
    }

    fn tools(&self) -> &[Tool] {
        self.0.tools()
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        self.0.status().await
    }

    async fn call_tool(&self, name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        self.0.call_tool(name, parameters).await
    }

    async fn call(&self, name: &str, arguments: JsonObject, context: &CallContext) -> ToolResult<ToolOutput> {
        self.0.call(name, arguments, context).await
    }

    async fn call_checked(
        &self,
        name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.0.call_checked(name, arguments, context).await
    }
}

fn program(code: &str) -> Turn {
    Turn::call("programs__execute_typescript", json!({ "code": code }))
}

async fn stage(mode: Mode, turns: Vec<Turn>) -> anyhow::Result<Stage> {
    let deny = Rule::parse(Effect::Deny, "desk__secret")?;
    stage_with(mode, vec![deny], turns).await
}

async fn stage_with(mode: Mode, rules: Vec<Rule>, turns: Vec<Turn>) -> anyhow::Result<Stage> {
    let permissions = Permissions::new(PermissionOptions::new(mode).with_rules(rules));
    let model = ModelServer::scripted(turns)?;
    // The request would be routed to an agent by its words.
    let (manifest, mode) = AgentCatalog::default_agent();
    let change = |options: OpenOptions| options.with_permissions(permissions).with_agent(manifest, mode);
    let stage = Stage::with(Wire::Chat, model, change).await?;
    let extensions = stage.exchange.extensions();
    extensions.add_extension(Arc::new(Desk))?;
    let manager: Weak<_> = Arc::downgrade(&extensions);
    let tools = move || manager.upgrade().map(|manager| manager.known_tools()).unwrap_or_default();
    extensions.add_extension(Arc::new(Programs(CodeExecution::new(tools))))?;
    extensions.list_tools().await?;
    Ok(stage)
}

/// The bytes of all requests.
fn sent(stage: &Stage) -> usize {
    stage.model.asked().iter().map(|asked| asked.bytes).sum()
}

/// The last result that the model was sent.
fn last_result(stage: &Stage) -> String {
    let asked = stage.model.asked();
    let results = asked.last().map(|asked| asked.tool_results()).unwrap_or_default();
    results.last().map(|(_, text)| text.clone()).unwrap_or_default()
}

#[tokio::test]
async fn fifty_calls_cost_a_twentieth() -> anyhow::Result<()> {
    let mut turns: Vec<Turn> =
        (1..=CALLS).map(|number| Turn::call("desk__page", json!({ "number": number }))).collect();
    turns.push(Turn::text("2550"));
    let direct = stage(Mode::Auto, turns).await?;
    ensure!(outcome(&direct.say("Add up").await?)? == &done());

    let code = "let sum = 0;
        for (let number = 1; number <= 50; number++) {
          const page: string = await desk.page({ number });
          sum += Number(page.match(/total: (\\d+)/)![1]);
        }
        console.log(sum);";
    let coded = stage(Mode::Auto, vec![program(code), Turn::text("2550")]).await?;
    let events = coded.say("Add up").await?;
    ensure!(outcome(&events)? == &done());
    assert_eq!(last_result(&coded).trim(), "2550");
    let started = events
        .iter()
        .filter(|event| matches!(event, Event::ToolStarted { name, .. } if name == "desk__page"));
    assert_eq!(started.count(), CALLS, "each call is an event");
    let (without, with) = (sent(&direct), sent(&coded));
    println!("{without} bytes without, {with} with");
    assert!(
        without >= 20 * with,
        "{without} bytes without, {with} with: {:.1} times",
        without as f64 / with as f64
    );
    Ok(())
}

#[tokio::test]
async fn a_denied_call_is_denied_the_same_way_from_code() -> anyhow::Result<()> {
    let direct = stage(Mode::Auto, vec![Turn::call("desk__secret", json!({})), Turn::text("No.")]).await?;
    direct.say("Go").await?;
    let denied = last_result(&direct);
    let denied = denied.trim_start_matches("Error: ");
    ensure!(denied.starts_with("Not run:"), "{denied}");
    let code = "try { await desk.secret() } catch (error) { console.log((error as Error).message) }";
    let coded =
        stage(Mode::Auto, vec![program(code), program("await desk.secret()"), Turn::text("No.")]).await?;
    coded.say("Go").await?;
    assert_eq!(coded.results_in(1), [format!("desk.secret: {denied}\n")]);
    let failed = last_result(&coded);
    assert!(failed.contains(denied) && failed.contains("at line 1"), "{failed}");
    Ok(())
}

/// The program itself does nothing, so only its calls are asked about.
#[tokio::test]
async fn calls_from_code_are_asked_about_as_parts_of_it() -> anyhow::Result<()> {
    let code = "await desk.page({ number: 1 });\nawait desk.page({ nummer: 2 } as any)";
    let stage = stage(Mode::Approve, vec![program(code), Turn::text("Done.")]).await?;
    let mut asked = Vec::new();
    let events = all_with(stage.exchange.reply_to("Go"), |approval: &Approval| {
        asked.push((approval.id.clone(), approval.tool.clone()));
        Decision::Allow
    })
    .await?;
    ensure!(outcome(&events)? == &done());
    let tools: Vec<&str> = asked.iter().map(|(_, tool)| tool.as_str()).collect();
    assert_eq!(tools, ["desk__page"]);
    let program = events.iter().find_map(|event| match event {
        Event::ToolStarted { id, name, .. } if name == "programs__execute_typescript" => Some(id),
        _ => None,
    });
    assert_eq!(
        Some(asked[0].0.as_str()),
        program.map(|id| format!("{id}/1")).as_deref(),
        "the parent is in the id"
    );
    let result = last_result(&stage);
    assert!(
        result.contains("nummer") && result.contains("at line 2"),
        "the tool says what is wrong: {result}"
    );
    Ok(())
}

#[tokio::test]
async fn a_rule_about_programs_holds_in_every_mode() -> anyhow::Result<()> {
    for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
        let rule = Rule::parse(Effect::Ask, "programs__execute_typescript")?;
        let stage =
            stage_with(mode, vec![rule], vec![program("console.log(1)"), Turn::text("Done.")]).await?;
        let mut asked = Vec::new();
        let events = all_with(stage.exchange.reply_to("Go"), |approval: &Approval| {
            asked.push(approval.tool.clone());
            Decision::Deny { instead: None }
        })
        .await?;
        ensure!(outcome(&events)? == &done());
        assert_eq!(asked, ["programs__execute_typescript"], "{mode}");
        ensure!(last_result(&stage).contains("did not allow"), "{mode}");
    }
    Ok(())
}

#[tokio::test]
async fn a_session_goes_on_after_hostile_programs() -> anyhow::Result<()> {
    let programs = [
        ("while (true) {}", "endless loop"),
        ("const all: string[] = []; while (true) all.push('x'.repeat(1e6) + all.length)", "64 MB"),
        ("while (true) console.log('x'.repeat(10_000))", "printed more than 16 MB"),
        ("while (true) await desk.page({ number: 1 })", "at most 1000 calls"),
        ("console.log('fine')", "fine"),
    ];
    let mut turns: Vec<Turn> = programs.iter().map(|(code, _)| program(code)).collect();
    turns.push(Turn::text("Done."));
    let stage = stage(Mode::Auto, turns).await?;
    ensure!(outcome(&all(stage.exchange.reply_to("Go")).await?)? == &done());
    let asked = stage.model.asked();
    let results = asked.last().map(|asked| asked.tool_results()).unwrap_or_default();
    for ((code, expected), (_, result)) in programs.iter().zip(&results) {
        assert!(result.contains(expected), "{code}: {}", &result[result.len().saturating_sub(500)..]);
    }
    assert_eq!(results.len(), programs.len());
    Ok(())
}
