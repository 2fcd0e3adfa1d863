//! Passing arguments and the context to a method.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use goose_extension::{JsonObject, prelude::*};
use serde_json::Map;

use super::{call, refusal, schema_of};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// What to look for
    text: String,
    #[serde(default)]
    limit: u8,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Point {
    x: i8,
}

/// An alias, so that only the schema shows what it is.
type Numbers = Vec<u8>;

struct Passing;

#[extension]
impl Passing {
    #[tool]
    fn borrowed(
        &self,
        text: &str,
        path: &Path,
        list: &[u8],
        point: &Point,
        texts: &Vec<String>,
        maybe_text: Option<&str>,
        maybe_path: Option<&Path>,
        maybe_list: Option<&[u8]>,
        maybe_point: Option<&Point>,
    ) -> Value {
        json!([text, path, list, point, texts, maybe_text, maybe_path, maybe_list, maybe_point])
    }

    #[tool]
    async fn borrowed_and_waiting(&self, text: &str, context: &CallContext, owned: PathBuf) -> String {
        tokio::task::yield_now().await;
        format!("{text} {} {:?}", owned.display(), context.session_id())
    }

    #[tool]
    fn context_first(&self, context: CallContext, this: u8, arguments: u8, parsed: u8) -> String {
        format!("{:?} {}", context.session_id(), this + arguments + parsed)
    }

    #[tool]
    fn only_context(&self, _: &CallContext) -> &'static str {
        "ok"
    }

    #[tool]
    fn names_like_ours(&self, context: String) -> String {
        context
    }

    #[tool]
    fn whole_value(&self, params: Value) -> Value {
        params
    }

    #[tool]
    fn whole_value_with_context(&self, context: &CallContext, params: &Value) -> Value {
        json!([params, context.session_id()])
    }

    #[tool]
    fn whole_object(&self, params: JsonObject) -> usize {
        params.len()
    }

    #[tool]
    fn whole_map(&self, params: &Map<String, Value>) -> usize {
        params.len()
    }

    #[tool]
    fn typed(&self, Arguments(query): Arguments<Query>, _context: CallContext) -> String {
        format!("{} {}", query.text, query.limit)
    }

    #[tool]
    fn typed_by_name(&self, query: Arguments<BTreeMap<String, u8>>) -> u8 {
        query.0.values().sum()
    }

    #[tool]
    fn typed_list(&self, Arguments(list): Arguments<Numbers>) -> usize {
        list.len()
    }

    #[tool]
    fn typed_choice(&self, Arguments(shape): Arguments<Shape>) -> f64 {
        match shape {
            Shape::Circle { radius } => radius,
            Shape::Square { side } => side,
        }
    }
}

#[tokio::test]
async fn references_borrow_from_what_was_read() {
    let schema = schema_of(&Passing, "borrowed");
    assert_eq!(schema["required"], json!(["text", "path", "list", "point", "texts"]));
    assert_eq!(schema["properties"]["path"], json!({ "type": "string", "description": "Path" }));
    assert_eq!(
        schema["properties"]["maybe_text"],
        json!({ "type": ["string", "null"], "description": "Maybe text" })
    );

    let some = json!({
        "text": "t", "path": "a/b", "list": [1], "point": { "x": 1 }, "texts": ["u"],
        "maybe_text": "v", "maybe_path": "c", "maybe_list": [2], "maybe_point": { "x": 2 },
    });
    assert_eq!(
        call(&Passing, "borrowed", some).await,
        Ok(json!(["t", "a/b", [1], { "x": 1 }, ["u"], "v", "c", [2], { "x": 2 }]))
    );
    let none = json!({ "text": "t", "path": "a/b", "list": [], "point": { "x": 1 }, "texts": [] });
    assert_eq!(
        call(&Passing, "borrowed", none).await,
        Ok(json!(["t", "a/b", [], { "x": 1 }, [], null, null, null, null]))
    );
}

#[tokio::test]
async fn the_context_is_no_argument() {
    let context = CallContext::new().with_session_id("s1");
    let text = |output: ToolOutput| output.as_text();
    let arguments = |value: Value| value.as_object().cloned().unwrap();

    let waiting = arguments(json!({ "text": "a", "owned": "b" }));
    let found = Passing.call("borrowed_and_waiting", waiting, &context).await.map(text);
    assert_eq!(found, Ok(r#"a b Some("s1")"#.to_owned()));

    let numbers = arguments(json!({ "this": 1, "arguments": 2, "parsed": 3 }));
    let found = Passing.call("context_first", numbers, &context).await.map(text);
    assert_eq!(found, Ok(r#"Some("s1") 6"#.to_owned()));

    assert_eq!(schema_of(&Passing, "only_context")["properties"], json!({}));
    assert_eq!(call(&Passing, "only_context", json!({})).await, Ok(json!("ok")));
    assert_eq!(call(&Passing, "names_like_ours", json!({ "context": "c" })).await, Ok(json!("c")));
}

#[tokio::test]
async fn a_sole_value_takes_everything() {
    for tool in ["whole_value", "whole_value_with_context", "whole_object", "whole_map"] {
        assert_eq!(schema_of(&Passing, tool), json!({ "type": "object" }));
    }
    let any = json!({ "a": [1], "b": null });
    assert_eq!(call(&Passing, "whole_value", any.clone()).await, Ok(any.clone()));
    assert_eq!(call(&Passing, "whole_value_with_context", any.clone()).await, Ok(json!([any, null])));
    assert_eq!(call(&Passing, "whole_object", any.clone()).await, Ok(json!(2)));
    assert_eq!(call(&Passing, "whole_map", any).await, Ok(json!(2)));
}

#[tokio::test]
async fn arguments_as_one_type() {
    assert_eq!(
        schema_of(&Passing, "typed"),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "text": { "type": "string", "description": "What to look for" },
                "limit": {
                    "type": "integer", "minimum": 0, "maximum": 255, "default": 0, "description": "Limit",
                },
            },
            "required": ["text"],
            "additionalProperties": false,
        })
    );
    assert_eq!(call(&Passing, "typed", json!({ "text": "x" })).await, Ok(json!("x 0")));
    let message = refusal(&Passing, "typed", json!({ "limit": 1, "z": 2 })).await;
    assert!(message.contains("`text` is required but missing (string: What to look for)"), "{message}");
    assert!(message.contains("unknown argument `z`"), "{message}");

    assert_eq!(call(&Passing, "typed_by_name", json!({ "a": 1, "b": 2 })).await, Ok(json!(3)));
    let square = json!({ "kind": "square", "side": 2.5 });
    assert_eq!(call(&Passing, "typed_choice", square).await, Ok(json!(2.5)));
    refusal(&Passing, "typed_choice", json!({ "kind": "oval" })).await;
}

#[tokio::test]
async fn arguments_that_are_no_object_are_explained() {
    let schema = schema_of(&Passing, "typed_list");
    assert_eq!((&schema["type"], &schema["not"]), (&json!("object"), &json!({})));
    let error = call(&Passing, "typed_list", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("`typed_list` cannot be called"), "{error}");
    assert!(error.contains("declared as one array, but arguments are always an object"), "{error}");
}

mod shop {
    //! Types that happen to be called like those of JSON, and JSON by other names.

    use goose_extension::{extension, tool};
    use serde::Deserialize;

    #[derive(Deserialize, schemars::JsonSchema)]
    pub(super) struct Value {
        pub(super) cents: u32,
    }

    #[derive(Deserialize, schemars::JsonSchema)]
    struct Map<K, V>(K, V);

    type JsonObject = Vec<u8>;

    type Basket = serde_json::Value;

    type Receipt = serde_json::Map<String, Basket>;

    pub(super) struct Till;

    #[extension]
    impl Till {
        #[tool]
        fn pay(&self, price: Value) -> u32 {
            price.cents
        }

        #[tool]
        fn pay_borrowed(&self, #[arg(description = "What it costs")] price: &Value) -> u32 {
            price.cents
        }

        #[tool]
        fn maybe_pay(&self, price: Option<&Value>) -> u32 {
            price.map_or(0, |price| price.cents)
        }

        #[tool]
        fn locate(&self, place: Map<u8, u8>) -> u8 {
            place.0 + place.1
        }

        #[tool]
        fn count(&self, items: &JsonObject) -> usize {
            items.len()
        }

        #[tool]
        fn fill(&self, basket: Basket) -> Basket {
            basket
        }

        #[tool]
        fn print(&self, receipt: &Receipt) -> usize {
            receipt.len()
        }
    }
}

struct Till;

#[extension]
impl Till {
    #[tool]
    fn pay(&self, price: shop::Value) -> u32 {
        price.cents
    }
}

#[tokio::test]
async fn a_type_that_is_only_called_like_json_is_one_argument() {
    let five = json!({ "price": { "cents": 5 } });
    assert!(schema_of(&Till, "pay")["properties"]["price"].is_object());
    assert_eq!(call(&Till, "pay", five.clone()).await, Ok(json!(5)));
    for tool in ["pay", "pay_borrowed", "maybe_pay"] {
        assert_eq!(call(&shop::Till, tool, five.clone()).await, Ok(json!(5)));
    }
    assert_eq!(call(&shop::Till, "maybe_pay", json!({})).await, Ok(json!(0)));
    assert_eq!(call(&shop::Till, "locate", json!({ "place": [1, 2] })).await, Ok(json!(3)));
    assert_eq!(call(&shop::Till, "count", json!({ "items": [1, 2] })).await, Ok(json!(2)));
    let schema = schema_of(&shop::Till, "pay_borrowed");
    assert_eq!(schema["properties"]["price"]["description"], json!("What it costs"));
}

#[tokio::test]
async fn json_by_another_name_takes_everything() {
    for tool in ["fill", "print"] {
        assert_eq!(schema_of(&shop::Till, tool), json!({ "type": "object" }));
    }
    let any = json!({ "a": 1, "b": 2 });
    assert_eq!(call(&shop::Till, "fill", any.clone()).await, Ok(any.clone()));
    assert_eq!(call(&shop::Till, "print", any).await, Ok(json!(2)));
}
