//! One process for everybody who wants the same; and extensions that come, go and change while calls run.
#![cfg(target_os = "linux")]

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use goose::{
    agents::extension_manager::{ExtensionManager, ManagerError},
    config::ExtensionConfig,
    services::Phase,
};
use goose_extension::ToolError;
use goose_test_support::{RecordingCaller, binary};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{World, bounded, is_alive, phase, pid, signal, status, text, tool_names, until};

#[tokio::test(flavor = "multi_thread")]
async fn two_managers_share_a_process_which_ends_with_the_last() -> anyhow::Result<()> {
    let world = World::new()?;
    let config = world.server("a", &[])?;
    let first = world.manager(vec![config.clone()]).await?;
    let second = world.manager(vec![config.clone()]).await?;
    let process = pid(&first, "a").await?;
    ensure!(pid(&second, "a").await? == process && world.starts("a") == [process]);
    ensure!(text(&first, "a__count", json!({})).await? == "1");
    ensure!(text(&second, "a__count", json!({})).await? == "2");
    bounded(first.close()).await?;
    ensure!(text(&second, "a__count", json!({})).await? == "3", "the other one goes on");
    ensure!(first.names().is_empty() && tool_names(&first).await?.is_empty());
    bounded(second.close()).await?;
    ensure!(!is_alive(process), "closing waits for the end");
    ensure!(world.pool.services().is_empty());
    let third = world.manager(vec![config]).await?;
    ensure!(pid(&third, "a").await? != process);
    third.close().await;
    Ok(())
}

/// A service's own tasks look at it for moments, too.
#[tokio::test(flavor = "multi_thread")]
async fn who_only_looks_at_a_service_does_not_keep_it() -> anyhow::Result<()> {
    let world = World::new()?;
    let config = world.server("a", &[])?;
    let manager = world.manager(vec![config.clone()]).await?;
    let process = pid(&manager, "a").await?;
    let looked_at = manager.service("a")?;
    bounded(manager.close()).await?;
    ensure!(!is_alive(process), "closing waits for the end");
    // Whoever wants the same now gets another one.
    let next = world.manager(vec![config]).await?;
    ensure!(!Arc::ptr_eq(&next.service("a")?, &looked_at) && pid(&next, "a").await? != process);
    next.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_manager_gives_its_services_back() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &[])?]).await?;
    let process = pid(&manager, "a").await?;
    drop(manager);
    until("it is gone", || !is_alive(process)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_run_differently_does_not_share() -> anyhow::Result<()> {
    let world = World::new()?;
    let plain = world.server("a", &[])?;
    let variants = vec![
        plain.clone(),
        plain.clone().with_env("MODE", "other"),
        plain.clone().with_timeout(Duration::from_secs(7)),
        world.server("a", &["--tools", "1"])?,
    ];
    let mut managers = Vec::new();
    for config in variants {
        managers.push(world.manager(vec![config]).await?);
    }
    let mut processes = Vec::new();
    for manager in &managers {
        processes.push(pid(manager, "a").await?);
    }
    let mut distinct = processes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    ensure!(distinct.len() == processes.len(), "{processes:?}");
    // What only one agent sees differently is the same process.
    let fewer = world.manager(vec![plain.with_available_tools(["pid"]).with_description("mine")]).await?;
    ensure!(pid(&fewer, "a").await? == processes[0]);
    for manager in managers.iter().chain([&fewer]) {
        bounded(manager.close()).await?;
    }
    ensure!(!processes.into_iter().any(is_alive));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_server_that_dies_is_restarted_once_for_all() -> anyhow::Result<()> {
    let world = World::new()?;
    let config = world.server("a", &[])?;
    let (first, second) = (world.manager(vec![config.clone()]).await?, world.manager(vec![config]).await?);
    signal(pid(&first, "a").await?, "KILL")?;
    until("the end shows", || phase(&second, "a") == Some(Phase::Degraded)).await?;
    let (one, other) = tokio::join!(pid(&first, "a"), pid(&second, "a"));
    ensure!(one? == other? && world.starts("a").len() == 2);
    first.close().await;
    second.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_taken_once_and_an_unknown_one_is_an_error() -> anyhow::Result<()> {
    let world = World::new()?;
    let twice = vec![world.server("a", &[])?, world.server("A", &["--tools", "1"])?];
    let made = ExtensionManager::with_options(twice, CancellationToken::new(), world.options()).await;
    ensure!(made.is_err_and(|error| error == ManagerError::Duplicate("a".to_owned())));
    let manager = world.manager(vec![world.server("a", &[])?]).await?;
    ensure!(manager.add(&world.server("a", &[])?) == Err(ManagerError::Duplicate("a".to_owned())));
    let unknown = ManagerError::Unknown { name: "b".to_owned(), known: "a".to_owned() };
    ensure!(manager.remove("b").await == Err(unknown.clone()) && manager.restart("b").await == Err(unknown));
    manager.close().await;
    Ok(())
}

/// Calls a slow tool, and does something once the call has arrived. Gives the result of the call.
async fn while_it_works<T>(
    manager: &ExtensionManager,
    doing: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<(String, T)> {
    let recorder = RecordingCaller::new();
    let context = recorder.context();
    let calling = async {
        let output = bounded(manager.call_tool_with("a__work", json!({}), &context)).await??;
        ensure!(!output.is_error, "{}", output.as_text());
        Ok(output.as_text())
    };
    let doing = async {
        until("the call has arrived", || !recorder.seen().is_empty()).await?;
        doing.await
    };
    tokio::try_join!(calling, doing)
}

/// A tool that takes a second and says so at its begin.
const SLOW: &[&str] = &["--progress", "work", "20"];

#[tokio::test(flavor = "multi_thread")]
async fn extensions_are_added_while_calls_run() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", SLOW)?]).await?;
    let adding = async {
        manager.add(&world.server("b", &[])?)?;
        text(&manager, "b__echo", json!({ "text": "new" })).await
    };
    let (worked, echoed) = while_it_works(&manager, adding).await?;
    ensure!(worked == "work was called" && echoed == "new");
    ensure!(manager.names() == ["a", "b"]);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_extension_finishes_its_call_and_ends() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", SLOW)?, world.server("b", &[])?]).await?;
    let process = pid(&manager, "a").await?;
    let removing = async {
        manager.remove("a").await?;
        let names = tool_names(&manager).await?;
        ensure!(names.iter().all(|name| name.starts_with("b__")), "{names:?}");
        let gone = bounded(manager.call_tool("a__echo", json!({ "text": "a" }))).await?;
        ensure!(matches!(gone, Err(ToolError::NotFound(_))), "{gone:?}");
        Ok(())
    };
    let (worked, ()) = while_it_works(&manager, removing).await?;
    ensure!(worked == "work was called", "{worked}");
    until("it is gone", || !is_alive(process)).await?;
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_extension_that_does_nothing_is_gone_at_once() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--ignore-eof", "--ignore-term"])?]).await?;
    let process = pid(&manager, "a").await?;
    bounded(manager.remove("a")).await??;
    ensure!(!is_alive(process), "removing waits for the end");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_extension_finishes_its_call_and_the_new_one_answers() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", SLOW)?]).await?;
    let process = pid(&manager, "a").await?;
    let replacing = async {
        manager.replace(&world.server("a", &["--tools", "1"])?).await?;
        ensure!(text(&manager, "a__tool_0", json!({})).await? == "tool_0 was called");
        let gone = bounded(manager.call_tool("a__work", json!({}))).await?;
        ensure!(matches!(gone, Err(ToolError::NotFound(_))), "{gone:?}");
        pid(&manager, "a").await
    };
    let (worked, replacement) = while_it_works(&manager, replacing).await?;
    ensure!(worked == "work was called" && replacement != process);
    until("the old one is gone", || !is_alive(process)).await?;
    ensure!(manager.names() == ["a"]);
    manager.replace(&world.server("b", &[])?).await?;
    ensure!(manager.names() == ["a", "b"], "what is new is added");
    manager.close().await;
    Ok(())
}

/// Both may need the same port.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_extension_ends_before_the_new_one_starts() -> anyhow::Result<()> {
    let world = World::new()?;
    let (lock, both) = (world.file("lock"), world.file("both"));
    let server = |round: u32| -> anyhow::Result<ExtensionConfig> {
        let (program, lock, both) = (binary("faulty_server")?, lock.display(), both.display());
        let script = format!(
            "mkdir '{lock}' || : >'{both}'; '{}' --tools {round}; sleep 0.3; rmdir '{lock}'",
            program.display()
        );
        Ok(ExtensionConfig::stdio("a", "sh", ["-c".to_owned(), script]))
    };
    let manager = world.manager(vec![server(1)?]).await?;
    ensure!(text(&manager, "a__tool_0", json!({})).await? == "tool_0 was called");
    bounded(manager.replace(&server(2)?)).await??;
    ensure!(text(&manager, "a__tool_1", json!({})).await? == "tool_1 was called");
    ensure!(lock.exists() && !both.exists(), "both ran at once");
    manager.close().await;
    Ok(())
}

/// Whoever lists while the extensions change must not bring back what is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_in_the_middle_of_a_change_does_not_stay() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = Arc::new(world.manager(vec![]).await?);
    let (one, other) = (world.server("a", &["--tools", "1"])?, world.server("a", &["--tools", "2"])?);
    // Known from now on, so that nothing needs to start.
    for config in [&one, &other] {
        manager.replace(config).await?;
        tool_names(&manager).await?;
    }
    let listing = CancellationToken::new();
    let lister = {
        let (manager, listing) = (Arc::clone(&manager), listing.clone());
        std::thread::spawn(move || {
            while !listing.is_cancelled() {
                manager.known_tools();
            }
        })
    };
    for round in 0..3000 {
        let (config, count) = if round % 2 == 0 { (&one, 7) } else { (&other, 8) };
        manager.replace(config).await?;
        let seen = manager.known_tools().len();
        ensure!(seen == count || seen == 0, "round {round}: {seen} tools instead of {count}");
    }
    listing.cancel();
    ensure!(lister.join().is_ok());
    manager.close().await;
    ensure!(world.pool.services().is_empty(), "a service is still held");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_manager_ends_its_calls_and_services() -> anyhow::Result<()> {
    let world = World::new()?;
    let token = CancellationToken::new();
    let config = world.server("a", &["--progress", "work", "1", "--hang", "work"])?;
    let manager =
        ExtensionManager::with_options(vec![config.clone()], token.clone(), world.options()).await?;
    let other = world.manager(vec![world.server("other", &[])?]).await?;
    let (process, bystander) = (pid(&manager, "a").await?, pid(&other, "other").await?);
    let recorder = RecordingCaller::new();
    let context = recorder.context();
    let cancelling = async {
        until("the call has arrived", || !recorder.seen().is_empty()).await?;
        token.cancel();
        anyhow::Ok(())
    };
    let calling = async { bounded(manager.call_tool_with("a__work", json!({}), &context)).await };
    let (outcome, ()) = tokio::try_join!(calling, cancelling)?;
    ensure!(matches!(outcome, Err(ToolError::Cancelled(_))), "{outcome:?}");
    until("its service is gone", || !is_alive(process)).await?;
    ensure!(manager.add(&config) == Err(ManagerError::Cancelled));
    let again = bounded(manager.call_tool("a__echo", json!({ "text": "a" }))).await?;
    ensure!(again.is_err(), "{again:?}");
    ensure!(world.starts("a").len() == 1 && pid(&other, "other").await? == bystander);
    other.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_cancelled_call_leaves_the_others_alone() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", SLOW)?]).await?;
    pid(&manager, "a").await?;
    let token = CancellationToken::new();
    let cancelling = async {
        let context = RecordingCaller::new().context().with_cancellation(token.clone());
        let sleeping = manager.call_tool_with("a__sleep", json!({ "seconds": 500 }), &context);
        let (outcome, ()) = tokio::join!(bounded(sleeping), async {
            // Whether it has arrived or not makes no difference.
            tokio::task::yield_now().await;
            token.cancel();
        });
        ensure!(matches!(outcome?, Err(ToolError::Cancelled(_))));
        Ok(())
    };
    let (worked, ()) = while_it_works(&manager, cancelling).await?;
    ensure!(worked == "work was called" && status(&manager, "a")?.service.phase == Phase::Ready);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_slow_starters_do_not_hold_up_one_that_is_ready() -> anyhow::Result<()> {
    let world = World::new()?;
    let ready = world.server("ready", &[])?;
    let holder = world.manager(vec![ready.clone()]).await?;
    let process = pid(&holder, "ready").await?;
    let mut configs = vec![ready];
    for number in 0..10 {
        // They will not start within this test: whatever waited for one of them would not end.
        configs.push(world.server(&format!("slow{number}"), &["--slow-start", "600"])?);
    }
    let manager = world.manager(configs).await?;
    ensure!(pid(&manager, "ready").await? == process);
    until("all are under way, side by side", || {
        (0..10).all(|number| world.starts(&format!("slow{number}")).len() == 1)
    })
    .await?;
    ensure!(text(&manager, "ready__echo", json!({ "text": "now" })).await? == "now");
    let starting = manager.status().iter().filter(|it| it.service.phase == Phase::Starting).count();
    ensure!(starting == 10, "{starting} are starting");
    bounded(manager.close()).await?;
    until("all are gone", || {
        !(0..10).flat_map(|number| world.starts(&format!("slow{number}"))).any(is_alive)
    })
    .await?;
    holder.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_shuts_down_ends_everything_for_good() -> anyhow::Result<()> {
    let world = World::new()?;
    let configs = vec![world.server("a", &[])?, world.server("b", &[])?];
    let manager = world.manager(configs).await?;
    let processes = [pid(&manager, "a").await?, pid(&manager, "b").await?];
    let mut events = world.events();
    bounded(world.pool.shutdown()).await?;
    ensure!(!processes.into_iter().any(is_alive));
    ensure!(events.phases("a") == [Phase::Idle]);
    ensure!(tool_names(&manager).await?.len() == 12 && world.starts("a").len() == 1, "a list starts nothing");
    let refused = bounded(manager.call_tool("a__pid", json!({}))).await??;
    ensure!(refused.is_error && refused.as_text().contains("stopped"), "{}", refused.as_text());
    ensure!(world.starts("a").len() == 1, "nothing starts any more");
    manager.close().await;
    Ok(())
}
