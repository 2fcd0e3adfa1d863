use super::*;

fn builtin() -> AgentCatalog {
    AgentCatalog::builtin()
}

fn mode_of(text: &str) -> String {
    let catalog = builtin();
    let route = Router::new(&catalog).route(text);
    format!("{}/{}", route.agent, route.mode)
}

#[test]
fn reason_names_words_of_the_request() {
    let catalog = builtin();
    let route = Router::new(&catalog).route("write playwright tests for the checkout");
    assert_eq!((route.agent.as_str(), route.mode.as_str()), ("coding-agent", "qa"));
    assert!(
        route.reason.contains("\"tests\"") || route.reason.contains("\"playwright\""),
        "{}",
        route.reason
    );
}

#[test]
fn hostile_texts_go_to_the_default_agent() {
    for text in [
        "",
        "   \n\t ",
        "🦆🦆🦆 🎉",
        "\u{0}\u{1}\u{7f}\u{1b}[31m",
        "\u{202e}\u{200f}אבג שלום",
        "((((((",
        "- \n- \n- ",
    ] {
        assert_eq!(mode_of(text), "goose-agent/assistant", "{text:?}");
    }
    let long = "ä1 - b. and then 2) ".repeat(60_000);
    let route = Router::new(&builtin()).route(&long).tasks.len();
    assert_eq!(route, 1);
}
