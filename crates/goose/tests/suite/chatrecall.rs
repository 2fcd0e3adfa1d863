//! `chatrecall`: earlier sessions are found by words and shown in short; others are not.

use std::time::Duration;

use anyhow::Context as _;
use goose::{
    platform::chatrecall::{ChatRecall, RecallOptions, recall},
    session::{NewSession, SearchQuery, Session, SessionId, Step, ToolEnd, export, import},
};
use goose_extension::{CallContext, Extension as _, Message, MessageContent, Role, ToolOutput};
use serde_json::{Value, json};

use super::session_support::{TestStore, search_all, user};

fn assistant(content: impl IntoIterator<Item = MessageContent>) -> Step {
    Step::Message { message: Message::new(Role::Assistant, content) }
}

fn call(id: &str, name: &str, arguments: Value) -> MessageContent {
    MessageContent::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments, opaque: None }
}

fn result(id: &str, output: ToolOutput) -> Step {
    Step::ToolResult { id: id.to_owned(), output, end: ToolEnd::Ran }
}

async fn current(test: &TestStore) -> anyhow::Result<(Session, ChatRecall)> {
    let session = test.session(&["the current walrus"]).await?;
    let extension = ChatRecall::new(test.store.clone(), Some(session.id().clone()));
    Ok((session, extension))
}

async fn ask(extension: &ChatRecall, arguments: Value) -> anyhow::Result<String> {
    let arguments = arguments.as_object().context("an object")?.clone();
    let output = extension.call("chatrecall", arguments, &CallContext::new()).await?;
    anyhow::ensure!(!output.is_error, "{}", output.as_text());
    Ok(output.as_text())
}

async fn refusal(extension: &ChatRecall, arguments: Value) -> anyhow::Result<String> {
    let arguments = arguments.as_object().context("an object")?.clone();
    let output = extension.call("chatrecall", arguments, &CallContext::new()).await?;
    anyhow::ensure!(output.is_error, "{}", output.as_text());
    Ok(output.as_text())
}

/// A session whose steps are of this day.
async fn session_of(test: &TestStore, day: &str, message: &str) -> anyhow::Result<SessionId> {
    let elsewhere = TestStore::new()?;
    let session = elsewhere.session(&[message]).await?;
    let mut document: Value = serde_json::from_str(&export::json(&elsewhere.store, session.id()).await?)?;
    let at = json!(format!("{day}T12:00:00Z"));
    document["session"]["created_at"] = at.clone();
    document["session"]["updated_at"] = at.clone();
    document["session"]["id"] = json!(format!("{}_1", day.replace('-', "")));
    document["steps"][0]["at"] = at;
    Ok(import::json(&test.store, document.to_string().as_bytes()).await?)
}

#[tokio::test]
async fn matches_are_grouped_by_session_without_the_current_and_delegates() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let one = test.session(&["fix the walrus parser", "the walrus again", "nothing here"]).await?;
    let other = test.session(&["feed a walrus\u{202e}"]).await?;
    let (session, extension) = current(&test).await?;
    let delegate = NewSession::in_folder("/work").delegated_by(session.id().clone());
    let delegate = test.store.create(delegate).await?;
    delegate.append(&user("walrus of a delegate")).await?;

    let text = ask(&extension, json!({"query": "walrus"})).await?;

    assert!(text.starts_with("2 sessions, best first"), "{text}");
    assert!(text.contains(&format!("{}: fix the walrus parser\n", one.id())), "{text}");
    assert_eq!(text.matches("message: ").count(), 3, "{text}");
    assert!(text.contains(&format!("{}: feed a walrus\\u{{202e}}\n", other.id())), "{text}");
    assert!(!text.contains("current") && !text.contains("delegate"), "{text}");
    let limited = ask(&extension, json!({"query": "walrus", "limit": 1})).await?;
    assert!(limited.starts_with("1 session,"), "{limited}");
    let none = ask(&extension, json!({"query": "giraffe"})).await?;
    assert!(none.starts_with("No earlier session has these words."), "{none}");
    Ok(())
}

#[tokio::test]
async fn texts_with_some_of_the_words_come_after_those_with_all() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let some = test.session(&["the parser is slow"]).await?;
    let all = test.session(&["the parser of cookies leaks memory"]).await?;
    for number in 0..20 {
        test.session(&[&format!("the weather of day {number}")]).await?;
    }
    let (_, extension) = current(&test).await?;
    let text = ask(&extension, json!({"query": "parser leaks the cookies"})).await?;
    let place = |session: &Session| text.find(session.id().as_str()).context("it is found");
    assert!(place(&all)? < place(&some)?, "{text}");
    Ok(())
}

#[tokio::test]
async fn dates_limit_the_search_and_bad_ones_are_explained() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let old = session_of(&test, "2025-03-01", "walrus of spring").await?;
    let new = session_of(&test, "2025-09-01", "walrus of autumn").await?;
    let (_, extension) = current(&test).await?;
    for (limits, shown, hidden) in [
        (json!({"query": "walrus", "before_date": "2025-03-01"}), &old, &new),
        (json!({"query": "walrus", "after_date": "2025-03-02"}), &new, &old),
        (
            json!({"query": "walrus", "after_date": "2025-03-01", "before_date": "2025-03-01T12:30:00Z"}),
            &old,
            &new,
        ),
    ] {
        let text = ask(&extension, limits).await?;
        assert!(text.contains(shown.as_str()) && !text.contains(hidden.as_str()), "{text}");
    }
    let text = ask(&extension, json!({"query": "walrus", "before_date": "2025-03-01T11:00:00Z"})).await?;
    assert!(text.starts_with("No earlier session in that time"), "{text}");
    for (arguments, reason) in [
        (json!({"query": "walrus", "after_date": "last week"}), "`after_date` cannot be read"),
        (json!({"query": "walrus", "after_date": "2025-03-02", "before_date": "2025-03-01"}), "Swap"),
        (json!({"query": "?!"}), "no words"),
        (json!({}), "Give `query`"),
        (json!({"query": "walrus", "session_id": "20250301_1"}), "not both"),
        (json!({"session_id": "../x"}), "is not a session id"),
        (json!({"session_id": "20200101_1"}), "There is no session 20200101_1"),
    ] {
        let text = refusal(&extension, arguments).await?;
        assert!(text.contains(reason), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_gist_has_the_task_the_answer_the_plan_and_the_files() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["make the parser faster"]).await?;
    let first = [
        MessageContent::text("I will look."),
        call("1", "developer__plan", json!({"plan": "- [ ] old"})),
        call("2", "developer__edit", json!({"path": "src/parser.rs", "before": "a", "after": "b"})),
        call("3", "developer__write", json!({"path": "refused.rs", "content": "x"})),
    ];
    let second = [
        call("4", "todo__todo_write", json!({"content": "- [x] new\u{1b}[2J"})),
        call("5", "developer__edit", json!({"path": "src/parser.rs", "before": "b", "after": "c"})),
    ];
    session
        .append_all(&[
            assistant(first),
            result("1", ToolOutput::text("kept")),
            result("2", ToolOutput::text("done")),
            result("3", ToolOutput::error("denied")),
            assistant(second),
            result("4", ToolOutput::text("kept")),
            result("5", ToolOutput::text("done")),
            assistant([MessageContent::text("It is twice as fast now.")]),
            user("thanks"),
        ])
        .await?;
    let (now, extension) = current(&test).await?;

    let text = ask(&extension, json!({"session_id": session.id()})).await?;

    assert!(text.contains("## Task\nmake the parser faster\n"), "{text}");
    assert!(text.contains("## Last answer\nIt is twice as fast now.\n"), "{text}");
    assert!(text.contains("## Newest plan\n- [x] new\\u{1b}[2J\n"), "{text}");
    assert!(text.ends_with("## Files changed\n- src/parser.rs\n"), "{text}");
    let own = refusal(&extension, json!({"session_id": now.id()})).await?;
    assert!(own.contains("current session"), "{own}");
    let delegate =
        test.store.create(NewSession::in_folder("/work").delegated_by(session.id().clone())).await?;
    delegate.append(&user("part")).await?;
    let delegate = refusal(&extension, json!({"session_id": delegate.id()})).await?;
    assert!(delegate.contains("delegate") && delegate.contains(session.id().as_str()), "{delegate}");
    Ok(())
}

/// As after an import: nothing is indexed. The newest are found at once, the rest follows while the session goes on.
#[tokio::test]
async fn a_large_backlog_is_indexed_newest_first_and_does_not_stall_a_search() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let filler = "many other words of a long text ".repeat(400);
    let oldest = test.session(&["oldest walrus"]).await?;
    for _ in 0..250 {
        let session = test.store.create(NewSession::in_folder("/work")).await?;
        session.append_all(&[user(&filler), user(&filler), user(&filler)]).await?;
    }
    let newest = test.session(&["newest walrus"]).await?;
    let (_, extension) = current(&test).await?;
    let text = ask(&extension, json!({"query": "walrus"})).await?;
    assert!(text.contains(newest.id().as_str()) && !text.contains(oldest.id().as_str()), "{text}");
    assert!(text.contains("older sessions are still being indexed"), "{text}");
    let begin = std::time::Instant::now();
    while !ask(&extension, json!({"query": "oldest walrus"})).await?.contains(oldest.id().as_str()) {
        anyhow::ensure!(begin.elapsed() < super::support::PATIENCE, "the rest is not indexed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_store_that_others_write_to_can_still_be_searched() -> anyhow::Result<()> {
    use sqlx::Executor as _;
    let test = TestStore::new()?;
    test.session(&["a searchable walrus"]).await?;
    search_all(&test.store, "walrus", 1).await?;
    let (_, extension) = current(&test).await?;
    let mut other = super::session_support::raw(&test.file()).await?;
    other.execute("BEGIN IMMEDIATE").await?;
    let text = super::support::bounded(ask(&extension, json!({"query": "walrus"}))).await??;
    assert!(text.contains("a searchable walrus"), "{text}");
    other.execute("ROLLBACK").await?;
    Ok(())
}

/// A store that cannot be read is an error for the model, who goes on without it.
#[tokio::test]
async fn a_damaged_store_is_an_error_that_says_to_go_on() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let file = test.file();
    std::fs::create_dir_all(file.parent().context("a folder")?)?;
    std::fs::write(&file, "not a database".repeat(1_000))?;
    let extension = ChatRecall::new(test.another_store(), None);
    let refused = refusal(&extension, json!({"query": "walrus"})).await?;
    assert!(refused.contains("Continue without them and tell the user"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn frequent_words_find_the_newest_and_rare_ones_everything() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let rare = session_of(&test, "2025-03-01", "error of the narwhal").await?;
    let session = test.store.create(NewSession::in_folder("/work")).await?;
    let many: Vec<Step> = (0..2_500).map(|number| user(&format!("error {number} of the test"))).collect();
    session.append_all(&many).await?;
    let found = search_all(&test.store, "error narwhal", 5).await?;
    assert_eq!(found.iter().map(|found| &found.session).collect::<Vec<_>>(), [&rare]);
    let found = search_all(&test.store, "error test", 5).await?;
    assert_eq!(found.len(), 5);
    let everywhere = SearchQuery::new("error", 10).per_session(1);
    let before = everywhere.clone().between(None, Some("2025-03-02T00:00:00Z".parse()?));
    assert_eq!(test.store.search(&before).await?.found.len(), 1);
    let without = everywhere.without(session.id().clone());
    assert_eq!(test.store.search(&without).await?.found.first().context("the old one")?.session, rare);
    Ok(())
}

#[tokio::test]
async fn a_recall_is_bounded_relevant_and_of_one_folder() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    for number in 0..30 {
        test.session(&[&format!("please look at the weather of day {number} and write it down")]).await?;
    }
    let here = test.session(&["the tokenizer loses accents in German texts"]).await?;
    let there = test.store.create(NewSession::in_folder("/elsewhere")).await?;
    there.append(&user("the tokenizer loses accents in French texts")).await?;
    let (now, _) = current(&test).await?;
    let options = RecallOptions::new("/work", now.id().clone());

    assert_eq!(recall(&test.store, "tokenizer accents texts", &options).await?, None, "not indexed yet");
    now.sync().await?;
    assert_eq!(test.store.index_newest(Duration::ZERO).await?, 0, "others follow at the end of a reply");
    let recalled = recall(&test.store, "Why does the tokenizer lose accents in texts?", &options).await?;
    let recalled = recalled.context("it is relevant")?;
    assert_eq!(recalled.sessions, [here.id().clone()]);
    assert!(recalled.text.contains("German"), "{}", recalled.text);
    let other = recall(&test.store, "Please write a letter to the landlord about rent", &options).await?;
    assert_eq!(other, None);
    let mut small = options.clone();
    small.max_bytes = 20;
    assert_eq!(recall(&test.store, "tokenizer accents texts", &small).await?, None);
    Ok(())
}
