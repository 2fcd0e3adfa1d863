//! [`write()`]: a model of a few kilobytes, made here: random weights, one token for each byte, and the marks of turns.
//! It has nothing to say, but says it in whatever form it must.

use std::{fs, path::Path};

use crate::gguf::GgufWriter;

const WIDTH: usize = 32;
const HIDDEN: usize = 64;
const HEADS: usize = 2;
const LAYERS: usize = 2;

/// The model's context, in tokens.
pub const CONTEXT: usize = 8_192;

const PIECES_WIDTH: usize = 16;
const PIECES: [&str; 18] = [
    "▁t", "he", "▁the", "▁", "t", "h", "e", "c", "a", "at", "▁c", "▁cat", "▁{", "{\"", "\":", "▁\"", "ool",
    "▁to",
];

/// Kinds of tokens.
const NORMAL: u32 = 1;
const CONTROL: u32 = 3;

/// Writes the model. Another seed is another model.
///
/// # Errors
///
/// The file cannot be written.
pub fn write(path: &Path, seed: u64) -> anyhow::Result<()> {
    let mut numbers = Numbers(seed);
    let (tokens, kinds) = vocabulary();
    let mut file = GgufWriter::default();
    for (key, value) in [
        ("general.architecture", "qwen2"),
        ("general.name", "Tiny"),
        ("tokenizer.ggml.model", "gpt2"),
        ("tokenizer.ggml.pre", "qwen2"),
    ] {
        file.text(key, value);
    }
    for (key, value) in [
        ("qwen2.block_count", LAYERS),
        ("qwen2.embedding_length", WIDTH),
        ("qwen2.feed_forward_length", HIDDEN),
        ("qwen2.attention.head_count", HEADS),
        ("qwen2.attention.head_count_kv", 1),
        ("qwen2.context_length", CONTEXT),
        ("tokenizer.ggml.eos_token_id", tokens.len() - 2),
    ] {
        file.u32(key, u32::try_from(value)?);
    }
    file.f32("qwen2.attention.layer_norm_rms_epsilon", 1e-6)
        .texts("tokenizer.ggml.tokens", &tokens)
        .texts("tokenizer.ggml.merges", &["{ \"", "\" :", "t o", "o l"].map(str::to_owned))
        .words("tokenizer.ggml.token_type", 5, &kinds);
    for (name, columns, rows) in tensors(tokens.len()) {
        let value = |numbers: &mut Numbers| if name.contains("norm") { 1.0 } else { numbers.float() * 0.3 };
        let bytes = (0..columns * rows).flat_map(|_| value(&mut numbers).to_le_bytes()).collect();
        file.tensor(&name, &[columns, rows], 0, bytes);
    }
    Ok(fs::write(path, file.finish())?)
}

/// Writes a llama with a SentencePiece vocabulary: one token for each byte, and some pieces.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_pieces(path: &Path, template: Option<&str>) -> anyhow::Result<()> {
    let mut tokens: Vec<(String, u32, f32)> =
        vec![("<unk>".to_owned(), 2, 0.0), ("<s>".to_owned(), 3, 0.0), ("</s>".to_owned(), 3, 0.0)];
    tokens.extend((0..=255).map(|byte: u8| (format!("<0x{byte:02X}>"), 6, 0.0)));
    tokens.extend((0..).zip(PIECES).map(|(rank, piece)| (piece.to_owned(), 1, -(rank as f32))));
    tokens.push(("<tool>".to_owned(), 4, 0.0));
    let column = |of: fn(&(String, u32, f32)) -> u32| tokens.iter().map(of).collect::<Vec<_>>();
    let names: Vec<String> = tokens.iter().map(|token| token.0.clone()).collect();
    let mut writer = GgufWriter::default();
    writer
        .text("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 16_384)
        .u32("llama.embedding_length", PIECES_WIDTH as u32)
        .u32("llama.feed_forward_length", PIECES_WIDTH as u32)
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
        let bytes = (0..PIECES_WIDTH * rows).flat_map(|_| value(&mut numbers).to_le_bytes()).collect();
        writer.tensor(name, &[PIECES_WIDTH, rows], 0, bytes);
    };
    tensor("token_embd.weight", tokens.len());
    for name in ["output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"] {
        tensor(&format!("{name}.weight"), 1);
    }
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"] {
        tensor(&format!("blk.0.{name}.weight"), PIECES_WIDTH);
    }
    Ok(fs::write(path, writer.finish())?)
}

fn tensors(tokens: usize) -> Vec<(String, usize, usize)> {
    let mut tensors =
        vec![("token_embd.weight".to_owned(), WIDTH, tokens), ("output_norm.weight".to_owned(), WIDTH, 1)];
    for layer in 0..LAYERS {
        let sizes = [
            ("attn_norm", WIDTH, 1),
            ("attn_q", WIDTH, WIDTH),
            ("attn_k", WIDTH, WIDTH / HEADS),
            ("attn_v", WIDTH, WIDTH / HEADS),
            ("attn_output", WIDTH, WIDTH),
            ("ffn_norm", WIDTH, 1),
            ("ffn_gate", WIDTH, HIDDEN),
            ("ffn_up", WIDTH, HIDDEN),
            ("ffn_down", HIDDEN, WIDTH),
        ];
        tensors
            .extend(sizes.map(|(name, columns, rows)| (format!("blk.{layer}.{name}.weight"), columns, rows)));
    }
    tensors
}

/// One token for each byte, some words, and the marks of turns.
fn vocabulary() -> (Vec<String>, Vec<u32>) {
    let mut tokens: Vec<String> = (0..=255_u8).map(|byte| byte_char(byte).to_string()).collect();
    tokens.extend(["{\"", "\":", "to", "ol"].map(str::to_owned));
    let mut kinds = vec![NORMAL; tokens.len()];
    for special in ["<|im_start|>", "<|im_end|>", "<|endoftext|>"] {
        tokens.push(special.to_owned());
        kinds.push(CONTROL);
    }
    (tokens, kinds)
}

/// Numbers that are always the same.
struct Numbers(u64);

impl Numbers {
    fn float(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f32 / (1_u32 << 30) as f32 - 1.0
    }
}

/// The character that stands for a byte in byte-level vocabularies.
fn byte_char(byte: u8) -> char {
    let own = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if own(byte) {
        return byte.into();
    }
    let before = (0..byte).filter(|other| !own(*other)).count();
    u32::try_from(256 + before).ok().and_then(char::from_u32).unwrap_or_default()
}
