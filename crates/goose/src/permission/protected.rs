//! The built-in list of protected files: what runs programs later, and what holds secrets.
//!
//! Each line is an ordinary rule that asks. They hold in every mode, and people add to them with rules of their own. They
//! are kept apart from the rules of people because they do not make goose distrust what it cannot read: in `auto`, only a
//! path that is on the list, or that looks like one, is asked about.

use std::{
    borrow::Cow,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use super::{
    glob::Glob,
    paths::{Bases, PatternPart, parts_match},
    rule::{Effect, Rule},
    shell::{Access, Word},
};
use crate::config::Paths;

/// Files that goose, shells, editors, agents, git or the system run or obey, and keys.
const WRITES: &[&str] = &[
    // git and version control
    "/**/.git/**",
    "/**/.gitconfig",
    "/**/.config/git/**",
    "/**/.hg/hgrc",
    "/**/.hgrc",
    "/**/.jj/repo/config.toml",
    // goose, other agents, and editors
    "/**/.goose/**",
    "/**/.mcp.json",
    "/**/.claude/**",
    "/**/.claude.json",
    "/**/.codex/**",
    "/**/.cursor/**",
    "/**/.gemini/**",
    "/**/.windsurf/**",
    "/**/.vscode/**",
    "/**/.vscode-server/**",
    "/**/.idea/**",
    "/**/.zed/**",
    "/**/.devcontainer/**",
    "/**/.config/nvim/**",
    "/**/.config/zed/**",
    "/**/.config/Code/**",
    "/**/.vim/**",
    "/**/.vimrc",
    "/**/.nvimrc",
    "/**/.exrc",
    "/**/.emacs",
    "/**/.emacs.d/**",
    "/**/.dir-locals.el",
    // shells and what they load
    "/**/.bashrc",
    "/**/.bash_profile",
    "/**/.bash_login",
    "/**/.bash_logout",
    "/**/.bash_aliases",
    "/**/.profile",
    "/**/.inputrc",
    "/**/.zshrc",
    "/**/.zshenv",
    "/**/.zprofile",
    "/**/.zlogin",
    "/**/.zlogout",
    "/**/.kshrc",
    "/**/.cshrc",
    "/**/.tcshrc",
    "/**/.login",
    "/**/.logout",
    "/**/.config/fish/**",
    "/**/.config/nushell/**",
    "/**/.envrc",
    "/**/.config/direnv/**",
    "/**/.pam_environment",
    "/**/.config/environment.d/**",
    "/**/.tmux.conf",
    "/**/.screenrc",
    "/**/.local/bin/**",
    "~/bin/**",
    // tools that run what their configuration says
    "/**/.cargo/config*",
    "/**/.cargo/bin/**",
    "/**/.npmrc",
    "/**/.yarnrc*",
    "/**/.pnpmfile.cjs",
    "/**/.pypirc",
    "/**/pip.conf",
    "/**/.pythonrc*",
    "/**/.gdbinit",
    "/**/.lldbinit",
    "/**/.mise.toml",
    "/**/.gemrc",
    "/**/.irbrc",
    "/**/.m2/settings.xml",
    "/**/.gradle/init.gradle",
    "/**/.gradle/init.d/**",
    // started by the system or the desktop
    "/**/.config/autostart/**",
    "/**/.config/systemd/**",
    "/**/.local/share/systemd/**",
    "/**/.local/share/applications/**",
    "/**/.xinitrc",
    "/**/.xsession*",
    "/**/.xprofile",
    "/**/Library/LaunchAgents/**",
    "/**/Library/LaunchDaemons/**",
    "/etc/profile",
    "/etc/profile.d/**",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zsh/**",
    "/etc/environment",
    "/etc/rc*/**",
    "/etc/init.d/**",
    "/etc/systemd/**",
    "/etc/cron*/**",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf*/**",
    "/etc/pam.d/**",
    "/etc/ssh/**",
    "/etc/passwd",
    "/etc/group",
    "/etc/gitconfig",
    "/var/spool/cron/**",
];

/// Files that hold secrets, of which writing is asked as well.
const SECRETS: &[&str] = &[
    "/**/.ssh/**",
    "/**/.gnupg/**",
    "/**/.password-store/**",
    "/**/.local/share/keyrings/**",
    "/**/Library/Keychains/**",
    "/**/id_rsa",
    "/**/id_dsa",
    "/**/id_ecdsa",
    "/**/id_ecdsa_sk",
    "/**/id_ed25519",
    "/**/id_ed25519_sk",
    "/**/.netrc",
    "/**/_netrc",
    "/**/.authinfo*",
    "/**/.git-credentials",
    "/**/.config/git/credentials",
    "/**/.config/gh/hosts.yml",
    "/**/.config/glab-cli/**",
    "/**/.config/hub",
    "/**/.pypirc",
    "/**/.cargo/credentials*",
    "/**/.gem/credentials",
    "/**/.m2/settings*.xml",
    "/**/.gradle/gradle.properties",
    "/**/.composer/auth.json",
    "/**/.aws/**",
    "/**/.azure/**",
    "/**/.config/gcloud/**",
    "/**/.kube/**",
    "/**/.docker/config.json",
    "/**/.config/containers/auth.json",
    "/**/.config/doctl/**",
    "/**/.config/rclone/**",
    "/**/.terraformrc",
    "/**/.terraform.d/credentials*",
    "/**/.vault-token",
    "/**/.pgpass",
    "/**/.my.cnf",
    "/**/.mylogin.cnf",
    "/**/.s3cfg",
    "/**/.boto",
    "/**/.config/op/**",
    "/**/.claude/.credentials.json",
    "/**/.codex/auth.json",
    // browsers
    "/**/.mozilla/**",
    "/**/.config/google-chrome/**",
    "/**/.config/chromium/**",
    "/**/.config/BraveSoftware/**",
    "/**/.config/microsoft-edge/**",
    "/**/Library/Application Support/Google/Chrome/**",
    "/**/Library/Application Support/Firefox/**",
    "/**/Library/Cookies/**",
    // the system, other processes, and terminals
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers*",
    "/etc/sudoers.d/**",
    "/etc/ssl/private/**",
    "/proc/**/environ",
    "/proc/**/mem",
    "/proc/**/fd/**",
    "/proc/**/map_files/**",
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/dev/tty*",
    "/dev/pts/**",
    "/dev/console",
    "/dev/input/**",
];

/// Files with these endings are often keys. They are asked about where a call names them, not where a whole folder is searched.
const SHAPES: &[&str] = &[
    "/**/*.pem",
    "/**/*.key",
    "/**/*.p12",
    "/**/*.pfx",
    "/**/*.jks",
    "/**/*.keystore",
    "/**/*.kdbx",
    "/**/*.ppk",
];

/// Files that hold secrets, and are written as any other.
const SECRETS_OF_PROJECTS: &[&str] = &[
    "/**/.npmrc",
    "/**/.yarnrc.yml",
    "/**/.env",
    "/**/.env.local",
    "/**/.env.*.local",
    "/**/.env.dev",
    "/**/.env.development",
    "/**/.env.prod",
    "/**/.env.production",
    "/**/.env.staging",
    "/**/.env.test",
    "/**/.bash_history",
    "/**/.zsh_history",
];

/// Names that many folders have: where the rest of a path is not known, these alone do not make it one of the list.
const COMMON_NAMES: [&str; 6] = ["bin", "config", "etc", "fd", "repo", "share"];

/// Stands for what is not known of a word.
const UNKNOWN: char = '\0';

/// What is the same for all homes, made once.
static EVERYWHERE: LazyLock<List> = LazyLock::new(|| List::of_all(|text| !text.starts_with('~'), None));

/// The built-in list.
#[derive(Debug)]
pub(super) struct Protected {
    rules: Vec<Rule>,
    /// What depends on where goose's folders and the home are.
    here: List,
    /// The folders of goose.
    own: Vec<PathBuf>,
}

/// Rules, for fast look-ups.
#[derive(Debug, Default)]
struct List {
    entries: Vec<Entry>,
    /// The entries by one of the names that their paths have.
    by_name: HashMap<String, Vec<usize>>,
    /// The entries without such a name, by the one name that they have: it has a dot in it.
    by_shape: Vec<(Glob, usize)>,
}

#[derive(Debug)]
struct Entry {
    rule: Rule,
    access: Access,
    kind: Kind,
    /// The names from the root on, in lower case; several where links lead to it.
    places: Vec<Vec<PatternPart>>,
    /// Its last names, wherever they are.
    tail: Vec<PatternPart>,
}

/// What is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file or folder of the person.
    Personal,
    /// A file that projects have.
    OfProject,
    /// Files with some ending, which are often no secrets.
    Shape,
}

/// Which protected files are looked for in folders that are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Personal,
    PersonalAndOfProjects,
}

impl List {
    /// The lines of the list that are meant.
    fn of_all(is_meant: impl Fn(&str) -> bool, home: Option<&Path>) -> Self {
        let mut list = Self::default();
        for (access, kind, texts) in [
            (Access::Write, Kind::Personal, WRITES),
            (Access::Write, Kind::Personal, SECRETS),
            (Access::Write, Kind::Shape, SHAPES),
            (Access::Read, Kind::Personal, SECRETS),
            (Access::Read, Kind::Shape, SHAPES),
            (Access::Read, Kind::OfProject, SECRETS_OF_PROJECTS),
        ] {
            texts.iter().filter(|text| is_meant(text)).for_each(|text| list.add(access, kind, text, home));
        }
        list
    }

    fn add(&mut self, access: Access, kind: Kind, pattern: &str, home: Option<&Path>) {
        let verb = if access == Access::Read { "read" } else { "write" };
        let Ok(rule) = Rule::parse(Effect::Ask, &format!("{verb} {pattern}")) else { return };
        let bases = Bases { working: Path::new("/"), home };
        let Some(places) = rule.path().and_then(|path| path.places_from_root(bases)) else { return };
        let index = self.entries.len();
        for place in &places {
            match place.iter().filter_map(PatternPart::literal).next_back() {
                Some(name) => self.by_name.entry(name.to_owned()).or_default().push(index),
                None => self
                    .by_shape
                    .extend(place.iter().filter_map(PatternPart::glob).cloned().map(|glob| (glob, index))),
            }
        }
        let tail = tail(places.first().map_or(&[], Vec::as_slice));
        self.entries.push(Entry { rule, access, kind, places, tail });
    }

    /// goose's own folders. Outputs of commands are below the state folder, and there to be read.
    fn add_own(&mut self, paths: &Paths) {
        let read = ["history.txt", "logs", "trusted.yaml"].map(|name| paths.state.join(name));
        let logins = paths.logins();
        let written = own_folders(paths).map(|path| (Access::Write, path));
        let read = read.iter().chain([&paths.config, &paths.data, &logins]).map(|path| (Access::Read, path));
        for (access, path) in written.into_iter().chain(read) {
            if let Some(path) = path.to_str().filter(|path| !path.contains('*')) {
                self.add(access, Kind::Personal, &format!("{path}/**"), None);
            }
        }
    }

    fn find(&self, access: Access, names: &[&str]) -> Option<&Entry> {
        let named = names.iter().filter_map(|name| self.by_name.get(*name)).flatten();
        let dotted: Vec<&str> = names.iter().filter(|name| name.contains('.')).copied().collect();
        let has_shape = |(glob, _): &&(Glob, usize)| dotted.iter().any(|name| glob.matches(name));
        let by_shape = self.by_shape.iter().filter(has_shape).map(|(_, index)| index);
        let is_meant = |entry: &&Entry| {
            let mut places = entry.places.iter();
            entry.access == access
                && places.any(|place| parts_match(place, names, |glob, name| glob.matches(name), |_| true))
        };
        named.chain(by_shape).map(|index| &self.entries[*index]).find(is_meant)
    }
}

fn own_folders(paths: &Paths) -> [&PathBuf; 4] {
    [&paths.config, &paths.data, &paths.state, &paths.cache]
}

impl Protected {
    pub(super) fn new(paths: Option<&Paths>, home: Option<&Path>) -> Self {
        let mut here = List::of_all(|text| text.starts_with('~'), home);
        let mut own = Vec::new();
        if let Some(paths) = paths {
            here.add_own(paths);
            for folder in own_folders(paths) {
                own.extend(super::paths::resolve(folder).ok());
                own.push(folder.clone());
            }
        }
        let rules = here.entries.iter().chain(&EVERYWHERE.entries).map(|entry| entry.rule.clone()).collect();
        Self { rules, here, own }
    }

    /// The rules, for people to see.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule that protects a file.
    pub(super) fn find(&self, access: Access, written: &Path, resolved: &Path) -> Option<&Rule> {
        self.entry(access, written, resolved).map(|entry| &entry.rule)
    }

    fn entry(&self, access: Access, written: &Path, resolved: &Path) -> Option<&Entry> {
        let find = |path: &Path| {
            let path = path.to_string_lossy().to_lowercase();
            // Some file systems do not tell cases apart.
            let names: Vec<&str> = names_of(&path).collect();
            self.lists().into_iter().find_map(|list| list.find(access, &names))
        };
        find(resolved).or_else(|| if written == resolved { None } else { find(written) })
    }

    fn lists(&self) -> [&List; 2] {
        [&self.here, &EVERYWHERE]
    }

    /// As [`find`](Self::find), for a word of a command. A name alone, as `.env` or `.data.key`, is often no file: what is
    /// not there cannot be read, and no key is lost with it.
    pub(super) fn find_word(
        &self,
        access: Access,
        text: &str,
        written: &Path,
        resolved: &Path,
    ) -> Option<&Rule> {
        let entry = self.entry(access, written, resolved)?;
        let needs_file = !text.contains('/') && (access == Access::Read || entry.kind == Kind::Shape);
        (!needs_file || resolved.symlink_metadata().is_ok()).then_some(&entry.rule)
    }

    /// The rule that protects a secret which was met in a folder, by the name of which it may be one.
    pub(super) fn find_met(&self, path: &Path, within: Within) -> Option<&Rule> {
        let entry = self.entry(Access::Read, path, path)?;
        let is_meant = match entry.kind {
            Kind::Personal => true,
            Kind::OfProject => within == Within::PersonalAndOfProjects,
            Kind::Shape => false,
        };
        is_meant.then_some(&entry.rule)
    }

    /// Whether this is a name that files of the list have. Quick, for folders with many files.
    pub(super) fn has_name(&self, name: &str) -> bool {
        let is_lower = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let name = if is_lower { Cow::Borrowed(name) } else { Cow::Owned(name.to_lowercase()) };
        self.lists().iter().any(|list| list.by_name.contains_key(&*name))
    }

    /// Whether one of goose's own folders is this one, or in it.
    pub(super) fn has_own_below(&self, folder: &Path) -> bool {
        self.own.iter().any(|own| own.starts_with(folder))
    }

    /// The rule that protects a file which a word may stand for, by what is known of the word.
    pub(super) fn hinted(&self, access: Access, word: &Word, home: Option<&Path>) -> Option<&Rule> {
        if word.text.is_some() {
            return None;
        }
        let known = known_parts(word).join("\0").to_lowercase();
        let known = match (known.strip_prefix("~/"), home.and_then(Path::to_str)) {
            (Some(rest), Some(home)) => format!("{}/{rest}", home.to_lowercase()),
            _ => known,
        };
        let names: Vec<HalfKnown<'_>> = names_of(&known).map(HalfKnown::new).collect();
        let telling: Vec<&HalfKnown<'_>> = names.iter().filter(|name| name.is_telling()).collect();
        if telling.is_empty() {
            return None;
        }
        let is_hinted = |entry: &&Entry| {
            let parts = || entry.tail.iter().filter_map(PatternPart::glob);
            entry.access == access
                && parts().any(|glob| !glob.is_any() && telling.iter().any(|name| name.fits(glob)))
                && parts_match(&entry.tail_anywhere(), &names, |glob, name| name.fits(glob), |_| true)
        };
        let mut entries = self.lists().into_iter().flat_map(|list| &list.entries);
        entries.find(is_hinted).map(|entry| &entry.rule)
    }
}

impl Entry {
    /// Its last names, wherever they stand among others.
    fn tail_anywhere(&self) -> Vec<PatternPart> {
        let mut pattern = vec![PatternPart::AnyDepth];
        pattern.extend(self.tail.iter().cloned());
        pattern.push(PatternPart::AnyDepth);
        pattern
    }
}

/// What is known of a word, without the letters of choices such as `[ab]`.
pub(super) fn known_parts(word: &Word) -> Vec<&str> {
    let behind_choice = |piece: &'_ String| piece.rfind(']').map_or(0, |end| end + 1);
    let parts = word.pieces().iter().enumerate();
    parts.map(|(index, piece)| if index == 0 { piece } else { &piece[behind_choice(piece)..] }).collect()
}

/// The names of a path.
fn names_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !matches!(*name, "" | "." | ".."))
}

/// A name of which something may not be known.
struct HalfKnown<'n> {
    name: &'n str,
    /// What is known of it.
    known: String,
    /// The names that it may be, where something is not known.
    glob: Option<Glob>,
}

impl<'n> HalfKnown<'n> {
    fn new(name: &'n str) -> Self {
        let glob = || Glob::of_pieces(name.split(UNKNOWN).map(str::to_owned).collect());
        Self { name, known: name.replace(UNKNOWN, ""), glob: name.contains(UNKNOWN).then(glob) }
    }

    /// Whether it says something about which file it is.
    fn is_telling(&self) -> bool {
        self.name.contains(|c: char| c.is_alphanumeric())
            && !COMMON_NAMES.contains(&self.name.trim_matches(UNKNOWN))
    }

    /// Whether it may be one that a pattern has. A file with an ending that is known, as `$x.json`, is not taken for
    /// `.mcp.json`.
    fn fits(&self, pattern: &Glob) -> bool {
        match (&self.glob, pattern.literal()) {
            (Some(glob), Some(literal)) => {
                let is_other =
                    self.name.starts_with("\0.") && literal.starts_with('.') && self.name[1..] != *literal;
                !is_other && glob.matches(literal)
            }
            // Nothing is known of it.
            (Some(_), None) if self.known.is_empty() => true,
            _ => pattern.matches(&self.known),
        }
    }
}

/// The last two names of a pattern, or the one where only one has a text.
fn tail(place: &[PatternPart]) -> Vec<PatternPart> {
    let end = place.iter().rposition(|part| *part != PatternPart::AnyDepth).map_or(0, |at| at + 1);
    place[end.saturating_sub(2)..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_known_name_have_a_dot() {
        assert!(EVERYWHERE.by_shape.len() > SHAPES.len());
        for (glob, index) in &EVERYWHERE.by_shape {
            let rule = &EVERYWHERE.entries[*index].rule;
            assert!(!glob.is_any() && !glob.matches(".") && rule.text().contains('.'), "{rule}");
        }
    }
}
