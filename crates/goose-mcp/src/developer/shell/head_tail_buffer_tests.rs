//! The parts of an output that are kept, whatever it is and however it arrives.

use proptest::prelude::*;

use super::*;

fn kept(output: &[u8], size: usize) -> HeadTailBuffer {
    let mut kept = HeadTailBuffer::default();
    for chunk in output.chunks(size.max(1)) {
        kept.push(chunk);
    }
    kept
}

fn is_subslice_at_ends(output: &[u8], cut: &Cut<'_>) -> bool {
    output.starts_with(cut.head) && output.ends_with(cut.tail)
}

#[test]
fn a_short_output_is_whole() {
    let output = vec![b'x'; HEAD_BYTES + TAIL_BYTES];
    for size in [1, 1000, output.len()] {
        let kept = kept(&output, size);
        let (head, tail) = kept.everything().unwrap();
        assert_eq!([head, tail].concat(), output);
        assert_eq!(kept.shown(), Shown::Whole(head, tail));
    }
}

#[test]
fn lines_are_not_cut_where_an_end_is_near() {
    let output: Vec<u8> = (0..50_000).flat_map(|number| format!("line {number}\n").into_bytes()).collect();
    let kept = kept(&output, 8192);
    let Shown::Cut(cut) = kept.shown() else { panic!("{kept:?}") };
    assert!(cut.head.ends_with(b"\n") && cut.tail.starts_with(b"line "));
    assert!(is_subslice_at_ends(&output, &cut));
    assert_eq!(cut.missing_lines, 50_000 - count_lines(cut.head) - count_lines(cut.tail));
    assert!(kept.everything().is_none());
}

/// Every cut point of every length of character, in one line that is longer than what is kept.
#[test]
fn no_cut_goes_through_a_character() {
    for letter in ["a", "é", "€", "🦀"] {
        for shift in 0..4 {
            for end in 0..4 {
                let line = "x".repeat(shift)
                    + &letter.repeat((HEAD_BYTES + TAIL_BYTES) * 2 / letter.len())
                    + &"y".repeat(end);
                for size in [4093, line.len()] {
                    let kept = kept(line.as_bytes(), size);
                    let Shown::Cut(cut) = kept.shown() else { panic!("short") };
                    assert!(std::str::from_utf8(cut.head).is_ok() && std::str::from_utf8(cut.tail).is_ok());
                    assert!(is_subslice_at_ends(line.as_bytes(), &cut));
                    let shown = (cut.head.len() + cut.tail.len()) as u64;
                    assert_eq!(cut.missing_bytes + shown, line.len() as u64);
                    assert!(shown > (HEAD_BYTES + TAIL_BYTES - 2 * NEAR_BYTES) as u64);
                }
            }
        }
    }
}

#[test]
fn broken_ends_are_found_at_every_cut() {
    let text = "aé€🦀";
    for cut in 0..=text.len() {
        let (before, after) = text.as_bytes().split_at(cut);
        let whole = (0..=cut).rev().find(|&at| text.is_char_boundary(at)).unwrap();
        assert_eq!(without_broken_end(before), &text.as_bytes()[..whole], "{cut}");
        let next = (cut..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap();
        assert_eq!(without_broken_start(after), &text.as_bytes()[next..], "{cut}");
    }
    assert_eq!(without_broken_end(b"a\xff"), b"a\xff", "not the start of anything");
}

proptest! {
    /// Any bytes, in chunks of any size: the ends are right, the sums are right, the memory is bounded.
    #[test]
    fn any_output_in_any_chunks(
        piece in prop::collection::vec(any::<u8>(), 1..400),
        times in 1_usize..600,
        size in 1_usize..70_000,
    ) {
        let output = piece.repeat(times);
        let kept = kept(&output, size);
        prop_assert_eq!(kept.total(), output.len() as u64);
        prop_assert!(kept.head.len() + kept.tail.len() <= HEAD_BYTES + 2 * TAIL_BYTES);
        match kept.shown() {
            Shown::Whole(head, tail) => prop_assert_eq!([head, tail].concat(), output),
            Shown::Cut(cut) => {
                prop_assert!(is_subslice_at_ends(&output, &cut));
                let shown = (cut.head.len() + cut.tail.len()) as u64;
                prop_assert_eq!(cut.missing_bytes + shown, output.len() as u64);
                prop_assert_eq!(
                    cut.missing_lines + count_lines(cut.head) + count_lines(cut.tail),
                    count_lines(&output)
                );
            }
        }
    }
}
