//! The autovisualiser: each kind of page, through a call and through an MCP client, and what it refuses.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_extension::{CallContext, ContentBlock, Extension, ResourceContents, ToolError, ToolOutput};
use goose_mcp::{Autovisualiser, BuiltinOptions, page_file};
use goose_mcp_bridge::{ConnectOptions, Serve, connect};
use html5gum::{Token, Tokenizer};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The samples of the documentation, whose pages are also opened in a browser by `scripts/interop full`.
const SAMPLES: &str = include_str!("../../../../docs/autovisualiser/samples.json");

/// A text that is dangerous in every place of a page.
const ATTACK: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;{{x}}-->]]>\u{0}\u{202e}";

struct Studio {
    dir: TempDir,
    extension: Autovisualiser,
}

impl Studio {
    fn new() -> Self {
        Self::with_environment(Vec::new())
    }

    fn with_environment(environment: Vec<(&str, String)>) -> Self {
        let dir = TempDir::new().unwrap();
        let options = BuiltinOptions::new(dir.path().join("config"))
            .with_scratch_dir(dir.path().join("outputs"))
            .with_environment(environment);
        Self { dir, extension: Autovisualiser::new(&options) }
    }

    fn outputs(&self) -> PathBuf {
        self.dir.path().join("outputs")
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.extension.call(tool, arguments, &CallContext::new()).await
    }

    /// Draws a page that is fine, and returns its HTML.
    async fn page(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await.unwrap();
        assert!(!output.is_error, "{}", output.as_text());
        fs::read_to_string(file(&output)).unwrap()
    }

    /// Makes a call that fails, and returns its message.
    async fn problem(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments).await {
            Ok(output) => {
                assert!(output.is_error, "{}", output.as_text());
                output.as_text()
            }
            Err(error) => error.to_string(),
        }
    }
}

fn file(output: &ToolOutput) -> PathBuf {
    PathBuf::from(output.structured.as_ref().unwrap()["file"].as_str().unwrap())
}

fn uri(output: &ToolOutput) -> String {
    output.structured.as_ref().unwrap()["uri"].as_str().unwrap().to_owned()
}

/// Name, tool and arguments of each sample.
fn samples() -> Vec<(String, String, Value)> {
    let samples: Map<String, Value> = serde_json::from_str(SAMPLES).unwrap();
    let samples =
        samples.into_iter().map(|(name, call)| (name, call[0].as_str().unwrap().to_owned(), call[1].clone()));
    samples.collect()
}

/// Asserts that a page has no script, loads nothing, and is one document whose elements are all closed.
fn assert_self_contained(html: &str) {
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"), "{html}");
    let mut open: Vec<String> = Vec::new();
    for Ok(token) in Tokenizer::new(html) {
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                assert!(
                    !["script", "img", "link", "iframe", "object", "foreignobject", "image", "use"]
                        .contains(&name.as_str()),
                    "<{name}>"
                );
                for (key, value) in &tag.attributes {
                    let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(&value.value));
                    assert!(!key.starts_with("on"), "{key}={value}");
                    let is_reference =
                        ["href", "src", "srcset", "xlink:href", "data", "action"].contains(&key.as_ref());
                    assert!(!is_reference || value.starts_with('#'), "{key}={value}");
                    assert!(key != "d" || !value.contains("NaN") && !value.contains("inf"), "{value}");
                }
                let is_void = ["meta", "br"].contains(&name.as_str());
                if !is_void && !tag.self_closing {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                assert_eq!(open.pop(), Some(name));
            }
            Token::String(text) if open.last().is_some_and(|name| name == "style") => {
                let style = String::from_utf8_lossy(&text.value).into_owned();
                assert!(!style.contains("url(") && !style.contains("@import"));
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!html.contains("NaN") && !html.contains("inf\""), "a coordinate is not a number");
}

/// Some models write nested arguments as JSON in a text.
#[tokio::test]
async fn data_may_be_json_in_a_text() {
    let studio = Studio::new();
    for (name, tool, mut arguments) in samples() {
        let Some(data) = arguments.get("data").cloned() else { continue };
        let expected = studio.page(&tool, arguments.clone()).await;
        arguments["data"] = data.to_string().into();
        assert_eq!(studio.page(&tool, arguments).await, expected, "{name}");
    }
    let problem = studio.problem("render_radar", json!({ "data": "{\"labels\": 5}" })).await;
    assert!(problem.contains("`data.labels`") && problem.contains("got 5"), "{problem}");
    let problem = studio.problem("render_radar", json!({ "data": "a, b" })).await;
    assert!(problem.contains("got the string"), "{problem}");
}

/// The signs at the ends of relations do not cover each other.
#[tokio::test]
async fn relations_of_a_class_begin_apart() {
    let code = "classDiagram\n Pond o-- Duck\n Pond *-- Water\n Pond <|-- Lake";
    for code in [code.to_owned(), code.replace("\n Pond o", "\n direction LR\n Pond o")] {
        let html = Studio::new().page("render_mermaid", json!({ "mermaid_code": code })).await;
        let lines = html.split("class=\"edge\" d=\"M").skip(1);
        let mut begins: Vec<&str> = lines.map(|line| line.split('C').next().unwrap()).collect();
        begins.sort_unstable();
        begins.dedup();
        assert_eq!(begins.len(), 3, "{begins:?}");
    }
}

#[tokio::test]
async fn every_kind_is_a_self_contained_page() {
    let studio = Studio::new();
    let tools: Vec<&str> = studio.extension.tools().iter().map(|tool| tool.name()).collect();
    let samples = samples();
    let mut drawn: Vec<&str> = samples.iter().map(|(_, tool, _)| tool.as_str()).collect();
    drawn.sort_by_key(|tool| tools.iter().position(|known| known == tool));
    assert_eq!(drawn, tools, "there is a sample for each tool");
    for (name, tool, arguments) in &samples {
        let html = studio.page(tool, arguments.clone()).await;
        assert_self_contained(&html);
        assert!(html.len() < 200_000, "{name}: {}", html.len());
        assert!(html.contains("default-src 'none'") && html.contains("color-scheme: light dark"), "{name}");
        assert!(
            html.matches("class=\"mark\" role=\"img\" tabindex=\"0\" aria-label=\"").count() >= 4,
            "{name}"
        );
        assert!(html.matches("<tr>").count() >= 4, "{name} has a table");
    }
}

#[tokio::test]
async fn a_result_says_where_the_page_is() {
    let studio = Studio::new();
    let (_, tool, arguments) = samples().swap_remove(0);
    let output = studio.call(&tool, arguments.clone()).await.unwrap();
    let (file, uri) = (file(&output), uri(&output));
    let name = uri.strip_prefix("ui://autovisualiser/").unwrap();
    assert!(name.starts_with("sankey-energy-of-a-town-gwh-"), "{name}");
    assert_eq!(file, studio.outputs().join("pages").join(format!("{name}.html")));
    let text = output.as_text();
    assert!(
        text.starts_with("Drew \"Energy of a town, GWh\", a Sankey diagram: 10 nodes, 12 links.\n"),
        "{text}"
    );
    assert!(
        text.contains(&format!("`goose apps open {name}`")) && text.contains(&*file.to_string_lossy()),
        "{text}"
    );
    assert_eq!(output.meta.as_ref().unwrap().0["ui"], json!({ "resourceUri": uri }));
    let has_link = output
        .content
        .iter()
        .any(|block| matches!(block, ContentBlock::ResourceLink(link) if link.uri == uri));
    assert!(has_link);
    for known in [name, &uri] {
        assert_eq!(page_file(&studio.outputs(), known), Some(file.clone()));
    }
    for unknown in ["sankey", "../pages/x", "", "ui://apps/x", &format!("{name}.html")] {
        assert_eq!(page_file(&studio.outputs(), unknown), None);
    }
    // The same page is the same file.
    assert_eq!(self::uri(&studio.call(&tool, arguments).await.unwrap()), uri);
    assert_eq!(studio.extension.list_resources().await.unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_folder_pages_last_as_long_as_the_service() {
    let extension = Autovisualiser::new(&BuiltinOptions::new("/nowhere"));
    let Value::Object(arguments) = json!({ "data": [{ "values": [1, 2], "labels": ["a", "b"] }] }) else {
        panic!()
    };
    let output = extension.call("render_donut", arguments, &CallContext::new()).await.unwrap();
    let file = file(&output);
    assert!(file.exists() && !output.as_text().contains("goose apps open"), "{}", output.as_text());
    drop(extension);
    assert!(!file.exists());
}

#[tokio::test]
async fn an_mcp_client_gets_the_page_as_an_app() {
    let dir = TempDir::new().unwrap();
    let options = BuiltinOptions::new(dir.path()).with_scratch_dir(dir.path());
    let server = Serve::shared(Arc::new(Autovisualiser::new(&options)));
    let client = connect(server.duplex(), ConnectOptions::default()).await.unwrap();
    assert_eq!(client.tools().len(), 8);
    for (name, tool, arguments) in samples() {
        let Value::Object(arguments) = arguments else { panic!("{name}") };
        let output = client.call(&tool, arguments, &CallContext::new()).await.unwrap();
        assert!(!output.is_error, "{name}: {}", output.as_text());
        let uri = uri(&output);
        let contents = client.read_resource(&uri, &CallContext::new()).await.unwrap();
        let [ResourceContents::TextResourceContents { text, mime_type, .. }] = contents.as_slice() else {
            panic!("{name}")
        };
        assert_eq!(mime_type.as_deref(), Some("text/html;profile=mcp-app"));
        assert_eq!(text.matches("<script>").count(), 1, "the script that speaks to the client");
        assert!(text.contains("; script-src 'sha256-"), "its hash");
        assert_self_contained(&fs::read_to_string(file(&output)).unwrap());
    }
    assert_eq!(client.list_resources().await.unwrap().len(), 8);
    for uri in ["ui://autovisualiser/sankey", "ui://autovisualiser/../x", "file:///etc/passwd", ""] {
        let error = client.read_resource(uri, &CallContext::new()).await.unwrap_err();
        assert!(matches!(error, ToolError::ResourceNotFound(_)), "{uri}: {error:?}");
    }
}

#[tokio::test]
async fn errors_name_the_field() {
    let studio = Studio::new();
    let sankey =
        |nodes: Value, links: Value| ("render_sankey", json!({ "data": { "nodes": nodes, "links": links } }));
    let ab = json!([{ "name": "a" }, { "name": "b" }]);
    let link = |source: &str, target: &str, value: f64| json!({ "source": source, "target": target, "value": value });
    let chart = |kind: &str, data: Value| {
        ("show_chart", json!({ "data": { "type": kind, "datasets": data, "labels": ["x"] } }))
    };
    let table: Vec<((&str, Value), &str)> = vec![
        (
            sankey(ab.clone(), json!([link("a", "b", 1.0), link("a", "z", 1.0)])),
            "`data.links[1].target`: there is no node named \"z\"",
        ),
        (sankey(ab.clone(), json!([link("a", "b", -1.0)])), "`data.links[0].value`: -1 is negative"),
        (
            sankey(ab.clone(), json!([link("a", "b", 1.0), link("b", "a", 1.0)])),
            "`data.links`: they form a cycle (",
        ),
        (sankey(ab.clone(), json!([link("a", "a", 1.0)])), "a cycle (a → a)"),
        (sankey(ab.clone(), json!([link("a", "b", 0.0)])), "`data.links`: all values are 0"),
        (
            sankey(json!([{ "name": "a" }, { "name": "a" }]), json!([link("a", "a", 1.0)])),
            "`data.nodes[1].name`: there is another",
        ),
        (sankey(ab.clone(), json!([{ "source": "a", "target": "b" }])), "value"),
        (sankey(ab, json!([link("a", "b", 1e300)])), "`data.links[0].value`: 1e300 is out of range"),
        (
            ("render_radar", json!({ "data": { "labels": ["a", "b"], "datasets": [] } })),
            "`data.labels`: it has 2 labels; at least 3",
        ),
        (
            (
                "render_radar",
                json!({ "data": { "labels": ["a", "b", "c"], "datasets": [{ "label": "x", "data": [1, 2] }] } }),
            ),
            "`data.datasets[0].data`: it has 2 values for 3 labels",
        ),
        (("render_donut", json!({ "data": [{ "values": [1, 2] }] })), "`data[0].values[0]`: it has no label"),
        (
            ("render_donut", json!({ "data": [{ "values": [1], "labels": [] }] })),
            "`data[0].labels`: it has 0 labels for 1 values",
        ),
        (
            ("render_donut", json!({ "data": [{ "values": [0, 0], "labels": ["a", "b"] }] })),
            "`data[0].values`: all values are 0",
        ),
        (("render_donut", json!({ "data": [] })), "`data`: it has 0 charts"),
        (
            (
                "render_treemap",
                json!({ "data": { "name": "r", "children": [{ "name": "a", "value": 1 }, { "name": "b" }] } }),
            ),
            "`data.children[1].value`: it is missing",
        ),
        (
            ("render_chord", json!({ "data": { "labels": ["a", "b"], "matrix": [[0, 1], [1]] } })),
            "`data.matrix[1]`: it has 1 numbers",
        ),
        (
            ("render_chord", json!({ "data": { "labels": ["a", "b"], "matrix": [[0, -1], [1, 0]] } })),
            "`data.matrix[0][1]`: -1 is negative",
        ),
        (
            ("render_map", json!({ "data": { "markers": [{ "lat": 91, "lng": 0 }] } })),
            "`data.markers[0].lat`: 91 is out of range",
        ),
        (
            ("render_map", json!({ "data": { "markers": [{ "lat": 1, "lng": 0, "color": "url(x)" }] } })),
            "`data.markers[0].color`: \"url(x)\" is not a CSS colour",
        ),
        (("render_map", json!({ "data": { "markers": [], "zoom": 99 } })), "`data.zoom`: 99 is out of range"),
        (
            chart("line", json!([{ "label": "a", "data": [1, 2] }])),
            "`data.datasets[0].data`: it has 2 values for 1 labels",
        ),
        (chart("line", json!([{ "label": "a", "data": [] }])), "`data.datasets`: it has 0 values"),
        (
            chart("bar", json!([{ "label": "a", "data": [1], "borderColor": "red;x" }])),
            "`data.datasets[0].borderColor`",
        ),
        (
            chart("line", json!([{ "label": "a", "data": [1], "tension": 3 }])),
            "`data.datasets[0].tension`: 3 is out of range; use 0 to 1",
        ),
        (chart("area", json!([])), "type"),
    ];
    for ((tool, arguments), expected) in table {
        let problem = studio.problem(tool, arguments.clone()).await;
        assert!(problem.contains(expected), "{tool} {arguments}:\n{problem}\nexpected {expected}");
    }
    assert!(!studio.outputs().exists(), "nothing is written for wrong data");
}

#[tokio::test]
async fn too_much_data_is_refused() {
    let studio = Studio::new();
    let nodes: Vec<Value> = (0..201).map(|index| json!({ "name": index.to_string() })).collect();
    let links = json!([{ "source": "0", "target": "1", "value": 1 }]);
    let mut deep = json!({ "name": "leaf", "value": 1 });
    for level in 0..12 {
        deep = json!({ "name": level.to_string(), "children": [deep] });
    }
    let leaves: Vec<Value> =
        (0..2_001).map(|index| json!({ "name": index.to_string(), "value": 1 })).collect();
    let points: Vec<f64> = (0..5_001).map(f64::from).collect();
    let markers: Vec<Value> = (0..1_001).map(|_| json!({ "lat": 0, "lng": 0 })).collect();
    let lines = "A-->B\n".repeat(2_100);
    let edges: String = (0..401).map(|index| format!("\nA-->B{}", index % 90)).collect();
    let table = [
        ("render_sankey", json!({ "data": { "nodes": nodes, "links": links } }), "at most 200"),
        ("render_treemap", json!({ "data": deep }), "more than 8 levels"),
        ("render_treemap", json!({ "data": { "name": "r", "children": leaves } }), "more than 2000 nodes"),
        (
            "show_chart",
            json!({ "data": { "type": "line", "datasets": [{ "label": "a", "data": points }] } }),
            "at most 5000",
        ),
        ("render_map", json!({ "data": { "markers": markers } }), "at most 1000"),
        ("render_mermaid", json!({ "mermaid_code": format!("graph TD\n{lines}") }), "more than 2000 lines"),
        ("render_mermaid", json!({ "mermaid_code": format!("graph TD{edges}") }), "more than 400 lines"),
        ("render_mermaid", json!({ "mermaid_code": "x".repeat(60_000) }), "mermaid_code"),
    ];
    for (tool, arguments, expected) in table {
        let problem = studio.problem(tool, arguments).await;
        assert!(problem.contains(expected), "{tool}: {problem}");
    }
}

#[tokio::test]
async fn mermaid_says_which_kinds_and_lines_it_reads() {
    let studio = Studio::new();
    let table = [
        ("", "it is empty. Start with one of: flowchart (or graph), sequenceDiagram, classDiagram, pie."),
        (
            "gantt\n title x",
            "line 1 (gantt): \"gantt\" cannot be drawn. Kinds that can be: flowchart (or graph), sequenceDiagram, classDiagram, pie.",
        ),
        ("stateDiagram-v2\n a --> b", "\"stateDiagram-v2\" cannot be drawn"),
        ("graph TD\n A --> B\n A -->", "line 3 (A -->): a node was expected"),
        ("graph TD\n A[x --> B", "line 2 (A[x --> B): a label that starts with `[` is not closed"),
        ("graph TD\n A B", "line 2 (A B): a line such as --> was expected at \"B\""),
        ("graph TD\n subgraph x\n A", "a subgraph is not closed"),
        ("graph TD\n end", "there is no open subgraph"),
        ("graph TD\n subgraph s\n A\n end\n A --> s", "between a subgraph and a part of it"),
        ("graph TD", "the flowchart has no nodes"),
        ("sequenceDiagram\n A->>B: x\n what is this", "line 3 (what is this): this is no message"),
        ("sequenceDiagram\n loop x\n A->>B: y", "a block is not closed"),
        ("sequenceDiagram", "no participants"),
        ("classDiagram\n A <|-- B\n !!", "line 3 (!!): this is neither a class nor a relation"),
        ("classDiagram\n class A {\n x", "is not closed"),
        ("pie\n \"a\" : -1", "line 2"),
        ("pie\n a : 1", "this is not a value"),
        ("pie", "the pie has no values"),
    ];
    for (code, expected) in table {
        let problem = studio.problem("render_mermaid", json!({ "mermaid_code": code })).await;
        assert!(problem.contains(expected), "{code}:\n{problem}");
    }
}

#[tokio::test]
async fn mermaid_reads_what_people_write() {
    let studio = Studio::new();
    let table = [
        (
            "graph TD;\n    A-->B;\n    A-->C;\n    B-->D;\n    C-->D;",
            vec!["A, leads to B, C", "B, leads to D"],
        ),
        (
            "flowchart LR\n A[Hard<br/>edge] -->|Link text| B(Round edge)",
            vec!["Hard edge, leads to Round edge (Link text)"],
        ),
        ("graph LR\n A & B --> C & D", vec!["A, leads to C, D", "B, leads to C, D"]),
        (
            "graph LR\n A -- text --> B -. dotted .-> C == thick ==> D",
            vec!["A, leads to B (text)", "B, leads to C (dotted)", "C, leads to D (thick)"],
        ),
        (
            "graph LR\n A --- B ---|x| C ~~~ D\n A <--> C\n A o--o B\n A x--x B",
            vec!["A, leads to B, C, B, B"],
        ),
        (
            "graph TD\n my-node[\"a (b) [c]\"]:::red --> n2{{x}}\n classDef red fill:#f00\n style n2 fill:red\n click n2 \"https://example.com\"",
            vec!["a (b) [c], leads to x"],
        ),
        (
            "graph TD\n one --> two\n subgraph two [Second]\n a1 --> a2\n end",
            vec!["one, leads to Second", "a1, leads to a2"],
        ),
        ("```mermaid\ngraph TD\n A@{ shape: cyl, label: \"Store\" } --> B\n```", vec!["Store, leads to B"]),
        ("graph TD\n A --> B\n B --> A\n A --> A", vec!["A, leads to B, A"]),
        (
            "sequenceDiagram\n participant A as Alice\n A->>+B: Hi, <b>you</b>\n B-->>-A: Hi\n Note right of A: n\n A-)B: later",
            vec!["Alice to B: Hi, you", "B to Alice: Hi", "Note: n"],
        ),
        (
            "classDiagram\n Animal <|-- Duck\n Animal : +int age\n class Duck{\n +String beak\n +swim()\n }\n Duck \"1\" *-- \"many\" Egg : lays",
            vec!["Animal: 1 member; inherited by Duck", "Duck: 2 members; composed of Egg (lays)"],
        ),
        ("pie title Pets\n \"Dogs\" : 3\n \"Cats\" : 1", vec!["Dogs: 3 (75%)", "Cats: 1 (25%)"]),
    ];
    for (code, expected) in table {
        let html = studio.page("render_mermaid", json!({ "mermaid_code": code })).await;
        assert_self_contained(&html);
        for label in expected {
            assert!(html.contains(&format!("aria-label=\"{label}\"")), "{code}: {label}\n{html}");
        }
    }
}

/// Replaces all texts of a sample by an attack, where names are unique each by its own.
fn poisoned(value: &Value, key: &str) -> Value {
    match value {
        Value::String(text) if ["type", "color", "mermaid_code"].contains(&key) => json!(text),
        Value::String(text) => json!(format!("{text}{ATTACK}")),
        Value::Array(items) => items.iter().map(|item| poisoned(item, key)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), poisoned(value, key))).collect())
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn texts_of_the_data_stay_texts() {
    let studio = Studio::new();
    for (name, tool, arguments) in samples() {
        let html = studio.page(&tool, poisoned(&arguments, "")).await;
        assert_self_contained(&html);
        assert!(name == "mermaid" || html.contains("&lt;script&gt;"), "{name}");
    }
    let attack = ATTACK.replace(['"', '\u{0}'], "").replace("-->", "");
    for code in [
        format!("graph TD\n A[\"{attack}\"] -->|{attack}| B"),
        format!("graph TD\n subgraph x [\"{attack}\"]\n A\n end"),
        format!(
            "---\ntitle: {attack}\n---\nsequenceDiagram\n participant A as {attack}\n A->>A: {attack}\n Note over A: {attack}"
        ),
        format!("classDiagram\n class A[\"{attack}\"] {{\n +{attack}\n }}"),
        format!("pie title {attack}\n \"{attack}\" : 1"),
    ] {
        let html = studio.page("render_mermaid", json!({ "mermaid_code": code })).await;
        assert_self_contained(&html);
    }
}

#[tokio::test]
async fn screenshots_need_a_browser() {
    let studio = Studio::new();
    let arguments = json!({ "data": [{ "values": [1, 2], "labels": ["a", "b"] }], "screenshot": true });
    let output = studio.call("render_donut", arguments.clone()).await.unwrap();
    assert!(
        !output.is_error && output.as_text().contains("There is no screenshot: no browser was found."),
        "{output:?}"
    );

    let studio = Studio::with_environment(vec![("GOOSE_BROWSER", "/bin/false".to_owned())]);
    let output = studio.call("render_donut", arguments.clone()).await.unwrap();
    assert!(
        output.as_text().contains("There is no screenshot: false failed: it wrote no image"),
        "{output:?}"
    );

    // A browser that writes its arguments and an image: it has a profile of its own, which is gone afterwards.
    let dir = TempDir::new().unwrap();
    let (browser, seen) = (dir.path().join("browser"), dir.path().join("seen"));
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >{}\nfor a; do case $a in --screenshot=*) printf '\\211PNG' >\"${{a#*=}}\";; esac; done\n",
        seen.display()
    );
    fs::write(&browser, script).unwrap();
    make_executable(&browser);
    let studio = Studio::with_environment(vec![
        ("GOOSE_BROWSER", browser.display().to_string()),
        ("PATH", "/usr/bin:/bin".to_owned()),
    ]);
    let output = studio.call("render_donut", arguments).await.unwrap();
    assert!(
        output
            .content
            .iter()
            .any(|block| matches!(block, ContentBlock::Image(image) if image.mime_type == "image/png")),
        "{output:?}"
    );
    let seen = fs::read_to_string(seen).unwrap();
    let profile = seen.lines().find_map(|line| line.strip_prefix("--user-data-dir=")).unwrap();
    assert!(!Path::new(profile).parent().unwrap().exists());
    assert_eq!(seen.lines().last(), Some(&*file(&output).to_string_lossy()));
}

fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just(ATTACK.to_owned()), "[a-z ]{0,12}"]
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-0.0), -1e3..1e3, any::<f64>().prop_filter("JSON", |value| value.is_finite())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the data is, there is a valid page or an error that names a field.
    #[test]
    fn any_data_is_drawn_or_refused(
        labels in proptest::collection::vec(label(), 0..6),
        values in proptest::collection::vec(value(), 0..36),
        kind in 0..7,
    ) {
        let number = |index: usize| values.get(index % values.len().max(1)).copied().unwrap_or(1.0);
        let (tool, data) = match kind {
            0 => {
                let links: Vec<Value> = labels.windows(2).enumerate().map(|(index, pair)| json!({ "source": pair[0], "target": pair[1], "value": number(index).abs() })).collect();
                let nodes: Vec<Value> = labels.iter().map(|name| json!({ "name": name, "category": name })).collect();
                ("render_sankey", json!({ "nodes": nodes, "links": links }))
            }
            1 => {
                let data: Vec<f64> = (0..labels.len()).map(number).collect();
                ("render_radar", json!({ "labels": labels, "datasets": [{ "label": "x", "data": data }] }))
            }
            2 => {
                let values: Vec<Value> = labels.iter().enumerate().map(|(index, label)| json!({ "label": label, "value": number(index) })).collect();
                ("render_donut", json!([{ "values": values, "title": labels.first() }]))
            }
            3 => {
                let children: Vec<Value> = labels.iter().enumerate().map(|(index, name)| json!({ "name": name, "value": number(index).abs(), "category": name })).collect();
                ("render_treemap", json!({ "name": "x", "children": [{ "name": "y", "children": children }, { "name": "z", "value": 1 }] }))
            }
            4 => {
                let rows: Vec<Vec<f64>> = (0..labels.len()).map(|row| (0..labels.len()).map(|column| number(row * 6 + column).abs()).collect()).collect();
                ("render_chord", json!({ "labels": labels, "matrix": rows }))
            }
            5 => {
                let markers: Vec<Value> = labels.iter().enumerate().map(|(index, name)| json!({ "lat": number(index) % 100.0, "lng": number(index + 1) % 200.0, "name": name, "popup": name, "value": number(index) })).collect();
                ("render_map", json!({ "markers": markers }))
            }
            _ => {
                let kind = ["line", "bar", "scatter"][values.len() % 3];
                let points: Vec<Value> = values.iter().map(|value| json!({ "x": value, "y": number(3) })).collect();
                ("show_chart", json!({ "type": kind, "title": labels.first(), "datasets": [{ "label": "a", "data": values, "tension": 0.5, "fill": true }, { "label": "b", "data": points }] }))
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let studio = Studio::new();
            match studio.call(tool, json!({ "data": data })).await {
                Ok(output) if !output.is_error => assert_self_contained(&fs::read_to_string(file(&output)).unwrap()),
                Ok(output) => assert!(output.as_text().starts_with("Nothing was drawn. `data"), "{}", output.as_text()),
                Err(error) => assert!(error.to_string().contains("data"), "{error}"),
            }
        });
    }

    /// Whatever the code is, there is a valid page or an error that names the argument.
    #[test]
    fn any_mermaid_code_is_drawn_or_refused(
        kind in proptest::sample::select(vec!["graph TD", "flowchart LR", "sequenceDiagram", "classDiagram", "pie"]),
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "A", "B", "C", " --> ", " -- ", "->>", "-->>", "<|--", " : ", "[x]", "{y}", "((z))", "\n", "\nsubgraph s\n", "\nend\n",
                "\nloop x\n", "\nalt\n", "\nelse\n", "\nnote over A: b\n", "\nclass A {\n", "\n}\n", "\"a\" : 3", " & ", ";", "|t|", "é", "<script>", "==>", "-.->", "+", "o--o",
            ]),
            0..24,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let studio = Studio::new();
            let code = format!("{kind}\n{}", parts.concat());
            let output = studio.call("render_mermaid", json!({ "mermaid_code": code })).await.unwrap();
            match output.is_error {
                false => assert_self_contained(&fs::read_to_string(file(&output)).unwrap()),
                true => assert!(output.as_text().starts_with("Nothing was drawn. `mermaid_code"), "{}", output.as_text()),
            }
        });
    }
}
