//! `search`: the lines that match, found by ripgrep's own parts.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use goose_extension::prelude::*;
use goose_fs::{truncate_chars, truncate_lines};
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use ignore::{
    WalkState,
    overrides::{Override, OverrideBuilder},
};
use parking_lot::Mutex;
use serde_json::json;

use super::{Root, Walk};
use crate::developer::{Developer, blocking, files::check_readable};

/// Default number of matches shown.
const DEFAULT_LIMIT: usize = 100;
/// Maximum number of matches.
const MAX_LIMIT: usize = 1_000;
/// Characters shown of a line.
const MAX_LINE_CHARS: usize = 300;
/// Maximum size of an answer.
const MAX_BYTES: usize = 48 * 1024;
/// Maximum number of lines around a match.
const MAX_CONTEXT: usize = 10;
/// Maximum number of files listed by name if no text matches.
const MAX_NAMED: usize = 10;
/// Maximum size of a compiled expression.
const MAX_REGEX_BYTES: usize = 10 * 1024 * 1024;
/// Lines longer than this are no text to be searched.
const MAX_HEAP_BYTES: usize = 16 * 1024 * 1024;

impl Developer {
    /// Search files by regex as ripgrep does (respects .gitignore). Returns matching lines. Fails if the regex is invalid.
    #[tool(group = "read", read_only, open_world = false)]
    pub(in crate::developer) async fn search(
        &self,
        /// Regular expression
        pattern: &str,
        /// File or folder, default `.`
        path: Option<&str>,
        /// E.g. `*.rs` or `!tests/**`, default all
        glob: Option<&str>,
        /// Match either case, default false
        ignore_case: Option<bool>,
        /// Lines around each match, default 0
        context_lines: Option<usize>,
        /// Matches at most, default 100
        limit: Option<usize>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let place = self.resolve_path(path.unwrap_or("."), context)?;
        let exact = matcher(pattern, ignore_case.unwrap_or(false))?;
        let alike = alike(pattern);
        let glob = glob.map(str::to_owned);
        let around = context_lines.unwrap_or(0).min(MAX_CONTEXT);
        let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let (walk, backend) = (Walk::new(context), self.local_files(context)?);
        blocking(move || {
            let root = Root::open(&place, walk.clone())?;
            let mut remark = String::new();
            if root.folder.is_none() {
                check_readable(&*backend, &place)?;
            }
            let hunt_for = |matcher, root| Hunt {
                matcher,
                around,
                limit,
                root,
                given: place.given.clone(),
                found: Mutex::default(),
                named: Mutex::default(),
                count: AtomicUsize::new(0),
                met_binary: AtomicBool::new(false),
            };
            let mut hunt = hunt_for(exact, root);
            hunt.run(glob.as_deref())?;
            if let Some(alike) = alike.filter(|_| hunt.count.load(Ordering::Relaxed) == 0) {
                let second = hunt_for(matcher(&alike, true)?, Root::open(&place, walk)?);
                second.run(glob.as_deref())?;
                if second.count.load(Ordering::Relaxed) > 0 {
                    remark = format!("[No match as it stands; these lines match `{alike}`.]\n");
                    hunt = second;
                }
            }
            let mut output = ToolOutput::text(remark + &hunt.render());
            output.structured = Some(json!({ "matches": hunt.count.load(Ordering::Relaxed) }));
            Ok(output)
        })
        .await
    }
}

/// The pattern for names in code that several words may stand for, such as `hit_points` and `hitPoints`.
fn alike(pattern: &str) -> Option<String> {
    let words: Vec<&str> = pattern.split(' ').collect();
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(char::is_alphanumeric);
    (words.len() > 1 && words.iter().all(is_word)).then(|| words.join("[ _-]?"))
}

fn matcher(pattern: &str, ignore_case: bool) -> ToolResult<RegexMatcher> {
    if pattern.is_empty() {
        return Err(
            "The pattern is empty, and would match every line. Use `read` for a file, `tree` for a folder."
                .into(),
        );
    }
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build(pattern)
        .map_err(|error| {
            ToolError::ExecutionError(format!(
                "The pattern is no regular expression: {error}. It has Rust's syntax, without look-around, and matches within one line; escape \
                 `( ) [ ] {{ }} . * + ? |` with a backslash to find them as they are."
            ))
        })
}

/// One search and what it has found.
struct Hunt {
    matcher: RegexMatcher,
    around: usize,
    limit: usize,
    root: Root,
    /// The root as it was given.
    given: String,
    found: Mutex<BTreeMap<PathBuf, String>>,
    /// Some files whose names match.
    named: Mutex<Vec<PathBuf>>,
    count: AtomicUsize,
    /// True if a file was left when it turned out to be no text.
    met_binary: AtomicBool,
}

impl Hunt {
    /// Looks at all files. The glob narrows what git sees; it brings nothing back that git ignores.
    fn run(&self, glob: Option<&str>) -> ToolResult<()> {
        let glob = self.glob(glob)?;
        if self.root.folder.is_none() {
            self.search(&mut self.searcher(), &self.root.path);
            return Ok(());
        }
        self.root.walk_builder().build_parallel().run(|| {
            let mut searcher = self.searcher();
            let glob = &glob;
            Box::new(move |entry| {
                if self.is_full() || !self.root.walk.goes_on() {
                    return WalkState::Quit;
                }
                let Ok(entry) = entry.inspect_err(|_| self.root.walk.miss()) else {
                    return WalkState::Continue;
                };
                if entry.file_type().is_some_and(|kind| kind.is_file())
                    && !glob.matched(entry.path(), false).is_ignore()
                {
                    self.search(&mut searcher, entry.path());
                }
                WalkState::Continue
            })
        });
        Ok(())
    }

    fn glob(&self, glob: Option<&str>) -> ToolResult<Override> {
        let mut globs = OverrideBuilder::new(&self.root.path);
        let added = glob.map_or(Ok(()), |glob| globs.add(glob).map(drop));
        added.and_then(|()| globs.build()).map_err(|error| {
            ToolError::ExecutionError(format!("The glob cannot be read: {error}. Write it as in .gitignore."))
        })
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .before_context(self.around)
            .after_context(self.around)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HEAP_BYTES))
            .build()
    }

    fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= self.limit
    }

    fn look_at_name(&self, file: &Path) {
        let name = self.root.relative(file);
        let bytes = name.as_os_str().as_encoded_bytes();
        if self.matcher.is_match(bytes).unwrap_or(false) {
            let mut named = self.named.lock();
            if named.len() < MAX_NAMED {
                named.push(name.to_path_buf());
            }
        }
    }

    /// A file that cannot be read is passed over, as ripgrep does after a word about it.
    fn search(&self, searcher: &mut Searcher, file: &Path) {
        let mut lines = Lines { hunt: self, shown: String::new() };
        let Some(opened) = self.root.open_regular(file) else { return self.root.walk.miss() };
        self.look_at_name(file);
        let reader = Cancellable { file: opened, walk: &self.root.walk };
        let searched = searcher.search_reader(&self.matcher, reader, &mut lines);
        if searched.is_err() {
            self.root.walk.miss();
        }
        if !lines.shown.is_empty() {
            let name = self.root.relative(file);
            let name = if name.as_os_str().is_empty() { Path::new(&self.given) } else { name };
            self.found.lock().insert(name.to_path_buf(), lines.shown);
        }
    }

    fn render(&self) -> String {
        let found = self.found.lock();
        let mut shown = String::new();
        for (file, lines) in &*found {
            let _ = writeln!(shown, "{}\n{lines}", file.display());
            if shown.len() > MAX_BYTES {
                break;
            }
        }
        shown = truncate_lines(shown, MAX_BYTES, |_| {
            "[Cut here: too much to show. Narrow the pattern, the path or the glob, or ask for fewer lines around.]\n"
                .to_owned()
        });
        if self.met_binary.load(Ordering::Relaxed) && self.root.folder.is_none() {
            shown.push_str("[It is not text and was searched only up to its first NUL byte; in the shell, use `strings`.]\n");
        } else if found.is_empty() && self.root.folder.is_none() {
            shown.push_str("No match in it.\n");
        } else if found.is_empty() {
            shown.push_str(&self.nothing());
        }
        if self.is_full() {
            let limit = self.limit;
            let _ =
                writeln!(shown, "[Stopped at {limit} matches. Narrow the pattern, the path or the glob.]");
        }
        shown.extend(self.root.walk.remark());
        shown.trim_end().to_owned()
    }

    /// Returns the answer if no text matches.
    fn nothing(&self) -> String {
        let mut named = self.named.lock();
        named.sort_unstable();
        if named.is_empty() {
            return "No match. Try another word, or read the files. Ignored and hidden files are not searched; `grep -r` in the shell does that.\n"
                .to_owned();
        }
        let names: Vec<String> = named.iter().map(|name| name.display().to_string()).collect();
        format!("No match in any file's text, but in names: {}\n", names.join(", "))
    }
}

/// A file that ends early when the call is cancelled.
struct Cancellable<'a> {
    file: File,
    walk: &'a Walk,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.walk.is_cancelled() { Ok(0) } else { self.file.read(into) }
    }
}

/// The matching lines of one file.
struct Lines<'a> {
    hunt: &'a Hunt,
    shown: String,
}

impl Lines<'_> {
    fn add(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let number = number.unwrap_or_default();
        let _ = writeln!(self.shown, "{number}{mark}{}", truncate_chars(line, MAX_LINE_CHARS));
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.hunt.count.fetch_add(1, Ordering::Relaxed) >= self.hunt.limit {
            return Ok(false);
        }
        self.add(found.line_number(), ':', found.bytes());
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.add(around.line_number(), '-', around.bytes());
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        if end.binary_byte_offset().is_some() {
            self.hunt.met_binary.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.shown.push_str("--\n");
        Ok(true)
    }
}
