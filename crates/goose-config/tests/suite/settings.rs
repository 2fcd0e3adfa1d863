//! The layers of a configuration, through [`Settings`].

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use goose_config::{
    ConfigEditor, ConfigError, Moderator, Origin, Paths, Profile, ProfileExtension, ProjectFile, Secret,
    Secrets as _, Settings, SettingsSource,
};
use goose_providers::{Lookup as _, ModelRef};
use tempfile::TempDir;

/// A home with a user's file, and a project in it.
struct Home {
    folder: TempDir,
}

impl Home {
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
fn the_stronger_layer_counts_and_says_so() -> Result<()> {
    let home = Home::new("A: user\nB: user\nC: user\nD: user\nextra: 1\n")?;
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
fn values_of_the_environment_are_read_as_what_is_asked_for() -> Result<()> {
    let home = Home::new("")?;
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
fn values_of_files_have_their_line_in_errors() -> Result<()> {
    let home = Home::new("A: 1\n\nN: &n seven\nM: *n\nP: 'quoted # text'\nQ: ---\nnothing:\n")?;
    let settings = home.settings()?;
    assert_eq!(settings.get::<String>("P")?.as_deref(), Some("quoted # text"));
    assert_eq!(settings.get::<String>("M")?.as_deref(), Some("seven"));
    assert_eq!(settings.get::<String>("Q")?.as_deref(), Some("---"));
    assert_eq!(settings.get::<String>("nothing")?, None);
    for (key, place) in [("N", ":3:7: 'N': expected"), ("P", ":5:4: 'P': expected")] {
        let error = settings.get::<u32>(key).err().context("it is a number")?.to_string();
        ensure!(error.contains(place), "{error}");
    }
    Ok(())
}

#[test]
fn another_file_takes_the_place_of_the_users_and_has_to_be_there() -> Result<()> {
    let home = Home::new("A: user\nB: user\n")?;
    let other = home.write("other.yaml", "A: other\n")?;
    let settings = Settings::load(home.source().with_config_file(Some(other)))?;
    assert_eq!(
        (settings.get::<String>("A")?.as_deref(), settings.get::<String>("B")?),
        (Some("other"), None)
    );
    let absent = home.folder.path().join("absent.yaml");
    let error = Settings::load(home.source().with_config_file(Some(absent))).err().context("it is there")?;
    ensure!(matches!(error, ConfigError::Absent(_)), "{error}");
    Ok(())
}

#[test]
fn a_projects_extensions_join_the_users() -> Result<()> {
    let home = Home::new(
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
fn a_projects_file_is_found_up_to_the_root_of_the_repository() -> Result<()> {
    let home = Home::new("")?;
    home.write("repo/.goose/config.yaml", "A: repo\n")?;
    let deep = home.write("repo/a/b/file", "")?;
    let deep = deep.parent().context("no folder")?;
    assert!(ProjectFile::find(deep)?.is_none(), "there is no repository");
    fs::create_dir_all(home.folder.path().join("repo/.git"))?;
    let found = ProjectFile::find(deep)?.context("not found")?;
    assert_eq!(found.path(), home.folder.path().canonicalize()?.join("repo/.goose/config.yaml"));
    home.write("repo/a/.goose/config.yaml", "A: nearer\n")?;
    let found = ProjectFile::find(deep)?.context("not found")?.parse()?;
    assert_eq!(found.get::<String>("A")?.as_deref(), Some("nearer"));
    fs::create_dir_all(deep.join(".git"))?;
    assert!(ProjectFile::find(deep)?.is_none(), "it belongs to another repository");
    Ok(())
}

#[test]
fn secrets_are_looked_up_in_their_order() -> Result<()> {
    let home = Home::new("IN_CONFIG: config\nIN_FILE: config\nIN_ENV: config\n")?;
    let settings = Settings::load(home.source().with_environment([("IN_ENV", "environment")]))?;
    // Written after loading: it is read only when it is asked for.
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
fn the_seeds_profile_is_read_as_it_is_and_names_what_is_missing() -> Result<()> {
    let home =
        Home::new("extensions:\n  calendar: {type: stdio, cmd: cal}\n  contacts: {type: stdio, cmd: con}\n")?;
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
    let error = settings.profile_extensions(&profile).err().context("all is there")?.to_string();
    for part in ["profile 'seed'", "the extension 'scheduling'", "'assistant', which 'scheduling' requires"] {
        ensure!(error.contains(part), "{error}");
    }
    ensure!(!error.contains("'calendar', which"), "{error}");
    Ok(())
}

#[test]
fn usable_extensions_of_a_profile_are_found_beside_the_others() -> Result<()> {
    let home = Home::new(
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
fn profiles_are_found_in_their_places() -> Result<()> {
    let home = Home::new(
        "GOOSE_PROVIDER: openai\nGOOSE_MODEL: small\nGOOSE_TEMPERATURE: 0.5\nGOOSE_PROFILE: usual\nprofiles:\n  usual: {processor: 'anthropic:big', max_turns: 7}\n  here: {moderator: truncate}\n",
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

    for (name, expected) in [("nobody", "profiles/nobody.yaml"), ("./nobody.yaml", "there is no such file")] {
        let error = settings.profile(Some(name)).err().context("it is there")?.to_string();
        ensure!(error.contains(expected), "{error}");
    }
    Ok(())
}

#[test]
fn the_command_line_is_stronger_than_a_profile() -> Result<()> {
    let home = Home::new("profiles:\n  big: {processor: 'anthropic:big', mode: auto}\n")?;
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
fn a_bad_profile_says_where() -> Result<()> {
    let home = Home::new("profiles:\n  good: {}\n  bad: {max_turns: many}\n  worse: {moderator: strict}\n")?;
    let settings = home.settings()?;
    settings.profile(Some("good"))?;
    for (name, expected) in [("bad", "config.yaml:3:20: 'profiles': expected"), ("worse", "config.yaml:4:")] {
        let error = settings.profile(Some(name)).err().context("it is good")?.to_string();
        ensure!(error.contains(expected), "{error}");
    }
    Ok(())
}

/// The names of the extensions that a profile without a list of its own has.
fn enabled(config: &str) -> Result<Vec<String>> {
    let profile = Home::new(config)?.settings()?.profile(None)?;
    Ok(profile.extensions.into_iter().map(|extension| extension.name).collect())
}

#[test]
fn developer_and_memory_are_there_unless_switched_off() -> Result<()> {
    let profile = Home::new("")?.settings()?.profile(None)?;
    assert_eq!((profile.processor, profile.moderator), (None, Moderator::Summarize));
    assert_eq!(enabled("")?, ["developer", "memory"]);
    assert_eq!(enabled("extensions: {tutorial: {type: builtin}}\n")?, ["developer", "memory", "tutorial"]);
    assert_eq!(enabled("extensions: {memory: {type: builtin, enabled: false}}\n")?, ["developer"]);
    let own = "extensions: {mine: {type: stdio, cmd: x, name: Developer}}\n";
    assert_eq!(enabled(own)?, ["memory", "mine"], "an entry of that name replaces the built-in");
    Ok(())
}

#[test]
fn platform_entries_of_other_versions_start_nothing() -> Result<()> {
    let config = "extensions:
  developer: {enabled: true, type: platform, name: developer}
  analyze: {enabled: true, type: platform, name: analyze}
  summon: {enabled: true, type: platform, name: summon}
  orchestrator: {enabled: false, type: platform, name: orchestrator}
  novelty: {enabled: true, type: platform, name: novelty}
";
    assert_eq!(enabled(config)?, ["memory", "developer"]);
    let settings = Home::new(config)?.settings()?;
    let unknown = settings.extensions().iter().filter(|entry| entry.is_unknown_platform());
    assert_eq!(unknown.map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["novelty"]);
    Ok(())
}

#[test]
fn the_active_provider_of_another_version_is_used() -> Result<()> {
    let config = "GOOSE_PROVIDER: ollama\nGOOSE_MODEL: old\nactive_provider: openai\nproviders:\n  openai: {model: gpt-4o}\n";
    let home = Home::new(config)?;
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
fn a_key_in_secrets_yaml_counts_as_stored() -> Result<()> {
    let home = Home::new("")?;
    assert!(!home.settings()?.has_stored_secret("OPENAI_API_KEY"));
    ConfigEditor::secrets(home.settings()?.paths()).set_secret("OPENAI_API_KEY", &Secret::new("k"))?;
    assert!(home.settings()?.has_stored_secret("OPENAI_API_KEY"));
    Ok(())
}

#[test]
fn settings_do_not_print_their_values() -> Result<()> {
    let home = Home::new("OPENAI_API_KEY: hush\nGOOSE_MODEL: m\n")?;
    let settings = Settings::load(home.source().with_environment([("X_TOKEN", "hush")]))?;
    ensure!(!format!("{settings:?} {:?}", home.source()).contains("hush"));
    assert_eq!(settings.shown("OPENAI_API_KEY").as_deref(), Some("(hidden)"));
    assert_eq!(settings.shown("GOOSE_MODEL").as_deref(), Some("m"));
    Ok(())
}

/// `MODELS` is a common name for a folder.
#[test]
fn mappings_are_not_taken_from_the_environment() -> Result<()> {
    let home = Home::new("models:\n  m: {context_limit: 1000}\n")?;
    let others = ["MODELS", "PROFILES", "EXTENSIONS", "SLASH_COMMANDS"].map(|name| (name, "/data"));
    let settings = Settings::load(home.source().with_environment(others))?;
    assert_eq!(settings.model_overrides()?.models.len(), 1);
    ensure!(matches!(settings.origin("models"), Some(Origin::User(_))));
    assert_eq!(settings.get::<serde_json::Value>("slash_commands")?, None);
    settings.profile(None)?;
    // The name as it is comes before its upper-case form.
    let proxies = home.source().with_environment([("http_proxy", "own"), ("HTTP_PROXY", "OTHER")]);
    assert_eq!(Settings::load(proxies)?.get::<String>("http_proxy")?.as_deref(), Some("own"));
    Ok(())
}

fn refusal(settings: &Settings, of: &str) -> Result<String> {
    let made = settings.registry().provider(&model(of)?, settings, &settings.model_overrides()?);
    Ok(made.err().context("a provider was made")?.to_string())
}

/// A host that cannot be read is not the default host: key and messages would go to somebody else.
#[test]
fn what_is_set_and_cannot_be_read_is_never_as_if_it_were_not_set() -> Result<()> {
    let home = Home::new("OPENAI_HOST: [oops]\nOPENAI_API_KEY: hush\n")?;
    let error = refusal(&home.settings()?, "openai:gpt-5")?;
    ensure!(error.contains("config.yaml:1:14: 'OPENAI_HOST': expected"), "{error}");

    let home = Home::new("A: 1\nOPENAI_API_KEY: {a: b}\n")?;
    let error = refusal(&home.settings()?, "openai:gpt-5")?;
    ensure!(error.contains("config.yaml:2:17: 'OPENAI_API_KEY': expected"), "{error}");

    let home = Home::new("")?;
    home.write("config/secrets.yaml", "A: b\nOPENAI_API_KEY: [x\n")?;
    let error = refusal(&home.settings()?, "openai:gpt-5")?;
    ensure!(error.contains("secrets.yaml:") && error.contains("OPENAI"), "{error}");
    Ok(())
}

#[test]
fn a_shown_value_hides_the_password_of_an_address() -> Result<()> {
    let home = Home::new("GOOSE_X_URL: http://u:hunter2@h\nGOOSE_Y_URL: http://h\nMY_TOKEN: t\n")?;
    let settings = home.settings()?;
    let shown = ["GOOSE_X_URL", "GOOSE_Y_URL", "MY_TOKEN"].map(|key| settings.shown(key));
    assert_eq!(shown.map(Option::unwrap_or_default), ["(hidden)", "http://h", "(hidden)"]);
    Ok(())
}

/// Row 10: what is agreed to is the project's file, and not another one that can change behind it.
#[test]
fn a_project_names_no_file_as_its_profile() -> Result<()> {
    let home = Home::new("profiles:\n  small: {max_turns: 3}\n")?;
    let project = home.project("A: 1\nGOOSE_PROFILE: .goose/p.yaml\n")?;
    let settings = Settings::load(home.source().with_project(project))?;
    let error = settings.profile(None).err().context("it was read")?.to_string();
    ensure!(error.contains("config.yaml:2:1") && error.contains("'.goose/p.yaml'"), "{error}");
    let project = home.project("GOOSE_PROFILE: small\n")?;
    let settings = Settings::load(home.source().with_project(project))?;
    assert_eq!(settings.profile(None)?.max_turns, Some(3));
    Ok(())
}
