//! Return types of methods.

use goose_extension::{Audio, ContentBlock, prelude::*};

use super::call;

#[derive(Serialize)]
struct Report {
    lines: u8,
}

#[derive(Debug)]
struct Broken(u8);

impl From<Broken> for ToolError {
    fn from(broken: Broken) -> Self {
        Self::ExecutionError(format!("broken {}", broken.0))
    }
}

type Alias<T> = Result<T, Broken>;

struct Returning {
    text: String,
}

#[extension]
impl Returning {
    #[tool]
    fn nothing(&self) {}

    #[tool]
    async fn nothing_later(&self) {
        tokio::task::yield_now().await;
    }

    #[tool]
    fn text(&self) -> String {
        self.text.clone()
    }

    #[tool]
    fn borrowed_text(&self) -> &str {
        &self.text
    }

    #[tool]
    async fn borrowed_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    #[tool]
    fn maybe_borrowed(&self) -> Option<&str> {
        self.text.get(1..)
    }

    #[tool]
    async fn borrowed_result(&self) -> ToolResult<&str> {
        self.text.get(2..).ok_or(ToolError::ExecutionError(String::new()))
    }

    #[tool]
    fn literal(&self) -> &'static str {
        "literal"
    }

    #[tool]
    fn structure(&self) -> Report {
        Report { lines: 3 }
    }

    #[tool]
    fn maybe(&self, give: bool) -> Option<Report> {
        give.then_some(Report { lines: 4 })
    }

    #[tool]
    fn value(&self) -> Value {
        json!({ "a": 1 })
    }

    #[tool]
    fn image(&self) -> Image {
        Image::png([1, 2, 3])
    }

    #[tool]
    fn audio(&self) -> ToolResult<Audio> {
        Ok(Audio::new([1, 2, 3], "audio/wav"))
    }

    #[tool]
    fn blocks(&self) -> Vec<ContentBlock> {
        vec![ContentBlock::text("a"), Image::png([1]).into()]
    }

    #[tool]
    fn output(&self) -> ToolOutput {
        ToolOutput::text("shown").with_structured(json!(1))
    }

    #[tool]
    async fn tool_result(&self, fail: bool) -> ToolResult<Report> {
        if fail { Err(ToolError::Denied("no".to_owned())) } else { Ok(Report { lines: 5 }) }
    }

    #[tool]
    fn wire_error(&self) -> Result<(), ErrorData> {
        Err(ErrorData::internal_error("from the wire", None))
    }

    #[tool]
    fn own_error(&self) -> Alias<()> {
        Err(Broken(7))
    }

    #[tool]
    fn any_error(&self) -> AnyhowResult<()> {
        Err(anyhow::anyhow!("inner").context("outer"))
    }

    #[tool]
    fn io_error(&self) -> std::io::Result<String> {
        std::fs::read_to_string("/nowhere/at/all")
    }

    #[tool]
    fn text_error(&self) -> Result<String, String> {
        Err("just text".to_owned())
    }

    #[tool]
    fn panicking(&self) -> u8 {
        let empty: [u8; 0] = [];
        empty[self.text.len()]
    }
}

fn returning() -> Returning {
    Returning { text: "text".to_owned() }
}

#[tokio::test]
async fn values_are_returned_as_json() {
    let expected = [
        ("nothing", json!(null)),
        ("nothing_later", json!(null)),
        ("text", json!("text")),
        ("borrowed_text", json!("text")),
        ("borrowed_bytes", json!([116, 101, 120, 116])),
        ("maybe_borrowed", json!("ext")),
        ("borrowed_result", json!("xt")),
        ("literal", json!("literal")),
        ("structure", json!({ "lines": 3 })),
        ("value", json!({ "a": 1 })),
        ("output", json!(1)),
        ("image", json!([{ "type": "image", "data": "AQID", "mimeType": "image/png" }])),
        ("audio", json!([{ "type": "audio", "data": "AQID", "mimeType": "audio/wav" }])),
        (
            "blocks",
            json!([
                { "type": "text", "text": "a" },
                { "type": "image", "data": "AQ==", "mimeType": "image/png" },
            ]),
        ),
    ];
    for (name, value) in expected {
        assert_eq!(call(&returning(), name, json!({})).await, Ok(value), "{name}");
    }
}

#[tokio::test]
async fn options_and_results_choose() {
    let returning = returning();
    assert_eq!(call(&returning, "maybe", json!({ "give": true })).await, Ok(json!({ "lines": 4 })));
    assert_eq!(call(&returning, "maybe", json!({ "give": false })).await, Ok(json!(null)));
    assert_eq!(call(&returning, "tool_result", json!({ "fail": false })).await, Ok(json!({ "lines": 5 })));
    let denied = Err(ToolError::Denied("no".to_owned()));
    assert_eq!(call(&returning, "tool_result", json!({ "fail": true })).await, denied);
}

#[tokio::test]
async fn errors_become_tool_errors() {
    let expected = [
        ("wire_error", "from the wire"),
        ("own_error", "broken 7"),
        ("any_error", "outer: inner"),
        ("io_error", "No such file or directory (os error 2)"),
        ("text_error", "just text"),
    ];
    for (name, message) in expected {
        let error = Err(ToolError::ExecutionError(message.to_owned()));
        assert_eq!(call(&returning(), name, json!({})).await, error, "{name}");
    }
}

#[tokio::test]
async fn a_panic_is_a_failure_of_the_tool() {
    let error = call(&returning(), "panicking", json!({})).await.unwrap_err();
    assert!(
        matches!(&error, ToolError::ExecutionError(text) if text.contains("index out of bounds")),
        "{error:?}"
    );
}
