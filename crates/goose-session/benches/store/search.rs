//! Searches over many sessions, as `chatrecall` makes them.

use std::time::{Duration, Instant};

use goose_extension::Message;
use goose_session::{NewSession, SearchQuery, SessionStore, Step};
use jiff::Timestamp;
use sqlx::{ConnectOptions as _, Executor as _, sqlite::SqliteConnectOptions};

use crate::{
    Folder, micros,
    report::{Bar, Report, median, percentile},
};

const SESSIONS: usize = 10_000;
const MESSAGES: usize = 20;
const WORDS: usize = 60;

/// Words in each message.
const FREQUENT: [&str; 5] = ["error", "test", "function", "the", "session"];

/// Number of different other words. The lower half occurs in thousands of messages each, the rest is rarer.
const VOCABULARY: u64 = 40_000;

/// Spreads the sessions over days, ten per day.
const SPREAD: &str = "UPDATE steps SET at = at - 86400000 * (CAST(substr(session_id, 10) AS INTEGER) / 10); \
     UPDATE sessions SET updated_at = updated_at - 86400000 * (CAST(substr(id, 10) AS INTEGER) / 10)";

pub(crate) async fn measure(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let file = folder.file("goose.db");
    let store = SessionStore::open(&file).await?;
    fill(&store).await?;
    store.close().await?;
    SqliteConnectOptions::new().filename(&file).connect().await?.execute(SPREAD).await?;
    let store = SessionStore::open(&file).await?;
    let begin = Instant::now();
    let first = store.search(&query("error")).await?;
    let time = micros(begin) / 1000.0;
    anyhow::ensure!(!first.found.is_empty() && first.unindexed > 0, "{} remain", first.unindexed);
    report.judge("search: the first, nothing indexed", time, "ms", Bar::Below(500.0));
    let begin = Instant::now();
    while store.index_newest(Duration::from_secs(1)).await? > 0 {}
    report.note("search: all the rest indexed", begin.elapsed().as_secs_f64(), "s");
    report.note("search: the store", file.metadata()?.len() as f64 / 1e6, "MB");
    for (name, query) in queries()? {
        let mut times = Vec::new();
        for _ in 0..rounds.max(10) {
            let begin = Instant::now();
            let found = store.search(&query).await?.found;
            times.push(micros(begin) / 1000.0);
            anyhow::ensure!(!found.is_empty(), "nothing is found: {name}");
        }
        let slow = percentile(times.clone(), 0.95);
        report.judge(&format!("search: {name}"), median(times), "ms", Bar::Below(50.0));
        report.note("        95 of 100 are faster than", slow, "ms");
    }
    Ok(())
}

fn query(text: &str) -> SearchQuery {
    SearchQuery::new(text, 30).any_word().per_session(3)
}

fn queries() -> anyhow::Result<Vec<(&'static str, SearchQuery)>> {
    let now = Timestamp::now();
    let days = |count: i64| {
        now.checked_sub(Duration::from_secs(86_400 * u64::try_from(count)?)).map_err(anyhow::Error::from)
    };
    let then = (Some(days(500)?), Some(days(490)?));
    let (rare, common) = (word(15_000), word(3));
    let many: Vec<String> = (0..12).map(|number| word(number * 50)).collect();
    Ok(vec![
        ("a rare word", query(&rare)),
        ("a frequent word", query("error")),
        ("the beginning of a frequent word", query("funct")),
        ("five frequent words", query(&FREQUENT.join(" "))),
        ("a frequent word, ten days long ago", query("error").between(then.0, then.1)),
        ("five frequent words, ten days long ago", query(&FREQUENT.join(" ")).between(then.0, then.1)),
        ("a rare and frequent words", query(&format!("{rare} error test"))),
        ("sixteen words of all kinds", query(&format!("{} {rare} {common} error test", many.join(" ")))),
        (
            "sixteen words, one folder",
            query(&format!("{} {rare} error", many.join(" "))).in_folder("/work/7"),
        ),
    ])
}

async fn fill(store: &SessionStore) -> anyhow::Result<()> {
    let mut random = Random(1);
    for number in 0..SESSIONS {
        let session = store.create(NewSession::in_folder(format!("/work/{}", number % 10))).await?;
        let steps: Vec<Step> =
            (0..MESSAGES).map(|_| Step::Message { message: Message::user(random.text()) }).collect();
        session.append_all(&steps).await?;
    }
    Ok(())
}

/// Returns a word of the vocabulary. It consists of letters, so that words share prefixes as real ones do.
fn word(number: u64) -> String {
    let mut left = number.wrapping_mul(2_654_435_761) % 308_915_776;
    let mut word = String::new();
    for _ in 0..6 {
        word.push(char::from(b'a' + u8::try_from(left % 26).unwrap_or(0)));
        left /= 26;
    }
    word
}

/// Generator of the same numbers in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a text in which few words are frequent and many are rare: their numbers are products of
    /// uniform ones.
    fn text(&mut self) -> String {
        let mut words: Vec<String> = FREQUENT.iter().map(|&word| word.to_owned()).collect();
        for _ in 0..WORDS {
            let number = (0..3).fold(VOCABULARY, |below, _| self.next() % below.max(1));
            words.push(word(number));
        }
        words.join(" ")
    }
}
