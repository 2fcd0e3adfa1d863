//! A model of a few kilobytes, made here: random weights, one token for each byte, and the marks of turns. It has nothing
//! to say, but says it in whatever form it must.

use std::{fs, path::Path};

const WIDTH: usize = 32;
const HIDDEN: usize = 64;
const HEADS: usize = 2;
const LAYERS: usize = 2;

/// How much it can keep in mind.
pub(crate) const CONTEXT: usize = 4_096;

/// Types of GGUF.
const U32: u32 = 4;
const F32: u32 = 6;
const TEXT: u32 = 8;
const LIST: u32 = 9;
const I32: u32 = 5;

/// Kinds of tokens.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;

/// Writes the model. Another seed is another model.
pub(crate) fn write(path: &Path, seed: u64) -> anyhow::Result<()> {
    let mut random = Random(seed);
    let (tokens, kinds) = vocabulary();
    let tensors = tensors(tokens.len());
    let mut file = b"GGUF".to_vec();
    put_u32(&mut file, 3);
    put_u64(&mut file, tensors.len() as u64);
    let metadata = metadata(&tokens, &kinds);
    put_u64(&mut file, metadata.1);
    file.extend(metadata.0);
    let mut offset = 0;
    for (name, columns, rows) in &tensors {
        put_text(&mut file, name);
        put_u32(&mut file, 2);
        put_u64(&mut file, *columns as u64);
        put_u64(&mut file, *rows as u64);
        put_u32(&mut file, 0);
        put_u64(&mut file, offset);
        offset += (columns * rows * 4).next_multiple_of(32) as u64;
    }
    file.resize(file.len().next_multiple_of(32), 0);
    for (name, columns, rows) in &tensors {
        for _ in 0..columns * rows {
            let value = if name.contains("norm") { 1.0 } else { random.next() };
            file.extend(value.to_le_bytes());
        }
        file.resize(file.len().next_multiple_of(32), 0);
    }
    Ok(fs::write(path, file)?)
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

/// One token for each byte, as GPT-2 writes them down, some words, and the marks of turns.
fn vocabulary() -> (Vec<String>, Vec<i32>) {
    let mut tokens: Vec<String> = Vec::new();
    let mut beyond = 0;
    for byte in 0..=255_u8 {
        let is_shown = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..);
        let code = if is_shown { u32::from(byte) } else { 256 + beyond };
        beyond += u32::from(!is_shown);
        tokens.extend(char::from_u32(code).map(String::from));
    }
    tokens.extend(["{\"", "\":", "to", "ol"].map(str::to_owned));
    let mut kinds = vec![NORMAL; tokens.len()];
    for special in ["<|im_start|>", "<|im_end|>", "<|endoftext|>"] {
        tokens.push(special.to_owned());
        kinds.push(CONTROL);
    }
    (tokens, kinds)
}

fn metadata(tokens: &[String], kinds: &[i32]) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let mut count = 0;
    let mut key = |out: &mut Vec<u8>, name: &str, kind: u32| {
        count += 1;
        put_text(out, name);
        put_u32(out, kind);
    };
    for (name, value) in [
        ("general.architecture", "qwen2"),
        ("general.name", "Tiny"),
        ("tokenizer.ggml.model", "gpt2"),
        ("tokenizer.ggml.pre", "qwen2"),
    ] {
        key(&mut out, name, TEXT);
        put_text(&mut out, value);
    }
    for (name, value) in [
        ("qwen2.block_count", LAYERS),
        ("qwen2.embedding_length", WIDTH),
        ("qwen2.feed_forward_length", HIDDEN),
        ("qwen2.attention.head_count", HEADS),
        ("qwen2.attention.head_count_kv", 1),
        ("qwen2.context_length", CONTEXT),
        ("tokenizer.ggml.eos_token_id", tokens.len() - 2),
    ] {
        key(&mut out, name, U32);
        put_u32(&mut out, value as u32);
    }
    key(&mut out, "qwen2.attention.layer_norm_rms_epsilon", F32);
    out.extend(1e-6_f32.to_le_bytes());
    for (name, list) in [
        ("tokenizer.ggml.tokens", tokens.to_vec()),
        ("tokenizer.ggml.merges", ["{ \"", "\" :", "t o", "o l"].map(str::to_owned).to_vec()),
    ] {
        key(&mut out, name, LIST);
        put_u32(&mut out, TEXT);
        put_u64(&mut out, list.len() as u64);
        list.iter().for_each(|text| put_text(&mut out, text));
    }
    key(&mut out, "tokenizer.ggml.token_type", LIST);
    put_u32(&mut out, I32);
    put_u64(&mut out, kinds.len() as u64);
    kinds.iter().for_each(|kind| out.extend(kind.to_le_bytes()));
    (out, count)
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u64(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// Numbers around zero, always the same from one seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.max(1);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 40) as f32 / (1_u64 << 24) as f32 - 0.5) * 0.6
    }
}
