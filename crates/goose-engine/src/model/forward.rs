//! Forward pass of a batch of tokens.
//!
//! Every step runs over the whole batch before the next begins, with all threads. Between the steps of a
//! layer, the caller can cancel: a step takes a fraction of the time of a token.

use super::Model;
use super::jobs::{Job, WriteMode, job, multiply};
use super::rope::Rotation;
use super::weights::{Layer, Linear};
use crate::EngineError;
use crate::compute::{
    Activations, Attention, AttentionScratch, Family, Instructions, LayerCache, Pool, STRIP, Scratch,
    SharedMut, add, rms_norm, silu_times,
};

/// Threads and buffers of one forward pass at a time.
pub(crate) struct Worker {
    pool: Pool,
    level: Instructions,
    scratch: Vec<[Scratch; 2]>,
    attention_scratch: Vec<AttentionScratch>,
    rotation: Rotation,
    /// Residual stream, one row per token.
    stream: Vec<f32>,
    normed: Activations,
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    attended: Activations,
    hidden: Activations,
}

/// Batch of tokens to compute.
pub(crate) struct Batch<'a> {
    pub(crate) tokens: &'a [u32],
    /// Position of the first token.
    pub(crate) position: usize,
    pub(crate) is_cancelled: &'a dyn Fn() -> bool,
}

impl Batch<'_> {
    fn check_cancelled(&self) -> Result<(), EngineError> {
        if (self.is_cancelled)() { Err(EngineError::Cancelled) } else { Ok(()) }
    }
}

impl Worker {
    pub(crate) fn new(threads: Option<usize>, level: Instructions) -> Self {
        let pool = Pool::new(threads);
        Self {
            scratch: (0..pool.threads()).map(|_| Default::default()).collect(),
            pool,
            level,
            attention_scratch: Vec::new(),
            rotation: Rotation::default(),
            stream: Vec::new(),
            normed: Activations::default(),
            queries: Vec::new(),
            keys: Vec::new(),
            values: Vec::new(),
            attended: Activations::default(),
            hidden: Activations::default(),
        }
    }

    /// Computes a batch, and adds it to the cache. With `logits`, also computes those after its last
    /// token.
    pub(crate) fn read(
        &mut self,
        model: &Model,
        batch: &Batch<'_>,
        cache: &mut [LayerCache],
        logits: Option<&mut Vec<f32>>,
    ) -> Result<(), EngineError> {
        let config = &model.config;
        self.rotation.prepare(&model.frequencies, batch.position, batch.tokens.len());
        self.embed(model, batch.tokens);
        let last = config.layers - 1;
        for (number, (layer, cache)) in model.weights.layers.iter().zip(cache).enumerate() {
            batch.check_cancelled()?;
            self.keys_and_values(model, layer, batch, cache);
            // In the last layer, only the last token of the last batch needs attention: it gives the logits.
            let from = match (number == last, logits.is_some()) {
                (false, _) => 0,
                (true, true) => batch.tokens.len() - 1,
                (true, false) => return Ok(()),
            };
            batch.check_cancelled()?;
            self.attend(model, layer, batch.position, from, cache);
            batch.check_cancelled()?;
            self.feed_forward(model, layer);
        }
        if let Some(logits) = logits {
            batch.check_cancelled()?;
            self.logits(model, logits);
        }
        Ok(())
    }

    fn embed(&mut self, model: &Model, tokens: &[u32]) {
        let width = model.config.width;
        self.stream.resize(tokens.len() * width, 0.0);
        for (token, row) in tokens.iter().zip(self.stream.chunks_exact_mut(width)) {
            model.weights.embedding.read_row(&model.file, *token as usize, row);
        }
    }

    /// Computes queries, keys and values of all tokens. Keys and values go to the cache.
    fn keys_and_values(&mut self, model: &Model, layer: &Layer, batch: &Batch<'_>, cache: &mut LayerCache) {
        let config = &model.config;
        let tokens = batch.tokens.len();
        self.norm(&layer.attention_norm, model);
        self.queries.resize(tokens * config.query_width(), 0.0);
        self.keys.resize(tokens * config.kv_width(), 0.0);
        self.values.resize(tokens * config.kv_width(), 0.0);
        let linears = [&layer.query, &layer.key, &layer.value];
        self.normed.quantize(self.level, &mut self.pool, &families(&linears));
        let outs = [&mut self.queries, &mut self.keys, &mut self.values];
        let jobs: Vec<Job<'_>> = linears
            .into_iter()
            .zip(outs)
            .map(|(linear, out)| job(model, linear, out, WriteMode::Replace))
            .collect();
        multiply(&mut self.pool, self.level, &mut self.scratch, &self.normed, &jobs);
        self.rotate(model, layer, tokens);
        cache.store(self.level, &mut self.pool, batch.position, &self.keys, &self.values);
    }

    /// Applies head norms, if the family has them, and rotates queries and keys.
    fn rotate(&mut self, model: &Model, layer: &Layer, tokens: usize) {
        let (config, level, rotation) = (&model.config, self.level, &self.rotation);
        let (query_width, kv_width) = (config.query_width(), config.kv_width());
        let (queries, keys) = (SharedMut::new(&mut self.queries), SharedMut::new(&mut self.keys));
        self.pool.run(tokens, &|token, _| {
            // SAFETY: each token has its own rows.
            let (queries, keys) = unsafe {
                (queries.part(token * query_width, query_width), keys.part(token * kv_width, kv_width))
            };
            for (row, norm) in [(queries, &layer.query_norm), (keys, &layer.key_norm)] {
                for head in row.chunks_exact_mut(config.head_width) {
                    if let Some(weight) = norm {
                        let before = head.to_vec();
                        rms_norm(level, &before, weight, config.epsilon, head);
                    }
                    rotation.rotate(config.architecture, token, head);
                }
            }
        });
    }

    /// Computes the attention of the tokens from `from` on. Drops all others from the stream.
    fn attend(&mut self, model: &Model, layer: &Layer, position: usize, from: usize, cache: &LayerCache) {
        let config = &model.config;
        let (width, query_width) = (config.width, config.query_width());
        self.stream.drain(..from * width);
        self.queries.drain(..from * query_width);
        let tokens = self.stream.len() / width;
        self.attended.resize(tokens, query_width);
        let attention = Attention {
            level: self.level,
            heads: config.heads,
            position: position + from,
            queries: &self.queries,
            cache,
        };
        attention.run(&mut self.pool, &mut self.attention_scratch, self.attended.values_mut());
        self.attended.quantize(self.level, &mut self.pool, &families(&[&layer.attention_output]));
        let jobs = [job(model, &layer.attention_output, &mut self.stream, WriteMode::Add)];
        multiply(&mut self.pool, self.level, &mut self.scratch, &self.attended, &jobs);
    }

    fn feed_forward(&mut self, model: &Model, layer: &Layer) {
        self.norm(&layer.hidden_norm, model);
        self.normed.quantize(self.level, &mut self.pool, &families(&[&layer.gate, &layer.up]));
        self.gate(model, layer);
        self.hidden.quantize(self.level, &mut self.pool, &families(&[&layer.down]));
        let jobs = [job(model, &layer.down, &mut self.stream, WriteMode::Add)];
        multiply(&mut self.pool, self.level, &mut self.scratch, &self.hidden, &jobs);
    }

    /// Computes `silu(gate) * up`, with both products of a strip at once.
    fn gate(&mut self, model: &Model, layer: &Layer) {
        let (level, width) = (self.level, model.config.hidden);
        self.hidden.resize(self.normed.tokens(), width);
        let (gate, up) = (layer.gate.matrix.view(&model.file), layer.up.matrix.view(&model.file));
        let out = SharedMut::new(self.hidden.values_mut());
        let scratch = SharedMut::new(&mut self.scratch);
        let normed = &self.normed;
        self.pool.run(gate.strips(), &|strip, thread| {
            // SAFETY: each thread has its own scratch.
            let [gate_scratch, up_scratch] = unsafe { &mut scratch.part(thread, 1)[0] };
            let gates = gate.multiply(level, strip, normed, gate_scratch);
            let ups = up.multiply(level, strip, normed, up_scratch);
            let (first, count) = (strip * STRIP, STRIP.min(width - strip * STRIP));
            for (token, (gates, ups)) in gates.chunks_exact(STRIP).zip(ups.chunks_exact(STRIP)).enumerate() {
                let (mut gates, ups) =
                    (with_bias(gates, first, &layer.gate), with_bias(ups, first, &layer.up));
                silu_times(level, &mut gates[..count], &ups[..count]);
                // SAFETY: no other strip has these columns.
                unsafe { out.part(token * width + first, count) }.copy_from_slice(&gates[..count]);
            }
        });
    }

    /// Computes the logits after the last token of the stream.
    fn logits(&mut self, model: &Model, logits: &mut Vec<f32>) {
        let width = model.config.width;
        self.stream.drain(..self.stream.len() - width);
        self.norm(&model.weights.norm, model);
        self.normed.quantize(self.level, &mut self.pool, &[model.weights.output.kind().family()]);
        logits.resize(model.config.vocabulary, 0.0);
        let out = SharedMut::new(logits);
        let jobs = [Job {
            matrix: model.weights.output.view(&model.file),
            bias: None,
            out,
            mode: WriteMode::Replace,
        }];
        multiply(&mut self.pool, self.level, &mut self.scratch, &self.normed, &jobs);
    }

    fn norm(&mut self, weight: &[f32], model: &Model) {
        let (width, level, epsilon) = (model.config.width, self.level, model.config.epsilon);
        let tokens = self.stream.len() / width;
        self.normed.resize(tokens, width);
        let out = SharedMut::new(self.normed.values_mut());
        let stream = &self.stream;
        self.pool.run(tokens, &|token, _| {
            // SAFETY: each token has its own row.
            let out = unsafe { out.part(token * width, width) };
            rms_norm(level, &stream[token * width..][..width], weight, epsilon, out);
        });
    }
}

fn families(linears: &[&Linear]) -> Vec<Family> {
    linears.iter().map(|linear| linear.matrix.kind().family()).collect()
}

fn with_bias(sums: &[f32], first: usize, linear: &Linear) -> [f32; STRIP] {
    let mut own = [0.0; STRIP];
    own.copy_from_slice(sums);
    if let Some(bias) = &linear.bias {
        add(&mut own, &bias[first..]);
    }
    own
}
