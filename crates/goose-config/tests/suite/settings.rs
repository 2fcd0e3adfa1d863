//! Layers, profiles and secrets, through [`Settings`].

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use goose_config::{
    ConfigEditor, ConfigError, Moderator, Origin, Paths, Profile, ProfileExtension, ProjectFile, Secret,
    Secrets as _, Settings, SettingsSource,
};
use goose_providers::{Lookup as _, ModelRef};
use tempfile::TempDir;

/// TestHome folder with a user's file, and a project in it.
struct TestHome {
    folder: TempDir,
}

impl TestHome {
    fn new(config: &str) -> Result<Self> {
        let home = Self { folder: tempfile::tempdir()? };
        home.write("config/config.yaml", config)?;
        Ok(home)
    }

    fn write(&self, path: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(&path, text)?;
        Ok(path)
    }

    fn source(&self) -> SettingsSource {
        SettingsSource::new(Paths::under(self.folder.path()))
            .with_builtins(goose_mcp::BUILTINS)
            .with_environment([("GOOSE_DISABLE_KEYRING", "1")])
    }

    fn settings(&self) -> Result<Settings, ConfigError> {
        Settings::load(self.source())
    }

    fn project(&self, config: &str) -> Result<Option<ProjectFile>> {
        self.write("project/.goose/config.yaml", config)?;
        Ok(ProjectFile::find(&self.folder.path().join("project"))?)
    }
}

fn model(text: &str) -> Result<ModelRef> {
    Ok(text.parse()?)
}

#[test]
fn stronger_layer_is_used_and_reported() -> Result<()> {
    let home = TestHome::new("A: user\nB: user\nC: user\nD: user\nextra: 1\n")?;
    let project = home.project("B: project\nC: project\nD: project\n")?;
    let source = home
        .source()
        .with_project(project)
        .with_environment([("C", "environment"), ("D", "environment"), ("EXTRA", "2"), ("A", "")])
        .with_flag("D", Some("flag"));
    let settings = Settings::load(source)?;
    for (key, value) in [("A", "user"), ("B", "project"), ("C", "environment"), ("D", "flag"), ("extra", "2")]
    {
        assert_eq!(settings.get::<String>(key)?.as_deref(), Some(value), "{key}");
    }
    assert_eq!(settings.get::<String>("E")?, None);
    ensure!(matches!(settings.origin("A"), Some(Origin::User(place)) if place.position == Some((1, 1))));
    ensure!(matches!(settings.origin("B"), Some(Origin::Project(place)) if place.position == Some((1, 1))));
    assert_eq!(settings.origin("extra"), Some(Origin::Environment("EXTRA".into())));
    assert_eq!(settings.origin("D"), Some(Origin::Flag));
    assert_eq!(settings.origin("E"), None);
    let keys: Vec<_> = settings.keys().into_iter().collect();
    assert_eq!(keys, ["A", "B", "C", "D", "GOOSE_DISABLE_KEYRING", "extra"]);
    Ok(())
}

#[test]
fn environment_values_are_read_as_the_requested_type() -> Result<()> {
    let home = TestHome::new("")?;
    let settings = Settings::load(home.source().with_environment([
        ("NUMBER", "12"),
        ("FLOAT", "0.5"),
        ("YES", "true"),
        ("TEXT", "a: b # c"),
        ("VERSION", "1.10"),
        ("LIST", "[a, 'b c']"),
        ("MODERATOR", "truncate"),
        ("GOOSE_REASONING_EFFORT", "none"),
        ("WORD", "twelve"),
    ]))?;
    assert_eq!(settings.get::<u64>("NUMBER")?, Some(12));
    assert_eq!(settings.get::<f64>("FLOAT")?, Some(0.5));
    assert_eq!(settings.get::<bool>("YES")?, Some(true));
    assert_eq!(settings.get::<String>("TEXT")?.as_deref(), Some("a: b # c"));
    assert_eq!(settings.get::<String>("VERSION")?.as_deref(), Some("1.10"));
    assert_eq!(settings.get::<String>("NUMBER")?.as_deref(), Some("12"));
    assert_eq!(settings.get::<Vec<String>>("LIST")?, Some(vec!["a".into(), "b c".into()]));
    assert_eq!(settings.get::<Moderator>("MODERATOR")?, Some(Moderator::Truncate));
    assert_eq!(settings.profile(None)?.effort, Some(goose_providers::Effort::None));
    let error = settings.get::<u64>("WORD").err().context("a word is a number")?.to_string();
    assert_eq!(error, "'WORD' from the environment variable WORD: expected a whole number, 0 or more");
    Ok(())
}

#[test]
fn errors_of_file_values_have_their_line() -> Result<()> {
    let home = TestHome::new("A: 1\n\nN: &n seven\nM: *n\nP: 'quoted # text'\nQ: ---\nnothing:\n")?;
    let settings = home.settings()?;
    assert_eq!(settings.get::<String>("P")?.as_deref(), Some("quoted # text"));
    assert_eq!(settings.get::<String>("M")?.as_deref(), Some("seven"));
    assert_eq!(settings.get::<String>("Q")?.as_deref(), Some("---"));
    assert_eq!(settings.get::<String>("nothing")?, None);
    for (key, place) in [("N", ":3:7: 'N': expected"), ("P", ":5:4: 'P': expected")] {
        let error = settings.get::<u32>(key).err().context("read as a number")?.to_string();
        ensure!(error.contains(place), "{error}");
    }
    Ok(())
}

#[test]
fn config_file_replaces_the_users_and_must_exist() -> Result<()> {
    let home = TestHome::new("A: user\nB: user\n")?;
    let other = home.write("other.yaml", "A: other\n")?;
    let settings = Settings::load(home.source().with_config_file(Some(other)))?;
    assert_eq!(
        (settings.get::<String>("A")?.as_deref(), settings.get::<String>("B")?),
        (Some("other"), None)
    );
    let absent = home.folder.path().join("absent.yaml");
    let error = Settings::load(home.source().with_config_file(Some(absent))).err().context("loaded")?;
    ensure!(matches!(error, ConfigError::Absent(_)), "{error}");
    Ok(())
}

#[test]
fn project_extensions_are_merged_with_the_users() -> Result<()> {
    let home = TestHome::new(
        "extensions:\n  a: {type: builtin}\n  b: {type: stdio, cmd: users}\n  c: {type: builtin}\n",
    )?;
    let project = home.project(
        "extensions:\n  b: {type: stdio, cmd: projects}\n  c: {enabled: false}\n  d: {type: builtin}\n",
    )?;
    let settings = Settings::load(home.source().with_project(project))?;
    let found: Vec<_> = settings.extensions().iter().map(|it| (it.key.as_str(), it.enabled)).collect();
    assert_eq!(found, [("a", true), ("b", true), ("c", false), ("d", true)]);
    let b = settings.extensions().get(1).context("no b")?;
    ensure!(format!("{:?}", b.checked()?).contains("projects"));
    ensure!(b.place.path.ends_with("project/.goose/config.yaml"));
    let profile = settings.profile(None)?;
    assert_eq!(profile.extensions, ["developer", "memory", "a", "b", "d"].map(ProfileExtension::new));
    Ok(())
}

#[test]
fn project_file_is_found_up_to_the_root_of_the_repository() -> Result<()> {
    let home = TestHome::new("")?;
    home.write("repo/.goose/config.yaml", "A: repo\n")?;
    let deep = home.write("repo/a/b/file", "")?;
    let deep = deep.parent().context("no folder")?;
    assert!(ProjectFile::find(deep)?.is_none(), "not a repository");
    fs::create_dir_all(home.folder.path().join("repo/.git"))?;
    let found = ProjectFile::find(deep)?.context("not found")?;
    assert_eq!(found.path(), home.folder.path().canonicalize()?.join("repo/.goose/config.yaml"));
    home.write("repo/a/.goose/config.yaml", "A: nearer\n")?;
    let found = ProjectFile::find(deep)?.context("not found")?.parse()?;
    assert_eq!(found.get::<String>("A")?.as_deref(), Some("nearer"));
    fs::create_dir_all(deep.join(".git"))?;
    assert!(ProjectFile::find(deep)?.is_none(), "the file is in another repository");
    Ok(())
}

#[test]
fn secrets_are_looked_up_in_order() -> Result<()> {
    let home = TestHome::new("IN_CONFIG: config\nIN_FILE: config\nIN_ENV: config\n")?;
    let settings = Settings::load(home.source().with_environment([("IN_ENV", "environment")]))?;
    // Written after loading: the file is read at the lookup.
    home.write("config/secrets.yaml", "IN_FILE: file\nIN_ENV: file\n")?;
    for (name, value) in [("IN_CONFIG", "config"), ("IN_FILE", "file"), ("IN_ENV", "environment")] {
        let secret = settings.secrets().get(name)?.context(name)?;
        assert_eq!(secret.expose(), value);
    }
    assert!(settings.secrets().get("NOWHERE")?.is_none());
    assert_eq!(settings.value("IN_ENV")?.as_deref(), Some("environment"));
    assert_eq!(settings.secret("IN_FILE")?.map(|key| key.expose().to_owned()).as_deref(), Some("file"));
    assert_eq!((settings.value("NOWHERE")?, settings.secret("NOWHERE")?), (None, None));
    Ok(())
}

#[test]
fn seed_profile_is_read_and_missing_names_are_reported() -> Result<()> {
    let home = TestHome::new(
        "extensions:\n  calendar: {type: stdio, cmd: cal}\n  contacts: {type: stdio, cmd: con}\n",
    )?;
    let seed = include_str!("../fixtures/profile.yaml");
    home.write("config/profiles/seed.yaml", seed)?;
    let settings = home.settings()?;
    let profile = settings.profile(Some("seed"))?;
    assert_eq!(profile.name.as_deref(), Some("seed"));
    assert_eq!(profile.processor, Some(model("openai:gpt-4")?));
    assert_eq!(profile.accelerator, Some(model("openai:gpt-4-turbo")?));
    assert_eq!(profile.moderator, Moderator::Passive);
    let names: Vec<_> = profile.extensions.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["developer", "calendar", "contacts", "scheduling"]);
    let scheduling = profile.extensions.last().context("no last")?;
    let requires: Vec<_> = scheduling.requires.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(requires, [("assistant", "assistant"), ("calendar", "calendar"), ("contacts", "contacts")]);
    let missing: Vec<_> = profile
        .missing(&["developer", "calendar", "contacts", "scheduling"])
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(missing, ["'assistant', which 'scheduling' requires"]);
    let error = settings.profile_extensions(&profile).err().context("nothing is missing")?.to_string();
    for part in ["profile 'seed'", "the extension 'scheduling'", "'assistant', which 'scheduling' requires"] {
        ensure!(error.contains(part), "{error}");
    }
    ensure!(!error.contains("'calendar', which"), "{error}");
    Ok(())
}

#[test]
fn usable_extensions_of_a_profile_are_found_beside_the_others() -> Result<()> {
    let home = TestHome::new(
        "extensions:
  calendar: {type: stdio, cmd: cal}
  contacts: {type: stdio, cmd: con, enabled: false}
profiles:
  mixed:
    extensions: [developer, unknown, contacts, calendar, {name: memory, requires: {a: tutorial}},
      {name: tutorial, requires: {b: unknown}}]
",
    )?;
    let settings = home.settings()?;
    let profile = settings.profile(Some("mixed"))?;
    let extensions = settings.find_profile_extensions(&profile);
    let found: Vec<_> = extensions.found.iter().map(|config| config.name()).collect();
    assert_eq!(found, ["developer", "calendar"], "tutorial lacks a requirement, and memory needs tutorial");
    let missing: Vec<_> = extensions.missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["the extension 'unknown'", "'unknown', which 'tutorial' requires as 'b'"]);
    let unusable: Vec<_> = extensions.unusable.iter().map(ToString::to_string).collect();
    ensure!(unusable.len() == 1 && unusable[0].contains("'contacts', which is switched off"), "{unusable:?}");
    let error = settings.profile_extensions(&profile).err().context("all are usable")?.to_string();
    ensure!(error.contains("the extension 'unknown'"), "{error}");
    Ok(())
}

#[test]
fn profiles_are_found_in_all_places() -> Result<()> {
    let home = TestHome::new(
        "GOOSE_PROVIDER: openai
GOOSE_MODEL: small
GOOSE_TEMPERATURE: 0.5
GOOSE_PROFILE: usual
profiles:
  usual: {processor: 'anthropic:big', max_turns: 7}
  here: {moderator: truncate}
",
    )?;
    home.write("config/profiles/usual.yaml", "max_turns: 1\n")?;
    let file = home.write("mine.yml", "mode: chat\nextensions: []\n")?;
    let settings = home.settings()?;

    let usual = settings.profile(None)?;
    assert_eq!((usual.name.as_deref(), usual.max_turns), (Some("usual"), Some(7)));
    assert_eq!((usual.processor, usual.temperature), (Some(model("anthropic:big")?), Some(0.5)));

    let here = settings.profile(Some("here"))?;
    assert_eq!((here.processor, here.moderator), (Some(model("openai:small")?), Moderator::Truncate));
    assert_eq!(here.extensions, ["developer", "memory"].map(ProfileExtension::new));

    let mine = settings.profile(file.to_str())?;
    assert_eq!((mine.mode.as_deref(), mine.extensions.len()), (Some("chat"), 0));

    for (name, expected) in
        [("unknown", "profiles/unknown.yaml"), ("./unknown.yaml", "there is no such file")]
    {
        let error = settings.profile(Some(name)).err().context("found")?.to_string();
        ensure!(error.contains(expected), "{error}");
    }
    Ok(())
}

#[test]
fn command_line_takes_precedence_over_a_profile() -> Result<()> {
    let home = TestHome::new("profiles:\n  big: {processor: 'anthropic:big', mode: auto}\n")?;
    let flags = |provider: Option<&str>, name: Option<&str>| -> Result<Profile> {
        let source = home.source().with_flag("GOOSE_PROVIDER", provider).with_flag("GOOSE_MODEL", name);
        let source = source.with_environment([("GOOSE_MODEL", "from-environment")]);
        Ok(Settings::load(source)?.profile(Some("big"))?)
    };
    assert_eq!(flags(None, None)?.processor, Some(model("anthropic:big")?));
    assert_eq!(flags(None, Some("small"))?.processor, Some(model("anthropic:small")?));
    assert_eq!(flags(Some("openai"), Some("gpt"))?.processor, Some(model("openai:gpt")?));
    let plain = Settings::load(home.source().with_flag("GOOSE_PROVIDER", Some("openai")))?;
    let usual = plain.profile(None)?.processor.context("no model")?;
    ensure!(usual.provider() == Some("openai") && !usual.model().is_empty(), "{usual:?}");
    Ok(())
}

#[test]
fn invalid_profile_is_reported_with_position() -> Result<()> {
    let home =
        TestHome::new("profiles:\n  good: {}\n  bad: {max_turns: many}\n  worse: {moderator: strict}\n")?;
    let settings = home.settings()?;
    settings.profile(Some("good"))?;
    for (name, expected) in [("bad", "config.yaml:3:20: 'profiles': expected"), ("worse", "config.yaml:4:")] {
        let error = settings.profile(Some(name)).err().context("read")?.to_string();
        ensure!(error.contains(expected), "{error}");
    }
    Ok(())
}

/// Returns the extensions of a profile that does not list any.
fn enabled(config: &str) -> Result<Vec<String>> {
    let profile = TestHome::new(config)?.settings()?.profile(None)?;
    Ok(profile.extensions.into_iter().map(|extension| extension.name).collect())
}

#[test]
fn developer_and_memory_are_enabled_by_default() -> Result<()> {
    let profile = TestHome::new("")?.settings()?.profile(None)?;
    assert_eq!((profile.processor, profile.moderator), (None, Moderator::Summarize));
    assert_eq!(enabled("")?, ["developer", "memory"]);
    assert_eq!(enabled("extensions: {tutorial: {type: builtin}}\n")?, ["developer", "memory", "tutorial"]);
    assert_eq!(enabled("extensions: {memory: {type: builtin, enabled: false}}\n")?, ["developer"]);
    let own = "extensions: {mine: {type: stdio, cmd: x, name: Developer}}\n";
    assert_eq!(enabled(own)?, ["memory", "mine"], "an entry with that name replaces the built-in");
    Ok(())
}

#[test]
fn platform_entries_of_goose_1_start_nothing() -> Result<()> {
    let config = "extensions:
  developer: {enabled: true, type: platform, name: developer}
  analyze: {enabled: true, type: platform, name: analyze}
  summon: {enabled: true, type: platform, name: summon}
  orchestrator: {enabled: false, type: platform, name: orchestrator}
  novelty: {enabled: true, type: platform, name: novelty}
";
    assert_eq!(enabled(config)?, ["memory", "developer"]);
    let settings = TestHome::new(config)?.settings()?;
    let unknown = settings.extensions().iter().filter(|entry| entry.is_unknown_platform());
    assert_eq!(unknown.map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["novelty"]);
    Ok(())
}

#[test]
fn active_provider_of_goose_1_is_used() -> Result<()> {
    let config = "\
GOOSE_PROVIDER: ollama
GOOSE_MODEL: old
active_provider: openai
providers:
  openai: {model: gpt-4o}
";
    let home = TestHome::new(config)?;
    assert_eq!(home.settings()?.profile(None)?.processor, Some(model("openai:gpt-4o")?));
    let environment = [("GOOSE_PROVIDER", "anthropic"), ("GOOSE_MODEL", "claude")];
    let settings = Settings::load(home.source().with_environment(environment))?;
    assert_eq!(settings.profile(None)?.processor, Some(model("anthropic:claude")?));
    let settings = Settings::load(home.source().with_environment([("GOOSE_MODEL", "gpt-5")]))?;
    assert_eq!(settings.profile(None)?.processor, Some(model("openai:gpt-5")?));
    let settings = Settings::load(home.source().with_flag("GOOSE_PROVIDER", Some("ollama")))?;
    assert_eq!(settings.profile(None)?.processor.context("a model")?.provider(), Some("ollama"));
    ConfigEditor::new(home.settings()?.user_file().path()).set_model("groq", Some("llama"))?;
    assert_eq!(home.settings()?.profile(None)?.processor, Some(model("groq:llama")?));
    Ok(())
}

#[test]
fn secret_in_secrets_yaml_counts_as_stored() -> Result<()> {
    let home = TestHome::new("")?;
    assert!(!home.settings()?.has_stored_secret("OPENAI_API_KEY"));
    ConfigEditor::secrets(home.settings()?.paths()).set_secret("OPENAI_API_KEY", &Secret::new("k"))?;
    assert!(home.settings()?.has_stored_secret("OPENAI_API_KEY"));
    Ok(())
}

#[test]
fn debug_output_hides_values() -> Result<()> {
    let home = TestHome::new("OPENAI_API_KEY: hush\nGOOSE_MODEL: m\n")?;
    let settings = Settings::load(home.source().with_environment([("X_TOKEN", "hush")]))?;
    ensure!(!format!("{settings:?} {:?}", home.source()).contains("hush"));
    assert_eq!(settings.shown("OPENAI_API_KEY").as_deref(), Some("(hidden)"));
    assert_eq!(settings.shown("GOOSE_MODEL").as_deref(), Some("m"));
    Ok(())
}

/// Other programs use variables such as `MODELS` for a folder.
#[test]
fn mappings_are_not_read_from_the_environment() -> Result<()> {
    let home = TestHome::new("models:\n  m: {context_limit: 1000}\n")?;
    let others = ["MODELS", "PROFILES", "EXTENSIONS", "SLASH_COMMANDS"].map(|name| (name, "/data"));
    let settings = Settings::load(home.source().with_environment(others))?;
    assert_eq!(settings.model_overrides()?.models.len(), 1);
    ensure!(matches!(settings.origin("models"), Some(Origin::User(_))));
    assert_eq!(settings.get::<serde_json::Value>("slash_commands")?, None);
    settings.profile(None)?;
    // The exact name takes precedence over its upper-case form.
    let proxies = home.source().with_environment([("http_proxy", "own"), ("HTTP_PROXY", "OTHER")]);
    assert_eq!(Settings::load(proxies)?.get::<String>("http_proxy")?.as_deref(), Some("own"));
    Ok(())
}

fn refusal(settings: &Settings, of: &str) -> Result<String> {
    let made = settings.registry().provider(&model(of)?, settings, &settings.model_overrides()?);
    Ok(made.err().context("a provider was made")?.to_string())
}

/// An unreadable host must not count as the default host: the key and the messages would go to another
/// server.
#[test]
fn unreadable_values_do_not_count_as_unset() -> Result<()> {
    let home = TestHome::new("OPENAI_HOST: [oops]\nOPENAI_API_KEY: hush\n")?;
    let error = refusal(&home.settings()?, "openai:gpt-5")?;
    ensure!(error.contains("config.yaml:1:14: 'OPENAI_HOST': expected"), "{error}");

    let home = TestHome::new("A: 1\nOPENAI_API_KEY: {a: b}\n")?;
    let error = refusal(&home.settings()?, "openai:gpt-5")?;
    ensure!(error.contains("config.yaml:2:17: 'OPENAI_API_KEY': expected"), "{error}");

    let home = TestHome::new("")?;
    home.write("config/secrets.yaml", "A: b\nOPENAI_API_KEY: [x\n")?;
    let error = refusal(&home.settings()?, "openai:gpt-5")?;
    ensure!(error.contains("secrets.yaml:") && error.contains("OPENAI"), "{error}");
    Ok(())
}

#[test]
fn shown_value_hides_the_password_of_an_address() -> Result<()> {
    let home = TestHome::new("GOOSE_X_URL: http://u:hunter2@h\nGOOSE_Y_URL: http://h\nMY_TOKEN: t\n")?;
    let settings = home.settings()?;
    let shown = ["GOOSE_X_URL", "GOOSE_Y_URL", "MY_TOKEN"].map(|key| settings.shown(key));
    assert_eq!(shown.map(Option::unwrap_or_default), ["(hidden)", "http://h", "(hidden)"]);
    Ok(())
}

/// The user agrees to the project's file; another file could change afterwards.
#[test]
fn project_must_not_name_a_file_as_its_profile() -> Result<()> {
    let home = TestHome::new("profiles:\n  small: {max_turns: 3}\n")?;
    let project = home.project("A: 1\nGOOSE_PROFILE: .goose/p.yaml\n")?;
    let settings = Settings::load(home.source().with_project(project))?;
    let error = settings.profile(None).err().context("read")?.to_string();
    ensure!(error.contains("config.yaml:2:1") && error.contains("'.goose/p.yaml'"), "{error}");
    let project = home.project("GOOSE_PROFILE: small\n")?;
    let settings = Settings::load(home.source().with_project(project))?;
    assert_eq!(settings.profile(None)?.max_turns, Some(3));
    Ok(())
}
