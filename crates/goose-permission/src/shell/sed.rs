//! `sed` scripts that only print: lines by number or pattern, with substitutions.

use super::word::Word;

/// Returns true if `sed` only prints with these arguments.
pub(super) fn prints_only(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    let mut has_script = false;
    while let Some(word) = words.next() {
        let Some(text) = word.text.as_deref() else {
            // A file, unless it may become an option.
            if !has_script || word.may_be_option() {
                return false;
            }
            continue;
        };
        let is_fine = match text {
            "-n" | "-E" | "-r" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet" | "--silent" => !has_script,
            "-e" | "-ne" | "-Ee" | "-nEe" => {
                has_script = true;
                words.next().and_then(|word| word.text.as_deref()).is_some_and(is_plain_script)
            }
            _ if text.starts_with('-') => false,
            _ if has_script => true,
            _ => {
                has_script = true;
                is_plain_script(text)
            }
        };
        if !is_fine {
            return false;
        }
    }
    has_script
}

/// Returns true for plain commands separated by `;`.
fn is_plain_script(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';']);
        if rest.is_empty() {
            return !script.is_empty();
        }
        let Some(after) = address(rest).and_then(command) else { return false };
        rest = after.trim_start_matches(' ');
        if !rest.is_empty() && !rest.starts_with(';') {
            return false;
        }
    }
}

/// Skips an address: `3`, `$`, `/x/`, `1,5`, `/a/,/b/`, or none. Returns the rest.
fn address(text: &str) -> Option<&str> {
    let rest = one_address(text)?;
    let rest = match rest.strip_prefix(',') {
        Some(second) => one_address(second).filter(|rest| rest.len() < second.len())?,
        None => rest,
    };
    Some(rest.strip_prefix('!').unwrap_or(rest))
}

fn one_address(text: &str) -> Option<&str> {
    match text.as_bytes().first() {
        Some(b'0'..=b'9') => Some(text.trim_start_matches(|c: char| c.is_ascii_digit())),
        Some(b'$') => Some(&text[1..]),
        Some(b'/') => {
            let (pattern, rest) = text[1..].split_once('/')?;
            is_plain_pattern(pattern).then_some(rest)
        }
        _ => Some(text),
    }
}

/// Skips a command: `p`, `d`, `q`, `=`, `s/x/y/g`. Returns the rest.
fn command(text: &str) -> Option<&str> {
    match text.as_bytes().first()? {
        b'p' | b'd' | b'q' | b'=' => Some(&text[1..]),
        b's' => {
            let delimiter = text[1..].chars().next().filter(|c| "/|#,:@!".contains(*c))?;
            let mut parts = text[2..].splitn(3, delimiter);
            let (pattern, with, rest) = (parts.next()?, parts.next()?, parts.next()?);
            // `e` would run the result, `w` write it to a file.
            let is_plain = is_plain_pattern(pattern) && is_plain_text(with);
            is_plain.then(|| rest.trim_start_matches(|c: char| c.is_ascii_digit() || "gpI".contains(c)))
        }
        _ => None,
    }
}

/// Returns true if each `[…]` ends within the pattern: for some versions of sed, a delimiter in it does not
/// end the pattern.
fn is_plain_pattern(text: &str) -> bool {
    // `\[` is a bracket in the text.
    let unescaped = text.replace("\\\\", "").replace("\\[", "");
    let mut rest = unescaped.as_str();
    while let Some((_, choice)) = rest.split_once('[') {
        let Some(after) = behind_choice(choice) else { return false };
        rest = after;
    }
    is_plain_text(text)
}

/// Returns the text after the end of a bracket expression; classes such as `[:space:]` have their own
/// brackets.
fn behind_choice(choice: &str) -> Option<&str> {
    let choice = choice.strip_prefix('^').unwrap_or(choice);
    // The first character may be a bracket itself.
    let mut rest = choice.strip_prefix(']').unwrap_or(choice);
    loop {
        let at = rest.find(['[', ']'])?;
        if rest[at..].starts_with(']') {
            return Some(&rest[at + 1..]);
        }
        rest = rest[at..].strip_prefix("[:")?.split_once(":]")?.1;
    }
}

/// Returns true if the text has no line break and no escaped delimiter, which versions of sed parse
/// differently. An escaped delimiter leaves a `\` at the end, because the text was split there.
fn is_plain_text(text: &str) -> bool {
    !text.ends_with('\\') && !text.contains('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_write_or_run_are_not_plain() {
        for script in [
            "1,20p",
            "$p",
            "5q",
            "/x/p",
            "/a/,/b/p",
            "s/a/b/",
            "s/a/b/g",
            "s|/usr|/opt|g; s/x//",
            "2d;3d",
            "/^$/d",
            "$!d",
            "s/^/  /",
            "=",
            "s/\\(a\\)/\\1/g",
            "1!p",
            "s/[[:space:]]*$//",
            "s/[^]a]//g",
        ] {
            assert!(is_plain_script(script), "{script}");
        }
        for script in [
            "",
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/e",
            "e rm x",
            "1e rm x",
            "r /etc/passwd",
            "s/a/b/gw out",
            "W out",
            "s/a/b/;w out",
            "s/a\\/b/w x/e",
            "p w",
            "s/a/b",
            "s/a/b/m",
            "y/a/b/",
            "{p}",
            "a text",
            "1,w out",
            "s[a[b[e",
            "s/[/]/e x/w y/",
            "s/[/]x/p;s/w out/y/",
            "s/[[:a:]/b/;s|]/c/w X|d|",
            "s/a/b\n/w x",
            "F",
            "n",
            "s/a/b/\nw out",
            "p\nw out",
            "s\na\nb\ne",
        ] {
            assert!(!is_plain_script(script), "{script}");
        }
    }
}
