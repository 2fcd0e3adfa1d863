//! Positions of a model's weights in its file. Matrices stay in the file; the few small vectors are
//! copied.

use super::config::{Architecture, Config};
use crate::EngineError;
use crate::compute::{BlockType, MatrixView, dequantize};
use crate::gguf::{Gguf, Tensor};

/// Matrix in the file.
#[derive(Debug, Clone)]
pub(crate) struct Matrix(Tensor);

/// All weights of a model.
pub(crate) struct Weights {
    pub(crate) embedding: Matrix,
    pub(crate) layers: Vec<Layer>,
    pub(crate) norm: Vec<f32>,
    /// Output matrix. It is the embedding if the file has no separate one.
    pub(crate) output: Matrix,
    /// Divisors of the rotary frequencies, one per pair of columns.
    pub(crate) rope_factors: Option<Vec<f32>>,
}

/// Weights of one layer.
pub(crate) struct Layer {
    pub(crate) attention_norm: Vec<f32>,
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) query_norm: Option<Vec<f32>>,
    pub(crate) key_norm: Option<Vec<f32>>,
    pub(crate) attention_output: Linear,
    pub(crate) hidden_norm: Vec<f32>,
    pub(crate) gate: Linear,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
}

/// Matrix with an optional bias.
pub(crate) struct Linear {
    pub(crate) matrix: Matrix,
    pub(crate) bias: Option<Vec<f32>>,
}

impl Matrix {
    pub(crate) fn kind(&self) -> BlockType {
        self.0.kind
    }

    pub(crate) fn view<'a>(&self, file: &'a Gguf) -> MatrixView<'a> {
        let Tensor { kind, rows, columns, bytes } = self.0;
        MatrixView { kind, rows, columns, data: bytes.slice(file.bytes()) }
    }

    /// Dequantizes one row.
    pub(crate) fn read_row(&self, file: &Gguf, row: usize, out: &mut [f32]) {
        let len = self.0.kind.row_bytes(self.0.columns);
        dequantize(self.0.kind, &self.0.bytes.slice(file.bytes())[row * len..][..len], out);
    }
}

/// Finds tensors, and checks their shapes.
struct Finder<'a> {
    file: &'a Gguf,
}

impl Finder<'_> {
    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix, EngineError> {
        let tensor = self
            .file
            .tensor(name)
            .ok_or_else(|| EngineError::Malformed(format!("the tensor `{name}` is missing")))?;
        if (tensor.rows, tensor.columns) != (rows, columns) {
            return Err(EngineError::Malformed(format!(
                "the tensor `{name}` is {} × {}, not {rows} × {columns}",
                tensor.rows, tensor.columns
            )));
        }
        Ok(Matrix(tensor.clone()))
    }

    fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>, EngineError> {
        let matrix = self.matrix(name, 1, len)?;
        let mut values = vec![0.0; len];
        matrix.read_row(self.file, 0, &mut values);
        Ok(values)
    }

    fn optional_vector(&self, name: &str, len: usize) -> Result<Option<Vec<f32>>, EngineError> {
        self.file.tensor(name).map(|_| self.vector(name, len)).transpose()
    }

    fn linear(&self, name: &str, rows: usize, columns: usize) -> Result<Linear, EngineError> {
        Ok(Linear {
            matrix: self.matrix(&format!("{name}.weight"), rows, columns)?,
            bias: self.optional_vector(&format!("{name}.bias"), rows)?,
        })
    }

    fn layer(&self, config: &Config, number: usize) -> Result<Layer, EngineError> {
        let name = |rest: &str| format!("blk.{number}.{rest}");
        let Config { width, hidden, head_width, .. } = *config;
        let head_norm = |rest: &str| match config.architecture {
            Architecture::Qwen3 => self.vector(&name(rest), head_width).map(Some),
            Architecture::Qwen2 | Architecture::Llama => self.optional_vector(&name(rest), head_width),
        };
        Ok(Layer {
            attention_norm: self.vector(&name("attn_norm.weight"), width)?,
            query: self.linear(&name("attn_q"), config.query_width(), width)?,
            key: self.linear(&name("attn_k"), config.kv_width(), width)?,
            value: self.linear(&name("attn_v"), config.kv_width(), width)?,
            query_norm: head_norm("attn_q_norm.weight")?,
            key_norm: head_norm("attn_k_norm.weight")?,
            attention_output: self.linear(&name("attn_output"), width, config.query_width())?,
            hidden_norm: self.vector(&name("ffn_norm.weight"), width)?,
            gate: self.linear(&name("ffn_gate"), hidden, width)?,
            up: self.linear(&name("ffn_up"), hidden, width)?,
            down: self.linear(&name("ffn_down"), width, hidden)?,
        })
    }
}

impl Weights {
    /// Finds all weights of the model.
    pub(crate) fn find(file: &Gguf, config: &Config) -> Result<Self, EngineError> {
        let finder = Finder { file };
        let embedding = finder.matrix("token_embd.weight", config.vocabulary, config.width)?;
        let output = match file.tensor("output.weight") {
            Some(_) => finder.matrix("output.weight", config.vocabulary, config.width)?,
            None => embedding.clone(),
        };
        Ok(Self {
            embedding,
            layers: (0..config.layers)
                .map(|number| finder.layer(config, number))
                .collect::<Result<_, _>>()?,
            norm: finder.vector("output_norm.weight", config.width)?,
            output,
            rope_factors: finder.optional_vector("rope_freqs.weight", config.rope_width / 2)?,
        })
    }
}
