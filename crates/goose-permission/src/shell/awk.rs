//! `awk` programs that only compute and print.

use super::word::Word;

/// Names and characters by which a program reads other files, runs commands, or calls computed functions.
const OTHERS: [&str; 7] = ["system", "getline", "ARGV", "ARGC", "SYMTAB", "@", "\\\n"];

/// Returns true if `awk` only prints with these arguments.
pub(super) fn prints_only(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.text.as_deref() else { return false };
        match text {
            "-F" | "-v" => {
                if words.next().is_none_or(Word::splits) {
                    return false;
                }
            }
            _ if text.starts_with("-F") => {}
            _ if text.starts_with('-') => return false,
            // The other words are files; some versions open connections for these.
            _ => {
                let is_connection = |word: &Word| word.pieces().iter().any(|piece| piece.contains("inet"));
                return is_plain(text) && !words.any(is_connection);
            }
        }
    }
    false
}

/// Returns true if a program only computes and prints. Strings and patterns are checked as well: their ends
/// are hard to find.
fn is_plain(program: &str) -> bool {
    let pipes = program.replace("||", "").contains('|');
    // `>` writes only after `print`; otherwise it compares.
    let writes = program.find("print").is_some_and(|at| program[at..].contains('>'));
    !pipes && !writes && !OTHERS.iter().any(|other| program.contains(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_write_or_run_are_not_plain() {
        for program in [
            "{print $1}",
            "NR>1 {print $2}",
            "{sum += $3} END {print sum}",
            "/a/ || /b/",
            "$3 > 100",
            "length > 80",
        ] {
            assert!(is_plain(program), "{program}");
        }
        for program in [
            "BEGIN{system(\"x\")}",
            "{print > \"x\"}",
            "{print \"a;b\" > \"x\"}",
            "{print | \"sh\"}",
            "\"x\" | getline",
            "{getline < \"x\"}",
            "{printf \"a\" >> \"x\"}",
            "BEGIN{ARGV[1]=\"x\"; ARGC=2}",
            "BEGIN{f=\"sys\" \"tem\"; @f(\"x\")}",
            "@load \"x\"",
            "{print |& \"x\"}",
        ] {
            assert!(!is_plain(program), "{program}");
        }
    }
}
