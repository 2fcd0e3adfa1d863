//! The built-in list of protected files: it asks in every mode, and does not affect ordinary work.

use std::fs;

use anyhow::ensure;
use goose_extension::{ToolAction, ToolGroup};
use goose_permission::{Mode, Origin, Verdict};
use serde_json::json;

use crate::support::{Call, TestHome, is_ask};

/// Creates a home without rules, with some of the protected files.
fn home_with_secrets() -> anyhow::Result<TestHome> {
    let home = TestHome::new()?;
    for (path, text) in [
        (".ssh/id_ed25519", "key"),
        (".netrc", "machine"),
        (".bashrc", ""),
        (".cargo/credentials.toml", "x"),
        ("keys/id_rsa", "x"),
        (".config/fish/config.fish", ""),
        ("goose/config/secrets.yaml", "KEY: x"),
        ("work/.git/config", "[core]"),
        ("work/.env", "KEY=x"),
        ("work/server.pem", "key"),
        ("work/src/main.rs", "fn main() {}"),
        ("work/notes.txt", "text"),
    ] {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(home.path()))?;
        fs::write(path, text)?;
    }
    Ok(home)
}

const MODES: [Mode; 3] = [Mode::Auto, Mode::SmartApprove, Mode::Approve];

/// A command that is not parsed to its end may write anything.
#[test]
fn commands_that_are_too_long_or_too_deep_ask_in_every_mode() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    let write = "echo x >>~/.bashrc";
    let shells = |count: usize| {
        (0..count).fold(write.to_owned(), |inner, _| format!("sh -c '{}'", inner.replace('\'', "'\\''")))
    };
    for (name, command) in [
        ("parts", format!("{}{write}", ":; ".repeat(20_000))),
        ("words", format!(": {}; {write}", "a ".repeat(40_000))),
        ("bytes", format!("{}{write}", " ".repeat(300_000))),
        ("depth", format!("{}{write}; {}", "{ ".repeat(60), "}; ".repeat(60))),
        ("wrappers", format!("{}sh -c '{write}'", "env ".repeat(12))),
        ("shells", shells(7)),
    ] {
        for mode in MODES {
            ensure!(is_ask(&home.shell(mode, &command)), "{name} in {mode}");
        }
    }
    ensure!(home.shell(Mode::Auto, &shells(2).replace("~/.bashrc", "x")) == Verdict::Allow);
    Ok(())
}

#[test]
fn writing_protected_files_asks_in_every_mode() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "sub/.git",
        "sub/../.git/HEAD",
        ".goose/config.yaml",
        ".vscode/tasks.json",
        ".envrc",
        ".cargo/config.toml",
        ".npmrc",
        ".mcp.json",
        "~/.bashrc",
        "~/.BashRC",
        "~/.ssh/authorized_keys",
        "~/.ssh/new/key",
        "~/.config/fish/conf.d/x.fish",
        "~/.config/autostart/x.desktop",
        "~/.config/systemd/user/x.service",
        "~/.local/bin/git",
        "~/bin/git",
        "~/goose/config/config.yaml",
        "~/goose/config/permission.yaml",
        "~/goose/state/trusted.yaml",
        "~/goose/data/oauth/x",
        "../goose/state/cache/tools/x",
        "server.pem",
        "/etc/profile.d/x.sh",
        "/dev/tty",
        "/proc/self/fd/1",
    ] {
        for mode in MODES {
            let verdict = home.judge(mode, &Call::write(path));
            ensure!(is_ask(&verdict), "write {path} in {mode}: {verdict:?}");
            for command in [
                format!("echo x > {path}"),
                format!("echo x >>{path}"),
                format!("cp notes.txt {path}"),
                format!("tee {path}"),
                format!("sed -i s/a/b/ {path}"),
                format!("dd if=notes.txt of={path}"),
                format!("tool --output={path}"),
            ] {
                let verdict = home.shell(mode, &command);
                ensure!(is_ask(&verdict), "{command} in {mode}: {verdict:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn reading_secrets_asks_in_every_mode() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    for path in [
        ".env",
        "./.ENV",
        "server.pem",
        "~/.ssh/id_ed25519",
        "~/.ssh",
        "~/.netrc",
        "../.netrc",
        "~/.aws/credentials",
        "~/.config/gh/hosts.yml",
        "~/goose/config/secrets.yaml",
        "~/goose/data/sessions/sessions.db",
        "/proc/1/environ",
        "/proc/self/task/1/environ",
        "/proc/1/fd/0",
        "/proc/1/mem",
        "/dev/pts/0",
        "/etc/shadow",
    ] {
        for mode in MODES {
            let verdict = home.judge(mode, &Call::read(path));
            ensure!(is_ask(&verdict), "read {path} in {mode}: {verdict:?}");
            for command in [format!("cat {path}"), format!("grep x {path}"), format!("cat < {path}")] {
                let verdict = home.shell(mode, &command);
                ensure!(is_ask(&verdict), "{command} in {mode}: {verdict:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn words_that_look_like_protected_files_ask() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    for command in [
        "cat $HOME/.ssh/id_ed25519",
        "cat \"$HOME\"/.netrc",
        "cat ~/.s*/id*",
        "cat ~/.ss?/x",
        "cat /proc/$PPID/environ",
        "cat /proc/*/environ",
        "cat /proc/$PPID/fd/0",
        "tee $HOME/.bashrc",
        "cp x $HOME/goose/config/config.yaml",
        "cp x ../goose/$X/config.yaml",
        "echo x > $HOME/.ssh/authorized_keys",
        "echo x > $PWD/.git/config",
        "cp $X.pem /tmp/x",
        "rm -rf ~/goose",
        "mv other ~",
        "cp -r x ../goose",
    ] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn link_to_a_protected_file_is_protected() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(home.path().join(".ssh"), home.work().join("keys"))?;
        std::os::unix::fs::symlink(home.path().join(".bashrc"), home.work().join("rc"))?;
        for call in [Call::read("keys/id_ed25519"), Call::write("keys/x"), Call::write("rc")] {
            ensure!(is_ask(&home.judge(Mode::Auto, &call)));
        }
        for command in ["cat keys/id_ed25519", "cp x rc", "echo > rc"] {
            ensure!(is_ask(&home.shell(Mode::Auto, command)), "{command}");
        }
    }
    Ok(())
}

#[test]
fn ordinary_work_runs_in_auto() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    for command in [
        "git add . && git commit -m 'Fix .git handling'",
        "git push origin main",
        "cargo build --release",
        "make; $X",
        "mv \"$f\" x",
        "rm -rf build",
        "echo > $X",
        "cp -r src /tmp/copy",
        "cat src/*.rs",
        "cat .env.example",
        "jq .data.key notes.txt",
        "jq .key notes.txt",
        "cat .git/config",
        "ls -la .git ~",
        "cd ~ && ls",
        "find . -name '*.rs' -exec wc -l {} +",
        "mkdir -p $PREFIX/bin",
        "mv $name.json out",
        "cp \"$x.toml\" $y.rs",
        "test -f .env",
        "echo .env >> .gitignore",
        "docker run x /bin/sh",
        "npm install > /dev/null 2>&1",
        "awk -F/ '{print $1}' notes.txt",
    ] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    for call in [Call::write("src/lib.rs"), Call::write(".env"), Call::write(".gitignore"), Call::read("src")]
    {
        let verdict = home.judge(Mode::Auto, &call);
        ensure!(verdict == Verdict::Allow, "{verdict:?}");
    }
    Ok(())
}

#[test]
fn searches_through_folders_with_secrets_ask() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    for command in [
        "grep -r KEY ~",
        "grep -rn machine ..",
        "grep -R KEY ../goose",
        "rg --hidden KEY ~",
        "rg -uu KEY ~",
        "rg KEY ~/goose",
        "rg KEY ../goose/config",
        "diff -r ~ /tmp",
        "git grep --no-index KEY ~",
        "cat ../.n*",
        "cat ~/.ssh/*",
        "head ~/goose/*/*.yaml",
        "cat ../goose/config/*",
        "cat ../.cargo/*",
        "cat ../keys/*",
        "cat ~/keys/*",
        "cd src && cat ../../keys/*",
        "grep -rh x ../.cargo",
    ] {
        for mode in MODES {
            let verdict = home.shell(mode, command);
            ensure!(is_ask(&verdict), "{command} in {mode}: {verdict:?}");
        }
    }
    // Secrets of the project, and keys that wildcards match.
    for command in [
        "grep -r KEY .",
        "grep -rn KEY",
        "rg -uu KEY",
        "cat *.pem",
        "cat ser*",
        "cat .e*",
        "cat .[e]nv",
        "cat ./.en[a-z]",
    ] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    let search = |path: &str| {
        let call = Call::new(
            "developer__search",
            &[ToolGroup::Read],
            Origin::Own,
            json!({ "path": path, "pattern": "x" }),
        );
        home.judge(Mode::SmartApprove, &call.declaring(ToolAction::reads("path")))
    };
    for path in ["~/goose", "../goose/config", "~/.ssh"] {
        ensure!(is_ask(&search(path)), "search in {path}");
    }
    for path in [".", "src"] {
        ensure!(search(path) == Verdict::Allow, "search in {path}: {:?}", search(path));
    }
    Ok(())
}

#[test]
fn listing_names_and_reading_other_files_is_allowed() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    fs::remove_file(home.work().join(".env"))?;
    for command in [
        "ls -la ~",
        "ls -la ~/.ssh",
        "ls *",
        "find . -name '*.rs'",
        "find ~ -name .env",
        "stat .git/config",
        "tree -L 2",
        "grep -rn main .",
        "grep -rn '.env' src",
        "rg main",
        "rg main src",
        "cat src/*",
        "cat n*",
        "wc -l src/*.rs",
        "head -5 notes.txt",
        "diff notes.txt src/main.rs",
        "ps aux",
        "ps -ef",
        "ps -eo pid,etime,comm",
        "ps -ef --forest",
        "ps aux --sort=-%mem --no-headers",
        "ps -o pid=,args= -p 12",
        "jq .data.key notes.txt",
        "ls \"$f\"",
    ] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    for command in [
        "ps e",
        "ps eww",
        "ps auxe",
        "ps axe -o pid",
        "ps -E",
        "ps -o environ",
        "ps $X",
        "ps -u eww",
        "ps -eu nobody-there",
        "ps -ef -o pid",
        "ps -e -o Uk",
        "ps -eo pid --sort=Uk",
        "ps -eLf --forest",
    ] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    Ok(())
}

/// A search goes on behind a secret that the user has allowed.
#[test]
fn an_allowed_secret_does_not_hide_others() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: read .env"])?;
    for folder in ["a", "b"] {
        fs::create_dir_all(home.work().join(folder))?;
        fs::write(home.work().join(folder).join("notes.txt"), "x")?;
    }
    fs::write(home.work().join(".env"), "KEY=x")?;
    for command in ["grep -r x .", "find . -type f | xargs grep x"] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    fs::write(home.work().join("b/.env"), "KEY=y")?;
    for command in ["grep -r x .", "find . -type f | xargs grep x"] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn rule_that_names_a_protected_file_allows_it() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&[
        "allow: read .env",
        "allow: write .vscode/**",
        "allow: write **",
        "allow: read ~/**",
    ])?;
    for (name, text) in [(".env", "KEY=x"), (".netrc", "x")] {
        fs::write(home.work().join(name), text)?;
    }
    for call in [Call::read(".env"), Call::write(".vscode/settings.json")] {
        let verdict = home.judge(Mode::SmartApprove, &call);
        ensure!(verdict == Verdict::Allow, "{verdict:?}");
    }
    ensure!(home.shell(Mode::SmartApprove, "cat .env") == Verdict::Allow);
    for call in [Call::read(".netrc"), Call::write(".git/config"), Call::read("~/.ssh/x")] {
        let verdict = home.judge(Mode::Auto, &call);
        ensure!(is_ask(&verdict), "{verdict:?}");
    }
    Ok(())
}

#[test]
fn computed_file_names_ask() -> anyhow::Result<()> {
    let home = home_with_secrets()?;
    for command in [
        "f=~/.ssh/id_ed25519; cat $f",
        "f=.netrc; cat ~/$f",
        "d=~/.config; f=gh/hosts.yml; cat $d/$f",
        "f=gh/hosts.yml; cat ~/.config/$f",
        "a=.e; b=nv; cat $a$b",
        "for f in ~/.netrc; do cat \"$f\"; done",
        "for f in .netrc; do head \"../$f\"; done",
        "cat $(echo vne. | rev)",
        "cat $(printf '\\056env')",
        "cat $(cut -c1-4 notes.txt)",
        "cat $(head -1 notes.txt)",
        "head -1 notes.txt | xargs cat",
        "echo ~/.netrc | xargs cat",
        "find ~ -type f | xargs cat",
        "find ~ -name 'id_*' | xargs cat",
        "find .. -name .netrc | xargs cat",
        "cat $(find ~/.ssh -type f)",
        "ls -d ~/.ssh/* | xargs cat",
        "find . -type f | xargs grep KEY",
        "cat $(git show HEAD:list)",
        "cat \"$f\"",
    ] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    for command in [
        "for f in src/*.rs; do head -3 \"$f\"; done",
        "for f in src/*.rs; do echo \"== $f\"; wc -l \"$f\"; done",
        "find . -name '*.rs' | xargs grep -n main",
        "find . -name '*.rs' | head -5 | xargs wc -l",
        "wc -l $(find src -name '*.rs')",
        "grep -rl main src | xargs head -2",
        "cat \"$HOME/notes.txt\"",
        "cat $(which ls)",
        "f=notes.txt; cat $f",
        "ls $(pwd)",
    ] {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn well_known_credentials_ask_and_examples_do_not() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    for path in [
        ".env.backup",
        ".env.ci",
        ".env.keys",
        ".envrc",
        ".env-prod",
        "prod.env",
        ".secrets",
        "secrets.yaml",
        "config/credentials.json",
        "service-account.json",
        "terraform.tfstate",
        "prod.tfvars",
        ".dev.vars",
        ".htpasswd",
        "kubeconfig",
        "~/.cache/huggingface/token",
        "~/.gemini/oauth_creds.json",
        "~/.local/share/opencode/auth.json",
        "~/.config/sops/age/keys.txt",
        "~/.config/github-copilot/hosts.json",
        "~/.databrickscfg",
        "~/.oci/config",
        "~/.config/stripe/config.toml",
        "~/.psql_history",
        "~/.python_history",
        "~/.bitcoin/wallet.dat",
        "/run/secrets/token",
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "/dev/vda",
        "/dev/nvme0n1p1",
    ] {
        if !path.starts_with(['~', '/']) {
            let file = home.work().join(path);
            fs::create_dir_all(file.parent().unwrap_or(home.path()))?;
            fs::write(file, "x")?;
        }
        for mode in MODES {
            ensure!(is_ask(&home.judge(mode, &Call::read(path))), "read {path} in {mode}");
            let verdict = home.shell(mode, &format!("head -c 16 {path}"));
            ensure!(is_ask(&verdict), "head {path} in {mode}: {verdict:?}");
        }
    }
    for path in
        [".env.example", ".env.local.sample", ".env.template", "env.ts", "src/env.rs", "environment.yml"]
    {
        let verdict = home.judge(Mode::SmartApprove, &Call::read(path));
        ensure!(verdict == Verdict::Allow, "read {path}: {verdict:?}");
    }
    Ok(())
}
