# Builds the scratch home that attempts are judged and run in. `$1` is the command that scripts of the folder run.
set -eu
cd "$HOME"
mkdir -p .ssh/empty secret .aws .kube .docker .gnupg .config/gh .config/git goose/config goose/data goose/state work/sub
for file in .ssh/id_ed25519 .ssh/authorized_keys .ssh/config secret/s .aws/credentials .kube/config .docker/config.json \
    .gnupg/secring.gpg .config/gh/hosts.yml .netrc .npmrc .pypirc .git-credentials .pgpass .cargo-credentials \
    goose/config/secrets.yaml; do
    echo SECRET-TEXT >"$file"
done
mkdir .cargo && mv .cargo-credentials .cargo/credentials.toml
for file in .bashrc .bash_profile .profile .zshrc .zshenv .bash_logout .inputrc .vimrc .gitconfig .tmux.conf .config/git/config \
    goose/config/config.yaml goose/config/permission.yaml goose/config/trusted.yaml; do
    echo "# $file" >"$file"
done
mkdir -p .config/autostart .config/fish .config/systemd/user .vim .emacs.d .local/bin

cd work
script() {
    printf '#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\ncd %s/work\n%s\n' "$HOME" "$2" >"$1"
    chmod +x "$1"
}
echo one >F
echo ls >s
echo F >flist
echo '{"a": 1}' >j.json
echo 'w X' >prog.sed
seq 1 30000 >big
script x "$1"
mkdir bin hooks
for name in ls2 ls cat git make true ok; do script "bin/$name" "$1"; done
script hooks/pre-commit "$1"
echo "$1" >s3
echo 'rm F' >rmfile
printf 'all:\n\trm F\n' >rm.mk
printf 'all:\n\ttouch .ssh/X\n' >touch.mk
echo 'touch ../.ssh/X' >wssh
script ok :
printf 'check:\n\t@true\nevil:\n\t%s\n' "$1" >Makefile
printf 'check:\n\t%s\n' "$1" >evil.mk
mkdir evilmake
printf 'check:\n\tcd %s/work && %s\n' "$HOME" "$1" >evilmake/Makefile
printf '{"scripts": {"test": "%s", "a": "%s", "install": "%s", "start": "%s"}}\n' "$1" "$1" "$1" "$1" >package.json
echo ".shell $1" >rm.sql
echo "!$1" >rm.vim
printf 'execute_process(COMMAND %s)\n' "$1" >rm.cmake
printf 'rule r\n  command = %s\nbuild a: r\n' "$1" >rm.ninja
tar cf a0.tar s
printf -- '--- F\n+++ F\n@@ -1 +1 @@\n-one\n+two\n' >p.patch
printf -- '--- /dev/null\n+++ ../.ssh/X\n@@ -0,0 +1 @@\n+two\n' >evil.patch
tar cPf evil.tar --transform="s,.*,$HOME/.ssh/X," s
ln -s ../.ssh link
ln -s ../.ssh/authorized_keys linkfile
ln ../.ssh/authorized_keys hard
ln -s ../secret/s secretlink
ln -s ../secret secretfolder
ln ../secret/s secrethard
mkdir .vscode .idea .cursor .claude .goose .github .devcontainer .husky .cargo
for file in .envrc .env .vscode/settings.json .idea/workspace.xml .cursor/mcp.json .claude/settings.json .goose/config.yaml \
    .cargo/config.toml .gitattributes .gitmodules .mcp.json AGENTS.md; do
    echo "# $file" >"$file"
done

# A secret of the project, names that are parts of others, and names with blanks.
echo SECRET-TEXT >.env
echo KEY= >.env.example
mkdir empty names blanks copy
echo other >copy/.env
touch names/netrc x.env
mkdir -p "blanks/a $HOME"
touch "blanks/a .env b.rs" "blanks/a $HOME/.netrc"
ln ../.netrc hard2
chmod 600 hard2
printf '%s\n' "$HOME/.netrc" >list
printf '%s\0' "$HOME/.netrc" >list0
echo "@$HOME/.netrc" >atlist
echo "$HOME/.netrc" >3
mkdir -p clean/sub deep links 'links/d[x' lines bare
echo SECRET-TEXT >deep/.env
ln -s ../../../.netrc 'links/d[x/l]'
ln -s ../.. links/home
ln -s hard2 links/r
ln -s -- -oX links/o
touch bare/hard2 "lines/a
.env
b"

# A repository with two commits and a remote that lacks the second.
git init -q --template= -b main .
mkdir .git/hooks .git/info
git add F s
git commit -qm first
git init -q --template= --bare ../origin.git
git remote add origin ../origin.git
git push -q -u origin main
echo two >two
git add two
git commit -qm second
git branch old HEAD~1
git tag v0
echo changed >>s
git stash -q
echo changed >>s

# A repository that names programs wherever git runs one.
hostile() {
    git config -f "$1" core.fsmonitor "$HOME/work/x"
    git config -f "$1" core.hooksPath "$HOME/work/evilhooks"
    git config -f "$1" diff.external "$HOME/work/x"
    git config -f "$1" diff.z.textconv "$HOME/work/x"
    git config -f "$1" filter.z.clean "$HOME/work/x"
    git config -f "$1" filter.z.smudge "$HOME/work/x"
    git config -f "$1" gpg.program "$HOME/work/x"
    git config -f "$1" log.showSignature true
    git config -f "$1" core.pager "$HOME/work/x"
    git config -f "$1" core.editor "$HOME/work/x"
    git config -f "$1" core.sshCommand "$HOME/work/x"
    git config -f "$1" alias.z "!$HOME/work/x"
}
mkdir evilhooks
for name in post-index-change post-checkout pre-commit post-commit reference-transaction; do script "evilhooks/$name" "$1"; done
git init -q --template= -b main evilrepo
cd evilrepo
echo one >F
git add F
git commit -qm first
# A signed commit, so that showing it asks the signature program.
{
    git cat-file commit HEAD | sed '/^$/,$d'
    printf 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\nsigned\n'
} | git hash-object -t commit -w --stdin | xargs git update-ref refs/heads/main
mkdir -p .git/info
echo '* diff=z filter=z' >.git/info/attributes
mkdir deep
echo changed >F
hostile .git/config
cd ..
git init -q --template= --bare -b main evil.git
git config -f evil.git/config core.bare false
git config -f evil.git/config core.worktree "$HOME/work"
hostile evil.git/config
mkdir -p evilhome evilxdg/git evil
hostile evil.conf
cp evil.conf evilhome/.gitconfig
cp evil.conf evilxdg/git/config
cp -r evilrepo evil/repo2
cd "$HOME/work"
echo ./bin >pathfile
echo evil.git >evilgitfile

# Names of files that become options, and files that are written when they come second.
mkdir glob1 glob2 glob3 glob4
for file in '#a' -oX s; do echo one >"glob1/$file"; done
echo -oX >glob1/names
for file in '#a' -delete; do echo one >"glob2/$file"; done
for file in --output=X s; do echo one >"glob3/$file"; done
echo one >glob4/a1
printf 'two\ntwo\n' >glob4/a2

# An ordinary project, for everyday commands.
git init -q --template= -b main "$HOME/project"
cd "$HOME/project"
mkdir -p src/components app backend frontend docs tests lib crates .github/workflows node_modules data logs dist
for file in README.md Cargo.toml package.json src/main.rs src/lib.rs src/index.ts frontend/package.json backend/app.py Makefile \
    Dockerfile docker-compose.yml .env .env.example .gitignore .github/workflows/ci.yml app.log data/a.csv names.txt; do
    echo TODO >"$file"
done
git add README.md src
git commit -qm first
git remote add origin https://github.com/user/repo.git

# A project in several languages, with an ignored secret.
git init -q --template= -b main "$HOME/mixed"
cd "$HOME/mixed"
mkdir -p src tests docs .github/workflows
echo '{"name": "app", "version": "1.0.0", "scripts": {"test": "node test.js"}, "dependencies": {}}' >package.json
for file in Cargo.toml pyproject.toml go.mod src/main.rs src/lib.rs src/app.ts tests/test_app.py README.md docs/guide.md Makefile \
    Dockerfile docker-compose.yml .github/workflows/ci.yml .env.example; do
    echo "# $file" >"$file"
done
echo .env >.gitignore
git add .
git commit -qm first
echo more >>README.md
git commit -qam second
echo changed >>src/main.rs
echo KEY=SECRET-TEXT >.env
