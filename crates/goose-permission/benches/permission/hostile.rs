//! Texts of 200 KB that take as long as possible: deeply nested, unfinished, or with many parts; and a folder
//! with repositories and files that take as long.

use std::{fs, path::Path};

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
        ("redirections to outputs", "ls >a.log; "),
        ("other redirections", ">a.txt "),
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

/// Returns texts with values that become long or many when they are put together.
pub(crate) fn computed() -> Vec<(&'static str, String)> {
    let value = "a".repeat(BYTES / 2);
    let values: String = (0..30).map(|index| format!("v{index}={}; ", "a".repeat(3000))).collect();
    let words: String = (0..30).map(|index| format!("$v{index}$v{}x ", (index + 1) % 30)).collect();
    let chain: String = (0..2000).map(|index| format!("x{}=$x{index}$x{index}; ", index + 1)).collect();
    let items = "a ".repeat(BYTES / 8);
    vec![
        ("a long value in a long word", format!("x={value}; cat {}", "$x".repeat(BYTES / 4))),
        ("a long value in many words", format!("x={value}; cat {}", "$x ".repeat(BYTES / 6))),
        ("many values in many words", format!("{values}{}", format!("cat {words}; ").repeat(60))),
        ("values that double", format!("x0=aaaa; {chain}cat $x2000")),
        ("values of loops", format!("for x in {items}; do for y in {items}; do cat $x/$y; done; done")),
        ("lines of a here-document", format!("xargs cat <<'E'\n{}\nE", "a/b\n".repeat(BYTES / 4))),
        ("ranges", format!("cat {}", "{1..60}/".repeat(BYTES / 8))),
        ("nested braces", format!("cat {}a{}", "{b,".repeat(BYTES / 4), "}".repeat(BYTES / 4))),
        ("lists", format!("{} cat $(ls)", "cat $(find . -name a | sort | head -n 3); ".repeat(BYTES / 50))),
    ]
}

/// Fills a folder with 40,000 files, and a repository with 40 submodules that have large indexes. Returns commands
/// that read them.
#[expect(clippy::disallowed_methods, reason = "the files are only for this benchmark")]
pub(crate) fn fill(folder: &Path) -> anyhow::Result<[(&'static str, &'static str); 6]> {
    const INDEX_BYTES: u64 = 63 * 1024 * 1024;
    let files = folder.join("files");
    fs::create_dir_all(&files)?;
    for number in 0..40_000 {
        fs::write(files.join(format!("f{number}")), "")?;
    }
    let mut index = b"DIRC\0\0\0\x02\0\0\0\x28".to_vec();
    for number in 0..40 {
        let name = format!("m{number:02}");
        let mut entry = vec![0; 62];
        entry[24..28].copy_from_slice(&[0, 0, 0xE0, 0]);
        entry.extend(name.as_bytes());
        entry.resize((entry.len() + 8) & !7, 0);
        index.extend(entry);
        let repository = folder.join(name).join(".git");
        fs::create_dir_all(repository.join("objects"))?;
        fs::File::create(repository.join("index"))?.set_len(INDEX_BYTES)?;
    }
    fs::create_dir_all(folder.join(".git"))?;
    fs::write(folder.join(".git/index"), index)?;
    Ok([
        ("git with large submodules", "git status"),
        ("git in pipes", "git log | head; git diff; git status; git show | cat; git ls-files | xargs cat"),
        ("a search", "grep -r x ."),
        ("wildcards", "cat */* */*/* files/f* files/*1 files/*2"),
        ("a list", "find . -type f | xargs grep x"),
        ("a loop", "for f in files/*; do cat $f; head \"$f\"; done"),
    ])
}
