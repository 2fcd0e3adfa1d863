//! Lists of tools that do not end, are too long, change, or have tools that are none.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::raw::{Program, text_of};

fn page(program: &mut Program, cursor: Option<&str>) -> Result<(Vec<Value>, Option<String>)> {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    let mut answer = program.ask("tools/list", params)?;
    let tools = serde_json::from_value(answer["result"]["tools"].take())?;
    Ok((tools, answer["result"]["nextCursor"].as_str().map(str::to_owned)))
}

#[test]
fn cursors_lead_nowhere() -> Result<()> {
    for (flag, expected) in [
        ("--endless-pages", ["1", "2", "3"]),
        ("--same-cursor", ["again", "again", "again"]),
        ("--cursor-cycle", ["a", "b", "a"]),
    ] {
        let mut program = Program::start(&[flag])?;
        let mut cursor: Option<String> = None;
        for next in expected {
            let (tools, found) = page(&mut program, cursor.as_deref())?;
            ensure!(!tools.is_empty() && found.as_deref() == Some(next), "{flag}: {found:?}");
            cursor = found;
        }
    }
    Ok(())
}

#[test]
fn many_tools_come_in_pages_or_at_once() -> Result<()> {
    let mut program = Program::start(&["--tools", "10", "--page-size", "6"])?;
    let (mut cursor, mut names) = (None, Vec::new());
    loop {
        let (tools, next) = page(&mut program, cursor.as_deref())?;
        names.extend(tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    ensure!(names.len() == 16 && names.last().is_some_and(|name| name == "tool_9"), "{names:?}");
    ensure!(program.text("tool_9", json!({}))? == "tool_9 was called");

    let mut program = Program::start(&["--tools", "100000"])?;
    program.request(1, "tools/list", json!({}))?;
    let line = program.line()?;
    ensure!(line.len() > 10_000_000, "{}", line.len());
    ensure!(String::from_utf8_lossy(&line[line.len() - 200..]).contains("tool_99999"));
    #[cfg(target_os = "linux")]
    ensure!(peak_kib(program.pid())? < 64 * 1024, "the list was held in memory");
    Ok(())
}

/// The most memory that a process has used.
#[cfg(target_os = "linux")]
pub(crate) fn peak_kib(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

#[test]
fn bad_tools_are_listed_among_good_ones() -> Result<()> {
    let mut program = Program::start(&["--bad-tools"])?;
    program.request(1, "tools/list", json!({}))?;
    let line = String::from_utf8(program.line()?)?;
    ensure!(serde_json::from_str::<Value>(&line).is_err(), "the deep schema is deeper than JSON readers go");
    ensure!(line.contains("schema_deep") && line.contains("two words"));

    let shallow = ["empty", "duplicate", "long", "control", "space", "not-object", "string-type"];
    let shallow = shallow.into_iter().chain(["wrong-keyword", "no-schema"]);
    let arguments: Vec<&str> = shallow.flat_map(|kind| ["--bad-tool", kind]).collect();
    let (tools, _) = page(&mut Program::start(&arguments)?, None)?;
    ensure!(tools.len() == 15, "{tools:?}");
    let named = |name: &str| tools.iter().filter(|tool| tool["name"] == name).count();
    ensure!(named("") == 1 && named("echo") == 2 && named("no_schema") == 1);
    ensure!(tools.iter().any(|tool| tool["name"].as_str().is_some_and(|name| name.len() == 10_000)));
    Ok(())
}

#[test]
fn the_list_changes_and_says_so() -> Result<()> {
    let mut program = Program::start(&["--changing", "--notify-flood", "50"])?;
    let before = page(&mut program, None)?.0.len();
    program.call(2, "grow", json!({}))?;
    ensure!(program.next()?["method"] == "notifications/tools/list_changed");
    ensure!(text_of(&program.next()?)?.contains("grown_0"));
    ensure!(page(&mut program, None)?.0.len() == before + 1);
    ensure!(program.text("grown_0", json!({}))? == "grown_0 was called");
    program.call(3, "flood", json!({}))?;
    for _ in 0..50 {
        ensure!(program.next()?["method"] == "notifications/tools/list_changed");
    }
    ensure!(program.next()?["id"] == 3);
    Ok(())
}
