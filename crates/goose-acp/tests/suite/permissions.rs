//! Each request of an agent to this machine is judged like a call of our own: denied, asked and allowed alike.

use goose::{exchange::Decision, permission::Mode};
use goose_extension::JsonObject;

use crate::support::{World, done, program, program_with, say, tell};

const ALLOW: Decision = Decision::Allow;
const DENY: Decision = Decision::Deny { instead: None };

/// A session with the agent, and rules in `permission.yaml`.
async fn session(rules: &str, mode: Mode) -> anyhow::Result<(World, goose::exchange::Exchange)> {
    let world = World::new(&program(&[])?)?;
    std::fs::write(world.manager.settings().paths().config.join("permission.yaml"), rules)?;
    let exchange = world.open("other", mode).await?;
    Ok((world, exchange))
}

#[tokio::test]
async fn a_write_is_made_by_our_own_tool() -> anyhow::Result<()> {
    let (world, exchange) = session("", Mode::Auto).await?;
    let file = world.folder().join("notes.txt");
    let seen = tell(&exchange, &format!("write {} some words", file.display())).await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("done", &done()));
    assert_eq!(std::fs::read_to_string(&file)?, "some words");
    Ok(())
}

#[tokio::test]
async fn a_write_is_asked_about_where_ours_would_be() -> anyhow::Result<()> {
    let (world, exchange) = session("", Mode::Approve).await?;
    let file = world.folder().join("notes.txt");
    let task = format!("write {} some words", file.display());
    let seen = say(&exchange, &task, DENY).await?;
    assert_eq!(seen.questions(), ["developer__write"]);
    assert!(seen.text().contains("refused") && seen.text().contains("did not allow"), "{}", seen.text());
    assert!(!file.exists());
    let seen = say(&exchange, &task, ALLOW).await?;
    assert_eq!((seen.questions(), seen.text().as_str()), (vec!["developer__write".to_owned()], "done"));
    assert_eq!(std::fs::read_to_string(&file)?, "some words");

    // The person may write something else.
    let other = JsonObject::from_iter([
        ("path".to_owned(), file.to_string_lossy().into_owned().into()),
        ("content".to_owned(), "other words".into()),
    ]);
    say(&exchange, &task, Decision::Edited(other)).await?;
    assert_eq!(std::fs::read_to_string(&file)?, "other words");
    Ok(())
}

#[tokio::test]
async fn a_write_that_a_rule_denies_is_denied_also_through_a_link() -> anyhow::Result<()> {
    let (world, exchange) = session("rules:\n  - deny: write secret/**\n", Mode::Auto).await?;
    let folder = world.folder();
    std::fs::create_dir(folder.join("secret"))?;
    std::os::unix::fs::symlink(folder.join("secret"), folder.join("open"))?;
    for path in ["secret/a", "open/a", "./x/../secret/a"] {
        let seen = tell(&exchange, &format!("write {} x", folder.join(path).display())).await?;
        assert!(seen.text().contains("refused: Not run"), "{path}: {}", seen.text());
    }
    assert_eq!(std::fs::read_dir(folder.join("secret"))?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn protected_files_ask_in_every_mode() -> anyhow::Result<()> {
    let (world, exchange) = session("", Mode::Auto).await?;
    let file = world.folder().join(".env");
    std::fs::write(&file, "KEY=canary")?;
    let seen = say(&exchange, &format!("read {}", file.display()), DENY).await?;
    assert_eq!(seen.questions(), ["developer__read"]);
    assert!(!seen.text().contains("canary"), "{}", seen.text());
    Ok(())
}

#[tokio::test]
async fn a_file_is_given_as_it_is_and_others_are_refused_with_the_reason() -> anyhow::Result<()> {
    let (world, exchange) = session("", Mode::Auto).await?;
    let folder = world.folder();
    std::fs::write(folder.join("a.txt"), "one\ntwo\n")?;
    std::fs::write(folder.join("b.bin"), [0xff, 0xfe, 0x00])?;
    let read = async |name: &str| {
        anyhow::Ok(tell(&exchange, &format!("read {}", folder.join(name).display())).await?.text())
    };
    assert_eq!(read("a.txt").await?, "one\ntwo\n");
    assert!(read("b.bin").await?.contains("not UTF-8"));
    assert!(read("missing").await?.contains("no such file"));
    Ok(())
}

#[tokio::test]
async fn permission_requests_are_judged_by_what_they_are_for() -> anyhow::Result<()> {
    let rules = "rules:\n  - deny: shell rm *\n  - allow: shell echo *\n";
    let (world, exchange) = session(rules, Mode::Approve).await?;
    let file = world.folder().join("a.txt");
    let file = file.display();
    for (task, decision, questions, chosen) in [
        (format!("edit {file} x"), ALLOW, vec!["developer__write"], "id-allow_once"),
        (format!("edit {file} x"), DENY, vec!["developer__write"], "id-reject_once"),
        ("run echo hello".to_owned(), DENY, vec![], "id-allow_once"),
        ("run rm -rf x".to_owned(), ALLOW, vec![], "id-reject_once"),
        ("run echo hello && rm -rf x".to_owned(), ALLOW, vec![], "id-reject_once"),
        ("run cargo test".to_owned(), ALLOW, vec!["developer__shell"], "id-allow_once"),
        ("fetch http://example.com".to_owned(), ALLOW, vec!["other__fetch"], "id-allow_once"),
        ("fetch http://example.com".to_owned(), DENY, vec!["other__fetch"], "id-reject_once"),
    ] {
        let seen = say(&exchange, &task, decision).await?;
        assert_eq!(
            (seen.questions(), seen.text().as_str()),
            (questions.iter().map(|it| (*it).to_owned()).collect(), chosen),
            "{task}"
        );
        let refused = u32::from(chosen == "id-reject_once");
        assert_eq!(seen.facts().calls_refused, refused, "{task}");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_remembered_of_a_call_is_judged_whole() -> anyhow::Result<()> {
    let (world, exchange) = session("rules:\n  - deny: write forbidden.txt\n", Mode::Auto).await?;
    let forbidden = world.folder().join("forbidden.txt").display().to_string();
    let other = world.folder().join("other.txt").display().to_string();
    for (task, chosen) in [
        (format!("later {forbidden}"), "id-reject_once"),
        (format!("later {other}"), "id-allow_once"),
        (format!("many {forbidden}"), "id-reject_once"),
        (format!("many {other}"), "id-reject_once"),
    ] {
        assert_eq!(tell(&exchange, &task).await?.text(), chosen, "{task}");
    }
    let nameless = tell(&exchange, "nameless").await?;
    assert!(nameless.text().contains("does not say what"), "{}", nameless.text());
    Ok(())
}

#[tokio::test]
async fn what_is_not_clear_is_asked_about_in_every_mode() -> anyhow::Result<()> {
    let (_world, exchange) = session("rules:\n  - allow: developer__write\n", Mode::Auto).await?;
    for (kind, tool) in [
        ("edit", "developer__write"),
        ("delete", "developer__write"),
        ("execute", "developer__shell"),
        ("search", "developer__read"),
    ] {
        for (decision, chosen) in [(ALLOW, "id-allow_once"), (DENY, "id-reject_once")] {
            let seen = say(&exchange, &format!("vague {kind}"), decision).await?;
            assert_eq!((seen.questions(), seen.text().as_str()), (vec![tool.to_owned()], chosen), "{kind}");
        }
    }
    // An action that none of our tools stands for is like the tool of a server.
    assert_eq!(tell(&exchange, "vague think").await?.text(), "id-allow_once");
    Ok(())
}

#[tokio::test]
async fn what_is_not_clear_needs_the_tool_in_the_mode() -> anyhow::Result<()> {
    for groups in ["[read]", "[read, [edit, {fileRegex: '\\.md$'}]]"] {
        let world = World::new(&program_with(&[], &format!("    tool_groups: {groups}\n"))?)?;
        let exchange = world.open("other", Mode::Auto).await?;
        assert_eq!(tell(&exchange, "vague edit").await?.text(), "id-reject_once", "{groups}");
        assert_eq!(tell(&exchange, "vague execute").await?.text(), "id-reject_once", "{groups}");
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_with_other_arguments_is_a_no_to_what_the_agent_does_by_itself() -> anyhow::Result<()> {
    let (world, exchange) = session("", Mode::Approve).await?;
    let file = world.folder().join("a.txt");
    let other = JsonObject::from_iter([
        ("path".to_owned(), file.to_string_lossy().into_owned().into()),
        ("content".to_owned(), "other words".into()),
    ]);
    let seen = say(&exchange, &format!("change {} x", file.display()), Decision::Edited(other)).await?;
    assert_eq!(seen.text(), "refused");
    assert!(!file.exists());
    let seen = say(&exchange, "run cargo test", DENY).await?;
    assert_eq!(
        seen.refusals(),
        ["Not run: the user did not allow this call"],
        "without advice for the agent"
    );
    let words = Decision::Deny { instead: Some("use a list".to_owned()) };
    let seen = say(&exchange, "fetch http://example.com", words).await?;
    assert!(seen.refusals().iter().any(|reason| reason.contains("use a list")), "{:?}", seen.refusals());
    Ok(())
}

#[tokio::test]
async fn an_agent_has_the_tools_of_its_entry_and_no_others() -> anyhow::Result<()> {
    let entry = program_with(&[], "    tool_groups: [read, [edit, {fileRegex: '\\.md$'}]]\n")?;
    let world = World::new(&entry)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let write = async |name: &str| {
        anyhow::Ok(tell(&exchange, &format!("write {} x", world.folder().join(name).display())).await?.text())
    };
    assert_eq!(write("a.md").await?, "done");
    assert!(write("a.sh").await?.contains("refused"));
    assert_eq!(tell(&exchange, "run echo hello").await?.text(), "id-reject_once");
    Ok(())
}

#[tokio::test]
async fn in_the_mode_chat_it_is_not_asked() -> anyhow::Result<()> {
    let (_world, exchange) = session("", Mode::Chat).await?;
    assert!(tell(&exchange, "say hello").await?.failure()?.contains("chat"));
    Ok(())
}
