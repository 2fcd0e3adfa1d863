//! A SentencePiece vocabulary on a tiny llama: tokens, and answers that keep a form.

use std::path::Path;

use goose_extension::Message;
use goose_local::provider::{LocalOptions, LocalProvider};
use goose_local::{Model, ModelOptions};
use goose_providers::{Provider as _, Reply, Request, RequestOptions};

use crate::blocks::Numbers;
use crate::writer::Writer;

const WIDTH: usize = 16;
const PIECES: [&str; 18] = [
    "▁t", "he", "▁the", "▁", "t", "h", "e", "c", "a", "at", "▁c", "▁cat", "▁{", "{\"", "\":", "▁\"", "ool",
    "▁to",
];

/// Writes the model: one token for each byte, and some pieces.
fn write(path: &Path, template: Option<&str>) {
    let mut tokens: Vec<(String, u32, f32)> =
        vec![("<unk>".to_owned(), 2, 0.0), ("<s>".to_owned(), 3, 0.0), ("</s>".to_owned(), 3, 0.0)];
    tokens.extend((0..=255).map(|byte: u8| (format!("<0x{byte:02X}>"), 6, 0.0)));
    tokens.extend((0..).zip(PIECES).map(|(rank, piece)| (piece.to_owned(), 1, -(rank as f32))));
    tokens.push(("<tool>".to_owned(), 4, 0.0));
    let column = |of: fn(&(String, u32, f32)) -> u32| tokens.iter().map(of).collect::<Vec<_>>();
    let names: Vec<String> = tokens.iter().map(|token| token.0.clone()).collect();
    let mut writer = Writer::default();
    writer
        .text("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 4096)
        .u32("llama.embedding_length", WIDTH as u32)
        .u32("llama.feed_forward_length", WIDTH as u32)
        .u32("llama.attention.head_count", 1)
        .text("tokenizer.ggml.model", "llama")
        .texts("tokenizer.ggml.tokens", &names)
        .words("tokenizer.ggml.token_type", 5, &column(|token| token.1))
        .words("tokenizer.ggml.scores", 6, &column(|token| token.2.to_bits()))
        .u32("tokenizer.ggml.bos_token_id", 1)
        .u32("tokenizer.ggml.eos_token_id", 2);
    if let Some(template) = template {
        writer.text("tokenizer.chat_template", template);
    }
    let mut numbers = Numbers(3);
    let mut tensor = |name: &str, rows: usize| {
        let value = |numbers: &mut Numbers| if name.contains("norm") { 1.0 } else { numbers.float() * 0.3 };
        let bytes = (0..WIDTH * rows).flat_map(|_| value(&mut numbers).to_le_bytes()).collect();
        writer.tensor(name, &[WIDTH, rows], 0, bytes);
    };
    tensor("token_embd.weight", tokens.len());
    for name in ["output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"] {
        tensor(&format!("{name}.weight"), 1);
    }
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"] {
        tensor(&format!("blk.0.{name}.weight"), WIDTH);
    }
    std::fs::write(path, writer.finish()).unwrap();
}

#[test]
fn pieces_are_joined_by_score_and_fall_back_to_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pieces.gguf");
    write(&path, None);
    let model = Model::open(&path, &ModelOptions::default()).unwrap();
    let tokenizer = model.tokenizer();
    let texts = |tokens: Vec<u32>| -> Vec<String> {
        tokens.iter().map(|token| String::from_utf8_lossy(tokenizer.bytes(*token)).into_owned()).collect()
    };
    assert_eq!(texts(tokenizer.encode("the cat")), [" the", " cat"]);
    assert_eq!(texts(tokenizer.encode_continuation("the cat")), ["t", "he", " cat"]);
    assert_eq!(texts(tokenizer.encode("the<tool>cat")), [" the", "<tool>", " cat"]);
    assert_eq!(texts(tokenizer.encode_continuation("the<tool>cat")), ["t", "he", "<tool>", "c", "at"]);
    assert_eq!(tokenizer.encode("é"), [262, 3 + 0xc3, 3 + 0xa9]);
    assert_eq!(texts(tokenizer.encode("hat")), [" ", "h", "at"]);
    assert_eq!(tokenizer.encode(""), [0_u32; 0]);
    assert_eq!((tokenizer.beginning(), tokenizer.end_of_turn()), (Some(1), [2_u32].as_slice()));
}

#[tokio::test]
async fn answers_keep_their_form_in_every_chat_format() -> anyhow::Result<()> {
    let templates = ["[INST] <<SYS>>", "[INST] {{ message }} [/INST]", "<|user|>"].map(Some);
    for template in templates.into_iter().chain([None]) {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("pieces.gguf");
        write(&path, template);
        let provider = LocalProvider::new(LocalOptions::new("pieces", path).with_threads(Some(1)));
        let messages = [std::sync::Arc::new(Message::user("the cat"))];
        let tools =
            [goose_extension::Tool::new("developer__shell", "Run", goose_extension::JsonObject::new())];
        let options = RequestOptions::default();
        let request = Request { system: "", messages: &messages, tools: &tools, options: &options };
        let reply = Reply::collect(provider.stream(request).await?).await?;
        assert!(!reply.message.content.is_empty(), "{template:?}");
    }
    Ok(())
}
