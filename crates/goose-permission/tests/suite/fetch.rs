//! Calls that fetch, that run scripts, and whose operation decides.

use anyhow::{Context as _, ensure};
use goose_extension::{ByOperation, FetchedHost, HostAccess, ToolAction, ToolGroup};
use goose_permission::{Effect, Mode, Origin, Rule, Verdict};
use serde_json::json;

use crate::support::{Call, TestHome, is_ask, is_deny};

fn fetch(url: &str) -> Call {
    let groups = [ToolGroup::Fetch, ToolGroup::Browser];
    Call::new("computercontroller__web_scrape", &groups, Origin::Own, json!({ "url": url }))
        .declaring(ToolAction::fetches("url"))
}

fn script(language: &str, text: &str) -> Call {
    let arguments = json!({ "language": language, "script": text });
    Call::new("computercontroller__automation_script", &[ToolGroup::Command], Origin::Own, arguments)
        .declaring(ToolAction::Script { language: "language".into(), script: "script".into() })
}

fn workbook(operation: &str, path: &str) -> Call {
    let arguments = json!({ "operation": operation, "path": path });
    let action =
        ByOperation { argument: "operation", writing: &["save"], paths: &["path"], sources: &["image_path"] };
    let groups = [ToolGroup::Read, ToolGroup::Edit];
    Call::new("computercontroller__xlsx_tool", &groups, Origin::Own, arguments)
        .declaring(ToolAction::ByOperation(action))
}

#[test]
fn hosts_are_judged_by_mode_and_rules() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    for url in ["https://docs.rs/a", "http://example.com:8080/"] {
        ensure!(home.judge(Mode::Auto, &fetch(url)) == Verdict::Allow, "{url}");
        ensure!(is_ask(&home.judge(Mode::SmartApprove, &fetch(url))), "{url}");
        ensure!(is_ask(&home.judge(Mode::Approve, &fetch(url))), "{url}");
    }
    for url in [
        "http://localhost:3000/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://nas.local/",
        "ftp://a.b/",
        "x",
    ] {
        ensure!(is_ask(&home.judge(Mode::Auto, &fetch(url))), "{url}");
    }
    for url in
        ["http://169.254.169.254/latest", "http://metadata.google.internal/", "http://[::ffff:a9fe:a9fe]/"]
    {
        ensure!(is_deny(&home.judge(Mode::Auto, &fetch(url))), "{url}");
    }
    let home = TestHome::with_rules(&[
        "allow: fetch docs.rs",
        "deny: fetch *.example.com",
        "allow: fetch localhost:3000",
        "allow: fetch *.local",
        "ask: fetch slow.rs",
        "allow: fetch 169.254.169.254",
    ])?;
    for (url, allows) in [
        ("https://docs.rs/a", true),
        ("https://docs.rs.evil.org/", false),
        ("http://localhost:3000/x", true),
        ("http://localhost:3001/", false),
        ("http://nas.local/", false),
    ] {
        ensure!((home.judge(Mode::Approve, &fetch(url)) == Verdict::Allow) == allows, "{url}");
    }
    ensure!(home.judge(Mode::Auto, &fetch("http://localhost:3000/")) == Verdict::Allow);
    ensure!(
        is_ask(&home.judge(Mode::Auto, &fetch("http://nas.local/"))),
        "a rule with `*` is not about this network"
    );
    ensure!(is_ask(&home.judge(Mode::Auto, &fetch("https://slow.rs/"))));
    ensure!(is_deny(&home.judge(Mode::Auto, &fetch("https://a.example.com/"))));
    ensure!(is_deny(&home.judge(Mode::Auto, &fetch("http://169.254.169.254/"))));
    Ok(())
}

#[test]
fn a_question_offers_the_rule_for_the_host() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let Verdict::Ask { always, .. } = home.judge(Mode::Approve, &fetch("https://docs.rs:444/a")) else {
        anyhow::bail!("it was not asked");
    };
    let offered: Vec<String> = always.iter().map(ToString::to_string).collect();
    ensure!(offered == ["allow: fetch docs.rs"], "{offered:?}");
    Ok(())
}

#[test]
fn redirects_are_judged_by_the_same_rules() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: fetch docs.rs", "deny: fetch *.example.com"])?;
    let call = fetch("http://localhost:3000/");
    let judgement = home.permissions(Mode::Approve).judgement(&call.in_folder(&home.work()));
    let policy = judgement.hosts.context("a call that fetches has a policy")?;
    let host = |url: &str| FetchedHost::of(&url::Url::parse(url).unwrap()).unwrap();
    ensure!(policy.access(&host("http://localhost:3000/")) == HostAccess::Private);
    ensure!(policy.access(&host("https://docs.rs/")) == HostAccess::Public);
    for url in
        ["http://localhost:3001/", "https://a.example.com/", "https://other.org/", "http://169.254.169.254/"]
    {
        ensure!(matches!(policy.access(&host(url)), HostAccess::Refused(_)), "{url}");
    }
    Ok(())
}

#[test]
fn rules_about_hosts_are_checked() {
    for text in ["fetch https://docs.rs", "fetch docs.rs/serde", "fetch a b"] {
        assert!(Rule::parse(Effect::Allow, text).is_err(), "{text}");
    }
    for text in [
        "fetch docs.rs",
        "fetch *.example.com",
        "fetch localhost:3000",
        "fetch [::1]:80",
        "fetch",
        "other__fetch a/b",
    ] {
        assert!(Rule::parse(Effect::Deny, text).is_ok(), "{text}");
    }
}

#[test]
fn scripts_are_judged_as_commands() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    ensure!(home.judge(Mode::SmartApprove, &script("shell", "ls -la")) == Verdict::Allow);
    for (language, text) in [("python", "print(1)"), ("shell", "rm x"), ("ruby", "puts 1"), ("cobol", "x")] {
        ensure!(is_ask(&home.judge(Mode::SmartApprove, &script(language, text))), "{language}");
    }
    ensure!(home.judge(Mode::Auto, &script("python", "print(1)")) == Verdict::Allow);
    let home =
        TestHome::with_rules(&["deny: shell rm *", "deny: shell ruby *", "allow: shell cargo test *"])?;
    ensure!(is_deny(&home.judge(Mode::Auto, &script("shell", "rm x"))));
    ensure!(is_deny(&home.judge(Mode::Auto, &script("ruby", "puts 1"))));
    ensure!(is_ask(&home.judge(Mode::Auto, &script("python", "print(1)"))), "it may run anything");
    ensure!(home.judge(Mode::Approve, &script("bash", "cargo test -q")) == Verdict::Allow);
    Ok(())
}

#[test]
fn an_operation_decides_if_a_file_is_read_or_written() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    ensure!(home.judge(Mode::SmartApprove, &workbook("get_range", "a.xlsx")) == Verdict::Allow);
    ensure!(is_ask(&home.judge(Mode::SmartApprove, &workbook("save", "a.xlsx"))));
    ensure!(home.judge(Mode::Auto, &workbook("save", "a.xlsx")) == Verdict::Allow);
    for (operation, path) in [("save", "~/.ssh/config"), ("get_range", "~/.ssh/id_rsa")] {
        ensure!(is_ask(&home.judge(Mode::Auto, &workbook(operation, path))), "{path}");
    }
    let home = TestHome::with_rules(&["deny: write *.xlsx"])?;
    ensure!(is_deny(&home.judge(Mode::Auto, &workbook("save", "a.xlsx"))));
    ensure!(home.judge(Mode::Auto, &workbook("get_range", "a.xlsx")) == Verdict::Allow);
    // An image that is put in is only read.
    let mut call = workbook("save", "b.docx");
    call.arguments.insert("image_path".to_owned(), json!("a.xlsx"));
    ensure!(home.judge(Mode::Auto, &call) == Verdict::Allow);
    Ok(())
}
