use super::*;

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    Tool::new(name, description, schema.as_object().cloned().unwrap_or_default())
}

fn names(tools: &[Tool], requests: &[&str]) -> Vec<String> {
    let requests: Vec<String> = requests.iter().map(|text| (*text).to_owned()).collect();
    Tools::new(tools, &requests).offered.iter().map(|tool| tool.short.clone()).collect()
}

#[test]
fn tools_are_offered_if_a_request_has_half_of_their_name() {
    let all = [
        tool("todo__write", "Write the list of tasks", json!({})),
        tool("weather__forecast", "The weather of the next days", json!({})),
        tool("apps__create_app", "Create an app", json!({})),
        tool("developer__shell", "Run", json!({})),
        tool("developer__read", "Read", json!({})),
    ];
    assert_eq!(names(&all, &["Write a file."]), ["read", "shell"]);
    assert_eq!(names(&all, &["Create a file."]), ["read", "shell"]);
    assert_eq!(names(&all, &["How is the weather?"]), ["read", "shell", "forecast"]);
    assert_eq!(
        names(&all, &["How is the weather?", "Create an app"]),
        ["read", "shell", "forecast", "create_app"]
    );
    assert_eq!(
        names(&all[..2], &["Hello"]),
        ["write", "forecast"],
        "without the developer's tools all are offered"
    );
    let many: Vec<Tool> =
        (0..20).map(|number| Tool::new(format!("x__t{number}"), "", JsonObject::new())).collect();
    assert_eq!(names(&many, &["Hello"]).len(), MAX_TOOLS);
}

#[test]
fn names_are_short_if_unique() {
    let all = [
        tool("a__get", "", json!({})),
        tool("b__get", "", json!({})),
        tool("c__final_answer", "", json!({})),
    ];
    assert_eq!(names(&all, &["x"]), ["a__get", "b__get", "c__final_answer"]);
}

#[test]
fn unknown_tools_are_described_by_their_first_sentence() {
    let schema = json!({ "properties": { "query": { "type": "string" } }, "required": ["query"] });
    let tools = Tools::new(&[tool("w__f", "The weather of the next days. Slow.", schema)], &["x".to_owned()]);
    let offered = &tools.offered[0];
    assert_eq!(Value::Object(offered.example.clone()), json!({ "query": "query" }));
    assert_eq!(offered.description, "the weather of the next days");
}

#[test]
fn fixed_arguments_are_added_and_not_shown() {
    let tools = Tools::new(&[tool("developer__search", "Search", json!({}))], &[]);
    let arguments = tools.offered[0].complete(JsonObject::from_iter([("pattern".to_owned(), json!("x"))]));
    assert_eq!(arguments["ignore_case"], true);
    assert_eq!(tools.literal("developer__search", &arguments), r#"{"tool":"search","pattern":"x"}"#);
}
