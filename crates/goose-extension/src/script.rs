//! [`script_command`]: a script in any language as the command line that runs it.
//!
//! The permissions judge this command line and the tool runs it, so what runs is what was judged.

/// Languages of scripts: name, and the interpreter with the option that takes a script.
pub const LANGUAGES: [(&str, &str); 7] = [
    ("shell", ""),
    ("bash", ""),
    ("python", "python3 -c"),
    ("javascript", "node -e"),
    ("ruby", "ruby -e"),
    ("perl", "perl -e"),
    ("powershell", "pwsh -NoProfile -Command"),
];

/// Returns the command line that runs a script, for the shell; `None` for an unknown language.
pub fn script_command(language: &str, script: &str) -> Option<String> {
    let (_, interpreter) = LANGUAGES.iter().find(|(name, _)| name.eq_ignore_ascii_case(language))?;
    Some(match interpreter.is_empty() {
        true => script.to_owned(),
        false => format!("{interpreter} '{}'", script.replace('\'', r"'\''")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_stay_within_the_script() {
        assert_eq!(script_command("shell", "a | b").as_deref(), Some("a | b"));
        assert_eq!(
            script_command("Python", "print('$x')").as_deref(),
            Some(r"python3 -c 'print('\''$x'\'')'")
        );
        assert_eq!(script_command("cobol", "x"), None);
    }
}
