//! The order of the training. The splitter learns from probabilities for requests that the classifier has not seen, as it will be
//! later: for each quarter of the examples, they come from a classifier that learned from the rest.

use std::collections::HashMap;

use crate::{
    agents::catalog::AgentCatalog,
    column::fine,
    examples::{Random, Tasks},
    modes::{self, Labelled},
    order,
    router::{
        abilities::{Ability, abilities},
        classifier::{COUNT, Classifier, Weights},
        decision::probabilities,
        lattice::{Lattice, MODES, start_hash},
        pieces::Request,
    },
    splits::{self, Split},
};

/// The parts of the examples, of which one at a time is left out.
const FOLDS: usize = 4;

/// The weight of a request for one mode in the training of the splitter; there are many, and most are short.
const OF_SINGLE: f32 = 0.5;

/// Pairs of requests for one mode that are joined to a request for two, and how much each counts.
const JOINED: usize = 4_000;
const OF_JOINED: f32 = 0.3;

/// The longest request that is joined to another, in bytes.
const MAX_JOINED_BYTES: usize = 110;

/// The ways in which two requests are joined.
const JOINS: [&str; 12] = [
    " and ",
    " and ",
    ", and ",
    ", ",
    ". ",
    ". ",
    "; ",
    ". Also, ",
    " and then ",
    ", then ",
    ". Then ",
    "\n- ",
];

/// Trains all weights. Returns the weights file.
pub(crate) fn train(examples: &[Tasks]) -> Vec<u8> {
    let catalog = AgentCatalog::builtin();
    let abilities = abilities(&catalog);
    let labelled: Vec<Vec<Labelled>> = examples.iter().map(labelled).collect();
    let folds: Vec<Vec<u8>> = (0..FOLDS).map(|fold| without(fold, examples, &labelled)).collect();
    let lattice = |request: &Request, fold: usize| lattice(request, &folds[fold % FOLDS], &abilities);
    let mut found: Vec<Split> = Vec::new();
    for (at, tasks) in examples.iter().enumerate().filter(|(_, tasks)| tasks.request.pieces.len() > 1) {
        let weight = if tasks.cuts.is_empty() && !tasks.labels.is_empty() { OF_SINGLE } else { 1.0 };
        let (cuts, labels) = (tasks.cuts.clone(), tasks.labels.clone());
        found.push(Split { lattice: lattice(&tasks.request, at), cuts, labels, weight });
    }
    for (tasks, at) in joined(examples) {
        let Tasks { request, cuts, labels, .. } = tasks;
        found.push(Split { lattice: lattice(&request, at), cuts, labels, weight: OF_JOINED });
    }
    let compound: Vec<&Tasks> = examples.iter().filter(|tasks| tasks.labels.len() > 1).collect();
    let mut file = first_tables(examples, &labelled, |_| true);
    file.extend(table(splits::train(&found)));
    file.extend(table(order::train(&compound)));
    file
}

/// The tasks of an example whose modes are known.
fn labelled(tasks: &Tasks) -> Vec<Labelled> {
    let parts = tasks.parts();
    parts.iter().map(|part| Labelled::new(&tasks.request, part.start, part.end, part.label)).collect()
}

fn without(fold: usize, examples: &[Tasks], labelled: &[Vec<Labelled>]) -> Vec<u8> {
    first_tables(examples, labelled, |at| at % FOLDS != fold)
}

/// The tables of the classifier and of the words that requests begin with.
fn first_tables(examples: &[Tasks], labelled: &[Vec<Labelled>], keeps: impl Fn(usize) -> bool) -> Vec<u8> {
    let kept: Vec<usize> = (0..examples.len()).filter(|at| keeps(*at)).collect();
    let learned: Vec<&Labelled> = kept.iter().flat_map(|at| &labelled[*at]).collect();
    let mut file = table(modes::train(&learned));
    file.extend(table(starts(kept.iter().map(|at| &examples[*at]))));
    file
}

/// The logarithm of how much rather a task begins with a word than has it elsewhere.
fn starts<'a>(examples: impl Iterator<Item = &'a Tasks>) -> Vec<(u32, Vec<u8>)> {
    let mut counts: HashMap<u32, (f32, f32)> = HashMap::new();
    for tasks in examples {
        for part in tasks.parts() {
            let words = tasks.request.words_of(part.start, part.end);
            for (at, word) in tasks.request.words[words].iter().enumerate() {
                let (first, others) = counts.entry(start_hash(&word.stem)).or_default();
                *if at == 0 { first } else { others } += 1.0;
            }
        }
    }
    let often = counts.into_iter().filter(|(_, (first, others))| first + others > 1.0);
    let odds = |(first, others): (f32, f32)| ((first + 0.5) / (others + 0.5)).ln() + 1.5;
    often.map(|(hash, counts)| (hash, fine(odds(counts)).to_le_bytes().to_vec())).collect()
}

pub(crate) fn lattice(request: &Request, file: &[u8], abilities: &[Ability; COUNT]) -> Lattice {
    let weights = Weights::new(file);
    let classifier = Classifier::new(weights.modes, &request.words);
    Lattice::new(request, weights.starts, |words| {
        let mut found = [0.0; MODES];
        found[..COUNT].copy_from_slice(&probabilities(&classifier, abilities, &request.words, words));
        found
    })
}

/// Requests made of two requests for one mode each, with the place of the first one.
fn joined(examples: &[Tasks]) -> Vec<(Tasks, usize)> {
    let is_short = |tasks: &Tasks| tasks.labels.len() == 1 && tasks.text.len() < MAX_JOINED_BYTES;
    let short: Vec<usize> = (0..examples.len()).filter(|at| is_short(&examples[*at])).collect();
    let mut random = Random::default();
    let mut found = Vec::new();
    for _ in 0..JOINED {
        let (one, two) = (short[random.below(short.len())], short[random.below(short.len())]);
        let join = JOINS[random.below(JOINS.len())];
        // Both are unknown to the same classifier.
        if one % FOLDS == two % FOLDS && examples[one].labels != examples[two].labels {
            found.extend(join_two(&examples[one], &examples[two], join).map(|tasks| (tasks, one)));
        }
    }
    found
}

fn join_two(one: &Tasks, two: &Tasks, join: &str) -> Option<Tasks> {
    let first = one.text.trim_end_matches(['.', '!']);
    let first = if join.starts_with('\n') { format!("- {first}") } else { first.to_owned() };
    let mut second = two.text.chars();
    let initial = second.next()?;
    let initial = if join == ". " { initial.to_string() } else { initial.to_lowercase().to_string() };
    let text = format!("{first}{join}{initial}{}", second.as_str());
    let request = Request::new(&text);
    let cut = request.pieces.iter().position(|piece| piece.text.end > first.len() + join.len());
    let labels = [one.labels.as_slice(), &two.labels].concat();
    let cuts = vec![cut.filter(|cut| *cut > 0)?];
    Some(Tasks { text, request, cuts, labels, needs: Vec::new() })
}

/// A table of the weights file: the number of records, then the records in the order of their hashes.
fn table(mut records: Vec<(u32, Vec<u8>)>) -> Vec<u8> {
    records.sort_by_key(|(hash, _)| *hash);
    let mut file = (records.len() as u32).to_le_bytes().to_vec();
    for (hash, weights) in records {
        file.extend(hash.to_le_bytes());
        file.extend(weights);
    }
    file
}
