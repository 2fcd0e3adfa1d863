//! Generated code does not depend on what names mean where the author writes.

use goose_extension::{CallContext, Extension as _, extension, tool};
use serde_json::json;

use super::{call, schema_of};

mod shadows {
    //! Names of the prelude and of the generated code's own vocabulary, meaning something else.

    #![expect(dead_code, reason = "they are only in the way")]

    use goose_extension::{extension, tool};

    pub(super) struct Shadowed;

    struct String;
    struct Vec;
    struct Send;
    struct Tool;
    struct ToolDef;
    struct ToolRegistry;
    struct JsonSchema;
    struct Deserialize;
    mod std {}
    mod core {}
    mod serde {}
    mod schemars {}

    enum Option {
        Some,
        None,
    }

    enum Result {
        Ok,
        Err,
    }

    #[extension]
    impl Shadowed {
        #[tool(title = "T", group = "read", read_only, timeout = "1s", output = u8)]
        async fn add(&self, first: &str, rest: &[u8], #[arg(default = 2)] last: u8) -> u8 {
            first.len() as u8 + rest.iter().sum::<u8>() + last
        }
    }
}

macro_rules! tool_for {
    ($name:ident, $type:ty, $value:expr) => {
        struct $name;

        #[extension(name = stringify!($name))]
        impl $name {
            #[tool]
            fn twice(
                &self,
                #[arg(default = $value)] value: $type,
                #[expect(unused_variables, reason = "shows that other attributes stay")] more: Option<$type>,
                context: &CallContext,
            ) -> Vec<$type> {
                let _ = context;
                vec![value.clone(), value]
            }
        }
    };
}

tool_for!(Numbers, u8, 4);
tool_for!(Texts, String, "four".to_owned());

#[tokio::test]
async fn shadowed_names_do_not_matter() {
    let sum = call(&shadows::Shadowed, "add", json!({ "first": "abc", "rest": [10, 20] })).await;
    assert_eq!(sum, Ok(json!(35)));
}

#[tokio::test]
async fn blocks_may_come_from_other_macros() {
    assert_eq!((Numbers.name(), Texts.name()), ("Numbers", "Texts"));
    assert_eq!(call(&Numbers, "twice", json!({})).await, Ok(json!([4, 4])));
    assert_eq!(call(&Texts, "twice", json!({ "more": "x" })).await, Ok(json!(["four", "four"])));
    assert_eq!(schema_of(&Texts, "twice")["properties"]["value"]["default"], json!("four"));
}
