use async_trait::async_trait;
use goose_engine::EndReason;
use goose_extension::{JsonObject, MessageContent, Role, Tool, ToolOutput};
use goose_providers::Reply;

use super::{
    super::{
        conversation_tests::{conversation, read},
        events,
    },
    *,
};
use crate::backend::TextSink;

/// Last character of a text that is cut off.
const CUT: char = '…';

/// Model that writes these texts, one for each prompt.
struct Scripted(Vec<&'static str>);

#[async_trait]
impl Backend for Scripted {
    async fn write(&mut self, _prompt: Prompt<'_>, sink: &mut dyn TextSink) -> ProviderResult<Completion> {
        assert!(!self.0.is_empty(), "it was asked once more");
        let text = self.0.remove(0);
        let mut is_enough = false;
        for sign in text.chars().filter(|sign| *sign != CUT) {
            is_enough = sink.push(&sign.to_string()).await.is_break();
            if is_enough {
                break;
            }
        }
        let end = match text.ends_with(CUT) {
            _ if is_enough => EndReason::Cancelled,
            true => EndReason::TokenLimit,
            false => EndReason::Complete,
        };
        Ok(Completion { end, usage: Usage::default() })
    }
}

/// Returns the reply of a model that writes these texts.
async fn reply(messages: &[Arc<Message>], texts: &[&'static str]) -> anyhow::Result<Message> {
    let tools = ["read", "search", "edit", "write", "shell"]
        .map(|name| Tool::new(format!("developer__{name}"), "", JsonObject::new()));
    let options = RequestOptions::default();
    let request = Request { system: "", messages, tools: &tools, options: &options };
    let question = Question::new(request);
    let mut backend = Scripted(texts.to_vec());
    let (events, stream) = events::channel();
    let answering = async {
        let answered = question.answer(&mut backend, &events).await;
        drop(events);
        answered
    };
    let (answered, reply) = tokio::join!(answering, Reply::collect(stream));
    answered?;
    assert!(backend.0.is_empty(), "left: {:?}", backend.0);
    Ok(reply?.message)
}

/// Returns the calls in a message as text.
fn call(message: &Message) -> String {
    let calls = message.content.iter().filter_map(|part| match part {
        MessageContent::ToolCall { name, arguments, .. } => Some(format!("{name} {arguments}")),
        _ => None,
    });
    calls.collect::<Vec<_>>().join("; ")
}

fn done(messages: &mut Vec<Arc<Message>>, reply: Message) {
    messages.push(Arc::new(reply));
    let result = MessageContent::tool_result(CALL_ID, ToolOutput::text("Edited"));
    messages.push(Arc::new(Message::new(Role::User, [result])));
}

#[tokio::test]
async fn all_files_of_a_plan_are_written_before_the_answer() -> anyhow::Result<()> {
    let files = [read("a.txt", "one"), read("b.txt", "one")];
    let mut messages = conversation(&["a.txt", "b.txt"], "Write two in a.txt and b.txt.", &files);
    let first = ["change a.txt b.txt", r#"{"tool":"edit","path":"a.txt","#, "```\ntwo\n```"];
    let said = reply(&messages, &first).await?;
    assert_eq!(call(&said), r#"developer__edit {"path":"a.txt","before":"one","after":"two"}"#);
    done(&mut messages, said);
    // The call carries the plan, so the model is not asked for it again.
    let answer = r#"{"tool":"final_answer","text":"Done."}"#;
    let said = reply(&messages, &[answer, "```\ntwo\n```"]).await?;
    assert_eq!(call(&said), r#"developer__edit {"path":"b.txt","before":"one","after":"two"}"#);
    let unchanged = reply(&messages, &[answer, "```\none\n```", answer]).await?;
    assert_eq!(unchanged.text(), "Done.", "the model says that it is right as it is");
    done(&mut messages, said);
    assert_eq!(reply(&messages, &[answer]).await?.text(), "Done.");
    // Another request has another plan.
    messages.push(Arc::new(Message::assistant("Done.")));
    messages.push(Arc::new(Message::user("Thank you!")));
    assert_eq!(reply(&messages, &["answer", answer]).await?.text(), "Done.");
    Ok(())
}

#[tokio::test]
async fn a_command_is_written_in_a_focused_prompt() -> anyhow::Result<()> {
    let messages = conversation(&["a.txt"], "Rename it to b.txt.", &[]);
    let begun = r#"{"tool":"shell","#;
    // Text after the block is not waited for.
    for answer in ["```\nmv a.txt b.txt\n```", "Here:\n```sh\nmv a.txt b.txt\n```\nThis renames…"] {
        let said = reply(&messages, &["run", begun, answer]).await?;
        assert_eq!(call(&said), r#"developer__shell {"command":"mv a.txt b.txt"}"#);
    }
    let again = r#"{"tool":"shell","command":"mv \"a.txt\" b.txt"}"#;
    let said = reply(&messages, &["run", begun, "I cannot do that.", again]).await?;
    assert_eq!(
        call(&said),
        r#"developer__shell {"command":"mv \"a.txt\" b.txt"}"#,
        "it continues in the conversation"
    );
    Ok(())
}

#[tokio::test]
async fn all_files_of_a_small_folder_are_read() -> anyhow::Result<()> {
    let all = r#"developer__read {"path":"a"}; developer__read {"path":"b"}"#;
    for look in [r#"{"tool":"search","#, r#"{"tool":"read","#, r#"{"tool":"shell","#] {
        let said = reply(&conversation(&["a", "b"], "Is there tea?", &[]), &["answer", look]).await?;
        assert_eq!(call(&said), all);
    }
    let begun = r#"{"tool":"write","path":"c","#;
    let create = conversation(&["a", "b"], "Write down what we have.", &[]);
    assert_eq!(call(&reply(&create, &["create", begun]).await?), all);
    let said = reply(&create, &["run", r#"{"tool":"shell","#, "```\nls\n```"]).await?;
    assert_eq!(
        call(&said),
        r#"developer__shell {"command":"ls"}"#,
        "the files are not needed to run something"
    );
    let search = r#"{"tool":"search","pattern":"tea"}"#;
    for files in [&["a", "b", "c", "d", "e", "f", "g"] as &[&str], &[]] {
        let said = reply(&conversation(files, "Is there tea?", &[]), &["answer", search]).await?;
        assert!(call(&said).starts_with("developer__search"), "{said:?}");
    }
    Ok(())
}

#[tokio::test]
async fn named_files_are_read_before_the_first_step() -> anyhow::Result<()> {
    let files = ["conf/a", "conf/b", "c"];
    let named = reply(&conversation(&files, "What is in conf and in c?", &[]), &["answer"]).await?;
    let all = ["conf/a", "conf/b", "c"].map(|path| format!(r#"developer__read {{"path":"{path}"}}"#));
    assert_eq!(call(&named), all.join("; "));
    let run = reply(&conversation(&files, "Move c to conf.", &[]), &["run"]).await?;
    assert_eq!(call(&run), all[2], "the files of a folder are not needed to run something");
    Ok(())
}

#[tokio::test]
async fn a_new_file_that_is_cut_off_is_not_written() -> anyhow::Result<()> {
    let messages = conversation(&[], "Write a poem to p.txt.", &[]);
    let begin = ["create p.txt", r#"{"tool":"write","path":"p.txt","#];
    let whole = reply(&messages, &[begin[0], begin[1], "The goose"]).await?;
    assert_eq!(call(&whole), r#"developer__write {"path":"p.txt","content":"The goose\n"}"#);
    let again = r#"{"tool":"write","path":"p.txt","content":"A goose"}"#;
    let other = reply(&messages, &[begin[0], begin[1], "The goo…", again]).await?;
    assert_eq!(call(&other), r#"developer__write {"path":"p.txt","content":"A goose"}"#);
    Ok(())
}
