//! The lines of a script as [`Operation`]s.

use std::time::Duration;

use goose_extension::ToolResult;

use super::failed;

/// Maximum number of operations, and length of a text that is typed.
const MAX_OPERATIONS: usize = 200;
const MAX_TEXT_CHARS: usize = 10_000;

/// Longest time that a script waits in all.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Maximum number of steps of the wheel.
const MAX_STEPS: u32 = 100;

/// A button of the mouse, by its number in X11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Button {
    Left = 1,
    Middle = 2,
    Right = 3,
    WheelUp = 4,
    WheelDown = 5,
}

/// A part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) x: i16,
    pub(super) y: i16,
    pub(super) width: u16,
    pub(super) height: u16,
}

/// One line of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    Screenshot(Option<Part>),
    Windows,
    Focus(String),
    Move(i16, i16),
    Click {
        button: Button,
        times: u32,
        at: Option<(i16, i16)>,
    },
    Type(String),
    /// Keys that are held down together.
    Key(Vec<String>),
    Wait(Duration),
}

/// Reads all lines. Empty ones and those that start with `#` are left out.
///
/// # Errors
///
/// Fails if there is none, or one cannot be read; the error names it.
pub(super) fn parse(script: &str) -> ToolResult<Vec<Operation>> {
    let mut operations = Vec::new();
    for (number, line) in (1..).zip(script.lines()) {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let operation = operation(line).ok_or_else(|| {
            failed(format!(
                "Line {number} of the script is not an operation: {:?}. Nothing was done. Write one of: screenshot [X Y WIDTH HEIGHT], \
                 windows, focus ID|TITLE, move X Y, click [left|middle|right|double] [X Y], scroll up|down [TIMES], type TEXT, \
                 key ctrl+c, wait MILLISECONDS.",
                goose_fs::truncate_chars(line, 80)
            ))
        })?;
        operations.push(operation);
    }
    let waited: Duration =
        operations.iter().map(|it| if let Operation::Wait(time) = it { *time } else { Duration::ZERO }).sum();
    match operations.len() {
        0 => Err(failed("The script is empty. Write one operation per line, such as `screenshot`.")),
        count if count > MAX_OPERATIONS => Err(failed(format!(
            "The script has {count} operations, at most {MAX_OPERATIONS} are done at once."
        ))),
        _ if waited > MAX_WAIT => {
            Err(failed(format!("The script waits longer than {} seconds.", MAX_WAIT.as_secs())))
        }
        _ => Ok(operations),
    }
}

fn operation(line: &str) -> Option<Operation> {
    let line = line.trim_start();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let words: Vec<&str> = rest.split_whitespace().collect();
    Some(match (name, words.as_slice()) {
        ("screenshot", []) => Operation::Screenshot(None),
        ("screenshot", [x, y, width, height]) => {
            let part = Part {
                x: x.parse().ok()?,
                y: y.parse().ok()?,
                width: width.parse().ok()?,
                height: height.parse().ok()?,
            };
            Operation::Screenshot(Some(part).filter(|part| part.width > 0 && part.height > 0))
        }
        ("windows", []) => Operation::Windows,
        ("focus", [_, ..]) => Operation::Focus(rest.trim().to_owned()),
        ("move", [x, y]) => Operation::Move(x.parse().ok()?, y.parse().ok()?),
        ("click", words) => click(words)?,
        ("scroll", [direction]) => scroll(direction, 3)?,
        ("scroll", [direction, times]) => scroll(direction, times.parse().ok()?)?,
        // Blanks belong to the text.
        ("type", [_, ..]) if rest.chars().count() <= MAX_TEXT_CHARS => Operation::Type(rest.to_owned()),
        ("key", [keys]) => {
            let keys: Vec<String> = match *keys {
                "+" => vec!["plus".to_owned()],
                keys => keys.split('+').map(str::to_owned).collect(),
            };
            let is_complete = keys.len() <= 5 && keys.iter().all(|key| !key.is_empty());
            Operation::Key(Some(keys).filter(|_| is_complete)?)
        }
        ("wait", [time]) => Operation::Wait(Duration::from_millis(time.parse().ok()?)),
        _ => return None,
    })
}

fn click(words: &[&str]) -> Option<Operation> {
    let (button, times, rest) = match words {
        ["left", rest @ ..] => (Button::Left, 1, rest),
        ["middle", rest @ ..] => (Button::Middle, 1, rest),
        ["right", rest @ ..] => (Button::Right, 1, rest),
        ["double", rest @ ..] => (Button::Left, 2, rest),
        rest => (Button::Left, 1, rest),
    };
    let at = match rest {
        [] => None,
        [x, y] => Some((x.parse().ok()?, y.parse().ok()?)),
        _ => return None,
    };
    Some(Operation::Click { button, times, at })
}

fn scroll(direction: &str, times: u32) -> Option<Operation> {
    let button = match direction {
        "up" => Button::WheelUp,
        "down" => Button::WheelDown,
        _ => return None,
    };
    (1..=MAX_STEPS).contains(&times).then_some(Operation::Click { button, times, at: None })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_line_is_an_operation() {
        let script = "# a comment\nscreenshot\n\nmove 10 20\nclick right 3 4\nscroll down 2\ntype  two  blanks\nkey ctrl+c\nwait 5";
        let expected = [
            Operation::Screenshot(None),
            Operation::Move(10, 20),
            Operation::Click { button: Button::Right, times: 1, at: Some((3, 4)) },
            Operation::Click { button: Button::WheelDown, times: 2, at: None },
            Operation::Type(" two  blanks".to_owned()),
            Operation::Key(vec!["ctrl".to_owned(), "c".to_owned()]),
            Operation::Wait(Duration::from_millis(5)),
        ];
        assert_eq!(parse(script).unwrap(), expected);
        for bad in [
            "",
            "# only this",
            "jump",
            "move 1",
            "move a b",
            "click 1",
            "key",
            "key a++b",
            "wait x",
            "scroll left",
            "wait 31000",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(script in "(?s).{0,200}") {
            let _ = parse(&script);
        }
    }
}
