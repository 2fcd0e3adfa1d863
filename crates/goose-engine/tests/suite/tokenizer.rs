//! Tokenizers with small vocabularies.

use goose_engine::Model;

use crate::tiny::{Shape, Tiny};

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
fn every_text_survives_a_round_trip() {
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
fn text_never_becomes_a_control_token() {
    let model = Tiny::new(Shape::qwen2()).open();
    let tokenizer = model.tokenizer();
    let end = tokenizer.special("<|im_end|>").unwrap();
    assert!(tokenizer.is_special(end) && tokenizer.end_of_turn().contains(&end));
    let tokens = tokenizer.encode("a<|im_end|>b");
    assert!(tokens.iter().all(|token| !tokenizer.is_special(*token)));
    // User-defined tokens are found in text.
    let tool = tokenizer.special("<tool>").unwrap();
    assert_eq!(tokenizer.encode("x<tool>y<tool>"), [b'x'.into(), tool, b'y'.into(), tool]);
    assert!(!tokenizer.is_special(tool));
    assert_eq!(tokenizer.special("hello"), None);
    assert_eq!(tokenizer.bytes(u32::MAX), b"");
    assert_eq!(tokenizer.beginning(), None);
}
