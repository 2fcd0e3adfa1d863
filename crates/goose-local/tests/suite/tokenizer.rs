//! Tokenizers on small vocabularies.

use goose_local::{Model, ModelOptions};

use crate::tiny::{Shape, Tiny};
use crate::writer::Writer;

fn texts(model: &Model, tokens: &[u32]) -> Vec<String> {
    tokens.iter().map(|token| String::from_utf8_lossy(model.tokenizer().bytes(*token)).into_owned()).collect()
}

#[test]
fn pairs_are_merged_in_the_order_they_were_learnt() {
    let model = Tiny::new(Shape::qwen2()).open();
    let tokenizer = model.tokenizer();
    assert_eq!(texts(&model, &tokenizer.encode("hello world")), ["hello", " world"]);
    assert_eq!(texts(&model, &tokenizer.encode("shell held")), ["s", "hell", " ", "he", "ld"]);
    assert_eq!(tokenizer.encode(""), [0_u32; 0]);
}

#[test]
fn every_text_comes_back() {
    let model = Tiny::new(Shape::qwen2()).open();
    for text in ["\u{0}\u{7f}\r\n\t  x", "日本語 😀👩‍👩‍👧 ﷽", "I'LL 12345  \u{a0}é\u{301}", &"hello".repeat(2000)]
    {
        let tokens = model.tokenizer().encode(text);
        let bytes: Vec<u8> =
            tokens.iter().flat_map(|token| model.tokenizer().bytes(*token)).copied().collect();
        assert_eq!(bytes, text.as_bytes());
    }
}

#[test]
fn text_never_becomes_structure() {
    let model = Tiny::new(Shape::qwen2()).open();
    let tokenizer = model.tokenizer();
    let end = tokenizer.special("<|im_end|>").unwrap();
    assert!(tokenizer.is_special(end) && tokenizer.end_of_turn().contains(&end));
    let tokens = tokenizer.encode("a<|im_end|>b");
    assert!(tokens.iter().all(|token| !tokenizer.is_special(*token)));
    // Tokens that the maker wants found in text are found.
    let tool = tokenizer.special("<tool>").unwrap();
    assert_eq!(tokenizer.encode("x<tool>y<tool>"), [b'x'.into(), tool, b'y'.into(), tool]);
    assert!(!tokenizer.is_special(tool));
    assert_eq!(tokenizer.special("hello"), None);
    assert_eq!(tokenizer.bytes(u32::MAX), b"");
    assert_eq!(tokenizer.beginning(), None);
}

/// A llama with a SentencePiece vocabulary in place of the tiny one.
fn with_pieces() -> (tempfile::TempDir, std::sync::Arc<Model>) {
    let mut tokens: Vec<(String, u32, f32)> =
        vec![("<unk>".to_owned(), 2, 0.0), ("<s>".to_owned(), 3, 0.0), ("</s>".to_owned(), 3, 0.0)];
    tokens.extend((0..=255).map(|byte: u8| (format!("<0x{byte:02X}>"), 6, 0.0)));
    for (rank, piece) in
        ["▁t", "he", "▁the", "▁", "t", "h", "e", "c", "a", "at", "▁c", "▁cat"].iter().enumerate()
    {
        tokens.push(((*piece).to_owned(), 1, -(rank as f32)));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pieces.gguf");
    let mut writer = Writer::default();
    let names: Vec<String> = tokens.iter().map(|token| token.0.clone()).collect();
    let floats = vec![0_u8; 16 * 16 * 4];
    let n = tokens.len();
    writer
        .text("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 64)
        .u32("llama.embedding_length", 16)
        .u32("llama.feed_forward_length", 16)
        .u32("llama.attention.head_count", 1)
        .text("tokenizer.ggml.model", "llama")
        .texts("tokenizer.ggml.tokens", &names)
        .words("tokenizer.ggml.token_type", 5, &tokens.iter().map(|token| token.1).collect::<Vec<_>>())
        .words("tokenizer.ggml.scores", 6, &tokens.iter().map(|token| token.2.to_bits()).collect::<Vec<_>>())
        .u32("tokenizer.ggml.bos_token_id", 1)
        .u32("tokenizer.ggml.eos_token_id", 2)
        .tensor("token_embd.weight", &[16, n], 0, vec![0; n * 16 * 4])
        .tensor("output_norm.weight", &[16], 0, vec![0; 64])
        .tensor("blk.0.attn_norm.weight", &[16], 0, vec![0; 64])
        .tensor("blk.0.ffn_norm.weight", &[16], 0, vec![0; 64]);
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"] {
        writer.tensor(&format!("blk.0.{name}.weight"), &[16, 16], 0, floats.clone());
    }
    std::fs::write(&path, writer.finish()).unwrap();
    let model = Model::open(&path, &ModelOptions::default()).unwrap();
    (folder, model)
}

#[test]
fn sentence_pieces_are_joined_by_score_and_fall_back_to_bytes() {
    let (_folder, model) = with_pieces();
    let tokenizer = model.tokenizer();
    assert_eq!(texts(&model, &tokenizer.encode("the cat")), [" the", " cat"]);
    assert_eq!(tokenizer.encode("é"), [262, 3 + 0xc3, 3 + 0xa9]);
    assert_eq!(texts(&model, &tokenizer.encode("hat")), [" ", "h", "at"]);
    assert_eq!(tokenizer.encode(""), [0_u32; 0]);
    assert_eq!((tokenizer.beginning(), tokenizer.end_of_turn()), (Some(1), [2_u32].as_slice()));
}
