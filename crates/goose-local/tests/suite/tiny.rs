//! Tiny models with random weights, as files and as plain numbers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use goose_local::{Instructions, Model, ModelOptions};

use crate::writer::Writer;

/// A block format, as a test knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    F16,
    Q4_0,
    Q8_0,
    Q4K,
    Q6K,
}

/// A model's shape.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) architecture: &'static str,
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_width: usize,
    pub(crate) vocabulary: usize,
    pub(crate) context: usize,
    pub(crate) tied: bool,
    pub(crate) biases: bool,
    pub(crate) head_norms: bool,
    /// Formats that the matrices take in turn.
    pub(crate) kinds: Vec<Kind>,
}

/// A model file in a temporary folder, and its weights as numbers.
pub(crate) struct Tiny {
    pub(crate) shape: Shape,
    pub(crate) weights: HashMap<String, Vec<f32>>,
    pub(crate) writer: Writer,
    folder: tempfile::TempDir,
}

pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    pub(crate) fn float(&mut self) -> f32 {
        self.next() as f32 / (1_u32 << 30) as f32 - 1.0
    }
}

impl Shape {
    pub(crate) fn qwen2() -> Self {
        Self {
            architecture: "qwen2",
            layers: 2,
            width: 256,
            hidden: 512,
            heads: 4,
            kv_heads: 2,
            head_width: 64,
            vocabulary: 300,
            context: 640,
            tied: false,
            biases: true,
            head_norms: false,
            kinds: vec![Kind::Q4K, Kind::Q6K],
        }
    }

    pub(crate) fn qwen3() -> Self {
        Self {
            architecture: "qwen3",
            head_width: 32,
            tied: true,
            biases: false,
            head_norms: true,
            kinds: vec![Kind::Q8_0, Kind::Q4K],
            ..Self::qwen2()
        }
    }

    pub(crate) fn llama() -> Self {
        Self {
            architecture: "llama",
            width: 192,
            hidden: 352,
            heads: 6,
            kv_heads: 2,
            head_width: 32,
            biases: false,
            kinds: vec![Kind::Q4_0, Kind::F16],
            ..Self::qwen2()
        }
    }

    pub(crate) fn in_full(self) -> Self {
        Self { kinds: vec![Kind::F32], ..self }
    }
}

impl Tiny {
    pub(crate) fn new(shape: Shape) -> Self {
        let mut tiny = Self {
            writer: Writer::default(),
            weights: HashMap::new(),
            folder: tempfile::tempdir().unwrap(),
            shape,
        };
        tiny.metadata();
        vocabulary(&mut tiny.writer, tiny.shape.vocabulary);
        tiny.tensors();
        std::fs::write(tiny.path(), tiny.writer.finish()).unwrap();
        tiny
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("tiny.gguf")
    }

    pub(crate) fn open(&self) -> Arc<Model> {
        Model::open(&self.path(), &ModelOptions { threads: Some(2), context: None }).unwrap()
    }

    pub(crate) fn open_with(&self, instructions: Instructions) -> Arc<Model> {
        let options = ModelOptions { threads: Some(3), context: None };
        Model::open_with(&self.path(), &options, instructions).unwrap()
    }

    fn metadata(&mut self) {
        let shape = &self.shape;
        let name = shape.architecture;
        let key = |rest: &str| format!("{name}.{rest}");
        self.writer
            .text("general.architecture", name)
            .text("general.name", "tiny")
            .u32(&key("block_count"), shape.layers as u32)
            .u32(&key("context_length"), shape.context as u32)
            .u32(&key("embedding_length"), shape.width as u32)
            .u32(&key("feed_forward_length"), shape.hidden as u32)
            .u32(&key("attention.head_count"), shape.heads as u32)
            .u32(&key("attention.head_count_kv"), shape.kv_heads as u32)
            .u32(&key("attention.key_length"), shape.head_width as u32)
            .f32(&key("attention.layer_norm_rms_epsilon"), 1e-6)
            .f32(&key("rope.freq_base"), 10_000.0);
    }

    fn tensors(&mut self) {
        let mut numbers = Numbers(7);
        let Shape { width, hidden, heads, kv_heads, head_width, vocabulary, .. } = self.shape;
        self.matrix("token_embd.weight", vocabulary, width, &mut numbers);
        if !self.shape.tied {
            self.matrix("output.weight", vocabulary, width, &mut numbers);
        }
        self.vector("output_norm.weight", width, 1.0, &mut numbers);
        for layer in 0..self.shape.layers {
            let name = |rest: &str| format!("blk.{layer}.{rest}");
            self.vector(&name("attn_norm.weight"), width, 1.0, &mut numbers);
            self.vector(&name("ffn_norm.weight"), width, 1.0, &mut numbers);
            for (rest, rows, columns) in [
                ("attn_q", heads * head_width, width),
                ("attn_k", kv_heads * head_width, width),
                ("attn_v", kv_heads * head_width, width),
                ("attn_output", width, heads * head_width),
                ("ffn_gate", hidden, width),
                ("ffn_up", hidden, width),
                ("ffn_down", width, hidden),
            ] {
                self.matrix(&name(&format!("{rest}.weight")), rows, columns, &mut numbers);
                if self.shape.biases && ["attn_q", "attn_k", "attn_v"].contains(&rest) {
                    self.vector(&name(&format!("{rest}.bias")), rows, 0.0, &mut numbers);
                }
            }
            if self.shape.head_norms {
                self.vector(&name("attn_q_norm.weight"), head_width, 1.0, &mut numbers);
                self.vector(&name("attn_k_norm.weight"), head_width, 1.0, &mut numbers);
            }
        }
    }

    fn vector(&mut self, name: &str, len: usize, middle: f32, numbers: &mut Numbers) {
        let values: Vec<f32> = (0..len).map(|_| middle + 0.3 * numbers.float()).collect();
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.writer.tensor(name, &[len], 0, bytes);
        self.weights.insert(name.to_owned(), values);
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize, numbers: &mut Numbers) {
        let turn = self.weights.len();
        let kinds: Vec<Kind> = self
            .shape
            .kinds
            .iter()
            .copied()
            .filter(|kind| columns.is_multiple_of(kind.block_len()))
            .collect();
        let kind = kinds.get(turn % kinds.len().max(1)).copied().unwrap_or(Kind::F32);
        let mut bytes = Vec::new();
        let mut values = Vec::new();
        for _ in 0..rows * columns / kind.block_len() {
            kind.random_block(numbers, &mut bytes, &mut values);
        }
        self.writer.tensor(name, &[columns, rows], kind.id(), bytes);
        self.weights.insert(name.to_owned(), values);
    }
}

/// A byte-level vocabulary with a few merges and control tokens at its end.
fn vocabulary(writer: &mut Writer, len: usize) {
    let mut tokens: Vec<String> = (0..=255_u8).map(|byte| byte_char(byte).to_string()).collect();
    let merges = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld"];
    tokens.extend(merges.iter().map(|merge| merge.replace(' ', "")));
    let mut roles = vec![1; tokens.len()];
    for control in ["<|im_start|>", "<|im_end|>"] {
        tokens.push(control.to_owned());
        roles.push(3);
    }
    tokens.push("<tool>".to_owned());
    roles.push(4);
    while tokens.len() < len {
        tokens.push(format!("[PAD{}]", tokens.len()));
        roles.push(5);
    }
    writer
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "qwen2")
        .texts("tokenizer.ggml.tokens", &tokens)
        .texts("tokenizer.ggml.merges", &merges.map(str::to_owned))
        .words("tokenizer.ggml.token_type", 5, &roles)
        .u32("tokenizer.ggml.eos_token_id", 266)
        .flag("tokenizer.ggml.add_bos_token", false);
}

/// The character that stands for a byte in byte-level vocabularies.
pub(crate) fn byte_char(byte: u8) -> char {
    let own = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if own(byte) {
        return byte.into();
    }
    let before = (0..byte).filter(|other| !own(*other)).count() as u32;
    char::from_u32(256 + before).unwrap()
}

impl Kind {
    fn id(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q8_0 => 8,
            Self::Q4K => 12,
            Self::Q6K => 14,
        }
    }

    fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 => 1,
            Self::Q4_0 | Self::Q8_0 => 32,
            Self::Q4K | Self::Q6K => 256,
        }
    }

    /// Appends a block of random weights (about ±0.06) in both forms.
    fn random_block(self, numbers: &mut Numbers, bytes: &mut Vec<u8>, values: &mut Vec<f32>) {
        // Powers of two, so that the halves are exact.
        let half = |power: i32| (((power + 15) as u16) << 10).to_le_bytes();
        let exp2 = |power: i32| 2.0_f32.powi(power);
        match self {
            Self::F32 => {
                let value = numbers.float() * 0.1;
                bytes.extend(value.to_le_bytes());
                values.push(value);
            }
            Self::F16 => {
                // A sign, the exponent of 1/16, ten bits of fraction.
                let bits = (numbers.next() as u16 & 0x83ff) | (11 << 10);
                let fraction = 1.0 + f32::from(bits & 0x3ff) / 1024.0;
                bytes.extend(bits.to_le_bytes());
                values.push(if bits >> 15 == 1 { -fraction } else { fraction } / 16.0);
            }
            Self::Q4_0 => {
                bytes.extend(half(-6));
                let quants: [u8; 16] = std::array::from_fn(|_| numbers.next() as u8);
                bytes.extend(quants);
                let value = |quant: u8| (f32::from(quant) - 8.0) * exp2(-6);
                values.extend(quants.iter().map(|byte| value(byte & 15)));
                values.extend(quants.iter().map(|byte| value(byte >> 4)));
            }
            Self::Q8_0 => {
                bytes.extend(half(-10));
                for _ in 0..32 {
                    let quant = numbers.next() as i8;
                    bytes.push(quant as u8);
                    values.push(f32::from(quant) * exp2(-10));
                }
            }
            Self::Q4K => q4k(numbers, bytes, values, half, exp2),
            Self::Q6K => q6k(numbers, bytes, values, half, exp2),
        }
    }
}

fn q4k(
    numbers: &mut Numbers,
    bytes: &mut Vec<u8>,
    values: &mut Vec<f32>,
    half: impl Fn(i32) -> [u8; 2],
    exp2: impl Fn(i32) -> f32,
) {
    let (scale, min) = (exp2(-12), exp2(-9));
    let scales: [u8; 8] = std::array::from_fn(|_| numbers.next() as u8 & 63);
    let mins: [u8; 8] = std::array::from_fn(|_| numbers.next() as u8 & 63);
    bytes.extend(half(-12));
    bytes.extend(half(-9));
    bytes.extend((0..4).map(|j| scales[j] | (scales[j + 4] >> 4) << 6));
    bytes.extend((0..4).map(|j| mins[j] | (mins[j + 4] >> 4) << 6));
    bytes.extend((0..4).map(|j| (scales[j + 4] & 15) | (mins[j + 4] & 15) << 4));
    let quants: Vec<u8> = (0..256).map(|_| numbers.next() as u8 & 15).collect();
    for pair in quants.chunks_exact(64) {
        bytes.extend((0..32).map(|i| pair[i] | pair[i + 32] << 4));
    }
    values.extend(quants.iter().enumerate().map(|(i, quant)| {
        f32::from(*quant) * f32::from(scales[i / 32]) * scale - f32::from(mins[i / 32]) * min
    }));
}

fn q6k(
    numbers: &mut Numbers,
    bytes: &mut Vec<u8>,
    values: &mut Vec<f32>,
    half: impl Fn(i32) -> [u8; 2],
    exp2: impl Fn(i32) -> f32,
) {
    let quants: Vec<u8> = (0..256).map(|_| numbers.next() as u8 & 63).collect();
    let scales: [i8; 16] = std::array::from_fn(|_| numbers.next() as i8);
    for part in quants.chunks_exact(128) {
        bytes.extend((0..64).map(|i| (part[i] & 15) | (part[i + 64] & 15) << 4));
    }
    for part in quants.chunks_exact(128) {
        bytes.extend(
            (0..32).map(|i| (0..4).map(|quarter| (part[quarter * 32 + i] >> 4) << (2 * quarter)).sum::<u8>()),
        );
    }
    bytes.extend(scales.map(|scale| scale as u8));
    bytes.extend(half(-14));
    values.extend(
        quants
            .iter()
            .enumerate()
            .map(|(i, quant)| (f32::from(*quant) - 32.0) * f32::from(scales[i / 16]) * exp2(-14)),
    );
}
