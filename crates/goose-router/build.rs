//! Turns the word lists of the router into tables that are looked up where they lie in the binary. Reading the lists
//! took a third of what goose computes before its first request.

/// The parts of the router that the tables are made with.
#[expect(dead_code, reason = "the router uses the rest")]
#[path = "src"]
mod router {
    pub(crate) mod table;
    pub(crate) mod words;
}

use std::{collections::BTreeMap, env, error::Error, fs, path::Path};

use router::{table::hash, words::stem};

fn main() -> Result<(), Box<dyn Error>> {
    for file in ["data/lexicon.txt", "data/frequent_words.txt", "src/table.rs", "src/words.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    write_tables("lexicon", stem)?;
    write_tables("frequent_words", str::to_owned)
}

/// Reads a list: each line has the name of a class and words of it. Writes the names of the classes, and the table of
/// the words in the form in which they are looked up.
#[expect(clippy::disallowed_methods, reason = "a build script writes into its own folder")]
fn write_tables(list: &str, form: fn(&str) -> String) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(format!("data/{list}.txt"))?;
    let (mut names, mut words) = (Vec::new(), BTreeMap::new());
    for (name, line) in text.lines().filter_map(|line| line.split_once(':')) {
        let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        for word in line.split_ascii_whitespace() {
            *words.entry(form(word)).or_default() |= 1_u64 << at;
        }
    }
    let classes: BTreeMap<u32, u64> = words.iter().map(|(word, bits)| (hash(&[word]), *bits)).collect();
    if classes.len() < words.len() {
        return Err(format!("two words of {list}.txt have the same hash").into());
    }
    let mut table = u32::try_from(classes.len())?.to_le_bytes().to_vec();
    for (hash, bits) in classes {
        table.extend(hash.to_le_bytes());
        table.extend(bits.to_le_bytes());
    }
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join(format!("{list}.rs")), format!("&{names:?}"))?;
    fs::write(Path::new(&folder).join(format!("{list}.bin")), table)?;
    Ok(())
}
