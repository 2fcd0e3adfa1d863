//! `goose configure login`, against scripted login servers on loopback. The real ones were not asked.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use goose_test_support::{HttpAnswer, HttpAsked, Loopback, Terminal, write_program};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::{
    redacted::screen,
    support::{Home, Run, UNREACHABLE_SERVERS, wait_until},
    talk::SIZES,
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

const KEY: &str = "sk-or-hush-hush";

/// A login server like OpenRouter's, which grants each code once, against the right verifier.
fn openrouter() -> anyhow::Result<Loopback> {
    let challenge: Arc<Mutex<Option<String>>> = Arc::default();
    Loopback::answering(move |asked| {
        let url = Url::parse("http://server").and_then(|base| base.join(&asked.path));
        let Ok(url) = url else { return HttpAnswer::new(400, "") };
        let find = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, it)| it.into_owned());
        match (asked.method.as_str(), url.path()) {
            ("GET", "/auth") if find("code_challenge_method").as_deref() == Some("S256") => {
                *challenge.lock() = find("code_challenge");
                let back = format!("{}?code=once", find("callback_url").unwrap_or_default());
                HttpAnswer::new(302, "").with_header("location", &back)
            }
            ("POST", "/api/v1/auth/keys") => exchange(asked, challenge.lock().take()),
            ("GET", "/api/v1/models") if asked.header("authorization") == Some(&format!("Bearer {KEY}")) => {
                HttpAnswer::new(200, r#"{"data": [{"id": "pond/large"}, {"id": "pond/small"}]}"#)
            }
            _ => HttpAnswer::new(404, ""),
        }
    })
}

fn exchange(asked: &HttpAsked, challenge: Option<String>) -> HttpAnswer {
    let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let verifier = body["code_verifier"].as_str().unwrap_or_default();
    let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    let is_right = body["code"] == "once" && body["code_challenge_method"] == "S256" && verifier.len() >= 43;
    match is_right && challenge == Some(hash) {
        true => HttpAnswer::new(200, json!({ "key": KEY, "user_id": "me" }).to_string()),
        false => HttpAnswer::new(403, r#"{"error":{"code":403,"message":"Invalid code or code_verifier"}}"#),
    }
}

/// `goose` with login servers at an address, and no program on its path.
fn goose(home: &Home, server: &str, arguments: &[&str]) -> Command {
    let mut command = home.goose(&[&["configure", "login"], arguments].concat());
    command.env("OPENROUTER_HOST", server).env("GOOSE_GITHUB_HOST", server);
    command.env("GOOSE_GITHUB_CLIENT_ID", "Iv1.mine").env("GOOSE_DISABLE_KEYRING", "1");
    command.env("PATH", home.path().join("bin"));
    command
}

/// Reads what goose shows up to a line with a text, and returns all of it.
fn read_until(child: &mut Child, text: &str) -> anyhow::Result<String> {
    let mut shown = String::new();
    let mut lines = BufReader::new(child.stderr.as_mut().context("its errors are piped")?);
    while lines.read_line(&mut shown)? > 0 {
        if shown.lines().last().is_some_and(|line| line.contains(text)) {
            return Ok(shown);
        }
    }
    anyhow::bail!("no `{text}` in:\n{shown}")
}

/// Begins a login and returns the address of the page.
fn begin(home: &Home, server: &str, arguments: &[&str]) -> anyhow::Result<(Child, Url)> {
    let mut child = goose(home, server, arguments).spawn()?;
    let shown = read_until(&mut child, "Waiting for the login. Ctrl-C cancels.")?;
    let page = shown.lines().find(|line| line.starts_with("http")).context("no address")?;
    Ok((child, Url::parse(page)?))
}

fn ended(child: Child) -> anyhow::Result<Run> {
    child.wait_with_output()?.try_into()
}

/// Answer to a browser: the status, the place that it is sent to, and the text.
#[derive(Debug)]
struct Page {
    status: u16,
    location: Option<Url>,
    text: String,
}

fn get(url: &Url) -> anyhow::Result<Page> {
    let (host, port) = (url.host_str().context("a host")?, url.port().context("a port")?);
    let mut stream = TcpStream::connect((host, port))?;
    stream.set_read_timeout(Some(LIMIT))?;
    let path = &url[url::Position::BeforePath..];
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let status = text.split(' ').nth(1).context("a status")?.parse()?;
    let location =
        text.lines().find_map(|line| line.strip_prefix("location: ")).map(Url::parse).transpose()?;
    Ok(Page { status, location, text })
}

fn secrets(home: &Home) -> Option<String> {
    fs::read_to_string(home.path().join("config/secrets.yaml")).ok()
}

#[test]
fn login_in_the_browser_gets_a_key_that_is_used() -> anyhow::Result<()> {
    let (home, server) = (Home::new()?, openrouter()?);
    fs::create_dir(home.path().join("bin"))?;
    write_program(
        &home.path().join("bin/xdg-open"),
        "#!/bin/sh\nprintf %s \"$1\" > opened.part\nmv opened.part opened\n",
    )?;
    let mut command = goose(&home, &server.url(), &["openrouter"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", home.path().join("bin").display()));
    let child = command.spawn()?;
    let opened = home.path().join("opened");
    wait_until(LIMIT, "the browser opens", || Ok(opened.exists()))?;
    let page = Url::parse(&fs::read_to_string(&opened)?)?;
    let back = get(&page)?.location.context("no way back")?;
    assert_eq!((back.host_str(), back.query()), (Some("localhost"), Some("code=once")));
    let last = get(&back)?;
    ensure!(last.status == 200 && last.text.contains("You are logged in."), "{last:?}");
    let run = ended(child)?;
    assert_eq!(run.code, Some(0), "{run:?}");
    let expected = "Stored OPENROUTER_API_KEY in HOME/config/secrets.yaml.\nGOOSE_PROVIDER is openrouter.\n";
    assert_eq!(home.normal(&run.stdout)?, expected);
    ensure!(run.stderr.contains(page.as_str()) && !run.stderr.contains(KEY), "{}", run.stderr);
    assert_eq!(secrets(&home).as_deref(), Some(format!("OPENROUTER_API_KEY: {KEY}\n").as_str()));
    let mode = fs::metadata(home.path().join("config/secrets.yaml"))?.permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let config = fs::read_to_string(home.config())?;
    ensure!(config.starts_with("GOOSE_PROVIDER: openrouter\nGOOSE_MODEL: "), "{config}");
    ensure!(get(&back).is_err(), "the port of the callback is still open");
    Ok(())
}

/// A login of another page neither ends the wait nor is taken for this one, and a configured provider stays.
#[test]
fn only_the_own_state_counts() -> anyhow::Result<()> {
    let (home, server) = (Home::with_config("GOOSE_PROVIDER: openai\n")?, openrouter()?);
    let (child, page) = begin(&home, &server.url(), &["openrouter"])?;
    let back = get(&page)?.location.context("no way back")?;
    let mut others = vec![back.clone(), back.clone(), back.clone()];
    others[0].set_path("/callback/other");
    others[1].set_path("/callback");
    others[2].set_path("/callback/other");
    others[2].query_pairs_mut().append_pair("error", "access_denied");
    for other in others {
        let page = get(&other)?;
        ensure!(page.status == 400 && page.text.contains("does not wait"), "{page:?}");
    }
    assert_eq!(get(&back)?.status, 200);
    let run = ended(child)?;
    assert_eq!((run.code, secrets(&home).is_some()), (Some(0), true), "{run:?}");
    ensure!(run.stderr.contains("goose configure --provider openrouter"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(home.config())?, "GOOSE_PROVIDER: openai\n");
    Ok(())
}

#[test]
fn refused_logins_store_nothing_and_say_why() -> anyhow::Result<()> {
    let server = openrouter()?;
    // The user declines, the code is wrong, and the service cannot be reached.
    for (query, expected) in [
        ("error=access_denied&error_description=Not+today", "`access_denied`: Not today"),
        ("code=guessed", "OpenRouter refused the login: Invalid code or code_verifier; log in again"),
    ] {
        let home = Home::new()?;
        let (child, page) = begin(&home, &server.url(), &["openrouter"])?;
        let mut back = get(&page)?.location.context("no way back")?;
        back.set_query(Some(query));
        assert_eq!(get(&back)?.status, 200);
        let run = ended(child)?;
        assert_eq!((run.code, run.stdout.as_str(), secrets(&home)), (Some(1), "", None), "{run:?}");
        ensure!(run.stderr.contains(expected), "{}", run.stderr);
    }
    let home = Home::new()?;
    let (child, page) = begin(&home, "http://127.0.0.1:9", &["openrouter"])?;
    let back = page.query_pairs().find(|(name, _)| name == "callback_url").context("no callback")?.1;
    get(&Url::parse(&format!("{back}?code=once"))?)?;
    let run = ended(child)?;
    assert_eq!((run.code, secrets(&home)), (Some(1), None));
    ensure!(run.stderr.contains("cannot reach OpenRouter at http://127.0.0.1:9/api/v1/auth/keys"), "{run:?}");
    Ok(())
}

#[test]
fn login_ends_with_its_time_and_with_ctrl_c() -> anyhow::Result<()> {
    let (home, server) = (Home::new()?, openrouter()?);
    let run: Run = goose(&home, &server.url(), &["openrouter", "--timeout", "1"]).output()?.try_into()?;
    assert_eq!(run.code, Some(1));
    ensure!(run.stderr.contains("was not finished within 1 seconds. Nothing was stored."), "{}", run.stderr);
    ensure!(run.stderr.contains("The browser could not be opened"), "{}", run.stderr);

    let (mut child, page) = begin(&home, &server.url(), &["openrouter"])?;
    let back = get(&page)?.location.context("no way back")?;
    ensure!(Command::new("kill").args(["-INT", &child.id().to_string()]).status()?.success());
    ensure!(!child.wait()?.success());
    ensure!(get(&back).is_err() && secrets(&home).is_none() && !home.config().exists());
    Ok(())
}

/// A login server like GitHub's, which answers questions for the token as scripted.
fn github(tokens: Vec<Value>) -> anyhow::Result<Loopback> {
    let mut tokens = tokens.into_iter();
    Loopback::answering(move |asked| {
        let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let is_known = body["client_id"] == "Iv1.mine" && asked.header("accept") == Some("application/json");
        let answer = match asked.path.as_str() {
            "/login/device/code" if is_known => json!({
                "device_code": "secret-device-code", "user_code": "WDJB-MJHT", "interval": 1, "expires_in": 900,
                "verification_uri": "https://github.test/login/device",
            }),
            "/login/oauth/access_token" if is_known && body["device_code"] == "secret-device-code" => {
                assert_eq!(body["grant_type"], "urn:ietf:params:oauth:grant-type:device_code");
                tokens.next().unwrap_or_else(|| json!({ "error": "asked_too_often" }))
            }
            _ => return HttpAnswer::new(404, r#"{"error": "Not Found"}"#),
        };
        HttpAnswer::new(200, answer.to_string())
    })
}

#[test]
fn device_login_waits_as_it_is_told() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = github(vec![
        json!({ "error": "authorization_pending" }),
        json!({ "error": "slow_down", "interval": 2 }),
        json!({ "access_token": "ghu_hush-hush", "token_type": "bearer", "expires_in": 28800 }),
    ])?;
    let run: Run = goose(&home, &server.url(), &["github"]).output()?.try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    let expected = "\
Open https://github.test/login/device in a browser, on any machine, and enter the code WDJB-MJHT
Waiting for the login. Ctrl-C cancels.
The token is valid for 480 minutes. Log in again after that.
";
    assert_eq!(run.stderr, expected);
    // Not as GITHUB_TOKEN, which other programs use with other permissions.
    assert_eq!(secrets(&home).as_deref(), Some("GITHUB_MODELS_TOKEN: ghu_hush-hush\n"));
    assert_eq!(server.asked().len(), 4);
    ensure!(!format!("{run:?}").contains("hush"), "{run:?}");
    Ok(())
}

#[test]
fn failed_device_logins_store_nothing_and_say_why() -> anyhow::Result<()> {
    for (answer, expected) in [
        (json!({ "error": "access_denied" }), "the login was declined on the page of GitHub"),
        (json!({ "error": "expired_token" }), "the code expired before it was entered"),
        (
            json!({ "error": "incorrect_client_credentials", "error_description": "Wrong\u{1b}[2J client." }),
            "GitHub refused the login: Wrong [2J client.",
        ),
        (json!({ "access_token": "" }), "the answer of GitHub cannot be used: it has no key"),
    ] {
        let (home, server) = (Home::new()?, github(vec![answer])?);
        let run: Run = goose(&home, &server.url(), &["github_models"]).output()?.try_into()?;
        assert_eq!((run.code, run.stdout.as_str(), secrets(&home)), (Some(1), "", None), "{run:?}");
        ensure!(run.stderr.contains(expected), "{}", run.stderr);
    }
    Ok(())
}

#[test]
fn logins_that_cannot_begin_say_what_to_do() -> anyhow::Result<()> {
    let (home, server) = (Home::new()?, github(Vec::new())?);
    let evil = Loopback::answering(|_| {
        let answer = json!({ "device_code": "d", "user_code": "u", "verification_uri": "http://evil.test/" });
        HttpAnswer::new(200, answer.to_string())
    })?;
    let url = server.url();
    for (provider, setting, value, expected) in [
        (
            "github_models",
            "GOOSE_GITHUB_CLIENT_ID",
            "",
            "goose configure --provider github_models --key-stdin",
        ),
        ("github_models", "GOOSE_GITHUB_CLIENT_ID", "Iv1.other", "Not Found; check GOOSE_GITHUB_CLIENT_ID"),
        ("github_models", "GOOSE_GITHUB_HOST", "http://github.test", "a login needs an https address"),
        ("github_models", "GOOSE_GITHUB_HOST", evil.url().as_str(), "names no https page for the code"),
        ("openrouter", "OPENROUTER_HOST", "http://openrouter.test", "a login needs an https address"),
        (
            "anthropic",
            "A",
            "b",
            "Anthropic has no login that goose knows. Providers with one: github_models, openrouter.",
        ),
        ("nowhere", "A", "b", "there is no provider `nowhere`"),
    ] {
        let run: Run = goose(&home, &url, &[provider]).env(setting, value).output()?.try_into()?;
        assert_eq!((run.code, run.stdout.as_str(), secrets(&home)), (Some(1), "", None), "{run:?}");
        ensure!(run.stderr.replace('\n', " ").contains(expected), "{}", run.stderr);
    }
    let run: Run = goose(&home, &url, &[]).output()?.try_into()?;
    ensure!(run.code == Some(1) && run.stderr.contains("No provider is given or configured."), "{run:?}");
    Ok(())
}

/// `goose configure` at a terminal of this size, up to the list of providers.
fn configure(home: &Home, server: &Loopback, size: (u16, u16)) -> anyhow::Result<Terminal> {
    let path = home.path().display().to_string();
    let environment = [
        ("GOOSE_PATH_ROOT", path.clone()),
        ("HOME", path),
        ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ("PATH", home.path().join("bin").display().to_string()),
        ("OPENROUTER_HOST", server.url()),
    ];
    let nobody = UNREACHABLE_SERVERS.map(|(name, value)| (name, value.to_owned()));
    let program = Path::new(env!("CARGO_BIN_EXE_goose"));
    let environment = environment.into_iter().chain(nobody);
    let terminal = Terminal::start_sized(program, ["configure"], environment, home.path(), size)?;
    terminal.wait_for("❯ open")?;
    Ok(terminal)
}

/// The questions of `goose configure` are menus, at each size of the terminal.
#[test]
fn providers_and_their_logins_are_menus() -> anyhow::Result<()> {
    for size in SIZES {
        let home = Home::with_short_path()?.configured("GOOSE_PROVIDER: openai\nGOOSE_MODEL: one\n")?;
        let server = openrouter()?;
        let terminal = configure(&home, &server, size)?;
        let name = |what: &str| format!("configure_{what}_{}x{}", size.0, size.1);
        terminal.send("router")?;
        terminal.wait_for("Provider: router")?;
        insta::assert_snapshot!(name("providers"), screen(&terminal, &home)?);
        terminal.send("\x15openrouter\r")?;
        terminal.wait_for("❯ log in with the browser")?;
        insta::assert_snapshot!(name("key"), screen(&terminal, &home)?);
        terminal.send("enter\r")?;
        terminal.wait_for("OPENROUTER_API_KEY (hidden):")?;
        terminal.send(&format!("{KEY}\r"))?;
        terminal.wait_for("❯ pond/large")?;
    }
    Ok(())
}

#[test]
fn login_is_a_step_of_configure() -> anyhow::Result<()> {
    let (home, server) = (Home::with_config("GOOSE_PROVIDER: openai\nGOOSE_MODEL: one\n")?, openrouter()?);
    let mut terminal = configure(&home, &server, (120, 40))?;
    terminal.send("openrouter\r")?;
    terminal.wait_for("❯ log in with the browser")?;
    terminal.send("\r")?;
    terminal.wait_for("Waiting for the login. Ctrl-C cancels.")?;
    let output = terminal.output();
    let page =
        output.lines().map(str::trim_end).find(|line| line.starts_with("http")).context("no address")?;
    let back = get(&Url::parse(page)?)?.location.context("no way back")?;
    assert_eq!(get(&back)?.status, 200);
    terminal.wait_for("OpenRouter gave goose a key.")?;
    terminal.wait_for("Choose one of the models that OpenRouter offers now.")?;
    ensure!(secrets(&home).is_none(), "the key is stored with the model");
    terminal.send("pond/small\r")?;
    terminal.wait_for("OPENROUTER_API_KEY is stored in")?;
    assert_eq!(secrets(&home).as_deref(), Some(format!("OPENROUTER_API_KEY: {KEY}\n").as_str()));
    assert_eq!(fs::read_to_string(home.config())?, "GOOSE_PROVIDER: openrouter\nGOOSE_MODEL: pond/small\n");
    terminal.wait_for("(y/N):")?;
    terminal.send("\x03")?;
    ensure!(!terminal.wait()?.success() && !terminal.output().contains(KEY));
    // Next time, Enter keeps the key.
    let terminal = configure(&home, &server, (120, 40))?;
    terminal.send("\r")?;
    terminal.wait_for("❯ keep OPENROUTER_API_KEY")?;
    terminal.send("\r")?;
    terminal.wait_for("❯ pond/small")?;
    Ok(())
}
