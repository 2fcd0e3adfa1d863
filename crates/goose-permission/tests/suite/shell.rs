//! Shell commands: read-only ones, those that rules allow or deny, and bypasses.

use anyhow::ensure;
use goose_permission::{Mode, Verdict};

use crate::support::{Call, TestHome, always, is_ask, is_deny, reasons};

/// Commands that run without approval in `smart_approve`.
const READS: &[&str] = &[
    "ls",
    "ls -la src",
    "cat a.txt | head -n 5",
    "pwd && ls; whoami",
    "grep -rn 'fn main' src | wc -l",
    "rg -n \"two words\" src",
    "find . -name '*.rs' -type f",
    "git status",
    "git --no-pager log --oneline -n 5",
    "git diff HEAD~1 -- src",
    "git branch -a",
    "git remote -v",
    "git config --get user.name",
    "sed -n '1,20p' a.txt",
    "echo $(git rev-parse HEAD)",
    "cat a.txt 2>/dev/null || echo missing",
    "ls > /dev/null 2>&1",
    "LC_ALL=C sort a.txt",
    "timeout 5 cat a.txt",
    "env LC_ALL=C ls",
    "command -v cargo",
    "find . -name '*.rs' | xargs grep -l main",
    "for f in a b; do cat \"$f\"; done",
    "if [ -f a.txt ]; then cat a.txt; else echo no; fi",
    "while true; do pwd; sleep 1; done",
    "bash -c 'ls && pwd'",
    "files=$(ls); echo \"$files\"",
    "git --version",
    "# a remark\nls",
    "(ls; pwd)",
    "{ ls; pwd; }",
    "! grep -q x a.txt",
    "diff <(ls a) <(ls b)",
    "cd src && ls",
    "cat <<'EOF'\n$(rm x)\nEOF",
    "wc -l <a.txt",
];

#[test]
fn read_only_commands_run_in_smart_approve() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    for command in READS {
        let verdict = home.shell(Mode::SmartApprove, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
        ensure!(is_ask(&home.shell(Mode::Approve, command)), "{command} in approve");
    }
    Ok(())
}

/// Commands that look harmless and are not, or that cannot be understood.
const DOUBTS: &[&str] = &[
    // Chains and substitutions.
    "ls && rm -rf x",
    "ls; rm x",
    "ls | tee out",
    "ls\nrm x",
    "ls & rm x",
    "echo $(rm x)",
    "echo `rm x`",
    "echo \"$(rm x)\"",
    "echo \"`rm x`\"",
    "cat <(rm x)",
    "ls ${x:-$(rm x)}",
    "cat <<EOF\n$(rm x)\nEOF",
    "cat <<EOF\n`rm x`\nEOF",
    "cat <<EOF\nEOF\nrm x",
    "cat <<-EOF\n\tEOF\nrm x",
    "cat <<EOF\nEOF \nrm x\nEOF",
    "cat << 'A' << 'B'\nA\nrm\nB\nrm x",
    "f() { rm x; }; f",
    "ls() { rm x; }; ls",
    "for f in *; do rm $f; done",
    "while true; do rm x; done",
    "if true; then rm x; fi",
    "case x in x) rm x;; esac",
    "! rm x",
    "(rm x)",
    "{ rm x; }",
    "[ -f x ] && rm x",
    "[[ a || rm x ]]",
    "[ a > b ]",
    "((rm x))",
    "echo $((x))",
    "x='a[$(rm x)]'; echo $((x))",
    "echo ${x@P}",
    "select x in a; do ls; done",
    // Programs that run others.
    "bash -c 'rm x'",
    "sh -c \"ls; rm x\"",
    "bash -c \"$X\"",
    "bash -c \"bash -c 'rm x'\"",
    "bash",
    "bash script.sh",
    "bash <<< 'rm x'",
    "echo 'rm x' | bash",
    "echo 'rm x' | sh -s",
    "zsh -c 'ls'",
    "eval \"rm x\"",
    "eval $X",
    "env rm x",
    "env -S 'rm x'",
    "env FOO=1 ls",
    "sudo ls",
    "sudo rm x",
    "doas ls",
    "nice -n 5 rm x",
    "timeout 5 rm x",
    "timeout $T rm x",
    "timeout --unknown 5 ls",
    "nohup rm x",
    "time rm x",
    "command rm x",
    "exec rm x",
    "builtin eval 'rm x'",
    "busybox rm x",
    "ls | xargs rm",
    "ls | xargs -I{} sh -c 'rm {}'",
    "ls | xargs --unknown grep x",
    "ls | xargs rg",
    "find . -exec rm {} \\;",
    "find . -execdir rm {} +",
    "find . -delete",
    "find . -fprint out",
    "find . $X",
    "find . \"$X\"",
    // Names and quotes.
    "r\\m x",
    "'rm' x",
    "\"r\"m x",
    "$'rm' x",
    "$'\\x72m' x",
    "$\"rm\" x",
    "$CMD x",
    "${CMD} x",
    "`echo rm` x",
    "$(echo rm) x",
    "{rm,-rf,x}",
    "l{s,} x",
    "/bin/rm x",
    "./ls",
    "/tmp/ls",
    "~/ls",
    "*/ls",
    "\\ls -la; ./x",
    // Variables.
    "PATH=/evil ls",
    "LD_PRELOAD=/evil.so ls",
    "GIT_PAGER=evil git log",
    "PATH=/evil; ls",
    "export PATH=/evil; ls",
    "export X=1",
    "declare x=1",
    "unset PATH",
    "IFS=x; ls",
    "for PATH in /evil; do ls; done",
    "x[$(rm x)]=1",
    "read PATH; ls",
    "printf -v PATH /evil",
    "alias ls=rm",
    "trap 'rm x' EXIT",
    "source x.sh",
    ". ./x.sh",
    // Options that write or run.
    "rg --pre evil x",
    "rg --pre=evil x",
    "rg $X",
    "rg \"$X\"",
    "rg *",
    "git -c core.pager=evil log",
    "git -C /elsewhere status",
    "git --git-dir=/x status",
    "git --exec-path=/x status",
    "git -p log",
    "git diff --output=x",
    "git diff --outp=x",
    "git log --ext-diff",
    "git log --ext",
    "git show --textconv",
    "git grep -O x",
    "git grep --open-files-in-pager=evil x",
    "git $X",
    "git log $X",
    "git branch new",
    "git branch -D main",
    "git branch --list -D main",
    "git tag v1",
    "git remote add x y",
    "git stash",
    "git config user.name x",
    "git config --get --global -e",
    "git commit -m x",
    "git push",
    "cd src && git status",
    "cd / && ls",
    "cd .. && ls",
    "cd $X && ls",
    "cd src && cd .. && cd .. && ls",
    "pushd src && ls",
    "sed -i s/a/b/ x",
    "sed 's/a/b/w out' x",
    "sed -n '1e rm x' x",
    "sed -n '1,5p' -i x",
    "awk 'BEGIN{system(\"rm x\")}'",
    "sort -o out x",
    "sort -no out x",
    "sort --output=out x",
    "sort --out=out x",
    "sort --compress-program=evil x",
    "uniq in out",
    "tree -o out",
    "tree -R",
    "date -s tomorrow",
    "date 01010000",
    "file -C -m x",
    "test -v 'a[$(rm x)]'",
    "python3 -c 'print(1)'",
    "node -e 1",
    "curl http://localhost",
    "npm test",
    "kubectl get secrets",
    "kubectl get pods -o yaml",
    "kubectl get pods --kubeconfig x",
    "kubectl get pods $X",
    "top",
    "unknown-program",
    // Redirections.
    "ls > out",
    "ls >> out",
    "ls >| out",
    "ls &> out",
    "ls 2> out",
    "ls >& out",
    "> out",
    "ls > $X",
    "ls > \"$(rm x)\"",
    "cat < /dev/tcp/localhost/80",
    "ls > /dev/tcp/localhost/80",
    "cat a > /dev/sda",
    // Syntax errors.
    "ls '",
    "ls \"",
    "ls $(",
    "ls && ",
    "if true; then ls",
    "ls )",
    "cat <<EOF\nno end",
    "function ls { pwd; }; ls",
    "coproc ls",
    "ls\r\nrm x",
    "ls\u{0}rm",
    "ls\u{b}rm",
    "ls\u{a0}x",
    "ls\u{2028}rm x",
    "",
    "# only a remark",
];

#[test]
fn bypasses_need_approval() -> anyhow::Result<()> {
    let plain = TestHome::new()?;
    let ruled = TestHome::with_rules(&["allow: shell ls *", "allow: shell echo *", "allow: shell cat *"])?;
    let mut bypasses = Vec::new();
    for command in DOUBTS {
        for (home, mode) in [(&plain, Mode::SmartApprove), (&ruled, Mode::Approve)] {
            let verdict = home.shell(mode, command);
            if !is_ask(&verdict) || reasons(&verdict).is_empty() {
                bypasses.push((mode, command, verdict));
            }
        }
    }
    ensure!(bypasses.is_empty(), "{bypasses:#?}");
    Ok(())
}

/// Ways to write the same denied command, all of which are found.
const REMOVALS: &[&str] = &[
    "rm x",
    "rm",
    "ls && rm -rf x",
    "ls || rm x",
    "ls; rm x",
    "ls | rm x",
    "ls & rm x",
    "ls\nrm x",
    "echo $(rm x)",
    "echo `rm x`",
    "echo \"a $(rm x) b\"",
    "cat <(rm x)",
    "cat <<EOF\n$(rm x)\nEOF",
    "f() { rm x; }; f",
    "if true; then rm x; fi",
    "for f in *; do rm \"$f\"; done",
    "case x in x) rm x;; esac",
    "FOO=1 rm x",
    "env FOO=1 rm x",
    "env -i rm x",
    "sudo rm x",
    "sudo -u root rm x",
    "timeout 5 nice -n 5 rm x",
    "nohup rm x &",
    "command rm x",
    "exec rm x",
    "busybox rm x",
    "ls | xargs rm",
    "ls | xargs -0 -n 1 rm -f",
    "find . -exec rm {} \\;",
    "bash -c 'rm x'",
    "bash -lc 'ls; rm x'",
    "sh -c 'bash -c \"rm x\"'",
    "eval 'rm x'",
    "eval rm x",
    "r\\m x",
    "'r'm x",
    "/bin/rm x",
    "/usr/bin/../bin/rm x",
    "RM x",
    "$UNKNOWN; rm x",
    "ls ' ; echo '; rm x",
    "((1)); rm x",
    "! { { rm x; }; }",
];

#[test]
fn deny_wins_over_allow_in_any_form() -> anyhow::Result<()> {
    let rules = ["deny: shell rm *", "allow: shell *", "allow: shell rm *", "allow: shell ls *"];
    let home = TestHome::with_rules(&rules)?;
    for mode in [Mode::Auto, Mode::SmartApprove, Mode::Approve] {
        for command in REMOVALS {
            let verdict = home.shell(mode, command);
            ensure!(is_deny(&verdict), "{mode}: {command:?}: {verdict:?}");
        }
        ensure!(home.shell(mode, "ls; touch x") == Verdict::Allow, "{mode}");
    }
    Ok(())
}

#[test]
fn possibly_denied_commands_ask_in_auto() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: shell git push *", "deny: shell rm *"])?;
    for command in [
        "$X",
        "git $X origin",
        "git -C /x push",
        "git --no-pager push",
        "bash -c \"$X\"",
        "eval $X",
        "echo $X | sh",
        "docker run image rm x",
        "ssh host rm x",
        "su -c 'rm x'; su rm x",
        "{rm,x}",
        "alias ls=rm; ls x",
        "ls '",
        // Shells evaluate the value of a variable in `$((…))`; the content of a Makefile is not known.
        "for i in 1 2; do echo $((i + 1)); done",
        "export X=1; make",
    ] {
        let verdict = home.shell(Mode::Auto, command);
        ensure!(is_ask(&verdict), "{command}: {verdict:?}");
    }
    for command in
        ["git log", "cargo build", "for i in 1 2; do echo $((1 + 1)); done", "export X=1; cargo test"]
    {
        ensure!(home.shell(Mode::Auto, command) == Verdict::Allow, "{command}");
    }
    Ok(())
}

#[test]
fn many_segments_ask_and_a_denied_one_is_found() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["deny: shell rm *", "allow: shell ls *"])?;
    for (count, joint) in [(51, " && "), (51, "; "), (5000, " && "), (5000, " | "), (5000, "\n")] {
        let many = vec!["ls"; count].join(joint);
        ensure!(is_ask(&home.shell(Mode::SmartApprove, &many)), "{count} {joint:?}");
        ensure!(is_ask(&home.shell(Mode::Approve, &many)), "{count} {joint:?}");
        ensure!(is_deny(&home.shell(Mode::Auto, &format!("{many}{joint}rm x"))), "{count} {joint:?}");
        ensure!(is_deny(&home.shell(Mode::Approve, &format!("rm x{joint}{many}"))), "{count} {joint:?}");
    }
    ensure!(home.shell(Mode::Approve, &vec!["ls"; 50].join(" && ")) == Verdict::Allow);
    let deep = format!("{}ls{}", "(".repeat(3000), ")".repeat(3000));
    home.shell(Mode::Approve, &deep);
    ensure!(is_ask(&home.shell(Mode::Approve, &"ls ".repeat(200_000))), "too long");
    Ok(())
}

#[test]
fn allow_rule_matches_exactly_its_words() -> anyhow::Result<()> {
    let rules = ["allow: shell cargo test *", "allow: shell make check", "allow: shell git commit -m '*' x*"];
    let home = TestHome::with_rules(&rules)?;
    for command in [
        "cargo test",
        "cargo test -p goose -- --nocapture",
        "cargo test -- \"$NAME\"",
        "RUST_BACKTRACE=1 timeout 60 cargo test",
        "bash -c 'cargo test'",
        "make check",
        "cargo test && make check",
        "cargo test 2>&1 >/dev/null",
        "git commit -m '*' xyz",
    ] {
        let verdict = home.shell(Mode::Approve, command);
        ensure!(verdict == Verdict::Allow, "{command}: {verdict:?}");
    }
    for command in [
        "cargo",
        "cargo build",
        "cargo testing",
        "cargo $X",
        "cargo $X test",
        "./cargo test",
        "make check all",
        "make",
        "RUSTC_WRAPPER=evil cargo test",
        "cargo test > out.rs",
        "cargo test $(touch x)",
        "sudo cargo test",
        "git commit -m 'other' xyz",
    ] {
        ensure!(is_ask(&home.shell(Mode::Approve, command)), "{command}");
    }
    Ok(())
}

#[test]
fn sudo_is_allowed_only_by_a_rule_that_names_it() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&["allow: shell sudo apt update", "allow: shell apt *"])?;
    ensure!(home.shell(Mode::Approve, "sudo apt update") == Verdict::Allow);
    ensure!(is_ask(&home.shell(Mode::Approve, "sudo apt remove x")));
    ensure!(is_ask(&home.shell(Mode::Approve, "sudo bash -c 'apt update'")));
    ensure!(home.shell(Mode::Approve, "apt remove x") == Verdict::Allow);
    Ok(())
}

#[test]
fn always_is_narrow_and_offered_only_if_safe() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    for (command, rule) in [
        ("cargo test -p goose", Some("allow: shell cargo test *")),
        ("cargo test", Some("allow: shell cargo test *")),
        ("gh pr view 7", Some("allow: shell gh pr view *")),
        ("ls -la", Some("allow: shell ls *")),
        ("git push origin main", Some("allow: shell git push origin main")),
        ("rg -n 'two words' src", Some("allow: shell rg -n 'two words' src")),
        ("cargo run", Some("allow: shell cargo run")),
        ("rm -rf build", None),
        ("sudo apt update", None),
        ("python3 -c 'x'", None),
        ("python3.12 x.py", None),
        ("node x.js", None),
        ("bash x.sh", None),
        ("./x.sh", None),
        ("/usr/bin/make", None),
        ("curl http://localhost", None),
        ("xargs ls", None),
        ("cargo test && make", Some("allow: shell cargo test *; allow: shell make")),
        ("cargo test > out", None),
        ("cargo test $(make)", None),
        ("FOO=1 cargo test", None),
        ("make $X", None),
    ] {
        let verdict = home.shell(Mode::Approve, command);
        ensure!(is_ask(&verdict) && always(&verdict).as_deref() == rule, "{command}: {verdict:?}");
    }
    Ok(())
}

#[test]
fn redirections_follow_file_rules() -> anyhow::Result<()> {
    let home = TestHome::with_rules(&[
        "deny: write ~/.ssh/**",
        "allow: write out/**",
        "deny: read .env",
        "ask: read ~/keys",
    ])?;
    for (command, mode) in [
        ("echo key >> ~/.ssh/authorized_keys", Mode::Auto),
        ("ls > ../.ssh/x", Mode::Auto),
        ("bash -c 'ls > ~/.ssh/x'", Mode::Auto),
        ("cat .env", Mode::Auto),
        ("cat < .env", Mode::Auto),
        ("cat ./x/../.env", Mode::SmartApprove),
    ] {
        ensure!(is_deny(&home.shell(mode, command)), "{command}");
    }
    for command in [
        "cp x ~/.ssh/",
        "tee -a ~/.ssh/x",
        "python3 x.py --file=.env",
        "cat ~/keys/a",
        "cat ~/KEYS/a",
        "cd x && ls > y",
    ] {
        ensure!(is_ask(&home.shell(Mode::Auto, command)), "{command}");
    }
    ensure!(home.shell(Mode::SmartApprove, "ls > out/a.txt") == Verdict::Allow);
    ensure!(is_ask(&home.shell(Mode::SmartApprove, "ls > out/../a.txt")));
    ensure!(home.shell(Mode::Auto, "ls > a.txt") == Verdict::Allow);
    Ok(())
}

/// Reasons are in words that say what to look at.
const REASONS: &[(&str, &str)] = &[
    ("cd src && make x", "`make x` runs in another folder (`src`)"),
    ("cd $X && make x", "`make x` may run in another folder"),
    ("echo 'a", "has an unbalanced quote"),
    ("echo \"a", "has an unbalanced quote"),
    ("# only a remark", "there is nothing to run in it"),
    ("make x", "no rule allows `make x`"),
];

#[test]
fn reasons_say_what_to_look_at() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    for (command, reason) in REASONS {
        let verdict = home.shell(Mode::Approve, command);
        ensure!(is_ask(&verdict) && reasons(&verdict).contains(reason), "{command}: {verdict:?}");
    }
    Ok(())
}

/// Commands, and the files in the working folder that they are known to write.
const WRITES: &[(&str, &[&str])] = &[
    ("cat a > b; ls", &["b"]),
    ("rm -f a b -- -c", &["a", "b", "-c"]),
    ("rm *.txt", &["x.txt", "y.txt"]),
    ("ls | tee -a log /dev/null", &["log"]),
    ("sed -i 's/a/b/' a b", &["a", "b"]),
    ("sed -n -i.bak -e 's/a/b/' -e p a", &["a"]),
    ("sed --in-place --expression=p a", &["a"]),
    ("sed 's/i/j/' a", &[]),
    ("perl -pi -e 's/a/b/' a", &["a"]),
    ("perl -ne 'print' a", &[]),
    ("mv a b", &["a", "b"]),
    ("mv a b dir", &["a", "b", "dir/a", "dir/b"]),
    ("mv -t dir a", &["a", "dir/a"]),
    ("cp a b", &["b"]),
    ("cp -r --target-directory=dir a x/b", &["dir/a", "dir/b"]),
    ("cp *.txt dir", &["dir/x.txt", "dir/y.txt"]),
    ("cp -r dir/. .", &[]),
    ("install -m 755 a dir/b", &["dir/b"]),
    ("ln -sf a b", &["b"]),
    ("dd if=a of=b", &["b"]),
    ("sort -o a a", &["a"]),
    ("truncate -s 0 a", &["a"]),
    ("touch -t 202601010000 a b", &["a", "b"]),
    ("sudo -u me rm a", &["a"]),
    ("bash -c 'rm a' && env X=1 rm b", &["a", "b"]),
    ("cd dir && rm a", &["dir/a"]),
    ("cd $X; rm a", &[]),
    ("rm $X \"$Y\" {a,b}", &[]),
    ("for f in a b; do rm $f; done", &[]),
    ("make; python3 a.py; git restore a", &[]),
    ("rm", &[]),
    ("cp a", &[]),
    ("mv -t", &[]),
];

#[test]
fn written_files_of_commands_are_known() -> anyhow::Result<()> {
    let home = TestHome::new()?;
    let work = home.work().canonicalize()?;
    std::fs::create_dir(work.join("dir"))?;
    ["x.txt", "y.txt"].iter().try_for_each(|name| std::fs::write(work.join(name), ""))?;
    for (command, files) in WRITES {
        for mode in [Mode::Auto, Mode::Approve] {
            let call = Call::shell(command);
            let mut writes = home.permissions(mode).judgement(&call.in_folder(&work)).writes;
            let mut expected: Vec<_> = files.iter().map(|file| work.join(file)).collect();
            writes.sort();
            expected.sort();
            ensure!(writes == expected, "{command}: {writes:?}");
        }
    }
    Ok(())
}
