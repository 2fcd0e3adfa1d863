//! Parsing of command lines: their segments in order, the folders of each, and doubts.

use super::{Folders, KnownValues, Script};

fn read(command: &str) -> Script {
    super::read(command, &KnownValues::default())
}

/// Returns the sources of all segments.
fn sources(command: &str) -> Vec<String> {
    read(command).segments.into_iter().map(|segment| segment.source).collect()
}

/// Returns the folders of the last segment, `?` if they are not known.
fn folders(command: &str) -> String {
    match read(command).segments.last().map(|segment| segment.folders.clone()) {
        Some(Folders::Known(folders)) => folders.join("|"),
        _ => "?".to_owned(),
    }
}

#[test]
fn segments_are_in_source_order() {
    for (command, expected) in [
        ("ls", vec!["ls"]),
        ("a; b && c || d | e & f", vec!["a", "b", "c", "d", "e", "f"]),
        ("a $(b $(c)) \"$(d)\" > x", vec!["a $(b $(c)) \"$(d)\" > x", "b $(c)", "c", "d"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("for i in $(a); do b; done < c", vec!["a", "b"]),
        ("while a; do b; done; until c; do d; done", vec!["a", "b", "c", "d"]),
        ("case $(a) in b|c) d;; (*) e ;; esac", vec!["a", "d", "e"]),
        ("{ a; (b); }; ! c", vec!["a", "b", "c"]),
        ("sh -c 'a; b'", vec!["sh -c 'a; b'", "a", "b"]),
        ("a <<'E'; b\n$(c)\nE\nd", vec!["a <<'E'", "b", "d"]),
        ("a # b\nc", vec!["a", "c"]),
        ("a \\\n  b", vec!["a \\\n  b"]),
        ("x=$(a) b", vec!["x=$(a) b", "a"]),
    ] {
        assert_eq!(sources(command), expected, "{command}");
        let doubts = read(command).doubts;
        assert!(doubts.is_empty(), "{command}: {doubts:?}");
    }
}

#[test]
fn commands_after_unknown_syntax_are_found() {
    for command in [
        "`rm x`",
        "echo $[$(rm x)]",
        "echo ${x@P}; rm x",
        "[[ a ]] && rm x",
        "((1)); rm x",
        "f() { rm x; }",
        "function f { rm x; }",
        "echo $'a'; rm x",
        "fi; rm x",
        "); rm x",
        "ls &> x; rm x",
        "x=(a $(rm x))",
        "cat <<E\n$(rm x)\nE",
        "cat <<E\nrm x",
        "coproc rm x",
        "ls ;; rm x",
        "\u{7f}; rm x",
    ] {
        let script = read(command);
        let is_rm = |source: &String| source.starts_with("rm x");
        assert!(!script.doubts.is_empty(), "{command}");
        assert!(script.segments.iter().map(|segment| &segment.source).any(is_rm), "{command}: {script:?}");
    }
}

#[test]
fn folders_follow_cd() {
    for (command, expected) in [
        ("a", ""),
        ("cd b && a", "b"),
        ("cd b; a", "|b"),
        ("cd b || a", ""),
        ("cd b && cd ../c && a", "b/../c"),
        ("cd /b && a", "/b"),
        ("cd && a", "~"),
        ("cd ~/b && a", "~/b"),
        ("cd '~' && a", "?"),
        ("cd \"b c\" && a", "b c"),
        ("(cd b); a", ""),
        ("(cd b && a)", "b"),
        ("cd b | a", ""),
        ("cd b & a", ""),
        ("{ cd b; } && a", "b"),
        ("{ cd b; true; } && a", "|b"),
        ("if cd b; then a; fi", "b"),
        ("if cd b; then true; fi; a", "|b"),
        ("if cd b; then true; else a; fi", ""),
        ("! cd b && a", ""),
        ("! cd b || a", "b"),
        ("echo $(cd b && c) && a", ""),
        ("cd b && echo $(a)", "b"),
        ("x || cd b && a", "|b"),
        ("case x in y) cd b;; esac; a", "|b"),
        ("for i in 1; do cd b && a; done", "?"),
        ("for i in 1; do (cd b); a; done", ""),
        ("while cd b; do true; done; a", "?"),
        ("cd $b; a", "?"),
        ("cd -; a", "?"),
        ("cd -P b; a", "?"),
        ("cd b c; a", "?"),
        ("pushd b; a", "?"),
        (". b; a", "?"),
        ("ln -s b c; a", "?"),
        ("eval 'cd b' && a", "b"),
        ("sh -c 'cd b'; a", ""),
        ("sh -c 'cd b && a'", "b"),
        ("command cd b && a", "b"),
        ("time cd b && a", "?"),
        ("f() { cd b; }; f; a", "?"),
        ("find . -execdir a \\;", "?"),
        ("find . -exec a \\;", ""),
    ] {
        assert_eq!(folders(command), expected, "{command}");
    }
}

#[test]
fn values_items_and_variables_are_kept() {
    let script = read("x=/a; for i in /b c; do PATH=d; y=${z:-/e} f; done");
    let loose: Vec<&str> = script.loose.iter().filter_map(|loose| loose.word.text.as_deref()).collect();
    assert_eq!(loose, ["/a", "/b", "c", "d", "/e"]);
    assert_eq!(script.set, ["PATH"]);
    assert!(script.doubts.is_empty(), "{:?}", script.doubts);
}
