//! `--with-extension 'CMD'`.

use anyhow::{Context, Result, ensure};
use goose_config::ExtensionConfig;
use proptest::prelude::*;

#[test]
fn command_line_is_split_into_variables_program_and_arguments() -> Result<()> {
    type Expected<'a> = (&'a str, &'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);
    let cases: [(&str, Expected<'_>); 13] = [
        ("server", ("server", "server", &[], &[])),
        ("  /opt/my\\ tools/srv.sh\t-v\n", ("srv", "/opt/my tools/srv.sh", &["-v"], &[])),
        (
            "npx -y @mcp/server --flag 'a b' KEY=VALUE",
            ("server", "npx", &["-y", "@mcp/server", "--flag", "a b", "KEY=VALUE"], &[]),
        ),
        ("A=1 B='x y' C= srv", ("srv", "srv", &[], &[("A", "1"), ("B", "x y"), ("C", "")])),
        ("1A=x b", ("1A=x", "1A=x", &["b"], &[])),
        ("npx -y @mcp/server@1.2.3", ("server", "npx", &["-y", "@mcp/server@1.2.3"], &[])),
        ("uvx mcp-fetch==1.0", ("mcp-fetch", "uvx", &["mcp-fetch==1.0"], &[])),
        (
            "uvx --from git+https://h/x mcp-x a",
            ("mcp-x", "uvx", &["--from", "git+https://h/x", "mcp-x", "a"], &[]),
        ),
        ("/usr/bin/npx -p pkg bin", ("bin", "/usr/bin/npx", &["-p", "pkg", "bin"], &[])),
        ("npx --version", ("npx", "npx", &["--version"], &[])),
        (r#"x "a \"b\" \n $HOME" '' c"d"'e'"#, ("x", "x", &["a \"b\" \\n $HOME", "", "cde"], &[])),
        (r"x 'a\b' c\'d", ("x", "x", &[r"a\b", "c'd"], &[])),
        ("x a|b; c>d *", ("x", "x", &["a|b;", "c>d", "*"], &[])),
    ];
    for (line, (name, cmd, args, envs)) in cases {
        let expected = ExtensionConfig::stdio(name, cmd, args.iter().copied());
        let expected = envs.iter().fold(expected, |config, (name, value)| config.with_env(*name, *value));
        let found = ExtensionConfig::from_command_line(line).with_context(|| line.to_owned())?;
        assert_eq!(
            (&found, serde_json::to_value(&found)?),
            (&expected, serde_json::to_value(&expected)?),
            "{line}"
        );
    }
    Ok(())
}

#[test]
fn invalid_command_line_says_why() -> Result<()> {
    for (line, expected) in [
        ("", "names no program"),
        ("A=1", "names no program"),
        ("'' a", "names no program"),
        ("x 'a", "a quote is not closed"),
        ("x \"a\\\"", "a quote is not closed"),
        ("x a\\", "ends with a backslash"),
    ] {
        let error =
            ExtensionConfig::from_command_line(line).err().with_context(|| line.to_owned())?.to_string();
        ensure!(error.contains(expected), "{line}: {error}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quoted_words_are_unchanged(words in proptest::collection::vec("[^']{0,8}", 0..5)) {
        let line = words.iter().fold(String::from("run"), |line, word| format!("{line} '{word}'"));
        let found = ExtensionConfig::from_command_line(&line);
        prop_assert_eq!(found.ok(), Some(ExtensionConfig::stdio("run", "run", words)));
    }

    #[test]
    fn no_line_panics(line in "\\PC{0,40}") {
        let _ = ExtensionConfig::from_command_line(&line);
    }
}
