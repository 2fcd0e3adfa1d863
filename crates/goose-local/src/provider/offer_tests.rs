//! Which tools are offered, and under which names.

use serde_json::json;

use super::*;

fn tool(name: &'static str, description: &'static str) -> Tool {
    Tool::new(name, description, JsonObject::new())
}

/// The offer for one question.
fn offered(tools: &[Tool], asked: &str) -> Offer {
    Offer::of(tools, &[asked.to_owned()])
}

fn shorts(offer: &Offer) -> Vec<&str> {
    offer.tools.iter().map(|tool| tool.short.as_str()).collect()
}

#[test]
fn the_developers_tools_come_first_and_others_by_what_was_asked() {
    let tools = [
        tool("memory__remember_memory", "Store a memory for later"),
        tool("weather__forecast", "The weather of the next days"),
        tool("tutorial__load_tutorial", "Load a tutorial"),
        tool("developer__plan", "Keep a plan"),
        tool("developer__tree", "List"),
        tool("developer__shell", "Run"),
    ];
    let offer = offered(&tools, "What will the weather be tomorrow?");
    assert_eq!(shorts(&offer), ["tree", "shell", "forecast"]);
    assert!(offer.takes_text);
    assert_eq!(offer.by_short("shell").map(|tool| tool.name.as_str()), Some("developer__shell"));
    assert_eq!(offer.short_of("gone__away"), "away");
}

#[test]
fn there_are_eight_at_most_and_all_where_nothing_is_known() {
    let names: Vec<String> = (0..20).map(|number| format!("x__tool{number}")).collect();
    let tools: Vec<Tool> = names.iter().map(|name| Tool::new(name.clone(), "", JsonObject::new())).collect();
    assert_eq!(offered(&tools, "hello").tools.len(), MAX_TOOLS);
    assert_eq!(offered(&tools[..3], "hello").tools.len(), 3);
}

#[test]
fn names_that_two_have_stay_whole() {
    let tools =
        [tool("a__open", "Open a door"), tool("b__open", "Open a door"), tool("c__final_answer", "A door")];
    assert_eq!(shorts(&offered(&tools, "open the door")), ["a__open", "b__open", "c__final_answer"]);
}

#[test]
fn an_answer_of_a_given_form_takes_the_place_of_text() {
    let offer =
        offered(&[tool("recipe__final_output", "Gives the final answer"), tool("developer__read", "")], "go");
    assert_eq!(shorts(&offer), ["read", "final_output"]);
    assert!(!offer.takes_text);
}

#[test]
fn a_search_is_wide_without_the_models_doing() {
    let offer = offered(&[tool("developer__search", "")], "find it");
    let given = json!({"pattern": "x"}).as_object().cloned().unwrap();
    let full = offer.tools[0].completed(given);
    assert_eq!(Value::Object(full.clone()), json!({"pattern": "x", "ignore_case": true, "context_lines": 2}));
    assert_eq!(literal(&offer, "developer__search", &full), r#"{"tool":"search","pattern":"x"}"#);
}

#[test]
fn common_words_do_not_count_and_what_was_offered_stays() {
    let tools = [
        tool("developer__read", ""),
        tool("developer__analyze", "Show the structure of the files in a folder"),
        tool("weather__forecast", "The weather of the next days"),
        tool("music__play", "Play a song"),
    ];
    let asked = ["What is in the files of this folder?", "Weather?", "And play music"].map(str::to_owned);
    assert_eq!(shorts(&Offer::of(&tools, &asked[..1])), ["read"]);
    assert_eq!(shorts(&Offer::of(&tools, &asked[..2])), ["read", "forecast"]);
    assert_eq!(shorts(&Offer::of(&tools, &asked)), ["read", "forecast", "play"]);
}
