//! [`KitchenSink`]: one tool for everything that can happen in a call.
//!
//! The same extension is called directly, over the in-process duplex, over stdio and over HTTP; whatever it does must
//! look the same everywhere.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use goose_extension::{
    ArgumentInfo, Audio, Change, ChangeFeed, CheckedArguments, CompleteRequestParams, CompletionInfo,
    ContentBlock, Freshness, GetPromptResult, JsonObject, LogEntry, LogLevel, Prompt, PromptArgument,
    PromptMessage, Resource, ResourceContents, ResourceTemplate, Role, Sampling, prelude::*,
};

/// A place to try out everything that can happen.
pub struct KitchenSink {
    /// The number of calls that entered a tool; shared with later snapshots.
    entered: Arc<AtomicU64>,
    feed: Arc<ChangeFeed>,
    registry: Option<ToolRegistry>,
}

/// A size, as an enum argument.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    /// Little.
    Small,
    /// Much.
    Large,
}

/// A nested argument.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    /// What it is called
    name: String,
    /// How many there are
    #[serde(default)]
    count: Option<u8>,
    size: Size,
}

#[derive(Deserialize, JsonSchema)]
struct Person {
    /// Your name
    name: String,
}

impl Default for KitchenSink {
    fn default() -> Self {
        Self::new()
    }
}

impl KitchenSink {
    /// A new kitchen_sink.
    pub fn new() -> Self {
        Self { entered: Arc::default(), feed: Arc::default(), registry: None }
    }

    /// Returns the number of calls that entered a tool.
    pub fn entered(&self) -> u64 {
        self.entered.load(Ordering::SeqCst)
    }

    /// The same kitchen_sink with one tool more.
    fn grown(entered: Arc<AtomicU64>, feed: Arc<ChangeFeed>) -> Self {
        let registry = Self::tool_registry().with(Self::late_arrival_tool());
        Self { entered, feed, registry: Some(registry) }
    }

    /// A tool that is there only after `grow`.
    #[tool]
    fn late_arrival(&self) -> &'static str {
        "I am late"
    }

    fn enter(&self) {
        self.entered.fetch_add(1, Ordering::SeqCst);
    }

    fn tool_registry() -> ToolRegistry {
        ToolRegistry::new()
            .with(Self::echo_tool())
            .with(Self::add_tool())
            .with(Self::numbers_tool())
            .with(Self::text_tool())
            .with(Self::nothing_tool())
            .with(Self::picture_tool())
            .with(Self::sound_tool())
            .with(Self::mixed_tool())
            .with(Self::assemble_tool())
            .with(Self::whole_tool())
            .with(Self::fail_tool())
            .with(Self::read_missing_tool())
            .with(Self::refuse_tool())
            .with(Self::panic_now_tool())
            .with(Self::sleep_tool())
            .with(Self::wait_for_ever_tool())
            .with(Self::report_tool())
            .with(Self::ask_name_tool())
            .with(Self::ask_everything_tool())
            .with(Self::ask_twice_tool())
            .with(Self::surroundings_tool())
            .with(Self::flood_tool())
            .with(Self::grow_tool())
            .with(Self::touch_tool())
            .with(Self::was_cancelled_tool())
            .with(Self::chatter_tool())
            .with(Self::processes_tool())
    }

    /// Gives back a message.
    #[tool(group = "read", read_only, idempotent)]
    async fn echo(
        &self,
        /// What to say
        message: String,
    ) -> AgentResult<Value> {
        self.enter();
        Ok(json!({ "response": message }))
    }

    /// Adds two numbers; the result is no object.
    #[tool]
    fn add(&self, a: i32, #[arg(default = 1)] b: i32) -> i64 {
        self.enter();
        i64::from(a) + i64::from(b)
    }

    /// Counts; the result is an array.
    #[tool]
    fn numbers(&self, #[arg(max = 10)] to: u8) -> Vec<u8> {
        self.enter();
        (0..to).collect()
    }

    /// Says something.
    #[tool]
    fn text(&self) -> String {
        self.enter();
        "line one\nline “two” \u{1F980} \"three\"".to_owned()
    }

    /// Does nothing and says nothing.
    #[tool]
    fn nothing(&self) {
        self.enter();
    }

    /// Gives an image.
    #[tool]
    fn picture(&self) -> Image {
        self.enter();
        Image::png(vec![0x89, b'P', b'N', b'G', 0, 255])
    }

    /// Gives a sound.
    #[tool]
    fn sound(&self) -> ToolResult<Audio> {
        self.enter();
        Ok(Audio::new(vec![0, 1, 2, 3], "audio/wav"))
    }

    /// Gives several kinds of content and a structured value.
    #[tool]
    fn mixed(&self) -> ToolOutput {
        self.enter();
        ToolOutput::content([
            ContentBlock::text("first"),
            Image::png(vec![1, 2, 3]).into(),
            ContentBlock::resource(ResourceContents::text("inside", "note://inside")),
            ContentBlock::resource_link(Resource::new("note://one", "one")),
        ])
        .with_structured(json!({ "blocks": 4 }))
    }

    /// Takes nested structures, enums, options and constraints.
    #[tool]
    fn assemble(
        &self,
        /// The parts
        #[arg(min_items = 1)]
        parts: Vec<Part>,
        #[arg(pattern = "^[a-z]+$")] label: Option<String>,
        #[arg(min = 0.0, max = 1.0)] quality: f64,
    ) -> Value {
        self.enter();
        json!({ "parts": parts, "label": label, "quality": quality })
    }

    /// Takes whatever comes.
    #[tool]
    async fn whole(&self, params: Value) -> AgentResult<Value> {
        self.enter();
        Ok(json!({ "got": params }))
    }

    /// Fails for a given reason.
    #[tool]
    fn fail(&self, reason: String) -> ToolResult<()> {
        self.enter();
        Err(ToolError::ExecutionError(reason))
    }

    /// Reads a file that is not there.
    #[tool]
    async fn read_missing(&self) -> AnyhowResult<String> {
        self.enter();
        Ok(tokio::fs::read_to_string("/no/such/file").await?)
    }

    /// Refuses with a JSON-RPC error of any code.
    #[tool]
    fn refuse(&self, code: i32) -> Result<(), ErrorData> {
        self.enter();
        Err(ErrorData::new(ErrorCode(code), "refused on purpose", Some(json!({ "code": code }))))
    }

    /// Has a bug.
    #[tool]
    #[expect(clippy::panic, reason = "that is what it is for")]
    fn panic_now(&self) -> String {
        self.enter();
        panic!("a bug on purpose")
    }

    /// Sleeps; its time limit is 200 ms.
    #[tool(timeout = "200ms")]
    async fn sleep(&self, millis: u64) -> String {
        self.enter();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        "rested".to_owned()
    }

    /// Waits until it is cancelled.
    #[tool]
    async fn wait_for_ever(&self, context: CallContext) -> ToolResult<()> {
        self.enter();
        let entered = Arc::clone(&self.entered);
        context.progress(0.0, None, "waiting");
        tokio::spawn(async move {
            context.cancelled().await;
            entered.fetch_add(1000, Ordering::SeqCst);
        });
        std::future::pending().await
    }

    /// Reports in every way there is.
    #[tool]
    async fn report(&self, context: &CallContext) -> &'static str {
        self.enter();
        context.progress(0.0, Some(2.0), "begin");
        context.log("a thing happened");
        context.log(json!({ "kind": "data" }));
        context.log(RichRenderable::Diff { path: "a.txt".into(), unified: "-a\n+b".into() });
        context.status("half way");
        context.progress(1.0, Some(2.0), "middle");
        context.log_entry(LogEntry::new(LogLevel::Warning, "careful").with_logger("bench"));
        context.log_entry(LogEntry::new(LogLevel::Debug, json!({ "detail": 1 })));
        context.progress(2.0, Some(2.0), "");
        "reported"
    }

    /// Asks the person for a name.
    #[tool]
    async fn ask_name(&self, context: &CallContext) -> ToolResult<String> {
        let person = context.elicit_form::<Person>("who", "Who are you?").await?;
        self.enter();
        Ok(person.map_or_else(|| "You did not say.".to_owned(), |person| format!("Hello, {}!", person.name)))
    }

    /// Asks the person, a model and for folders, all at once.
    #[tool]
    async fn ask_everything(&self, context: &CallContext) -> ToolResult<Value> {
        let (person, answer, roots) = tokio::join!(
            context.elicit_form::<Person>("who", "Who are you?"),
            context.sample("what", Sampling::new("Say hello", 100)),
            context.roots("where"),
        );
        self.enter();
        let (person, answer, roots) = (person?, answer?, roots?);
        Ok(json!({
            "person": person.map(|person| person.name),
            "answer": answer.text(),
            "roots": roots.into_iter().map(|root| root.uri).collect::<Vec<_>>(),
        }))
    }

    /// Asks one thing after the other.
    #[tool]
    async fn ask_twice(&self, context: &CallContext) -> ToolResult<String> {
        let first = context.ask_model("first", "one").await?;
        let second = context.ask_model("second", format!("two after {first}")).await?;
        self.enter();
        Ok(second)
    }

    /// Says where and in which session it runs.
    #[tool]
    fn surroundings(&self, context: &CallContext) -> Value {
        self.enter();
        json!({ "dir": context.working_dir(), "session": context.session_id() })
    }

    /// Gives a text of a given size.
    #[tool]
    fn flood(&self, bytes: usize) -> String {
        self.enter();
        "x".repeat(bytes)
    }

    /// Adds a tool to the list.
    #[tool]
    fn grow(&self) -> &'static str {
        self.enter();
        let (entered, feed) = (Arc::downgrade(&self.entered), Arc::downgrade(&self.feed));
        self.feed.replace_with(move || Some(Arc::new(Self::grown(entered.upgrade()?, feed.upgrade()?))));
        "there is one tool more"
    }

    /// Says in which process it runs, and who started that.
    #[tool]
    fn processes(&self) -> Value {
        #[cfg(unix)]
        let parent = Some(std::os::unix::process::parent_id());
        #[cfg(not(unix))]
        let parent: Option<u32> = None;
        json!({ "own": std::process::id(), "parent": parent })
    }

    /// Says whether `wait_for_ever` was told of its cancellation.
    #[tool]
    fn was_cancelled(&self) -> bool {
        self.entered() >= 1000
    }

    /// Records many entries at once, faster than they can be read.
    #[tool]
    fn chatter(&self, times: u32, context: &CallContext) {
        self.enter();
        for number in 0..times {
            context.log(format!("thing {number}"));
        }
    }

    /// Says that a resource has changed.
    #[tool]
    fn touch(&self, uri: String) {
        self.enter();
        self.feed.publish(Change::ResourceUpdated(uri));
    }
}

#[expect(clippy::panic, reason = "that is what it is for")]
fn break_down() -> String {
    panic!("a bug on purpose")
}

fn registry() -> &'static ToolRegistry {
    static REGISTRY: std::sync::LazyLock<ToolRegistry> = std::sync::LazyLock::new(KitchenSink::tool_registry);
    &REGISTRY
}

#[async_trait]
impl Extension for KitchenSink {
    fn name(&self) -> &str {
        "kitchen_sink"
    }

    fn description(&self) -> &str {
        "One tool for everything that can happen"
    }

    fn instructions(&self) -> &str {
        "Try everything."
    }

    fn tools(&self) -> &[Tool] {
        self.registry.as_ref().unwrap_or_else(|| registry()).tools()
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(hashmap! { "entered" => json!(self.entered()) })
    }

    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        self.call(tool_name, parameters.into_iter().collect(), &CallContext::new()).await?.into_value()
    }

    async fn call_checked(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let registry = self.registry.as_ref().unwrap_or_else(|| registry());
        registry.call_checked(self, tool_name, arguments, context).await
    }

    fn features(&self) -> goose_extension::Features {
        goose_extension::Features { resources: true, subscriptions: true, prompts: true, completions: true }
    }

    fn freshness(&self) -> Freshness {
        Freshness::for_millis(0)
    }

    fn changes(&self) -> Option<&ChangeFeed> {
        Some(&self.feed)
    }

    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        Ok((1..=3).map(|n| Resource::new(format!("note://{n}"), format!("Note {n}"))).collect())
    }

    async fn list_resource_templates(&self) -> ToolResult<Vec<ResourceTemplate>> {
        Ok(vec![ResourceTemplate::new("note://{number}", "A note")])
    }

    async fn read_resource(&self, uri: &str, context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        match uri.strip_prefix("note://") {
            Some("secret") => {
                let person = context.elicit_form::<Person>("who", "Who wants to know?").await?;
                let name = person.map_or_else(|| "nobody".to_owned(), |person| person.name);
                Ok(vec![ResourceContents::text(format!("For {name} only"), uri)])
            }
            Some("huge") => Ok(vec![ResourceContents::text("x".repeat(10 << 20), uri)]),
            Some(number @ ("1" | "2" | "3")) => {
                Ok(vec![ResourceContents::text(format!("Text {number}"), uri)])
            }
            _ => Err(ToolError::ResourceNotFound(format!(
                "There is no resource `{uri}`. There are note://1 to 3."
            ))),
        }
    }

    async fn subscribe(&self, uri: &str) -> ToolResult<()> {
        self.read_resource(uri, &CallContext::new()).await.map(drop)
    }

    async fn list_prompts(&self) -> ToolResult<Vec<Prompt>> {
        let argument = PromptArgument::new("name").with_description("Whom to greet").with_required(true);
        Ok(vec![
            Prompt::new("greet", Some("Greets somebody"), Some(vec![argument])),
            Prompt::new("greet_me", Some("Greets you"), None),
        ])
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<GetPromptResult> {
        let whom = match name {
            "greet" => arguments
                .get("name")
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| ToolError::invalid("Prompt `greet` needs `name`, a string."))?,
            "greet_me" => {
                let person = context.elicit_form::<Person>("who", "Who are you?").await?;
                person.map_or_else(|| "stranger".to_owned(), |person| person.name)
            }
            "broken" => break_down(),
            _ => return Err(ToolError::invalid(format!("There is no prompt `{name}`."))),
        };
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("Greet {whom}."))]))
    }

    async fn complete(&self, request: CompleteRequestParams) -> ToolResult<CompletionInfo> {
        let ArgumentInfo { value, .. } = request.argument;
        let names = ["Ada", "Alan", "Grace"];
        let values: Vec<String> =
            names.iter().filter(|name| name.starts_with(&value)).map(|name| (*name).to_owned()).collect();
        CompletionInfo::new(values).map_err(ToolError::execution)
    }
}
