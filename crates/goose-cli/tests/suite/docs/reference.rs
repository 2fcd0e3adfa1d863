//! The pages below `docs/reference`, made from the program and its sources: commands and flags, settings, tools,
//! events. A page that is out of date fails; `just docs` writes it again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
};

use anyhow::{Context as _, ensure};
use goose::config::{PROFILE_SETTINGS, SETTINGS, Setting};
use goose_providers::Registry;
use goose_test_support::{ModelServer, Turn};
use serde_json::Value;

use super::{pages, root};
use crate::{help_texts, run::goose, support::Home};

/// Modes that together have all tools of the platform extensions.
const MODES: [&str; 5] = [
    "goose-agent/assistant",
    "goose-agent/app_maker",
    "goose-agent/app_iterator",
    "coding-agent/backend",
    "orchestrator/orchestrator",
];

/// A configuration with all built-in services, and, in the second run, with tool calls from code.
const SERVICES: &str = "extensions:
  autovisualiser: {type: builtin, enabled: true}
  computercontroller: {type: builtin, enabled: true}
  tutorial: {type: builtin, enabled: true}
  code_execution: {type: platform, name: code_execution, enabled: CODE}
";

/// Compares a page with what it should be, or writes it where snapshots are accepted.
fn check(name: &str, text: &str) -> anyhow::Result<()> {
    let path = root().join("docs/reference").join(name);
    let text = format!("<!-- Made by a test; `just docs` writes it again. -->\n\n{}\n", text.trim_end());
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        return Ok(fs::write(path, text)?);
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    let differs = written.lines().zip(text.lines()).find(|(is, should)| is != should);
    ensure!(written == text, "docs/reference/{name} is out of date: run `just docs`.\n{differs:?}");
    Ok(())
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[test]
fn page_of_commands_is_current() -> anyhow::Result<()> {
    let mut page = "# Commands\n\nThe help of all commands. `goose COMMAND -h` is shorter.\n".to_owned();
    for (command, help) in help_texts::all()? {
        write!(page, "\n## {command}\n\n```text\n{}\n```\n", help.trim_end())?;
    }
    check("commands.md", &page)
}

fn settings_table(settings: &[Setting]) -> String {
    let row = |setting: &Setting| format!("| `{}` | {} |\n", setting.key, cell(setting.meaning));
    format!("| key | meaning |\n| --- | --- |\n{}", settings.iter().map(row).collect::<String>())
}

#[test]
fn page_of_settings_is_current() -> anyhow::Result<()> {
    let page = format!(
        "# Configuration keys\n\nKeys of `config.yaml`, with their defaults. Keys in capitals are also read from the environment, which \
         wins over the file. [Configuration](../configuration.md) describes files and layers.\n\n{}\n## Profiles\n\nKeys of an entry \
         below `profiles:`, or of `profiles/NAME.yaml`.\n\n{}",
        settings_table(SETTINGS),
        settings_table(PROFILE_SETTINGS),
    );
    check("configuration.md", &page)
}

/// Every setting that the code names as a constant is in the list, or is described as a variable of the environment.
#[test]
fn settings_of_the_code_are_documented() -> anyhow::Result<()> {
    let guide = fs::read_to_string(root().join("docs/configuration.md"))?;
    let (mut count, mut unknown) = (0, BTreeSet::new());
    for (_, text) in sources()? {
        for (_, rest) in text.match_indices(": &str = \"GOOSE_").map(|(at, _)| text.split_at(at)) {
            let name = rest.split('"').nth(1).context("a literal")?;
            // A prefix is none.
            if name.ends_with('_') {
                continue;
            }
            count += 1;
            let is_known = SETTINGS.iter().any(|setting| setting.key == name);
            if !is_known && !guide.contains(&format!("`{name}`")) && !INTERNAL.contains(&name) {
                unknown.insert(name.to_owned());
            }
        }
    }
    ensure!(count > 10, "few settings were found");
    ensure!(unknown.is_empty(), "not in SETTINGS and not in docs/configuration.md: {unknown:?}");
    Ok(())
}

/// Variables that goose sets for its own processes.
const INTERNAL: [&str; 3] = ["GOOSE_OWNED_BY", "GOOSE_TEST_SAVE_FILE", "GOOSE_TEST_SAVE_STEP"];

/// Returns the sources of all crates, by their paths.
fn sources() -> anyhow::Result<BTreeMap<String, String>> {
    let (mut files, mut folders) = (BTreeMap::new(), Vec::new());
    for entry in fs::read_dir(root().join("crates"))? {
        folders.push(entry?.path().join("src"));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                files.insert(path.display().to_string(), fs::read_to_string(path)?);
            }
        }
    }
    Ok(files)
}

#[test]
fn page_of_providers_is_current() -> anyhow::Result<()> {
    let mut page = "# Providers\n\nServices that goose knows by name. `custom_providers/NAME.json` in the config folder adds others.\n\n\
                    | name | service | key | default model |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for info in Registry::default().known() {
        let keys: Vec<String> = info.key_variables.iter().map(|name| format!("`{name}`")).collect();
        let model = info.default_model.as_ref().map(|model| format!("`{model}`")).unwrap_or_default();
        writeln!(page, "| `{}` | {} | {} | {model} |", info.name, cell(&info.display_name), keys.join(", "))?;
    }
    check("providers.md", &page)
}

/// Returns the tools that models of some modes were offered: name, description, schema.
fn tools() -> anyhow::Result<BTreeMap<String, (String, Value)>> {
    let server = ModelServer::answering(|_| Turn::text("Done."))?;
    for code in ["false", "true"] {
        let home = Home::with_config(&SERVICES.replace("CODE", code))?;
        for mode in MODES {
            let run = goose(&home, &server, &["run", "--agent", mode, "-t", "hi"]).output()?;
            ensure!(run.status.success(), "{mode}: {}", String::from_utf8_lossy(&run.stderr));
        }
    }
    let mut tools = BTreeMap::new();
    for asked in server.asked() {
        for tool in asked.body["tools"].as_array().into_iter().flatten() {
            let text = |key: &str| tool["function"][key].as_str().unwrap_or_default().to_owned();
            tools.insert(text("name"), (text("description"), tool["function"]["parameters"].clone()));
        }
    }
    Ok(tools)
}

#[test]
fn page_of_tools_is_current() -> anyhow::Result<()> {
    let mut page = "# Tools\n\nThe tools of goose's own extensions, as models see them. [Agents and modes](../agents.md) says which mode has \
                    which, `goose agents tools AGENT MODE` lists those of a mode, and `goose extension tools` those of your extensions.\n"
        .to_owned();
    let tools = tools()?;
    let extension =
        |name: &str| name.split_once("__").map_or("summon", |(extension, _)| extension).to_owned();
    let extensions: BTreeSet<String> = tools.keys().map(|name| extension(name)).collect();
    ensure!(extensions.len() > 8, "tools are missing: {extensions:?}");
    for of in extensions {
        write!(page, "\n## {of}\n")?;
        for (name, (description, schema)) in tools.iter().filter(|(name, _)| extension(name) == of) {
            write!(page, "\n### {name}\n\n{}\n{}", paragraphs(description), parameters(schema))?;
        }
    }
    check("tools.md", &page)
}

/// The description as Markdown that keeps its lines.
fn paragraphs(description: &str) -> String {
    description.replace('<', "&lt;").trim().to_owned()
}

fn parameters(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object().filter(|it| !it.is_empty()) else {
        return String::new();
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let row = |(name, property): (&String, &Value)| {
        let mark = if required.contains(&name.as_str()) { "required" } else { "" };
        let about = property["description"].as_str().unwrap_or_default();
        format!(
            "| `{name}` | {} | {mark} | {} |\n",
            cell(&type_name(schema, property)),
            cell(&paragraphs(about))
        )
    };
    format!(
        "\n| parameter | type | | description |\n| --- | --- | --- | --- |\n{}",
        properties.iter().map(row).collect::<String>()
    )
}

/// The type of a value in words. References lead into the definitions of the whole schema.
fn type_name(root: &Value, schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
        return type_name(root, target);
    }
    if let Some(values) = schema["enum"].as_array() {
        let names = values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or("null")));
        return names.collect::<Vec<_>>().join(", ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => vec!["any"],
    };
    match (kinds.as_slice(), &schema["items"]) {
        (["array"], Value::Object(_)) => format!("list of {}", type_name(root, &schema["items"])),
        _ => kinds.join(" or "),
    }
}

/// A type of the source of events: its documented variants or fields.
#[derive(Default)]
struct Item {
    parts: Vec<Part>,
}

/// A variant, with its fields or the type of its value; or a field, with its type.
#[derive(Default)]
struct Part {
    name: String,
    kind: String,
    about: String,
    fields: Vec<Part>,
}

/// Reads the public types of a source that rustfmt has laid out.
fn items(source: &str) -> anyhow::Result<BTreeMap<String, Item>> {
    let (mut items, mut open, mut about, mut renamed) = (BTreeMap::new(), None, String::new(), None);
    for line in source.lines() {
        let text = line.trim();
        let depth = line.len() - line.trim_start().len();
        if let Some(comment) = text.strip_prefix("/// ") {
            about = format!("{about} {comment}");
            continue;
        } else if text.starts_with("#[") {
            renamed = text.split_once("rename = \"").and_then(|(_, rest)| rest.split('"').next()).or(renamed);
            continue;
        }
        let docs = std::mem::take(&mut about).trim().to_owned();
        let start = text.strip_prefix("pub enum ").or_else(|| text.strip_prefix("pub struct "));
        if let Some(name) = start.filter(|_| depth == 0) {
            open = Some(name.trim_end_matches(" {").to_owned());
            items.insert(name.trim_end_matches(" {").to_owned(), Item::default());
        } else if text == "}" && depth == 0 {
            open = None;
        } else if let Some(item) =
            open.as_ref().and_then(|name| items.get_mut(name)).filter(|_| !docs.is_empty())
        {
            let text = text.trim_start_matches("pub ").trim_end_matches(" {").trim_end_matches(',');
            let (name, kind) = text.split_once(['(', ':']).unwrap_or((text, ""));
            let name = renamed.take().unwrap_or(name).to_owned();
            let kind = kind.trim().trim_end_matches(')').to_owned();
            let part = Part { name, kind, about: docs, fields: Vec::new() };
            match depth {
                4 => item.parts.push(part),
                _ => item.parts.last_mut().context("a field of a variant")?.fields.push(part),
            }
        }
        renamed = None;
    }
    Ok(items)
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// The JSON type of a Rust type.
fn json_type(kind: &str) -> String {
    let inner = |prefix: &str| kind.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(kind) = inner("Option<") {
        return format!("{}, optional", json_type(kind));
    }
    if let Some(kind) = inner("Vec<") {
        return format!("list of {}", json_type(kind));
    }
    match kind {
        "String" | "SessionId" => "text".to_owned(),
        "bool" => "true or false".to_owned(),
        "u32" | "u64" | "f32" | "f64" | "Duration" => "number".to_owned(),
        _ => "object".to_owned(),
    }
}

/// A doc comment without links to Rust items.
fn plain(about: &str) -> String {
    let mut plain = String::new();
    for (number, part) in about.split(['[', ']']).enumerate() {
        match number % 2 {
            0 => plain.push_str(
                part.split_once(')').filter(|_| part.starts_with('(')).map_or(part, |(_, rest)| rest),
            ),
            _ => plain.push_str(part),
        }
    }
    plain.replace("Self::", "").replace("Event::", "")
}

fn fields_table(fields: &[Part], items: &BTreeMap<String, Item>) -> String {
    let row = |field: &Part| {
        let bare = field.kind.trim_start_matches("Option<").trim_end_matches('>');
        let values = items.get(bare).filter(|item| {
            !item.parts.is_empty() && item.parts.iter().all(|it| it.kind.is_empty() && it.fields.is_empty())
        });
        let kind = match values {
            Some(item) => item
                .parts
                .iter()
                .map(|it| format!("`{}`", snake_case(&it.name)))
                .collect::<Vec<_>>()
                .join(", "),
            None => json_type(&field.kind),
        };
        format!("| `{}` | {kind} | {} |\n", field.name, cell(&plain(&field.about)))
    };
    format!("\n| field | type | |\n| --- | --- | --- |\n{}", fields.iter().map(row).collect::<String>())
}

#[test]
fn page_of_events_is_current() -> anyhow::Result<()> {
    let files = ["crates/goose/src/exchange/event.rs", "crates/goose-session/src/step.rs"];
    let texts = files.map(|file| fs::read_to_string(root().join(file)));
    let source = texts.into_iter().collect::<Result<String, _>>()?;
    let items = items(&source)?;
    let mut page = "# Events\n\nEverything that a user interface sees of a reply, as `GET /api/v1/events` of [the server](../server.md) sends it: \
                    `{\"event\": NAME, \"data\": …}`. `goose run --output-format stream-json` has fewer and other lines; \
                    [Commands](commands.md#goose-run) describes them.\n"
        .to_owned();
    let events = items.get("Event").context("there are no events")?;
    ensure!(events.parts.len() > 20, "few events were found");
    for event in &events.parts {
        write!(page, "\n## {}\n\n{}\n", snake_case(&event.name), plain(&event.about))?;
        let of_type = items.get(&event.kind).map(|item| item.parts.as_slice()).unwrap_or_default();
        let fields = if event.fields.is_empty() { of_type } else { &event.fields };
        match (event.kind.as_str(), items.get(&event.kind)) {
            (kind, None) if !kind.is_empty() => write!(page, "\n`data`: {}\n", json_type(kind))?,
            (_, Some(item)) if source.contains(&format!("pub enum {} {{", event.kind)) => {
                page.push_str(&variants(item))
            }
            _ if !fields.is_empty() => page.push_str(&fields_table(fields, &items)),
            _ => {}
        }
    }
    check("events.md", &page)
}

/// The values of an enum, such as the outcomes of a reply.
fn variants(item: &Item) -> String {
    let row = |part: &Part| format!("| `{}` | {} |\n", snake_case(&part.name), cell(&plain(&part.about)));
    format!("\n| value | |\n| --- | --- |\n{}", item.parts.iter().map(row).collect::<String>())
}

/// README, the guides, the help and the wizard name one model of a service as their example.
#[test]
fn examples_name_the_model_that_the_wizard_suggests() -> anyhow::Result<()> {
    let registry = Registry::default();
    let anthropic = registry.info("anthropic").context("anthropic")?;
    let suggested = anthropic.default_model.as_deref().context("a default model")?;
    let help = Home::new()?.run(&["configure", "--help"])?.stdout;
    let guides = pages()?.into_iter().filter(|page| page.is_guide());
    let texts = guides.map(|page| (page.name, page.text)).chain([("help".to_owned(), help)]);
    let mut names = 0;
    for (place, text) in texts {
        let words = text.split(|sign: char| !(sign.is_ascii_alphanumeric() || matches!(sign, '-' | '.')));
        for word in
            words.filter(|word| word.starts_with("claude-") && word.contains(|c: char| c.is_ascii_digit()))
        {
            assert_eq!(word, suggested, "{place}");
            names += 1;
        }
    }
    ensure!(names > 4, "{names} names");
    Ok(())
}
