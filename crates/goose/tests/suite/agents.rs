//! Agents and their modes: what each may touch, on every path; which services it gets; and choosing one.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use goose::{
    agent_manager::OpenOptions,
    agents::{
        catalog::{AgentCatalog, AgentOrigin},
        extension::ExtensionConfig,
        manifest::AgentMode,
        mode_table,
        toolset::Toolset,
    },
    config::TrustStore,
    exchange::{Event, Exchange},
    permission::{Effect, Mode, PermissionOptions, Permissions, Rule},
    platform::Todo,
    session::{NewSession, Session, SessionStore},
};
use goose_extension::{JsonObject, ToolAction, prelude::*};
use goose_test_support::{
    HttpAnswer, Loopback,
    model_server::{ModelServer, Turn, Wire},
};

use crate::{
    exchange_support::{all, done, outcome, provider, until_event},
    support::{World, bounded, builtin_mode, until},
};

/// The mode table of the design, tool by tool. `*` stands for all tools of an extension.
const MODES: &[(&str, &[&str])] = &[
    (
        "goose-agent/assistant",
        &[
            "developer without plan",
            "memory",
            "todo",
            "user",
            "tutorial",
            "computercontroller",
            "summon__load",
        ],
    ),
    (
        "goose-agent/specialist",
        &["developer", "memory", "user", "tutorial", "computercontroller", "summon__load"],
    ),
    ("goose-agent/app_maker", &["apps"]),
    ("goose-agent/app_iterator", &["apps"]),
    ("goose-agent/recipe_maker", &[]),
    ("goose-agent/planner", &[]),
    ("goose-agent/judge", &[]),
    ("goose-agent/change_reviewer", &["source"]),
    ("coding-agent/pm", &["read", "edit", "memory", "fetch"]),
    ("coding-agent/architect", &["read", "edit", "memory", "fetch"]),
    (
        "coding-agent/backend",
        &["developer", "memory", "user", "tutorial", "computercontroller", "summon__load"],
    ),
    (
        "coding-agent/frontend",
        &["developer", "memory", "user", "tutorial", "computercontroller", "summon__load"],
    ),
    ("coding-agent/qa", &["read", "edit", "command", "memory", "browser"]),
    ("coding-agent/security", &["read", "memory", "fetch"]),
    ("coding-agent/sre", &["read", "edit", "command", "memory", "fetch"]),
    (
        "coding-agent/devsecops",
        &["developer", "memory", "user", "tutorial", "computercontroller", "summon__load"],
    ),
    ("orchestrator/orchestrator", &["summon", "extensionmanager", "chatrecall", "code_execution"]),
];

const READ: &[&str] = &["read", "tree", "search", "analyze", "plan"];
const EDIT: &[&str] = &["write", "edit"];
const DOCUMENTS: [&str; 3] = ["xlsx_tool", "docx_tool", "pdf_tool"];

fn is_given(tool: &str, given: &[&str]) -> bool {
    let (extension, bare) = tool.split_once("__").unwrap_or_default();
    let is_computer = |tools: &[&str]| extension == "computercontroller" && tools.contains(&bare);
    given.iter().any(|given| match *given {
        "source" => extension == "developer" && READ.contains(&bare),
        "read" => (extension == "developer" && READ.contains(&bare)) || is_computer(&DOCUMENTS),
        "edit" => extension == "developer" && EDIT.contains(&bare),
        "command" => tool == "developer__shell" || is_computer(&["automation_script"]),
        "fetch" => is_computer(&["web_scrape", "cache"]),
        "browser" => is_computer(&["web_scrape", "computer_control"]),
        "developer without plan" => extension == "developer" && bare != "plan",
        name => name == tool || name == extension,
    })
}

/// A platform extension by its name, with tools in all groups.
struct Platform(&'static str, Vec<Tool>);

impl Platform {
    fn extension(name: &'static str) -> Arc<dyn Extension> {
        let tool = |name| Tool::new(name, "", JsonObject::new()).with_groups(ToolGroup::ALL);
        let load = match name {
            "summon" => tool("load").with_action(ToolAction::LoadsKnowledge),
            _ => tool("load"),
        };
        Arc::new(Self(name, vec![load, tool("delegate")]))
    }
}

#[async_trait]
impl Extension for Platform {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        ""
    }

    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        &self.1
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, name: &str, _: HashMap<String, Value>) -> ToolResult<Value> {
        Ok(json!(name))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_has_the_tools_of_the_table_and_no_others() -> anyhow::Result<()> {
    let world = World::new()?;
    let builtins = ["developer", "memory", "tutorial", "computercontroller"].map(ExtensionConfig::builtin);
    let configs = [world.server("user", &[])?].into_iter().chain(builtins).collect();
    let manager = Arc::new(world.manager(configs).await?);
    for name in ["apps", "summon", "chatrecall", "extensionmanager"] {
        manager.add_extension(Platform::extension(name))?;
    }
    manager.add_extension(Arc::new(Todo::extension()))?;
    bounded(manager.list_tools()).await??;
    let known: Vec<String> = manager.known_tools().iter().map(|tool| tool.name().to_owned()).collect();
    assert!(known.len() > 20 && known.contains(&"developer__plan".to_owned()), "{known:?}");

    for (mode, given) in MODES {
        let toolset = Toolset::compute(&builtin_mode(mode)?, &manager);
        let listed: BTreeSet<String> = toolset.tools().iter().map(|tool| tool.name().to_owned()).collect();
        for tool in &known {
            let expected = is_given(tool, given);
            assert_eq!(listed.contains(tool), expected, "{mode}: {tool} listed");
            assert_eq!(toolset.resolve(tool).is_ok(), expected, "{mode}: {tool} resolved");
        }
        assert_eq!(toolset.tools().is_empty(), given.is_empty());
    }
    let builtin = AgentCatalog::builtin();
    let modes = builtin.agents.iter().flat_map(|entry| {
        entry.manifest.modes.iter().map(|mode| format!("{}/{}", entry.manifest.name, mode.slug))
    });
    assert!(modes.eq(MODES.iter().map(|(name, _)| *name)), "every mode is in the table");
    manager.close().await;
    Ok(())
}

/// The same table for agents as sessions have them, with the real platform extensions. Code mode comes with commands.
#[tokio::test(flavor = "multi_thread")]
async fn each_mode_of_a_session_has_the_tools_of_the_table_and_no_others() -> anyhow::Result<()> {
    let world = World::new()?;
    let user = serde_json::to_value(world.server("user", &[])?)?;
    let config = format!(
        "{CODE_MODE}  user: {user}\n  tutorial: {{enabled: true, type: builtin, name: tutorial}}\n  computercontroller: {{enabled: true, type: builtin, name: computercontroller}}\n"
    );
    fs::create_dir_all(world.paths().config)?;
    fs::write(world.paths().config.join("config.yaml"), config)?;
    let model = ModelServer::scripted([Turn::text("Unused.")])?;
    let mut opened = Vec::new();
    let mut known = BTreeSet::new();
    for (mode, given) in MODES {
        let exchange = open(&world, &model, mode).await?;
        bounded(exchange.agent().toolset.list()).await?;
        let tools = exchange.agent().toolset.tools();
        let listed: BTreeSet<String> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        known.extend(listed.iter().cloned());
        opened.push((mode, given, listed, exchange));
    }
    for tool in [
        "apps__create_app",
        "chatrecall__chatrecall",
        "code_execution__execute_typescript",
        "developer__plan",
        "extensionmanager__manage_extensions",
        "delegate",
        "todo__todo_write",
    ] {
        assert!(known.contains(tool), "{tool}: {known:?}");
    }
    for (mode, given, listed, exchange) in opened {
        for tool in &known {
            let expected = match tool.as_str() {
                "delegate" => is_given("developer__shell", given) || is_given("summon__delegate", given),
                tool if tool.starts_with("code_execution__") => {
                    is_given("developer__shell", given) || is_given(tool, given)
                }
                // The server has resources.
                "extensionmanager__list_resources" | "extensionmanager__read_resource" => {
                    is_given("user__echo", given) || is_given(tool, given)
                }
                tool => is_given(tool, given),
            };
            assert_eq!(listed.contains(tool), expected, "{mode}: {tool} listed");
            assert_eq!(exchange.agent().toolset.resolve(tool).is_ok(), expected, "{mode}: {tool} resolved");
        }
        exchange.close().await;
    }
    Ok(())
}

#[test]
fn the_documentation_has_the_mode_table() -> anyhow::Result<()> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md"))?;
    assert!(page.contains(&mode_table()), "put this table into docs/agents.md:\n{}", mode_table());
    Ok(())
}

async fn open(world: &World, model: &ModelServer, agent: &str) -> anyhow::Result<Exchange> {
    let agents = world.agents()?;
    let (manifest, mode) = AgentCatalog::load(&world.paths(), &world.file("")).find(agent)?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(model, Wire::Chat)?)
        .with_working_dir(world.file("").canonicalize()?)
        .with_session(Session::unsaved())
        .with_agent(manifest, mode);
    Ok(agents.open(options).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_without_tools_reach_nothing_by_a_forged_call() -> anyhow::Result<()> {
    for mode in ["judge", "planner", "recipe_maker"] {
        let world = World::new()?;
        let marker = world.file("marker");
        let touch = json!({"command": format!("touch {}", marker.display())});
        let model = ModelServer::scripted([
            Turn::call("developer__shell", touch.clone()).and_call("shell", touch),
            Turn::text("No."),
        ])?;
        let exchange = open(&world, &model, mode).await?;
        let events = all(exchange.reply_to("Judge")).await?;
        assert_eq!(outcome(&events)?, &done());
        assert!(model.asked()[0].tool_names().is_empty(), "{mode}");
        assert!(exchange.extensions().names().is_empty(), "{mode} binds no service");
        for (_, result) in model.asked()[1].tool_results() {
            assert!(result.contains("There is no tool"), "{mode}: {result}");
        }
        assert!(!marker.exists());
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_for_some_files_writes_no_others() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.file("").canonicalize()?;
    fs::write(folder.join("real.rs"), "fn main() {}\n")?;
    std::os::unix::fs::symlink(folder.join("real.rs"), folder.join("link.md"))?;
    let write = |path: &str| json!({"path": path, "content": "changed"});
    let model = ModelServer::scripted([
        Turn::call("developer__write", write("docs/plan.md"))
            .and_call("developer__write", write("new.rs"))
            .and_call("developer__write", write("link.md"))
            .and_call("developer__edit", json!({"path": "real.rs", "before": "main", "after": "other"}))
            .and_call("developer__shell", json!({"command": "touch new.rs"})),
        Turn::text("Done."),
    ])?;
    let exchange = open(&world, &model, "architect").await?;
    assert_eq!(outcome(&all(exchange.reply_to("Write")).await?)?, &done());
    let asked = model.asked();
    let offered = asked[0].body["tools"].as_array().unwrap();
    let write = offered.iter().find(|tool| tool["function"]["name"] == "developer__write").unwrap();
    assert!(write.to_string().contains("Markdown files only"), "{write}");
    let results: Vec<String> = asked[1].tool_results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(fs::read_to_string(folder.join("docs/plan.md"))?, "changed");
    for refused in &results[1..4] {
        assert!(refused.contains("Markdown files only") && refused.contains(".rs"), "{refused}");
    }
    assert!(results[4].contains("There is no tool"), "{}", results[4]);
    assert_eq!(fs::read_to_string(folder.join("real.rs"))?, "fn main() {}\n");
    assert!(!folder.join("new.rs").exists());
    exchange.close().await;
    Ok(())
}

/// A tool that reads with some operations and writes with others is in two groups. Each gives its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_gives_the_operations_that_are_its_own() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.file("").canonicalize()?;
    let save = |path: &str| json!({"path": path, "operation": "save", "rows": [["kept"]]});
    let read = json!({"path": "a.xlsx", "operation": "get_range"});
    for (mode, refused) in
        [("qa", None), ("security", Some("reading only")), ("architect", Some("Markdown files only"))]
    {
        let path = if mode == "qa" { "a.xlsx" } else { "b.xlsx" };
        let model = ModelServer::scripted([
            Turn::call("computercontroller__xlsx_tool", save(path))
                .and_call("computercontroller__xlsx_tool", read.clone()),
            Turn::call("computercontroller__xlsx_tool", read.clone()),
            Turn::text("Done."),
        ])?;
        let exchange = open(&world, &model, mode).await?;
        assert_eq!(outcome(&all(exchange.reply_to("Work")).await?)?, &done());
        let asked = model.asked();
        let written = &asked[1].tool_results()[0].1;
        assert_eq!(written.contains("Created a.xlsx"), refused.is_none(), "{mode}: {written}");
        assert!(refused.is_none_or(|reason| written.contains(reason)), "{mode}: {written}");
        let results = asked[2].tool_results();
        assert!(results.last().is_some_and(|(_, text)| text.contains("A1: kept")), "{mode}: {results:?}");
        exchange.close().await;
    }
    assert!(folder.join("a.xlsx").exists() && !folder.join("b.xlsx").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_lets_a_mode_fetch_from_a_server_of_this_machine() -> anyhow::Result<()> {
    let world = World::new()?;
    let server = Loopback::answering(|_| HttpAnswer::new(200, "the page of the person"))?;
    let url = server.url();
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let rules = format!("rules:\n  - allow: fetch {host}\n  - deny: fetch localhost\n");
    fs::create_dir_all(world.paths().config)?;
    fs::write(world.paths().config.join("permission.yaml"), rules)?;
    let other = url.replace("127.0.0.1", "localhost");
    let model = ModelServer::scripted([
        Turn::call("computercontroller__web_scrape", json!({"url": url})),
        Turn::call("computercontroller__web_scrape", json!({"url": other})),
        Turn::text("Done."),
    ])?;
    let exchange = open(&world, &model, "security").await?;
    assert_eq!(outcome(&all(exchange.reply_to("Look at it")).await?)?, &done());
    let asked = model.asked();
    let results: Vec<String> = asked[2].tool_results().into_iter().map(|(_, text)| text).collect();
    assert!(results[0].contains("the page of the person"), "{results:?}");
    assert!(results[1].contains("deny: fetch localhost"), "{results:?}");
    assert_eq!(server.asked().len(), 1);
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_in_the_middle_counts_from_the_next_call_on() -> anyhow::Result<()> {
    for mode in ["judge", "planner", "recipe_maker"] {
        let world = World::new()?;
        let folder = world.file("").canonicalize()?;
        let model = ModelServer::scripted([
            Turn::call("developer__shell", json!({"command": waiting(&folder)})),
            Turn::call("developer__shell", json!({"command": format!("touch {}/late", folder.display())})),
            Turn::text("Done."),
        ])?;
        let exchange = open(&world, &model, "assistant").await?;
        switch_while_it_waits(&exchange, &folder, mode).await?;
        let asked = model.asked();
        assert!(asked[1].tool_results()[0].1.contains("finished"), "the running call finishes");
        assert!(asked[1].tool_names().is_empty(), "the next question offers the tools of the new mode");
        assert!(asked[2].tool_results()[1].1.contains("There is no tool"));
        assert!(!folder.join("late").exists());
        exchange.close().await;
    }
    Ok(())
}

/// A program that has begun in another mode reaches nothing after the switch.
#[tokio::test(flavor = "multi_thread")]
async fn a_switch_in_the_middle_of_a_program_counts_from_its_next_call_on() -> anyhow::Result<()> {
    for mode in ["judge", "planner", "recipe_maker"] {
        let world = World::new()?;
        fs::create_dir_all(world.paths().config)?;
        fs::write(world.paths().config.join("config.yaml"), CODE_MODE)?;
        let folder = world.file("").canonicalize()?;
        let code = format!(
            "console.log(await developer.shell({{command: {:?}}}));\n\
             try {{ await developer.shell({{command: {:?}}}); }} catch (error) {{ console.log(String(error)); }}",
            waiting(&folder),
            format!("touch {}/late", folder.display())
        );
        let model = ModelServer::scripted([
            Turn::call("code_execution__execute_typescript", json!({"code": code})),
            Turn::text("Done."),
        ])?;
        let exchange = open(&world, &model, "assistant").await?;
        switch_while_it_waits(&exchange, &folder, mode).await?;
        let result = &model.asked()[1].tool_results()[0].1;
        assert!(result.contains("finished") && result.contains("ToolError: developer.shell:"), "{result}");
        assert!(!folder.join("late").exists());
        exchange.close().await;
    }
    Ok(())
}

/// A command that runs until the file `go` is there.
fn waiting(folder: &Path) -> String {
    format!("touch {0}/started; until [ -e {0}/go ]; do sleep 0.01; done; echo finished", folder.display())
}

async fn switch_while_it_waits(exchange: &Exchange, folder: &Path, mode: &str) -> anyhow::Result<()> {
    let mut reply = exchange.reply_to("Work");
    until_event(&mut reply, |event| matches!(event, Event::ToolStarted { .. })).await?;
    until("the command has started", || folder.join("started").exists()).await?;
    assert_eq!(bounded(exchange.switch_agent(mode)).await??, format!("goose-agent/{mode}"));
    fs::write(folder.join("go"), "")?;
    assert_eq!(outcome(&all(reply).await?)?, &done());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_may_name_the_agent_that_answers_it() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([Turn::text("A."), Turn::text("B."), Turn::text("C.")])?;
    let exchange = open(&world, &model, "assistant").await?;
    for message in ["@security look at this", "and you?", "@./file.txt is a file"] {
        assert_eq!(outcome(&all(exchange.reply_to(message)).await?)?, &done());
        assert_eq!(exchange.agent().id(), "goose-agent/assistant");
    }
    let asked = model.asked();
    let has_shell = |request: usize| asked[request].tool_names().contains(&"developer__shell");
    assert!(!has_shell(0) && has_shell(1) && has_shell(2));
    assert!(asked[0].body["messages"][0].to_string().contains("security reviewer"));
    exchange.close().await;
    Ok(())
}

const CODE_MODE: &str =
    "extensions:\n  code_execution: {enabled: true, type: platform, name: code_execution}\n";

/// Code mode reaches exactly the mode's toolset, under the same rules as a direct call.
#[tokio::test(flavor = "multi_thread")]
async fn code_is_denied_what_a_direct_call_is_denied() -> anyhow::Result<()> {
    let world = World::new()?;
    fs::create_dir_all(world.paths().config)?;
    fs::write(world.paths().config.join("config.yaml"), CODE_MODE)?;
    let folder = world.file("").canonicalize()?;
    let marker = folder.join("marker");
    let command = format!("touch {}", marker.display());
    let code = format!(
        "try {{ console.log(await developer.shell({{command: {command:?}}})); }} catch (error) {{ console.log(String(error)); }}"
    );
    let run = |code: &str| Turn::call("code_execution__execute_typescript", json!({"code": code}));
    let model = ModelServer::scripted([
        Turn::call("developer__shell", json!({"command": command})),
        run(&code),
        run("console.log(typeof judge, typeof code_execution); await summon.delegate({})"),
        Turn::text("Denied."),
    ])?;
    let rule = Rule::parse(Effect::Deny, "shell touch *")?;
    let permissions = Permissions::new(PermissionOptions::new(Mode::Auto).with_rules([rule]));
    let agents = world.agents()?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(&model, Wire::Chat)?)
        .with_working_dir(&folder)
        .with_session(Session::unsaved())
        .with_permissions(permissions);
    let exchange = agents.open(options).await?;
    assert_eq!(outcome(&all(exchange.reply_to("Touch it")).await?)?, &done());
    let asked = model.asked();
    let results: Vec<String> = asked[3].tool_results().into_iter().map(|(_, text)| text).collect();
    for result in &results[..2] {
        assert!(result.contains("Not run") && result.contains("shell touch *"), "{results:?}");
    }
    assert!(results[2].contains("undefined undefined"), "{results:?}");
    assert!(results[2].contains("no function `summon.delegate`"), "{results:?}");
    assert!(!marker.exists());
    exchange.close().await;

    // Modes that cannot run commands do not have it.
    for mode in ["security", "judge", "planner", "recipe_maker", "app_maker"] {
        let exchange = open(&world, &model, mode).await?;
        assert!(exchange.agent().toolset.resolve("code_execution__execute_typescript").is_err(), "{mode}");
        exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_gives_a_verdict_with_reasons_and_no_tools() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        Turn::text("Looks fine to me."),
        Turn::text("```json\n{\"pass\": false, \"reasons\": [\"There is no test.\"]}\n```"),
    ])?;
    let exchange = open(&world, &model, "assistant").await?;
    let judgement = exchange
        .judge("I changed it.", "It has a test.")
        .await
        .map_err(|error| anyhow::anyhow!(error.message))?;
    assert_eq!(
        (judgement.pass, judgement.reasons.as_slice()),
        (false, ["There is no test.".to_owned()].as_slice())
    );
    let asked = model.asked();
    assert!(asked[1].tool_names().is_empty() && asked[1].body.to_string().contains("It has a test."));
    assert!(exchange.messages().is_empty(), "the conversation does not see it");
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_knows_its_agent() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([Turn::text("A.")])?;
    let store = SessionStore::at(world.file("sessions.db"));
    let agents = world.agents()?;
    let (manifest, mode) = AgentCatalog::builtin().find("qa")?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(&model, Wire::Chat)?)
        .with_session(store.create(NewSession::in_folder(world.file(""))).await?)
        .with_agent(manifest, mode);
    let exchange = agents.open(options).await?;
    let id = exchange.session_id().clone();
    assert_eq!(outcome(&all(exchange.reply_to("Test")).await?)?, &done());
    exchange.close().await;
    assert_eq!(store.open_session(&id).await?.summary.agent.as_deref(), Some("coding-agent/qa"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_task_list_is_shown_with_each_request_and_replaces_the_plan() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([
        Turn::call("todo__todo_write", json!({"content": "- [x] look\n- [ ] fix"})),
        Turn::text("One."),
        Turn::text("Two."),
    ])?;
    let exchange = open(&world, &model, "assistant").await?;
    for message in ["Begin", "Go on"] {
        assert_eq!(outcome(&all(exchange.reply_to(message)).await?)?, &done());
    }
    let asked = model.asked();
    assert!(asked[1].tool_results()[0].1.contains("1 of 2 tasks done"));
    assert!(asked[0].tool_names().contains(&"todo__todo_write"));
    assert!(!asked[0].tool_names().contains(&"developer__plan"));
    let last = asked[2].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("task list as it stands") && last.contains("- [ ] fix"), "{last}");
    let before = asked[1].body["messages"].as_array().unwrap();
    let prefix = &asked[2].body["messages"].as_array().unwrap()[..before.len()];
    assert_eq!(prefix, before.as_slice(), "what was said stays as it was");
    exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_share_a_server_and_the_last_one_out_stops_it() -> anyhow::Result<()> {
    let world = World::new()?;
    let server = world.server("server", &[])?;
    let agents = world.agents()?;
    let folder = world.file("").canonicalize()?;
    let mut open = Vec::new();
    for agent in ["backend", "devsecops"] {
        let model = ModelServer::scripted([Turn::call("server__pid", json!({})), Turn::text("Done.")])?;
        let (manifest, mode) = AgentCatalog::builtin().find(agent)?;
        let options = OpenOptions::new(agents.settings().profile(None)?)
            .with_provider(provider(&model, Wire::Chat)?)
            .with_session(Session::unsaved())
            .with_working_dir(&folder)
            .with_extensions([server.clone()])
            .with_agent(manifest, mode);
        let exchange = agents.open(options).await?;
        assert_eq!(outcome(&all(exchange.reply_to("Who?")).await?)?, &done());
        open.push((exchange, model));
    }
    let pids: BTreeSet<String> =
        open.iter().map(|(_, model)| model.asked()[1].tool_results()[0].1.clone()).collect();
    assert_eq!((pids.len(), world.starts("server").len()), (1, 1), "{pids:?}");
    let running = || world.pool.services().iter().any(|service| service.name() == "server");
    let (first, second) = (open.remove(0).0, open.remove(0).0);
    // A mode without `mcp` gives it back.
    assert!(bounded(first.switch_agent("security")).await?.is_ok());
    assert!(running());
    second.close().await;
    until("the server has ended", || !running()).await?;
    first.close().await;
    Ok(())
}

#[tokio::test]
async fn agents_of_the_user_and_of_a_trusted_project_are_found_by_name() -> anyhow::Result<()> {
    let world = World::new()?;
    let (config, project) = (world.paths().config.join("agents"), world.file("project"));
    fs::create_dir_all(&config)?;
    fs::create_dir_all(project.join(".goose/agents"))?;
    fs::write(config.join("reviewer.md"), "---\nname: reviewer\ndescription: Reviews\n---\nReview.")?;
    fs::write(config.join("bad.yaml"), "name: Bad Name\nmodes: []\n")?;
    fs::write(project.join(".goose/agents/local.yaml"), "name: local\ninstructions: Here.\ntools: [Read]\n")?;
    fs::write(project.join(".roomodes"), "customModes:\n- slug: docs\n  name: Docs\n  groups: [read]\n")?;

    let catalog = AgentCatalog::load(&world.paths(), &project);
    assert!(catalog.find("reviewer").is_ok() && catalog.find("local").is_err());
    assert_eq!(catalog.untrusted.len(), 2);
    assert_eq!(catalog.problems.len(), 1, "{:?}", catalog.problems);
    assert!(
        catalog.find("nobody").unwrap_err().to_string().contains("reviewer"),
        "the error names those there are"
    );

    let trust = TrustStore::new(&world.paths());
    for file in &catalog.untrusted {
        trust.trust(file)?;
    }
    let catalog = AgentCatalog::load(&world.paths(), &project);
    assert!(catalog.untrusted.is_empty());
    let (local, mode): (_, AgentMode) = catalog.find("local/main")?;
    assert_eq!((local.name.as_str(), mode.has_group("read")), ("local", true));
    let docs = catalog.agents.iter().find(|entry| entry.manifest.name == "docs").unwrap();
    assert!(matches!(&docs.origin, AgentOrigin::Project(path) if path.ends_with(".roomodes")));
    fs::write(project.join(".goose/agents/local.yaml"), "name: local\ninstructions: Now evil.\n")?;
    assert!(AgentCatalog::load(&world.paths(), &project).find("local").is_err(), "changed since");
    Ok(())
}
