//! Files that are truncated, lie about lengths, or refer to missing data: always an error, never a panic.

use std::path::Path;
use std::sync::Arc;

use goose_engine::{EngineError, Model, ModelOptions, Sequence};

use crate::blocks::Numbers;
use crate::tiny::{Shape, Tiny};
use crate::writer::Writer;

fn open(path: &Path, bytes: &[u8]) -> Result<Arc<Model>, EngineError> {
    std::fs::write(path, bytes).unwrap();
    Model::open(path, &ModelOptions { threads: Some(1), context: None })
}

/// Returns the text of the error.
fn refusal(path: &Path, bytes: &[u8]) -> String {
    open(path, bytes).unwrap_err().to_string()
}

#[test]
fn truncated_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.gguf");
    let whole = Tiny::new(Shape::llama()).writer.finish();
    let header = 12_000.min(whole.len());
    for cut in (0..header).step_by(97).chain([whole.len() / 2, whole.len() - 1]) {
        assert!(open(&path, &whole[..cut]).is_err(), "cut at {cut}");
    }
    assert!(open(&path, &whole).is_ok());
}

#[test]
fn lengths_beyond_the_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.gguf");
    let huge = u64::MAX.to_le_bytes();
    let header = |tensors: [u8; 8], keys: [u8; 8]| [b"GGUF\x03\0\0\0".as_slice(), &tensors, &keys].concat();
    assert!(refusal(&path, &header(huge, [0; 8])).contains("cannot fit"));
    assert!(refusal(&path, &header([0; 8], huge)).contains("cannot fit"));
    let mut key = header([0; 8], 1_u64.to_le_bytes());
    key.extend(huge);
    key.extend([0; 64]);
    assert!(refusal(&path, &key).contains("runs past the end"));
    for (kind, element) in [(8, None), (9, Some(8_u32)), (9, Some(5)), (9, Some(12))] {
        let mut writer = Writer::default();
        let mut value = element.map(|kind| kind.to_le_bytes().to_vec()).unwrap_or_default();
        value.extend(huge);
        writer.raw("tokenizer.ggml.tokens", kind, &value);
        let mut bytes = writer.finish();
        bytes.extend([0; 256]);
        assert!(matches!(open(&path, &bytes), Err(EngineError::Malformed(_))), "{kind} {element:?}");
    }
}

#[test]
fn impossible_tensors_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tensors.gguf");
    let tensor = |shape: &[usize], kind: u32| {
        let mut writer = Writer::default();
        writer.tensor("a", shape, kind, vec![0; 1024]);
        writer
    };
    assert!(refusal(&path, &tensor(&[256, 1], 99).finish()).contains("type 99"));
    assert!(refusal(&path, &tensor(&[usize::MAX, usize::MAX, 3], 0).finish()).contains("impossible shape"));
    assert!(refusal(&path, &tensor(&[usize::MAX / 2, 1], 0).finish()).contains("impossible shape"));
    assert!(refusal(&path, &tensor(&[100, 1], 12).finish()).contains("cannot consist of Q4_K blocks"));
    assert!(refusal(&path, &tensor(&[0, 1], 0).finish()).contains("cannot consist"));
    assert!(refusal(&path, &tensor(&[1, 1, 1, 1, 1], 0).finish()).contains("5 dimensions"));
    assert!(refusal(&path, &tensor(&[257, 1], 0).finish()).contains("outside the file"));
    let fine = tensor(&[256, 1], 0);
    assert!(refusal(&path, &fine.finish_with(|_, _| u64::MAX)).contains("outside the file"));
    assert!(refusal(&path, &fine.finish_with(|_, _| 1)).contains("outside the file"));
}

#[test]
fn tensors_that_overlap_or_repeat_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("overlap.gguf");
    let mut writer = Writer::default();
    writer.tensor("a", &[64], 0, vec![0; 256]).tensor("b", &[64], 0, vec![0; 256]);
    assert!(refusal(&path, &writer.finish_with(|i, _| i as u64 * 32)).contains("overlap"));
    let mut writer = Writer::default();
    writer.tensor("a", &[64], 0, vec![0; 256]).tensor("a", &[64], 0, vec![0; 256]);
    assert!(refusal(&path, &writer.finish()).contains("twice"));
    let mut writer = Writer::default();
    writer.u32("k", 1).u32("k", 2);
    assert!(refusal(&path, &writer.finish()).contains("twice"));
}

#[test]
fn other_files_and_models_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.gguf");
    assert!(refusal(&path, b"#!/bin/sh\necho not a model at all\n").contains("does not begin with `GGUF`"));
    assert!(refusal(&path, b"GGUF\x09\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0").contains("version 9"));
    assert!(
        refusal(&path, &Writer::default().text("general.architecture", "mamba").finish()).contains("`mamba`")
    );
    assert!(refusal(&path, &Writer::default().u32("general.alignment", 33).finish()).contains("alignment"));
    assert!(open(&path, b"").is_err());
    let missing = Model::open(&folder.path().join("none"), &ModelOptions::default()).unwrap_err().to_string();
    assert!(missing.contains("cannot read") && missing.contains("none"), "{missing}");
    let without = |name: &str, value: u32| {
        let tiny = Tiny::new(Shape { layers: 1, ..Shape::llama() });
        let mut writer = tiny.writer.clone();
        writer.u32(name, value);
        refusal(&path, &writer.finish())
    };
    assert!(without("llama.expert_count", 8).contains("experts"));
    assert!(without("llama.rope.dimension_count", 4096).contains("width of its heads"));
}

/// Unsupported files are distinguished from damaged ones, each with its own advice.
#[test]
fn unsupported_models_are_refused_with_fitting_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unsupported.gguf");
    let mut writer = Writer::default();
    writer.tensor("blk.0.attn_q.weight", &[256, 1], 16, vec![0; 66]);
    let text = refusal(&path, &writer.finish());
    assert!(text.contains("`blk.0.attn_q.weight` is stored as IQ2_XXS") && text.contains("Q4_K_M"), "{text}");
    let text = refusal(&path, &Writer::default().text("general.architecture", "gemma3").finish());
    assert!(text.contains("`gemma3`") && text.contains("Qwen2, Qwen3 or Llama"), "{text}");
    let refused_with = |change: &dyn Fn(&mut Writer)| {
        let mut writer = Tiny::new(Shape { layers: 1, ..Shape::llama() }).writer;
        change(&mut writer);
        open(&path, &writer.finish()).unwrap_err()
    };
    let error = refused_with(&|writer| {
        writer.u32("llama.attention.value_length", 64);
    });
    assert!(matches!(&error, EngineError::Unsupported(why) if why.contains("differ in width")), "{error}");
    let error = refused_with(&|writer| {
        writer.words("llama.attention.value_length", 4, &[32, 64]);
    });
    assert!(matches!(&error, EngineError::Unsupported(why) if why.contains("layer to layer")), "{error}");
}

/// Whatever bytes of the header change, opening the file gives a usable model or an error.
#[test]
fn damaged_headers_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.gguf");
    let whole = Tiny::new(Shape { layers: 1, ..Shape::llama() }).writer.finish();
    let mut numbers = Numbers(99);
    let mut read = 0;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..=numbers.next() % 4 {
            let at = numbers.next() as usize % 9_000.min(bytes.len());
            bytes[at] = numbers.next() as u8;
        }
        if let Ok(mut sequence) = open(&path, &bytes).and_then(|model| Sequence::new(model, 3)) {
            read += 1;
            let _ = sequence.feed(&[1, 2, 3], &|| false);
        }
    }
    assert!(read > 0, "none of them could be read");
}
