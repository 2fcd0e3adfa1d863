//! Words of a request, as the router compares them: lower case, without endings, with marks for files, numbers and
//! code.

/// The most bytes of a request that are read, from its beginning and from its end: the words of the user are there, in
/// between is what was pasted.
const HEAD_BYTES: usize = 3_000;
const TAIL_BYTES: usize = 1_000;

/// The longest word that is kept whole, in bytes.
const MAX_WORD_BYTES: usize = 40;

/// The mark for a number.
const NUMBER: &str = "<num>";
/// The mark for an address on the web.
const URL: &str = "<url>";
/// The mark for a name as programs have it: `snake_case`, `camelCase`, `call()`.
const IDENTIFIER: &str = "<ident>";
/// The mark for a path.
const PATH: &str = "<path>";

/// A word of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its form for comparison, or a mark.
    pub(crate) stem: String,
    /// The word in lower case, for people.
    pub(crate) shown: String,
    /// A sentence or line begins with it.
    pub(crate) begins: bool,
    /// It is a part of a file's name.
    pub(crate) is_of_file: bool,
}

impl Word {
    fn new(shown: impl Into<String>) -> Self {
        let shown = shown.into();
        Self { stem: stem(&shown), shown, begins: false, is_of_file: false }
    }

    fn mark(mark: &str, shown: &str) -> Self {
        Self { stem: mark.to_owned(), shown: shown.to_owned(), begins: false, is_of_file: false }
    }
}

/// Words in lower case, with spaces between them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordList(pub(crate) &'static str);

impl WordList {
    /// Returns true if the word is one of them.
    pub(crate) fn has(self, word: &str) -> bool {
        self.0.as_bytes().split(|byte| *byte == b' ').any(|known| known == word.as_bytes())
    }
}

/// The part of a text that is read.
pub(crate) fn head_and_tail(text: &str) -> (&str, &str) {
    if text.len() <= HEAD_BYTES + TAIL_BYTES {
        return (text, "");
    }
    let head = text.floor_char_boundary(HEAD_BYTES);
    let tail = text.ceil_char_boundary(text.len() - TAIL_BYTES);
    (&text[..head], &text[tail..])
}

/// The words of a text.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let (head, tail) = head_and_tail(text);
    let mut words = Vec::new();
    for part in [head, tail] {
        for line in part.lines() {
            let mut begins = true;
            for chunk in line.split_whitespace() {
                let first = words.len();
                push_chunk(&mut words, chunk);
                if let Some(word) = words.get_mut(first) {
                    word.begins = begins;
                    begins = false;
                }
                begins |= chunk.ends_with(['.', '!', '?', ';', ':']);
            }
        }
    }
    words
}

fn push_chunk(words: &mut Vec<Word>, chunk: &str) {
    let chunk = chunk.get(..chunk.floor_char_boundary(200)).unwrap_or_default();
    let calls = chunk.contains("()");
    let core = chunk.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '#')));
    let core = core.trim_start_matches(['+', '#']);
    if core.is_empty() {
        return;
    }
    let lower = core.to_lowercase();
    if lower.contains("://") || lower.starts_with("www.") {
        words.push(Word::mark(URL, &lower));
        return;
    }
    if chunk.starts_with('.') && lower == "net" {
        words.push(Word::new("dotnet"));
        return;
    }
    if let Some(known) = compound(&lower) {
        words.push(Word::new(known));
        return;
    }
    if lower.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':' | b'-' | b'/')) {
        let digits = lower.len() == 3 && lower.bytes().all(|byte| byte.is_ascii_digit());
        words.push(if digits { Word::new(lower) } else { Word::mark(NUMBER, &lower) });
        return;
    }
    let is_file = file_extension(&lower);
    if let Some(extension) = is_file {
        words.push(Word::mark(&format!("<.{extension}>"), &lower));
    } else if lower.contains('/') && (chunk.starts_with(['/', '~', '.']) || lower.matches('/').count() > 1) {
        words.push(Word::mark(PATH, &lower));
    }
    if calls || is_identifier(core) {
        words.push(Word::mark(IDENTIFIER, &lower));
    }
    // A path's folders say little, its name says what it is about.
    let name = if is_file.is_some() { core.rsplit(['/', '\\']).next().unwrap_or(core) } else { core };
    let first = words.len();
    for piece in name.split(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '#' | '\'' | '’'))) {
        push_piece(words, piece);
    }
    for word in &mut words[first..] {
        word.is_of_file = is_file.is_some();
    }
}

/// Pushes the words that a name in camel case is made of.
fn push_piece(words: &mut Vec<Word>, piece: &str) {
    let mut start = 0;
    let mut before_is_lower = false;
    for (at, c) in piece.char_indices() {
        if c.is_uppercase() && before_is_lower {
            push_plain(words, &piece[start..at]);
            start = at;
        }
        before_is_lower = c.is_lowercase();
    }
    push_plain(words, &piece[start..]);
}

fn push_plain(words: &mut Vec<Word>, word: &str) {
    let word = word.trim_matches(['\'', '’']).to_lowercase().replace('’', "'");
    if !word.is_empty() {
        words.push(Word::new(word));
    }
}

/// Words with a sign in them that are one word.
fn compound(lower: &str) -> Option<&'static str> {
    Some(match lower {
        "ci/cd" => "cicd",
        "a/b" => "abtest",
        "c++" => "cpp",
        "c#" => "csharp",
        "f#" => "fsharp",
        "e2e" | "end-to-end" => "e2e",
        "next.js" => "nextjs",
        "node.js" => "nodejs",
        "vue.js" => "vue",
        "react.js" => "react",
        "nuxt.js" => "nuxt",
        "three.js" => "threejs",
        "d3.js" => "d3",
        "asp.net" => "dotnet",
        "sub-agent" => "subagent",
        "sub-agents" => "subagents",
        "to-do" => "todo",
        "post-mortem" => "postmortem",
        "set-up" => "setup",
        "on-call" => "oncall",
        "i/o" => "io",
        "tcp/ip" => "tcp",
        "e-mail" => "email",
        "e-mails" => "emails",
        _ => return None,
    })
}

/// Returns true for the name of a file with a known ending.
pub(crate) fn is_file_name(word: &str) -> bool {
    let lower = word.to_lowercase();
    !lower.contains("://") && compound(&lower).is_none() && file_extension(&lower).is_some()
}

/// The ending of a file's name.
fn file_extension(lower: &str) -> Option<&str> {
    let (name, extension) = lower.rsplit_once('.')?;
    let is_known = EXTENSIONS.contains(&extension);
    (is_known && !name.is_empty()).then_some(extension)
}

const EXTENSIONS: &[&str] = &[
    "rs", "py", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php", "ex", "exs", "scala",
    "hs", "ml", "pl", "lua", "swift", "dart", "zig", "jl", "sql", "proto", "graphql", "js", "ts", "mjs",
    "jsx", "tsx", "vue", "svelte", "css", "scss", "sass", "less", "html", "yml", "yaml", "toml", "json",
    "tf", "hcl", "sh", "bat", "ps1", "lock", "xml", "ini", "cfg", "conf", "env", "log", "md", "txt", "pdf",
    "doc", "docx", "xls", "xlsx", "csv", "ppt", "pptx", "jpg", "jpeg", "png", "gif", "mp3", "mp4", "mov",
    "zip", "gz", "ipynb", "parquet", "r", "m", "ino", "v",
];

/// Returns true for a name as programs have it.
fn is_identifier(word: &str) -> bool {
    let inner = word.trim_matches('_');
    if inner.contains('_') || word.contains("::") {
        return true;
    }
    let mut before_is_lower = false;
    word.chars().any(|c| {
        let turns = before_is_lower && c.is_uppercase();
        before_is_lower = c.is_lowercase();
        turns
    })
}

/// A word without its ending, in a simple way: words of one family become the same more often than not.
pub(crate) fn stem(word: &str) -> String {
    let end = word.floor_char_boundary(MAX_WORD_BYTES);
    let word = word.get(..end).unwrap_or(word);
    let word = word.strip_suffix("'s").unwrap_or(word);
    if !word.is_ascii() || word.len() <= 3 {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    if let Some(base) = stem.strip_suffix("ies").filter(|base| base.len() > 1) {
        stem = format!("{base}y");
    } else if ["sses", "xes", "ches", "shes"].iter().any(|ending| stem.ends_with(ending)) {
        stem.truncate(stem.len() - 2);
    } else if stem.ends_with('s') && !stem.ends_with("ss") && !stem.ends_with("us") && !stem.ends_with("is") {
        stem.pop();
    }
    for ending in ["ing", "ed"] {
        if let Some(base) = stem.strip_suffix(ending).filter(|base| has_vowel(base) && base.len() > 2) {
            stem = without_double(base).to_owned();
            break;
        }
    }
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

fn has_vowel(word: &str) -> bool {
    word.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

fn without_double(base: &str) -> &str {
    let bytes = base.as_bytes();
    match bytes {
        [.., a, b] if a == b && !matches!(b, b'l' | b's' | b'z') => &base[..base.len() - 1],
        _ => base,
    }
}
