//! Names, titles and descriptions of tools.

use goose_extension::prelude::*;

use super::tool_of;

const FROM_A_CONST: &str = "From a constant";

struct Library;

#[extension]
impl Library {
    /// Finds a book.
    ///
    /// By title or author:
    /// - exact
    ///   - or nearly
    #[tool]
    fn find_book(&self) {}

    /// Not this.
    #[tool(name = "lend-Book2", title = "Lend a book", description = "Lends a book")]
    fn lend(&self) {}

    #[tool(description = FROM_A_CONST, title = FROM_A_CONST)]
    fn from_a_const(&self) {}

    #[tool]
    fn give_book_back(&self) {}

    #[tool]
    #[doc = concat!("Counts ", "books")]
    fn count(&self) {}

    #[tool]
    fn r#move(&self, r#type: String, mut shelf: u8) -> String {
        shelf += 1;
        format!("{} {shelf}", r#type)
    }

    #[goose_macros::tool]
    fn by_another_path(&self) {}

    #[goose_extension::tool]
    fn by_a_third_path(&self) {}
}

#[test]
fn names_titles_and_descriptions() {
    let found: Vec<_> =
        Library.tools().iter().map(|tool| (tool.name(), tool.title(), tool.description())).collect();
    assert_eq!(
        found,
        [
            ("find_book", None, "Finds a book.\n\nBy title or author:\n- exact\n  - or nearly"),
            ("lend-Book2", Some("Lend a book"), "Lends a book"),
            ("from_a_const", Some("From a constant"), "From a constant"),
            ("give_book_back", None, "give book back"),
            ("count", None, "Counts books"),
            ("move", None, "move"),
            ("by_another_path", None, "by another path"),
            ("by_a_third_path", None, "by a third path"),
        ]
    );
}

#[tokio::test]
async fn raw_identifiers_lose_their_prefix() {
    let moved = Library.call_tool("move", hashmap! { "type" => json!("novel"), "shelf" => json!(3) }).await;
    assert_eq!(moved, Ok(json!("novel 4")));
}

#[test]
fn a_tool_is_described_once_per_type() {
    let (one, other) = (tool_of(&Library, "count"), tool_of(&Library, "count"));
    assert!(std::ptr::eq(one, other));
}
