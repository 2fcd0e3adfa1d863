//! Texts of 200 KB that take as long as possible: deeply nested, unfinished, or with many parts.

/// Size of each text.
const BYTES: usize = 200 * 1024;

/// Returns the texts with their names.
pub(crate) fn texts() -> Vec<(&'static str, String)> {
    let repeated = [
        ("segments", "ls a; "),
        ("segments that differ", "touch a & "),
        ("exec clauses", "-exec ls ; "),
        ("redirections", ">a "),
        ("redirections of commands", "ls >a; "),
        ("words", "a "),
        ("quoted words", "'a' "),
        ("half-quoted words", "\"a' "),
        ("paths", "../a/b "),
        ("folders", "cd a; "),
        ("options", "-a=b,c:d "),
        ("opened substitutions", "$("),
        ("opened braces", "${x:-"),
        ("opened subshells", "( "),
        ("opened groups", "{ "),
        ("opened quotes with substitutions", "\"$("),
        ("backticks", "`a "),
        ("escaped backticks", "\\\\\\`"),
        ("arithmetic", "$(("),
        ("here-documents", "cat <<E\n"),
        ("finished here-documents", "cat <<'E'\nE\n"),
        ("conditions", "if "),
        ("loops", "for x in a; do "),
        ("cases", "case a in a) "),
        ("functions", "f() { "),
        ("assignments", "x=a "),
        ("assignments and uses", "x=a; $x\n"),
        ("wrappers", "env "),
        ("shells", "sh -c '"),
        ("evaluations", "eval "),
        ("arguments of xargs", "xargs "),
        ("pipes", "ls | "),
        ("negations", "! "),
        ("tests", "[ a = b ] && "),
        ("braces", "{a,b}"),
        ("globs", "*/"),
        ("line ends", "\n"),
        ("continuations", "\\\n"),
        ("remarks", "# a\n"),
        ("backslashes", "\\"),
        ("dollars", "$"),
        ("denied programs", "rm a; "),
        ("words that may be denied", "$x a; "),
        ("git", "git push; "),
    ];
    let mut texts: Vec<(&str, String)> =
        repeated.into_iter().map(|(name, part)| (name, part.repeat(BYTES / part.len()))).collect();
    texts.push(("one long word", "a".repeat(BYTES)));
    texts.push(("find with exec clauses", format!("find . {}", "-exec ls {} \\; ".repeat(BYTES / 15))));
    texts.push(("closed substitutions", format!("{}{}", "$(".repeat(BYTES / 3), ")".repeat(BYTES / 3))));
    texts.push(("closed subshells", format!("{}ls{}", "(".repeat(BYTES / 2), ")".repeat(BYTES / 2))));
    texts.push(("a script in a word", format!("sh -c '{}'", "ls a; ".repeat(BYTES / 6))));
    texts.push(("a path in a word", format!("cat {}", "../".repeat(BYTES / 3))));
    texts.push((
        "ends of here-documents",
        format!("{}\n{}", "cat <<E ".repeat(BYTES / 16), "E\n".repeat(BYTES / 4)),
    ));
    texts
}
