//! The path that was judged is the path that is used: another program swaps files and folders for links while tools
//! run. Calls take the whole path, from inside a call.
#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use anyhow::{Context as _, ensure};
use goose::{
    agents::extension::ExtensionConfig,
    exchange::{Approval, Decision},
    permission::{Effect, Mode, PermissionOptions, Permissions, Rule},
};
use goose_extension::{JsonObject, prelude::*};
use goose_test_support::model_server::{ModelServer, Turn, Wire};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::exchange_support::{Stage, all_with, done, outcome};

const TIMES: usize = 600;
const SECRET: &str = "SECRET";

/// Calls other tools over and over.
struct Repeat;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Count {
    ran: usize,
    moved: usize,
    shown: usize,
    /// One of the failures, for the messages of the tests.
    failure: String,
}

#[extension(name = "repeat", description = "Repeats calls")]
impl Repeat {
    /// Makes calls in turn, and counts what comes of them.
    #[tool(timeout = "10m")]
    async fn calls(
        &self,
        tools: Vec<String>,
        arguments: Vec<JsonObject>,
        times: usize,
        context: &CallContext,
    ) -> String {
        let mut count = Count::default();
        for (tool, arguments) in tools.iter().zip(&arguments).cycle().take(times) {
            let (ran, text) = match context.call_tool(tool, arguments.clone()).await {
                Ok(output) => (!output.is_error, output.as_text()),
                Err(error) => (false, error.to_string()),
            };
            count.ran += usize::from(ran);
            count.moved += usize::from(text.contains("Try again"));
            count.shown += usize::from(text.contains(SECRET));
            if !ran {
                count.failure = text;
            }
        }
        json!(count).to_string()
    }
}

/// Swaps something in a tight loop, until dropped.
struct Attacker {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Attacker {
    fn start(mut swap: impl FnMut() + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                swap();
            }
        });
        Self { is_over, thread: Some(thread) }
    }

    /// Swaps a file of the project with a link out of it. If a write has replaced the link, a new one is made.
    fn on(slot: PathBuf, target: PathBuf) -> Self {
        let beside = slot.with_extension("beside");
        Self::start(move || {
            if !slot.is_symlink() && !beside.is_symlink() {
                let _ = fs::remove_file(&beside);
                let _ = symlink(&target, &beside);
            }
            let _ = renameat_with(CWD, &slot, CWD, &beside, RenameFlags::EXCHANGE);
        })
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A way to allow what is done in the project, and nothing outside of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// By rules that deny, in auto.
    DenyRules,
    /// By rules that allow, in smart_approve.
    AllowRules,
    /// By a person, in approve.
    Answers,
}

impl Consent {
    fn permissions(self, home: &Path) -> anyhow::Result<Arc<Permissions>> {
        let (mode, effect, rules) = match self {
            Self::DenyRules => (Mode::Auto, Effect::Deny, ["write denied/**", "read denied/**"].as_slice()),
            Self::AllowRules => (Mode::SmartApprove, Effect::Allow, ["write work/**"].as_slice()),
            Self::Answers => (Mode::Approve, Effect::Allow, ["repeat__calls"].as_slice()),
        };
        let parse = |rule: &&str| Rule::parse(effect, rule);
        let rules: Vec<Rule> = rules.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Permissions::new(PermissionOptions::new(mode).with_home(home).with_rules(rules)))
    }
}

/// A project beside a folder that must not be touched.
struct Scene {
    stage: Stage,
}

impl Scene {
    async fn new(
        consent: Consent,
        tools: &[&str],
        arguments: Vec<Value>,
        times: usize,
    ) -> anyhow::Result<Self> {
        let tools: Vec<String> = tools.iter().map(|tool| format!("developer__{tool}")).collect();
        let call = json!({ "tools": tools, "arguments": arguments, "times": times });
        let model = ModelServer::scripted(vec![Turn::call("repeat__calls", call), Turn::text("Done.")])?;
        let home = tempfile::tempdir()?;
        let permissions = consent.permissions(home.path())?;
        let stage = Stage::with(Wire::Chat, model, |builder| builder.with_permissions(permissions)).await?;
        stage.exchange.extensions().add_extension(Arc::new(Repeat))?;
        stage.exchange.extensions().add(&ExtensionConfig::builtin("developer"))?;
        let scene = Self { stage };
        for folder in ["work/sub", "denied"] {
            fs::create_dir_all(scene.path(folder))?;
        }
        fs::write(scene.path("denied/file"), format!("one {SECRET}\n"))?;
        fs::write(scene.path("denied/secret_name"), "x\n")?;
        fs::write(scene.path("work/sub/file"), "one\n")?;
        fs::write(scene.path("work/slot"), "one\n")?;
        Ok(scene)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.stage.world.file(name)
    }

    /// Lets the calls run. The person allows what is asked about the project.
    async fn run(&self) -> anyhow::Result<Count> {
        let decide = |approval: &Approval| match approval.reasons.iter().any(|why| why.contains("/denied")) {
            true => Decision::Deny { instead: None },
            false => Decision::Allow,
        };
        let events = all_with(self.stage.exchange.reply_to("Go"), decide).await?;
        assert_eq!(outcome(&events)?, &done());
        let result = self.stage.results_in(1).pop().context("the call has a result")?;
        serde_json::from_str(&result).with_context(|| result)
    }

    /// Nothing outside of the project was changed or shown.
    fn check(&self, what: &str, count: &Count) -> anyhow::Result<()> {
        let denied = fs::read_dir(self.path("denied"))?.filter_map(Result::ok).map(|entry| entry.file_name());
        let mut names: Vec<_> = denied.collect();
        names.sort();
        ensure!(names == ["file", "secret_name"], "{what}: {names:?}");
        let content = fs::read_to_string(self.path("denied/file"))?;
        ensure!(content == format!("one {SECRET}\n"), "{what}: {content}");
        ensure!(count.shown == 0, "{what}: a denied file was shown: {count:?}");
        ensure!(count.ran > 0, "{what}: no call came through: {count:?}");
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_write_lands_behind_a_link_in_the_place_of_the_file() -> anyhow::Result<()> {
    let write = json!({ "path": "work/slot", "content": "intruder\n" });
    for consent in [Consent::DenyRules, Consent::AllowRules] {
        let scene = Scene::new(consent, &["write"], vec![write.clone()], TIMES).await?;
        // Content that was not read would not be replaced.
        fs::write(scene.path("work/slot"), "")?;
        let attacker = Attacker::on(scene.path("work/slot"), scene.path("denied/file"));
        let count = scene.run().await?;
        drop(attacker);
        scene.check(&format!("{consent:?}"), &count)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_write_lands_below_a_link_in_the_place_of_a_folder() -> anyhow::Result<()> {
    let (tools, arguments) = (
        ["edit", "write", "write"],
        vec![
            json!({ "path": "work/sub/file", "before": "one", "after": "one one" }),
            json!({ "path": "work/sub/file", "content": "one\n" }),
            json!({ "path": "work/sub/new/file", "content": "intruder\n" }),
        ],
    );
    for (consent, times) in
        [(Consent::DenyRules, TIMES), (Consent::AllowRules, TIMES), (Consent::Answers, 120)]
    {
        let scene = Scene::new(consent, &tools, arguments.clone(), times).await?;
        let attacker = Attacker::on(scene.path("work/sub"), scene.path("denied"));
        let count = scene.run().await?;
        drop(attacker);
        scene.check(&format!("{consent:?}"), &count)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_read_shows_what_a_link_leads_to() -> anyhow::Result<()> {
    let scene =
        Scene::new(Consent::DenyRules, &["read"], vec![json!({ "path": "work/slot" })], TIMES).await?;
    let attacker = Attacker::on(scene.path("work/slot"), scene.path("denied/file"));
    let count = scene.run().await?;
    drop(attacker);
    scene.check("a file", &count)?;
    let read = vec![json!({ "path": "work/sub/file" })];
    for (consent, times) in [(Consent::DenyRules, TIMES), (Consent::Answers, 120)] {
        let scene = Scene::new(consent, &["read"], read.clone(), times).await?;
        let attacker = Attacker::on(scene.path("work/sub"), scene.path("denied"));
        let count = scene.run().await?;
        drop(attacker);
        scene.check(&format!("a folder, {consent:?}"), &count)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_walk_leaves_its_folder_through_a_link() -> anyhow::Result<()> {
    let (tools, arguments) = (
        ["search", "tree", "search"],
        vec![
            json!({ "path": "work", "pattern": "one|secret_name" }),
            json!({ "path": "work", "depth": 5 }),
            json!({ "path": "work/sub", "pattern": "one" }),
        ],
    );
    let scene = Scene::new(Consent::DenyRules, &tools, arguments, TIMES).await?;
    fs::rename(scene.path("denied/secret_name"), scene.path(&format!("denied/{SECRET}")))?;
    let attacker = Attacker::on(scene.path("work/sub"), scene.path("denied"));
    let count = scene.run().await?;
    drop(attacker);
    fs::rename(scene.path(&format!("denied/{SECRET}")), scene.path("denied/secret_name"))?;
    scene.check("walks", &count)
}
