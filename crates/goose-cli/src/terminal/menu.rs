//! [`Menu`]: a list to choose from with the arrow keys, filtered by what is typed.
//!
//! It is drawn below the cursor and erased afterwards, so that it leaves nothing in the scrollback.

use std::io::{self, Write as _};

use rustix::termios::{InputModes, LocalModes, Termios, tcgetattr};

use super::{
    input::set,
    reader::is_typed,
    size::{self, fitted},
};
use crate::{
    escape,
    output::{FAINT, NAME},
};

/// Rows that are not for entries: the hint, the filter, and one that stays free.
const OTHER_ROWS: usize = 3;

/// Maximum number of entries that are visible at once. More would push what is above out of view.
const MAX_ROOM: usize = 15;

/// Maximum length of the filter, in characters.
const MAX_FILTER: usize = 200;

/// Maximum number of bytes that are read at once.
const MAX_READ: usize = 256;

/// Mark of the selected entry, and the space before the others.
const MARKS: [&str; 2] = ["❯ ", "  "];

/// Clears from the cursor to the end of the screen.
const ERASE_BELOW: &str = "\x1b[J";

/// Entry of a menu.
#[derive(Debug, Clone)]
pub(crate) struct MenuEntry {
    title: String,
    /// Line below the title; empty if there is none.
    details: String,
}

impl MenuEntry {
    /// Creates an entry. Both texts may be untrusted.
    pub(crate) fn new(title: &str, details: &str) -> Self {
        Self { title: escape::line(title).into_owned(), details: escape::line(details).into_owned() }
    }

    /// Returns the first word of the title, which names the entry.
    fn name(&self) -> &str {
        self.title.split_whitespace().next().unwrap_or_default()
    }

    /// Returns true if each word of the filter occurs in it.
    fn fits(&self, words: &[String]) -> bool {
        let text = format!("{} {}", self.title, self.details).to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

/// List to choose from.
#[derive(Debug, Clone)]
pub(crate) struct Menu {
    prompt: String,
    entries: Vec<MenuEntry>,
    /// True if the user may also choose what is typed.
    takes_typed: bool,
    filter: String,
    /// Entries that fit the filter.
    shown: Vec<usize>,
    /// Position of the selected entry in `shown`; behind them is what is typed.
    at: usize,
    /// Position of the first visible entry in `shown`.
    top: usize,
}

/// Choice of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MenuChoice {
    /// Number of an entry.
    Entry(usize),
    /// Text that the user typed instead.
    Typed(String),
}

/// Effect of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MenuStep {
    Stay,
    Chosen(MenuChoice),
    Cancelled,
}

/// Key, as far as a menu knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MenuKey {
    /// Moves the selection by this number of entries.
    Move(isize),
    /// Moves by this number of pages.
    Page(isize),
    Enter,
    Cancel,
    Erase,
    EraseAll,
    Typed(char),
    Other,
}

impl Menu {
    /// Creates a menu.
    pub(crate) fn new(prompt: &str, entries: Vec<MenuEntry>) -> Self {
        let shown = (0..entries.len()).collect();
        let (filter, takes_typed) = (String::new(), false);
        Self { prompt: prompt.to_owned(), entries, takes_typed, filter, shown, at: 0, top: 0 }
    }

    /// Selects an entry.
    pub(crate) fn at(self, entry: usize) -> Self {
        Self { at: entry.min(self.entries.len().saturating_sub(1)), ..self }
    }

    /// Lets the user also choose what is typed.
    pub(crate) fn or_typed(self) -> Self {
        Self { takes_typed: true, ..self }
    }

    /// Lets the user choose, on this thread; `None` if the user cancelled. Nothing else may read the keyboard
    /// meanwhile.
    pub(crate) fn ask(self) -> Option<MenuChoice> {
        self.ask_while(|| true)
    }

    /// Lets the user choose while the choice is wanted; `None` if the user cancelled, or it is not wanted any more.
    pub(super) fn ask_while(mut self, is_wanted: impl Fn() -> bool) -> Option<MenuChoice> {
        let before = tcgetattr(io::stdin()).ok()?;
        set(&raw(&before));
        let chosen = self.follow_keys(is_wanted);
        set(&before);
        chosen
    }

    fn follow_keys(&mut self, is_wanted: impl Fn() -> bool) -> Option<MenuChoice> {
        let (stdin, mut typed) = (io::stdin(), Vec::new());
        let mut drawn = Drawn::default();
        let chosen = loop {
            let (columns, rows) = (size::columns(), size::rows());
            drawn.show(&self.lines(columns, rows));
            let is_there = is_typed(&stdin);
            if !is_wanted() {
                break None;
            }
            match is_there {
                Ok(true) => {
                    let mut part = [0; MAX_READ];
                    match rustix::io::read(&stdin, &mut part) {
                        Ok(count @ 1..) => typed.extend_from_slice(part.get(..count).unwrap_or_default()),
                        _ => break None,
                    }
                }
                // What has not been continued by now is not the beginning of a sequence.
                Ok(false) if !typed.is_empty() => typed.push(0),
                Ok(false) => continue,
                Err(_) => break None,
            }
            match self.keys(&mut typed, rows) {
                MenuStep::Stay => {}
                MenuStep::Chosen(choice) => break Some(choice),
                MenuStep::Cancelled => break None,
            }
        };
        drawn.erase();
        chosen
    }

    /// Handles all whole keys, and leaves the beginning of a further one.
    fn keys(&mut self, typed: &mut Vec<u8>, rows: usize) -> MenuStep {
        while let Some((key, length)) = next_key(typed) {
            typed.drain(..length);
            match self.key(key, rows) {
                MenuStep::Stay => {}
                step => return step,
            }
        }
        MenuStep::Stay
    }

    fn key(&mut self, key: MenuKey, rows: usize) -> MenuStep {
        let page = isize::try_from(self.room(rows)).unwrap_or(1);
        match key {
            MenuKey::Move(by) => self.select(by),
            MenuKey::Page(by) => self.select(by.saturating_mul(page)),
            MenuKey::Enter => return self.chosen().map_or(MenuStep::Stay, MenuStep::Chosen),
            MenuKey::Cancel => return MenuStep::Cancelled,
            MenuKey::Erase => self.refilter(|filter| {
                filter.pop();
            }),
            MenuKey::EraseAll => self.refilter(String::clear),
            MenuKey::Typed(c) if self.filter.chars().count() < MAX_FILTER => {
                self.refilter(|filter| filter.push(c));
            }
            MenuKey::Typed(_) | MenuKey::Other => {}
        }
        MenuStep::Stay
    }

    fn chosen(&self) -> Option<MenuChoice> {
        let entry = self.shown.get(self.at).copied().map(MenuChoice::Entry);
        entry.or_else(|| self.typed().map(|typed| MenuChoice::Typed(typed.to_owned())))
    }

    /// Returns what is typed, if it can be chosen and is no entry.
    fn typed(&self) -> Option<&str> {
        let typed = Some(self.filter.trim()).filter(|typed| self.takes_typed && !typed.is_empty())?;
        (!self.entries.iter().any(|entry| entry.name() == typed)).then_some(typed)
    }

    /// Returns the number of choices.
    fn choices(&self) -> usize {
        self.shown.len() + usize::from(self.typed().is_some())
    }

    fn select(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.choices().saturating_sub(1));
    }

    fn refilter(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.filter);
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |entry: &usize| self.entries.get(*entry).is_some_and(|entry| entry.fits(&words));
        self.shown = (0..self.entries.len()).filter(fits).collect();
        let name = self.filter.trim();
        let is_named = |entry: &usize| self.entries.get(*entry).is_some_and(|entry| entry.name() == name);
        (self.at, self.top) = (self.shown.iter().position(is_named).unwrap_or(0), 0);
    }

    /// Returns the number of entries that are visible at once.
    fn room(&self, rows: usize) -> usize {
        let has_details = self.entries.iter().any(|entry| !entry.details.is_empty());
        let height = if has_details { 2 } else { 1 };
        (rows.saturating_sub(OTHER_ROWS) / height).clamp(1, MAX_ROOM)
    }

    /// Returns the lines of the menu for a terminal of this size; the last one is the filter.
    fn lines(&mut self, columns: usize, rows: usize) -> Vec<String> {
        let (room, width) = (self.room(rows), columns.saturating_sub(1));
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(room));
        let visible = self.shown.iter().enumerate().skip(self.top).take(room);
        let visible_to = self.top + room - 1;
        let mut lines = Vec::new();
        for (at, entry) in visible.filter_map(|(at, entry)| Some((at, self.entries.get(*entry)?))) {
            lines.push(line(&entry.title, at == self.at, width));
            if !entry.details.is_empty() {
                let details = fitted(&entry.details, width.saturating_sub(2));
                lines.push(format!("{}{FAINT}{details}{FAINT:#}", MARKS[1]));
            }
        }
        match self.typed() {
            Some(typed) if visible_to >= self.shown.len() => {
                let is_selected = self.at == self.shown.len();
                lines.push(line(&format!("{typed} (as typed)"), is_selected, width));
            }
            None if lines.is_empty() => lines.push(format!("{}No match.", MARKS[1])),
            _ => {}
        }
        let count = format!("{} of {}", (self.at + 1).min(self.choices()), self.choices());
        let hint = format!("{count} · ↑↓ Enter · Esc cancels");
        lines.push(format!("{FAINT}{}{FAINT:#}", fitted(&hint, width)));
        // The end of a long filter is what the user types at.
        let prompt = format!("{}: ", self.prompt);
        let left = width.saturating_sub(prompt.chars().count());
        let skipped = self.filter.chars().count().saturating_sub(left);
        let filter: String = self.filter.chars().skip(skipped).collect();
        lines.push(format!("{NAME}{prompt}{NAME:#}{}", fitted(&filter, left)));
        lines
    }
}

/// Returns the line of a choice.
fn line(title: &str, is_selected: bool, width: usize) -> String {
    let title = fitted(title, width.saturating_sub(2));
    match is_selected {
        true => format!("{NAME}{}{title}{NAME:#}", MARKS[0]),
        false => format!("{}{title}", MARKS[1]),
    }
}

/// Lines of a menu on the screen.
#[derive(Default)]
struct Drawn(Vec<String>);

impl Drawn {
    fn show(&mut self, lines: &[String]) {
        if self.0 != lines {
            let text = lines.join("\n");
            self.replace(&text);
            lines.clone_into(&mut self.0);
        }
    }

    fn erase(&mut self) {
        self.replace("");
        self.0.clear();
    }

    /// Writes a text in place of the lines. The cursor moves in terminals without colours, too. If this fails, the
    /// terminal is gone.
    fn replace(&self, text: &str) {
        let up = match self.0.len() {
            0 | 1 => String::new(),
            lines => format!("\x1b[{}A", lines - 1),
        };
        let mut stderr = anstream::stderr();
        let _ = write!(io::stderr(), "\r{up}{ERASE_BELOW}")
            .and_then(|()| write!(stderr, "{text}"))
            .and_then(|()| stderr.flush());
    }
}

/// Returns the first key in what was typed, and its length in bytes; `None` if more has to come. A zero byte says that
/// nothing else has arrived.
fn next_key(typed: &[u8]) -> Option<(MenuKey, usize)> {
    let key = |key| Some((key, 1));
    match *typed.first()? {
        b'\r' | b'\n' => key(MenuKey::Enter),
        3 | 4 => key(MenuKey::Cancel),
        8 | 127 => key(MenuKey::Erase),
        14 => key(MenuKey::Move(1)),
        16 => key(MenuKey::Move(-1)),
        21 | 23 => key(MenuKey::EraseAll),
        0x1b => escape_key(typed),
        0..0x20 => key(MenuKey::Other),
        _ => character(typed),
    }
}

/// Returns the key of an escape sequence. Escape alone cancels.
fn escape_key(typed: &[u8]) -> Option<(MenuKey, usize)> {
    match typed.get(1)? {
        b'[' | b'O' => {}
        _ => return Some((MenuKey::Cancel, 1)),
    }
    let end = typed.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte) || *byte == 0)? + 2;
    let key = match typed.get(2..=end)? {
        b"A" => MenuKey::Move(-1),
        b"B" => MenuKey::Move(1),
        b"5~" => MenuKey::Page(-1),
        b"6~" => MenuKey::Page(1),
        b"H" | b"1~" => MenuKey::Move(isize::MIN),
        b"F" | b"4~" => MenuKey::Move(isize::MAX),
        _ => MenuKey::Other,
    };
    Some((key, end + 1))
}

/// Returns the first character; bytes that are none are skipped.
fn character(typed: &[u8]) -> Option<(MenuKey, usize)> {
    let length = match typed.first()? {
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
        _ => 1,
    };
    let bytes = typed.get(..length)?;
    let c = std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next());
    Some(match c.filter(|c| !c.is_control()) {
        Some(c) => (MenuKey::Typed(c), length),
        None => (MenuKey::Other, 1),
    })
}

/// Mode in which each key arrives at once, and is neither echoed nor turned into a signal.
fn raw(original: &Termios) -> Termios {
    let mut raw = original.clone();
    raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    raw.input_modes -= InputModes::ICRNL | InputModes::IXON;
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu() -> Menu {
        let names = ["ports", "birds of Łódź", "open ports"];
        Menu::new("Resume", names.map(|name| MenuEntry::new(name, "2 messages")).to_vec())
    }

    fn typed(menu: &mut Menu, keys: &str) -> MenuStep {
        menu.keys(&mut keys.as_bytes().to_vec(), 10)
    }

    #[test]
    fn arrows_move_and_enter_chooses() {
        let mut menu = menu();
        assert_eq!(typed(&mut menu, "\x1b[B\x1bOB\x1b[B\x1b[A\r"), MenuStep::Chosen(MenuChoice::Entry(1)));
        assert_eq!(typed(&mut menu, "\x1b[F\r"), MenuStep::Chosen(MenuChoice::Entry(2)));
        assert_eq!(typed(&mut menu, "\x1b[H\r"), MenuStep::Chosen(MenuChoice::Entry(0)));
        assert_eq!(typed(&mut menu, "\x10\x0e\x0e\r"), MenuStep::Chosen(MenuChoice::Entry(2)));
        assert_eq!(typed(&mut menu, "\x1b[5~\r"), MenuStep::Chosen(MenuChoice::Entry(0)));
    }

    #[test]
    fn words_filter_in_any_order() {
        let mut menu = menu();
        assert_eq!(typed(&mut menu, "PORTS open\r"), MenuStep::Chosen(MenuChoice::Entry(2)));
        assert_eq!(typed(&mut menu, "\x15łódź\r"), MenuStep::Chosen(MenuChoice::Entry(1)));
        assert_eq!(typed(&mut menu, "x\r"), MenuStep::Stay);
        assert!(menu.lines(40, 10).concat().contains("No match."));
        assert_eq!(typed(&mut menu, "\x7f\r"), MenuStep::Chosen(MenuChoice::Entry(1)));
    }

    #[test]
    fn what_is_typed_can_be_chosen_where_that_makes_sense() {
        let menu = || {
            let names = ["gpt-5-mini  small", "gpt-5  large"];
            Menu::new("Model", names.map(|name| MenuEntry::new(name, "")).to_vec()).or_typed().at(1)
        };
        let entry = |entry| MenuStep::Chosen(MenuChoice::Entry(entry));
        assert_eq!(typed(&mut menu(), "\r"), entry(1));
        assert_eq!(typed(&mut menu(), "gpt\r"), entry(0));
        assert_eq!(typed(&mut menu(), "gpt-5\r"), entry(1), "its whole name");
        assert_eq!(typed(&mut menu(), "gpt-5\x1b[F\r"), entry(1), "a name is no other model");
        let other = MenuStep::Chosen(MenuChoice::Typed("gpt-6".to_owned()));
        assert_eq!(typed(&mut menu(), " gpt-6 \r"), other);
        let other = MenuStep::Chosen(MenuChoice::Typed("gpt".to_owned()));
        assert_eq!(typed(&mut menu(), "gpt\x1b[F\r"), other);
        let mut menu = menu();
        typed(&mut menu, "gpt");
        let lines = menu.lines(40, 10);
        assert!(lines.iter().any(|line| line.contains("gpt (as typed)")), "{lines:#?}");
        assert!(menu.lines(40, 5).len() <= 4, "{:#?}", menu.lines(40, 5));
    }

    #[test]
    fn parts_of_a_key_wait_for_the_rest() {
        let mut menu = menu();
        let mut bytes = b"\x1b[".to_vec();
        assert_eq!((menu.keys(&mut bytes, 10), bytes.len()), (MenuStep::Stay, 2));
        bytes.push(b'B');
        assert_eq!((menu.keys(&mut bytes, 10), bytes.len(), menu.at), (MenuStep::Stay, 0, 1));
        let mut bytes = "ł".as_bytes()[..1].to_vec();
        assert_eq!((menu.keys(&mut bytes, 10), bytes.len()), (MenuStep::Stay, 1));
        let mut bytes = b"\x1b".to_vec();
        assert_eq!(menu.keys(&mut bytes, 10), MenuStep::Stay);
        bytes.push(0);
        assert_eq!(menu.keys(&mut bytes, 10), MenuStep::Cancelled);
    }

    #[test]
    fn lines_fit_and_the_selection_is_visible() {
        let entries = (0..50).map(|n| MenuEntry::new(&format!("session {n} {}", "x".repeat(90)), "here"));
        let mut menu = Menu::new("Resume", entries.collect());
        typed(&mut menu, &"\x1b[B".repeat(20));
        let lines = menu.lines(40, 10);
        assert!(lines.len() <= 9, "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("❯ session 20")), "{lines:#?}");
        assert!(menu.lines(40, 1).len() >= 3);
    }
}
