//! Forward pass against the reference, and its guarantees about batches, threads and instruction sets.

use std::cell::Cell;

use goose_engine::{EngineError, Instructions, Model, ModelOptions, Sequence};

use crate::blocks::{Kind, Numbers};
use crate::reference;
use crate::tiny::{Rope, Scaling, Shape, Tiny};

const NOT_CANCELLED: &dyn Fn() -> bool = &|| false;

fn some_tokens(count: usize) -> Vec<u32> {
    let mut numbers = Numbers(11);
    (0..count).map(|_| numbers.next() % 300).collect()
}

/// Returns the distance of the logits from the reference, relative to their size.
fn error(got: &[f32], wanted: &[f64]) -> f64 {
    let size = wanted.iter().map(|value| value * value).sum::<f64>().sqrt();
    got.iter().zip(wanted).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum::<f64>().sqrt() / size
}

/// Compares after 1, 2, 70 and 75 tokens: the cache has blocks of 64.
fn compare(shape: Shape, tolerance: f64) {
    let tiny = Tiny::new(shape);
    let model = tiny.open();
    let tokens = some_tokens(75);
    let wanted = reference::logits(&tiny, &tokens);
    let mut sequence = Sequence::new(model, 100).unwrap();
    let mut read = 0;
    for upto in [1, 2, 70, 75] {
        let got = sequence.feed(&tokens[read..upto], NOT_CANCELLED).unwrap();
        let error = error(got, &wanted[upto - 1]);
        assert!(error < tolerance, "{:?}: error {error} after {upto} tokens", tiny.shape);
        read = upto;
    }
    assert_eq!(sequence.tokens(), tokens);
}

#[test]
fn all_families_agree_with_the_reference_in_full_precision() {
    for shape in [Shape::qwen2(), Shape::qwen3(), Shape::llama()] {
        compare(shape.in_full(), 2e-3);
    }
}

#[test]
fn all_families_agree_with_the_reference_quantized() {
    for shape in [Shape::qwen2(), Shape::qwen3(), Shape::llama()] {
        compare(shape, 0.06);
    }
}

#[test]
fn tied_and_untied_biased_and_plain_agree_with_the_reference() {
    compare(Shape { tied: true, biases: false, ..Shape::qwen2().in_full() }, 2e-3);
    compare(Shape { tied: true, kinds: vec![Kind::Q6K, Kind::Q8_0], ..Shape::qwen2() }, 0.06);
    compare(Shape { tied: false, head_norms: true, ..Shape::qwen3().in_full() }, 2e-3);
    compare(Shape { heads: 7, kv_heads: 1, head_width: 16, ..Shape::llama().in_full() }, 2e-3);
}

#[test]
fn every_format_agrees_with_the_reference() {
    for kind in [
        Kind::F16,
        Kind::Q4_0,
        Kind::Q8_0,
        Kind::Iq4Nl,
        Kind::Q2K,
        Kind::Q3K,
        Kind::Q4K,
        Kind::Q5K,
        Kind::Q6K,
        Kind::Iq4Xs,
    ] {
        compare(Shape { kinds: vec![kind], ..Shape::qwen2() }, 0.06);
    }
}

#[test]
fn position_scalings_agree_with_the_reference() {
    let yarn = |attention| Scaling::Yarn { factor: 4.0, original: 160, attention };
    for scaling in [Scaling::None, Scaling::Linear(2.5), Scaling::OldLinear(2.5), yarn(None), yarn(Some(0.8))]
    {
        for has_factors in [false, true] {
            for shape in [Shape::qwen2(), Shape::llama()] {
                for width in [None, Some(16)] {
                    let rope = Rope { width, scaling, has_factors };
                    compare(Shape { rope, layers: 1, ..shape.clone().in_full() }, 2e-3);
                }
            }
        }
    }
}

#[test]
fn pieces_give_the_same_bits_as_the_whole() {
    for shape in [Shape::qwen2(), Shape::qwen3(), Shape::llama()] {
        let tiny = Tiny::new(shape);
        let tokens = some_tokens(300);
        let mut whole = Sequence::new(tiny.open(), 300).unwrap();
        let wanted = whole.feed(&tokens, NOT_CANCELLED).unwrap().to_vec();
        let mut pieces = Sequence::new(tiny.open(), 640).unwrap();
        let mut got = Vec::new();
        let mut rest = tokens.as_slice();
        for size in [1, 1, 61, 2, 100, 3, 1, 131] {
            let (piece, after) = rest.split_at(size);
            got = pieces.feed(piece, NOT_CANCELLED).unwrap().to_vec();
            rest = after;
        }
        assert!(rest.is_empty() && got == wanted, "{:?}", tiny.shape);
    }
}

#[test]
fn all_instructions_and_thread_counts_give_the_same_bits() {
    let tiny = Tiny::new(Shape::qwen2());
    let tokens = some_tokens(80);
    let run = |model| Sequence::new(model, 80).unwrap().feed(&tokens, NOT_CANCELLED).unwrap().to_vec();
    let wanted = run(tiny.open());
    for instructions in Instructions::all() {
        assert!(run(tiny.open_with(instructions)) == wanted, "{instructions:?}");
    }
}

#[test]
fn truncated_tokens_leave_no_trace() {
    let tiny = Tiny::new(Shape::qwen2());
    let tokens = some_tokens(90);
    let mut sequence = Sequence::new(tiny.open(), 200).unwrap();
    let wanted = sequence.feed(&tokens, NOT_CANCELLED).unwrap().to_vec();
    sequence.feed(&some_tokens(50), NOT_CANCELLED).unwrap();
    sequence.keep(40);
    assert_eq!(sequence.tokens(), &tokens[..40]);
    assert!(sequence.feed(&tokens[40..], NOT_CANCELLED).unwrap() == wanted);
}

#[test]
fn a_cancelled_feed_stops_between_steps_and_can_be_resumed() {
    let tiny = Tiny::new(Shape::qwen2());
    let tokens = some_tokens(300);
    let mut sequence = Sequence::new(tiny.open(), 300).unwrap();
    let asked = Cell::new(0);
    let ask_until = |last: usize| {
        asked.set(0);
        let asked = &asked;
        move || {
            asked.set(asked.get() + 1);
            asked.get() > last
        }
    };
    let wanted = sequence.feed(&tokens, &ask_until(usize::MAX)).unwrap().to_vec();
    let questions = asked.get();
    // Two batches of two layers with three steps each, and the logits. The first batch ends with the keys
    // of the last layer.
    assert_eq!(questions, 4 + 7);
    for last in 0..questions {
        sequence.keep(0);
        let outcome = sequence.feed(&tokens, &ask_until(last));
        assert!(matches!(outcome, Err(EngineError::Cancelled)));
        let read = if last < 4 { 0 } else { 256 };
        assert_eq!(sequence.tokens(), &tokens[..read]);
        assert!(sequence.feed(&tokens[read..], NOT_CANCELLED).unwrap() == wanted, "after {last} questions");
    }
}

#[test]
fn tokens_that_do_not_fit_or_exist_are_refused() {
    let tiny = Tiny::new(Shape::qwen2());
    let model = tiny.open();
    let mut sequence = Sequence::new(model.clone(), 10).unwrap();
    let refused = |outcome: Result<&[f32], EngineError>| outcome.unwrap_err().to_string();
    assert!(
        refused(sequence.feed(&some_tokens(11), NOT_CANCELLED))
            .contains("11 tokens do not fit in a context of 10")
    );
    assert!(refused(sequence.feed(&[300], NOT_CANCELLED)).contains("token 300 is outside"));
    assert!(refused(sequence.feed(&[], NOT_CANCELLED)).contains("feed at least one"));
    assert!(sequence.tokens().is_empty());
    assert!(Sequence::new(model.clone(), 641).is_err());
    assert!(Sequence::new(model, 0).is_err());
    let small = Model::open(&tiny.path(), &ModelOptions { threads: None, context: Some(64) }).unwrap();
    assert!(Sequence::new(small, 65).is_err());
}

#[test]
fn facts_describe_the_model() {
    let tiny = Tiny::new(Shape::qwen3());
    let model = tiny.open();
    let facts = model.info();
    assert_eq!((facts.name.as_str(), facts.architecture.as_str()), ("tiny", "qwen3"));
    assert_eq!((facts.context_length, facts.vocabulary), (640, 300));
    assert_eq!(facts.parameters, tiny.weights.values().map(|values| values.len() as u64).sum::<u64>());
    assert_eq!(facts.chat_template, None);
    assert!(["Q8_0", "Q4_K"].contains(&facts.quantization.as_str()));
}
