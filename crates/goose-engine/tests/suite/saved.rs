//! Saved sequences.

use goose_engine::{EngineError, Sequence};

use crate::blocks::Numbers;
use crate::tiny::{Shape, Tiny};

const NOT_CANCELLED: &dyn Fn() -> bool = &|| false;

fn some_tokens(count: usize) -> Vec<u32> {
    let mut numbers = Numbers(5);
    (0..count).map(|_| numbers.next() % 300).collect()
}

#[test]
fn a_loaded_sequence_continues_like_the_saved_one() {
    let tiny = Tiny::new(Shape::qwen2());
    let file = tiny.path().with_file_name("state");
    let mut sequence = Sequence::new(tiny.open(), 200).unwrap();
    sequence.feed(&some_tokens(100), NOT_CANCELLED).unwrap();
    sequence.save(&file).unwrap();
    let facts = std::fs::metadata(&file).unwrap();
    assert_eq!(sequence.saved_bytes(), facts.len());
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&facts.permissions()) & 0o777, 0o600);
    let wanted = sequence.feed(&[7, 8], NOT_CANCELLED).unwrap().to_vec();
    // Another process has another model object, and may have another capacity.
    let mut loaded = Sequence::load(tiny.open(), &file, 300).unwrap();
    assert_eq!(loaded.tokens(), some_tokens(100));
    assert!(loaded.feed(&[7, 8], NOT_CANCELLED).unwrap() == wanted);
    let left: Vec<_> = std::fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 2, "only the model and the state are left: {left:?}");
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let tiny = Tiny::new(Shape::qwen2());
    let file = tiny.path().with_file_name("state");
    let mut sequence = Sequence::new(tiny.open(), 100).unwrap();
    sequence.feed(&some_tokens(70), NOT_CANCELLED).unwrap();
    sequence.save(&file).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let refused = |bytes: &[u8], capacity: usize| {
        std::fs::write(&file, bytes).unwrap();
        matches!(Sequence::load(tiny.open(), &file, capacity), Err(EngineError::StaleState(_)))
    };
    assert!(!refused(&whole, 100));
    assert!(refused(&whole, 60), "too many tokens");
    for cut in [0, 7, 8, 31, 100, whole.len() / 2, whole.len() - 1] {
        assert!(refused(&whole[..cut], 100), "cut at {cut}");
    }
    for at in [0, 9, 16, 17, 24, 33, 400, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        assert!(refused(&damaged, 100), "damaged at {at}");
    }
    std::fs::write(&file, &whole).unwrap();
    let other = Tiny::new(Shape { biases: false, ..Shape::qwen2() });
    let outcome = Sequence::load(other.open(), &file, 100);
    assert!(matches!(outcome, Err(EngineError::StaleState(why)) if why.contains("another model")));
    assert!(matches!(
        Sequence::load(tiny.open(), &file.with_file_name("none"), 100),
        Err(EngineError::Read { .. })
    ));
}
