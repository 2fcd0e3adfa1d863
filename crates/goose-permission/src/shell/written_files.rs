//! Files that a command is known to write: those that it edits in place, replaces or removes.
//!
//! This covers programs whose words name the files. Others (`make`, `python x.py`, `git restore`) may write
//! anything.

use super::word::Word;

/// Files that a command writes.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles {
    /// Files that are changed or removed.
    pub(crate) named: Vec<Word>,
    /// Sources and the target of a copy. The target is a file, or a folder in which the sources keep their
    /// names.
    pub(crate) copied: Option<(Vec<Word>, Word)>,
}

/// Options of a program that have values. The values are not files that it writes.
struct Valued {
    /// Letters whose value is the rest of the word, or the next word.
    letters: &'static str,
    /// Letters whose value is the rest of the word, even if that is empty.
    attached: &'static str,
    long: &'static [&'static str],
}

const NONE: Valued = Valued { letters: "", attached: "", long: &[] };

/// Returns the files that a command is known to write.
pub(crate) fn written_files(words: &[Word]) -> WrittenFiles {
    let Some((program, rest)) = words.split_first() else { return WrittenFiles::default() };
    match program.program().unwrap_or_default() {
        "rm" | "rmdir" | "tee" | "unlink" => named(Arguments::new(rest, &NONE).operands),
        "touch" => {
            let valued = Valued { letters: "drt", long: &["--date", "--reference", "--time"], ..NONE };
            named(Arguments::new(rest, &valued).operands)
        }
        "shred" => named(Arguments::new(rest, &Valued { letters: "ns", ..NONE }).operands),
        "truncate" => {
            let valued = Valued { letters: "rs", long: &["--reference", "--size"], ..NONE };
            named(Arguments::new(rest, &valued).operands)
        }
        "sed" => {
            let long = &["--expression", "--file", "--line-length"];
            edited(rest, &Valued { letters: "efl", attached: "i", long })
        }
        "perl" => edited(rest, &Valued { letters: "eE", attached: "CDFIMimx", long: &[] }),
        "sort" => {
            let valued = Valued { letters: "STkot", long: &["--output"], ..NONE };
            named(Arguments::new(rest, &valued).value(&["o", "--output"]).into_iter().collect())
        }
        "dd" => {
            let texts = rest.iter().filter_map(|word| word.text.as_deref());
            named(texts.filter_map(|text| text.strip_prefix("of=")).map(Word::literal).collect())
        }
        "cp" | "ln" => copied(rest, "St"),
        "install" => copied(rest, "Sgmot"),
        "mv" => {
            let moved = copied(rest, "St");
            let named = moved.copied.iter().flat_map(|(sources, _)| sources).cloned().collect();
            WrittenFiles { named, ..moved }
        }
        _ => WrittenFiles::default(),
    }
}

fn named(named: Vec<Word>) -> WrittenFiles {
    WrittenFiles { named, copied: None }
}

/// Returns the files of `sed -i` and `perl -i`: all operands after the script, which may be an option
/// instead.
fn edited(rest: &[Word], valued: &Valued) -> WrittenFiles {
    let arguments = Arguments::new(rest, valued);
    if !arguments.has(&["i", "--in-place"]) {
        return WrittenFiles::default();
    }
    let has_script = arguments.has(&["e", "E", "f", "--expression", "--file"]);
    named(arguments.operands.into_iter().skip(usize::from(!has_script)).collect())
}

/// Returns the files of `cp`. The target is the last operand, or the value of an option.
fn copied(rest: &[Word], letters: &'static str) -> WrittenFiles {
    let long = &["--group", "--mode", "--owner", "--suffix", "--target-directory"];
    let arguments = Arguments::new(rest, &Valued { letters, long, ..NONE });
    let target = arguments.value(&["t", "--target-directory"]);
    let mut sources = arguments.operands;
    let target = target.or_else(|| sources.pop()).filter(|_| !sources.is_empty());
    WrittenFiles { named: Vec::new(), copied: target.map(|target| (sources, target)) }
}

/// Words of a command after its program.
struct Arguments {
    /// Options by letter or long name, with their values.
    options: Vec<(String, Option<Word>)>,
    operands: Vec<Word>,
}

impl Arguments {
    fn new(rest: &[Word], valued: &Valued) -> Self {
        let mut arguments = Self { options: Vec::new(), operands: Vec::new() };
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match word.text.as_deref() {
                Some("--") => arguments.operands.extend(words.by_ref().cloned()),
                Some(text) if text.starts_with("--") => {
                    let (name, value) = match text.split_once('=') {
                        Some((name, value)) => (name, Some(Word::literal(value))),
                        None if valued.long.contains(&text) => (text, words.next().cloned()),
                        None => (text, None),
                    };
                    arguments.options.push((name.to_owned(), value));
                }
                Some(text) if text.len() > 1 && text.starts_with('-') => {
                    arguments.read_letters(&text[1..], valued, &mut words);
                }
                _ => arguments.operands.push(word.clone()),
            }
        }
        arguments
    }

    /// Reads letters up to the first one with a value.
    fn read_letters(&mut self, text: &str, valued: &Valued, words: &mut std::slice::Iter<'_, Word>) {
        for (at, letter) in text.char_indices() {
            let own = &text[at + letter.len_utf8()..];
            let is_valued = valued.letters.contains(letter);
            let value = match own {
                "" if is_valued => words.next().cloned(),
                own if is_valued || valued.attached.contains(letter) => Some(Word::literal(own)),
                _ => None,
            };
            let is_last = value.is_some();
            self.options.push((letter.to_string(), value));
            if is_last {
                return;
            }
        }
    }

    fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    fn value(&self, names: &[&str]) -> Option<Word> {
        self.options.iter().find(|(name, _)| names.contains(&name.as_str()))?.1.clone()
    }
}
