//! Names, titles and descriptions of tools.

use goose_extension::prelude::*;

use super::{refusal, schema_of, tool_of};

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
            ("give_book_back", None, "Give book back"),
            ("count", None, "Counts books"),
            ("move", None, "Move"),
            ("by_another_path", None, "By another path"),
            ("by_a_third_path", None, "By a third path"),
        ]
    );
}

#[tokio::test]
async fn raw_identifiers_lose_their_prefix() {
    let moved = Library.call_tool("move", hashmap! { "type" => json!("novel"), "shelf" => json!(3) }).await;
    assert_eq!(moved, Ok(json!("novel 4")));
}

/// A shelf in the hall.
#[derive(Deserialize, JsonSchema)]
struct Shelf(u8);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Loan {
    /// The book's title
    book: String,
    borrowed_by: String,
}

/// Written without a single doc comment on tools and parameters.
struct Bare;

#[extension]
impl Bare {
    #[tool]
    fn list_files(
        &self,
        path: &str,
        max_depth: Option<u32>,
        #[arg(rename = "sortBy")] order: Option<String>,
        r#type: Value,
    ) -> Value {
        json!([path, max_depth, order, r#type])
    }

    #[tool]
    fn put(&self, left_shelf: Shelf, other: Option<Shelf>) -> Value {
        json!([left_shelf.0, other.map(|shelf| shelf.0)])
    }

    #[tool]
    fn lend(&self, Arguments(loan): Arguments<Loan>) -> String {
        format!("{} {}", loan.book, loan.borrowed_by)
    }
}

fn descriptions(tool: &str) -> Value {
    let schema = schema_of(&Bare, tool);
    let properties = schema["properties"].as_object().unwrap().iter();
    properties.map(|(name, property)| (name.clone(), property["description"].clone())).collect()
}

#[test]
fn names_stand_in_for_missing_doc_comments() {
    assert_eq!(tool_of(&Bare, "list_files").description(), "List files");
    assert_eq!(
        descriptions("list_files"),
        json!({ "path": "Path", "max_depth": "Max depth", "sortBy": "Sort By", "type": "Type" })
    );
    assert_eq!(descriptions("lend"), json!({ "book": "The book's title", "borrowed_by": "Borrowed by" }));
}

#[test]
fn the_description_of_a_type_is_better_than_a_name() {
    assert_eq!(descriptions("put"), json!({ "left_shelf": null, "other": null }));
    assert_eq!(schema_of(&Bare, "put")["$defs"]["Shelf"]["description"], json!("A shelf in the hall."));
}

#[tokio::test]
async fn errors_do_not_repeat_a_name() {
    let message = refusal(&Bare, "lend", json!({})).await;
    assert!(message.contains("`borrowed_by` is required but missing (string)."), "{message}");
    assert!(message.contains("`book` is required but missing (string: The book's title)"), "{message}");
}

#[test]
fn a_tool_is_described_once_per_type() {
    let (one, other) = (tool_of(&Library, "count"), tool_of(&Library, "count"));
    assert!(std::ptr::eq(one, other));
}
