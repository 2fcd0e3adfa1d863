//! A SentencePiece vocabulary on a tiny llama.

use goose_engine::{Model, ModelOptions};
use goose_test_support::tiny_model;

#[test]
fn pieces_are_joined_by_score_and_fall_back_to_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pieces.gguf");
    tiny_model::write_pieces(&path, None).unwrap();
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
