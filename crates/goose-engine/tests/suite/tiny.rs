//! Tiny models with random weights, as files and as numbers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use goose_engine::{Instructions, Model, ModelOptions};

use crate::blocks::{Kind, Numbers};
use crate::writer::Writer;

/// Shape of a model.
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
    /// Formats that the matrices use in turn.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) rope: Rope,
}

/// Encoding of positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rope {
    /// Rotated columns of a head. By default, all.
    pub(crate) width: Option<usize>,
    pub(crate) scaling: Scaling,
    /// True if the file has a divisor for each pair.
    pub(crate) has_factors: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scaling {
    None,
    /// Linear scaling under the current key.
    Linear(f32),
    /// Linear scaling under the key of old files.
    OldLinear(f32),
    Yarn {
        factor: f32,
        original: u32,
        attention: Option<f32>,
    },
}

/// Model file in a temporary folder, and its weights as numbers.
pub(crate) struct Tiny {
    pub(crate) shape: Shape,
    pub(crate) weights: HashMap<String, Vec<f32>>,
    pub(crate) writer: Writer,
    folder: tempfile::TempDir,
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
            rope: Rope { width: None, scaling: Scaling::None, has_factors: false },
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

    pub(crate) fn rope_width(&self) -> usize {
        self.rope.width.unwrap_or(self.head_width)
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
        if let Some(width) = shape.rope.width {
            self.writer.u32(&key("rope.dimension_count"), width as u32);
        }
        match shape.rope.scaling {
            Scaling::None => {}
            Scaling::Linear(factor) => {
                self.writer.f32(&key("rope.scaling.factor"), factor);
            }
            Scaling::OldLinear(factor) => {
                self.writer.f32(&key("rope.scale_linear"), factor);
            }
            Scaling::Yarn { factor, original, attention } => {
                self.writer
                    .text(&key("rope.scaling.type"), "yarn")
                    .f32(&key("rope.scaling.factor"), factor)
                    .u32(&key("rope.scaling.original_context_length"), original);
                if let Some(attention) = attention {
                    self.writer.f32(&key("rope.scaling.attn_factor"), attention);
                }
            }
        }
    }

    fn tensors(&mut self) {
        let mut numbers = Numbers(7);
        let Shape { width, hidden, heads, kv_heads, head_width, vocabulary, .. } = self.shape;
        self.matrix("token_embd.weight", vocabulary, width, &mut numbers);
        if !self.shape.tied {
            self.matrix("output.weight", vocabulary, width, &mut numbers);
        }
        self.vector("output_norm.weight", width, 1.0, &mut numbers);
        if self.shape.rope.has_factors {
            self.vector("rope_freqs.weight", self.shape.rope_width() / 2, 3.0, &mut numbers);
        }
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

/// Writes a byte-level vocabulary with a few merges, and control tokens at its end.
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

/// Returns the character for a byte in byte-level vocabularies.
pub(crate) fn byte_char(byte: u8) -> char {
    let own = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if own(byte) {
        return byte.into();
    }
    let before = (0..byte).filter(|other| !own(*other)).count() as u32;
    char::from_u32(256 + before).unwrap()
}
