use std::{path::PathBuf, sync::Arc};

use super::*;
use crate::agents::{
    catalog::{AgentOrigin, CatalogEntry},
    manifest::{AgentManifest, AgentMode, Capability},
};

const TRAINING: &str = include_str!("training.tsv");

fn route(text: &str) -> Route {
    Router::new(&AgentCatalog::builtin()).route(text)
}

fn mode_of(text: &str) -> String {
    let route = route(text);
    format!("{}/{}", route.agent, route.mode)
}

/// The modes and needs of the tasks of a request.
fn tasks_of(text: &str) -> Vec<(String, Vec<String>)> {
    route(text).tasks.into_iter().map(|task| (task.mode, task.needs)).collect()
}

fn own_agent(name: &str, when_to_use: &str, capability: &str) -> AgentCatalog {
    let mode =
        AgentMode { slug: "main".to_owned(), when_to_use: when_to_use.to_owned(), ..AgentMode::default() };
    let mut manifest = AgentManifest { name: name.to_owned(), modes: vec![mode], ..AgentManifest::default() };
    manifest.metadata.capabilities = vec![Capability::from(capability)];
    let mut catalog = AgentCatalog::builtin();
    let origin = AgentOrigin::User(PathBuf::from("own.yaml"));
    catalog.agents.push(CatalogEntry { manifest: Arc::new(manifest), origin });
    catalog
}

#[test]
fn reason_names_words_of_the_request() {
    let route = route("write playwright tests for the checkout");
    assert_eq!((route.agent.as_str(), route.mode.as_str()), ("coding-agent", "qa"));
    assert!(
        route.reason.contains("\"tests\"") || route.reason.contains("\"playwright\""),
        "{}",
        route.reason
    );
}

#[test]
fn plain_questions_stay_with_the_default_agent() {
    for text in ["what is the capital of Peru?", "hi", "thanks!", "rename the photos in this folder by date"]
    {
        assert_eq!(mode_of(text), "goose-agent/assistant", "{text}");
    }
}

#[test]
fn requests_find_their_modes() {
    for (text, mode) in [
        ("the login button overlaps the logo on small screens, fix the css", "coding-agent/frontend"),
        ("add a DELETE endpoint for invoices to the API", "coding-agent/backend"),
        ("are there any hard coded credentials in this repository?", "coding-agent/security"),
        ("write an ADR about choosing Kafka over RabbitMQ", "coding-agent/architect"),
        ("draft user stories with acceptance criteria for the shopping cart", "coding-agent/pm"),
        ("pods are in CrashLoopBackOff since the last rollout, find out why", "coding-agent/sre"),
        ("set up a GitHub Actions workflow that builds the Docker image", "coding-agent/devsecops"),
        ("make me a little app that counts down to my birthday", "goose-agent/app_maker"),
        ("turn this conversation into a recipe", "goose-agent/recipe_maker"),
        ("write a plan for the migration, don't change anything yet", "goose-agent/planner"),
    ] {
        assert_eq!(mode_of(text), mode, "{text}");
    }
}

#[test]
fn plain_files_are_not_for_modes_with_products_of_their_own() {
    for text in [
        "Please make an index.html with a heading and a list of my three hobbies",
        "check the links in docs and tell me which are broken",
        "In requirements.txt set the version of requests to 2.31.0",
        "Read options.md and pick a hosting plan for us: which costs least?",
    ] {
        assert_eq!(mode_of(text), "goose-agent/assistant", "{text}");
    }
    for text in [
        "turn debug off in app.yml",
        "Create config/app.json, a JSON object with two keys: name is \"lantern\", debug is false.",
        "make an index.html with the title Harbor",
    ] {
        assert!(!mode_of(text).contains("/app_"), "{text}: {}", mode_of(text));
    }
    assert_eq!(mode_of("Remove the debug console.log line from app.js"), "coding-agent/frontend");
    assert_eq!(mode_of("change the colors in my timer app"), "goose-agent/app_iterator");
}

#[test]
fn hostile_texts_go_to_the_default_agent() {
    let controls = "\u{0}\u{1}\u{7f}\u{1b}[31m";
    for text in
        ["", "   \n\t ", "🦆🦆🦆 🎉", controls, "\u{202e}\u{200f}אבג שלום", "((((((", "- \n- \n- ", "\"'`[{"]
    {
        assert_eq!(mode_of(text), "goose-agent/assistant", "{text:?}");
        assert_eq!(route(text).tasks.len(), 1, "{text:?}");
    }
}

#[test]
fn a_megabyte_is_one_task_with_all_its_words() {
    let long = "ä1 - b. and then 2) ".repeat(50_000);
    let tasks = route(&long).tasks;
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].text, long);
}

/// A mode that cannot edit every file never gets a request that the examples give to one that can.
#[test]
fn requests_to_change_code_never_reach_a_mode_that_cannot() {
    let catalog = AgentCatalog::builtin();
    let router = Router::new(&catalog);
    let abilities = abilities(&catalog);
    let label =
        |name: &str| LABELS.iter().position(|(agent, mode)| name.split_once('/') == Some((agent, mode)));
    let (mut checked, mut wrong) = (0, Vec::new());
    for (name, text) in TRAINING.lines().filter_map(|line| line.split_once('\t')) {
        let wanted = label(name).unwrap();
        if wanted != DEFAULT && abilities[wanted] == Ability::Edits {
            let found = label(&router.route(text).id()).unwrap();
            checked += 1;
            if abilities[found] != Ability::Edits {
                wrong.push(text);
            }
        }
    }
    assert!(checked > 500, "{checked}");
    assert_eq!(wrong, Vec::<&str>::new());
}

#[test]
fn findings_that_are_to_be_fixed_are_for_a_mode_that_edits() {
    for text in [
        "review the upload handler for vulnerabilities and fix them",
        "fix the XSS in the comment template",
        "close the SQL injection in search.php",
        "patch the path traversal in the download endpoint",
    ] {
        let fixes = route(text).tasks.pop().map(|task| task.mode);
        assert_ne!(fixes.as_deref(), Some("security"), "{text}");
    }
}

#[test]
fn the_specialist_mode_is_never_chosen() {
    let texts = [
        "a part of a larger task that can be done on its own",
        "be a specialist",
        "one task of another agent",
    ];
    for text in texts {
        assert_ne!(route(text).mode, goose_agent::SPECIALIST, "{text}");
    }
}

#[test]
fn requests_for_subagents_without_an_orchestrator_go_to_the_default_agent() {
    let mut catalog = AgentCatalog::builtin();
    catalog.agents.retain(|entry| entry.manifest.name != "orchestrator");
    let route = Router::new(&catalog).route("use two subagents to compare the libraries");
    assert_eq!((route.agent.as_str(), route.mode.as_str()), ("goose-agent", "assistant"));
}

#[test]
fn other_languages_go_to_the_default_agent() {
    for text in [
        "Schreib bitte Tests für das Modul mit den Rechnungen",
        "corrige el error en el formulario de registro",
        "ログイン画面のバグを直してください",
        "сделай ревью безопасности модуля авторизации",
    ] {
        assert_eq!(mode_of(text), "goose-agent/assistant", "{text}");
    }
}

#[test]
fn own_agents_are_found_by_what_they_are_for() {
    let catalog = own_agent("tax-helper", "Tax returns, deductions, payroll and VAT filings.", "bookkeeping");
    let router = Router::new(&catalog);
    let found = router.route("prepare the VAT filings and payroll for March");
    assert_eq!(found.agent, "tax-helper");
    assert!(found.reason.contains("\"payroll\""), "{}", found.reason);
    assert_eq!(router.route("do my bookkeeping and the deductions").agent, "tax-helper");
    assert_eq!(router.route("what is the capital of Peru?").agent, "goose-agent");
    assert_eq!(router.route("fix the null pointer in OrderService.java").agent, "coding-agent");
}

#[test]
fn few_words_need_more_than_one_that_happens_to_fit() {
    for text in ["And a third", "Do it again", "Thanks a lot", "The other one"] {
        let route = route(text);
        assert_eq!((route.agent.as_str(), route.mode.as_str()), ("goose-agent", "assistant"), "{text}");
    }
}

#[test]
fn unsure_means_the_default_agent() {
    let route = route("quux frobnicate blarg");
    assert_eq!((route.agent.as_str(), route.mode.as_str()), ("goose-agent", "assistant"));
}

#[test]
fn a_chain_keeps_its_order() {
    let tasks = tasks_of("fix the crash in parser.rs and then write a regression test for it");
    assert_eq!(tasks, [("backend".to_owned(), vec![]), ("qa".to_owned(), vec!["1".to_owned()])]);
}

#[test]
fn list_items_for_different_modes_are_tasks() {
    let tasks = tasks_of(
        "1. add a Dockerfile for the worker\n2. draft the release notes for 2.0\n3. what does EPIPE mean?",
    );
    let modes: Vec<&str> = tasks.iter().map(|(mode, _)| mode.as_str()).collect();
    assert_eq!(modes, ["devsecops", "pm", "assistant"]);
    assert!(tasks.iter().all(|(_, needs)| needs.is_empty()), "{tasks:?}");
}

#[test]
fn work_after_once_needs_the_work_before() {
    let tasks = tasks_of("once the /export endpoint streams its rows, hook the progress bar in the UI to it");
    assert_eq!(tasks, [("backend".to_owned(), vec![]), ("frontend".to_owned(), vec!["1".to_owned()])]);
}

#[test]
fn separate_work_needs_nothing() {
    let tasks = tasks_of("Make the login button blue. Also our Dockerfile runs as root, change that.");
    assert_eq!(tasks, [("frontend".to_owned(), vec![]), ("devsecops".to_owned(), vec![])]);
}

#[test]
fn work_on_all_of_it_needs_all_of_it() {
    let tasks = tasks_of(
        "add the endpoint for ratings, show the ratings on the product page and write tests for both",
    );
    let needs: Vec<&[String]> = tasks.iter().map(|(_, needs)| needs.as_slice()).collect();
    assert_eq!(needs, [&[][..], &["1".to_owned()], &["1".to_owned(), "2".to_owned()]], "{tasks:?}");
}

#[test]
fn work_on_the_fix_needs_the_fix_only() {
    let tasks = tasks_of(
        "Look for SQL injection in the search, fix what you find and add regression tests for the fixes",
    );
    let needs: Vec<&[String]> = tasks.iter().map(|(_, needs)| needs.as_slice()).collect();
    assert_eq!(needs, [&[][..], &["1".to_owned()], &["2".to_owned()]], "{tasks:?}");
}

#[test]
fn work_that_comes_first_is_needed_by_what_is_named_first() {
    let tasks = tasks_of("Deploy the service to staging, but first run the integration tests.");
    assert_eq!(tasks, [("qa".to_owned(), vec![]), ("devsecops".to_owned(), vec!["1".to_owned()])]);
}

#[test]
fn steps_of_one_job_stay_whole() {
    for text in [
        "read notes.md and summarize it",
        "find and fix the off-by-one in pager.c and list.c",
        "add a phone field to the customer model, the form and the api docs",
        "the button should be 1) blue 2) rounded 3) disabled while loading",
        "Thanks for earlier, that was great. Now, about the parser: it should skip blank lines.",
        "translate this: \"First build it. Then write tests for it.\"",
    ] {
        assert_eq!(route(text).tasks.len(), 1, "{text}");
    }
}

#[test]
fn needs_name_earlier_tasks_only() {
    for line in TRAINING.lines().step_by(7) {
        let text = line.replace('\t', ". Then ");
        for (at, task) in route(&text).tasks.iter().enumerate() {
            assert_eq!(task.id, (at + 1).to_string());
            assert!(task.needs.iter().all(|id| id.parse::<usize>().is_ok_and(|id| id <= at)), "{text}");
        }
    }
}
