//! `goose run` is killed, with no chance to do anything about it, at every point of a run of several turns. What
//! it had shown is kept, the session goes on, and nothing is done twice.
//!
//! - [`Point::Line`]: when it has shown a given number of lines;
//! - [`Point::Request`]: when it asks the model for the nth time, before there is an answer;
//! - [`Point::Write`]: in the middle of the write that makes a file larger than a given number of blocks, by the
//!   system's own limit on the size of files; the log of the database is the only file that grows so large.

use std::{
    collections::{BTreeSet, VecDeque},
    io::{BufRead as _, BufReader, Read as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn, model_server::Asked};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    kept::{exported, integrity, is_kept, is_valid, parts, results, store},
    run::goose,
    support::{Home, wait_for_end, wait_until},
    talk::at_terminal,
};

/// Time limit for an expected event on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// The calls of each turn.
const TURNS: [&[&str]; 3] = [&["one"], &["two", "three"], &["four"]];

/// The model's last answer.
const DONE: &str = "All is done.";

/// The words for a call that was under way.
const INTERRUPTED: &str = "Interrupted: goose was ended before this call had a result.";

/// The number of points that are tried at the same time.
const AT_ONCE: usize = 4;

/// The number of writes that are tried.
const WRITES: u64 = 24;

/// At least this number of lengths of the session must be seen after these, or they are not spread over the run.
const MIN_LENGTHS: usize = 5;

/// The unit of the limit on the size of files.
const BLOCK: u64 = 512;

/// The size of the database's shared memory, which is there from the begin: a smaller limit is that of the first write.
const FIRST_WRITE: u64 = 32 * 1024;

/// SIGKILL, and the signal of the limit on the size of files.
const KILLED: [i32; 2] = [9, 25];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    Line(usize),
    Request(usize),
    Write(u64),
    /// Not at all.
    Never,
}

fn command(call: &str) -> String {
    format!("echo {call} >> ran; echo did-{call}")
}

/// A model without a memory of its own: it asks for the first turn that the conversation does not have, and never again
/// for a call that it has, whatever its result.
fn next(asked: &Asked) -> Turn {
    let said = asked.body["messages"].to_string();
    match TURNS.iter().find(|calls| !said.contains(&command(calls[0]))) {
        Some(calls) => calls.iter().fold(Turn::text(format!("Now {}.", calls[0])), |turn, call| {
            turn.and_call("developer__shell", json!({ "command": command(call) }))
        }),
        None => Turn::text(DONE),
    }
}

/// The result of a run that was killed.
struct Killed {
    /// All that it had shown.
    lines: Vec<Value>,
    status: ExitStatus,
}

/// A run in a home, and where it is to be killed.
struct Run<'a> {
    home: &'a Home,
    point: Point,
    process: Arc<OnceLock<u32>>,
}

impl<'a> Run<'a> {
    fn new(home: &'a Home, point: Point) -> Self {
        Self { home, point, process: Arc::default() }
    }

    /// The model, which kills goose where the point is a request.
    fn server(&self) -> anyhow::Result<ModelServer> {
        let (point, process, requests) = (self.point, Arc::clone(&self.process), AtomicUsize::new(0));
        ModelServer::answering(move |asked| {
            let number = requests.fetch_add(1, Ordering::SeqCst) + 1;
            if point == Point::Request(number) {
                kill(*process.wait());
            }
            next(asked)
        })
    }

    fn start(&self, server: &ModelServer) -> anyhow::Result<Child> {
        let arguments = ["run", "-t", "Work", "--output-format", "stream-json"];
        let mut command = goose(self.home, server, &arguments);
        if let Point::Write(bytes) = self.point {
            command = limited(&command, bytes / BLOCK);
        }
        let child = command.spawn()?;
        // It is set once only.
        let _ = self.process.set(child.id());
        Ok(child)
    }

    fn killed(&self) -> anyhow::Result<Killed> {
        let server = self.server()?;
        let mut child = self.start(&server)?;
        let mut out = BufReader::new(child.stdout.take().context("its output is ours")?);
        let mut shown = String::new();
        let mut count = 0;
        while out.read_line(&mut shown)? > 0 {
            count += 1;
            if self.point == Point::Line(count) {
                child.kill()?;
            }
        }
        let status = child.wait()?;
        // A line that was cut was not shown.
        let whole = shown.rfind('\n').map_or("", |end| &shown[..end]);
        let lines = whole.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Killed { lines, status })
    }
}

fn kill(process: u32) {
    // It may have ended.
    let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
}

/// The same command under a limit on the size of files.
fn limited(command: &Command, blocks: u64) -> Command {
    let mut limited = Command::new("sh");
    let script = format!("ulimit -c 0; ulimit -f {blocks}; exec \"$@\"");
    limited.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    limited
}

/// Returns how often each call was run.
fn times(home: &Home, call: &str) -> usize {
    let ran = std::fs::read_to_string(home.path().join("ran")).unwrap_or_default();
    ran.lines().filter(|line| *line == call).count()
}

/// Nothing runs before its call is stored.
fn ran_what_is_stored(home: &Home, steps: &[Value]) -> anyhow::Result<()> {
    for call in TURNS.concat() {
        let is_stored =
            parts(steps, "tool_call").any(|stored| stored["arguments"]["command"] == command(call));
        ensure!(is_stored || times(home, call) == 0, "{call} ran before it was stored");
    }
    Ok(())
}

/// The session goes on from where it was, to its end.
fn goes_on(home: &Home, before: Option<&[Value]>) -> anyhow::Result<()> {
    let server = ModelServer::answering(next)?;
    let arguments: &[&str] = match before {
        Some(steps) if !steps.is_empty() => &["run", "--resume"],
        Some(_) => &["run", "--resume", "-t", "Work"],
        None => &["run", "-t", "Work"],
    };
    let resumed: crate::support::Run = goose(home, &server, arguments).output()?.try_into()?;
    ensure!(resumed.code == Some(0) && resumed.stdout.ends_with(&format!("{DONE}\n")), "{resumed:?}");
    server.asked().iter().try_for_each(is_valid)?;

    let after = exported(home)?.context("the session is there")?;
    let before = before.unwrap_or_default();
    ensure!(after.starts_with(before), "what was stored is not rewritten");
    for call in TURNS.concat() {
        let mut asked = parts(&after, "tool_call").filter(|it| it["arguments"]["command"] == command(call));
        let id = &asked.next().context("every call is asked for")?["id"];
        ensure!(asked.next().is_none(), "{call} was asked for twice");
        let outputs: Vec<&Value> =
            results(&after).filter(|it| it["id"] == *id).map(|it| &it["output"]).collect();
        ensure!(outputs.len() == 1, "{call} has {} results", outputs.len());
        let text = outputs[0]["content"][0]["text"].as_str().unwrap_or_default();
        match times(home, call) {
            0 | 1 if text.starts_with(INTERRUPTED) => {}
            1 if text.contains(&format!("did-{call}")) => {}
            times => anyhow::bail!("{call} ran {times} times, with the result {text}"),
        }
    }
    Ok(())
}

/// Returns the number of steps.
fn survives(point: Point) -> anyhow::Result<usize> {
    let home = Home::new()?;
    let Killed { lines, status } = Run::new(&home, point).killed()?;
    let is_killed = status.signal().is_some_and(|signal| KILLED.contains(&signal));
    ensure!(is_killed || matches!(point, Point::Line(_)), "it was not killed: {status:?} {lines:#?}");
    let steps = exported(&home)?;
    ensure!(steps.is_some() || lines.is_empty(), "the session is gone: {lines:#?}");
    if let Some(steps) = &steps {
        is_kept(&lines, steps)?;
    }
    ran_what_is_stored(&home, steps.as_deref().unwrap_or_default())?;
    if store(&home).exists() {
        ensure!(integrity(&store(&home))? == "ok");
    }
    goes_on(&home, steps.as_deref())?;
    ensure!(integrity(&store(&home))? == "ok");
    Ok(steps.map_or(0, |steps| steps.len()))
}

/// All points, from a run that is not killed: each line, each request, and writes all the way through.
fn points() -> anyhow::Result<VecDeque<Point>> {
    let home = Home::new()?;
    let (log, size) = (store(&home).with_extension("db-wal"), Arc::new(AtomicU64::new(0)));
    let server = ModelServer::answering({
        let size = Arc::clone(&size);
        move |asked| {
            let now = log.metadata().map_or(0, |log| log.len());
            size.fetch_max(now, Ordering::SeqCst);
            next(asked)
        }
    })?;
    let whole = Run::new(&home, Point::Never).start(&server)?.wait_with_output()?;
    ensure!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let lines = String::from_utf8(whole.stdout)?.lines().count();
    ensure!(lines >= 9, "three answers, four results, an answer, the end: {lines} lines");
    assert_eq!(server.asked().len(), TURNS.len() + 1);
    let size = size.load(Ordering::SeqCst);
    ensure!(size > 2 * FIRST_WRITE, "the log is not seen to grow: {size} bytes");

    let writes = (0..WRITES).map(|number| FIRST_WRITE + (size - FIRST_WRITE) * number / WRITES);
    let points = (1..=lines).map(Point::Line).chain((1..=TURNS.len() + 1).map(Point::Request));
    Ok(points.chain(writes.map(Point::Write)).collect())
}

#[test]
fn wherever_a_run_is_killed_it_goes_on_and_nothing_is_lost_or_done_twice() -> anyhow::Result<()> {
    let (points, lengths) = (Mutex::new(points()?), Mutex::new(BTreeSet::new()));
    let take = || points.lock().pop_front();
    let work = || {
        while let Some(point) = take() {
            let steps = survives(point).with_context(|| format!("{point:?}"))?;
            if matches!(point, Point::Write(_)) {
                lengths.lock().insert(steps);
            }
        }
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a worker panicked")).flatten())
    })?;
    let lengths = lengths.into_inner();
    ensure!(lengths.len() >= MIN_LENGTHS, "the writes are not spread over the run: {lengths:?}");
    Ok(())
}

/// A tool that was running is ended with goose and reported as interrupted; its neighbour keeps its result.
#[test]
fn a_call_that_ran_when_goose_was_killed_is_reported_as_interrupted() -> anyhow::Result<()> {
    let home = Home::new()?;
    let long = json!({ "command": "echo $$ > started; sleep 600; touch ended" });
    let calls = Turn::call("developer__shell", long)
        .and_call("developer__shell", json!({ "command": command("quick") }));
    let server = ModelServer::scripted([calls, Turn::text(DONE)])?;
    let arguments = ["run", "-t", "Work", "--output-format", "stream-json"];
    let mut child = goose(&home, &server, &arguments).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("its output is ours")?).lines();
    lines
        .find(|line| line.as_ref().is_ok_and(|line| line.contains("toolResponse")))
        .context("a result")??;
    let started = home.path().join("started");
    let shell = || std::fs::read_to_string(&started).ok().and_then(|id| id.trim().parse::<u32>().ok());
    wait_until(LIMIT, "the tool runs", || Ok(shell().is_some()))?;
    child.kill()?;
    child.wait()?;

    let steps = exported(&home)?.context("the session is there")?;
    assert_eq!(results(&steps).count(), 1, "{steps:#?}");
    let resumed: crate::support::Run = goose(&home, &server, &["run", "--resume"]).output()?.try_into()?;
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "All is done.\n"), "{resumed:?}");
    let asked = server.asked();
    is_valid(&asked[1])?;
    let told = asked[1].tool_results();
    ensure!(told[0].1.contains(INTERRUPTED), "{told:?}");
    ensure!(told[1].1.contains("did-quick"), "{told:?}");
    assert_eq!(times(&home, "quick"), 1);
    wait_for_end(shell().context("it has started")?, Duration::from_secs(5))?;
    ensure!(!home.path().join("ended").exists());
    Ok(())
}

/// A delegate ends with goose, and its session is not taken for the one to resume.
#[test]
fn a_delegate_that_worked_when_goose_was_killed_is_reported_as_interrupted() -> anyhow::Result<()> {
    let home = Home::new()?;
    let agents = home.path().join("config/agents");
    std::fs::create_dir_all(&agents)?;
    let boss = "name: boss\nmodes: [{slug: main, tool_groups: [summon], dependencies: [summon]}]\n";
    std::fs::write(agents.join("boss.yaml"), boss)?;
    let server = ModelServer::answering(|asked| {
        let is_delegate = asked.body.to_string().contains("Another agent has given you one task");
        let is_boss = asked.tool_names().contains(&"delegate") && !is_delegate;
        match (is_boss, asked.tool_results().is_empty()) {
            (true, true) => Turn::call("delegate", json!({ "instructions": "Sleep" })),
            (true, false) => Turn::text(DONE),
            (false, _) => {
                let long = json!({ "command": "echo $$ > started; sleep 600; touch ended" });
                Turn::call("developer__shell", long)
            }
        }
    })?;
    let mut child = goose(&home, &server, &["run", "--agent", "boss", "-t", "Work"]).spawn()?;
    let started = home.path().join("started");
    let shell = || std::fs::read_to_string(&started).ok().and_then(|id| id.trim().parse::<u32>().ok());
    wait_until(LIMIT, "the delegate works", || Ok(shell().is_some()))?;
    child.kill()?;
    child.wait()?;

    let resumed: crate::support::Run = goose(&home, &server, &["run", "--resume"]).output()?.try_into()?;
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "All is done.\n"), "{resumed:?}");
    let asked = server.asked();
    let told = asked.last().context("it was asked")?.tool_results();
    ensure!(told.len() == 1 && told[0].1.contains(INTERRUPTED), "{told:?}");
    wait_for_end(shell().context("it has started")?, Duration::from_secs(5))?;
    ensure!(!home.path().join("ended").exists());
    let count = |arguments: &[&str]| -> anyhow::Result<usize> {
        let listed = home.run(&[&["session", "list", "--json"], arguments].concat())?.json()?;
        Ok(listed["sessions"].as_array().context("a list")?.len())
    };
    assert_eq!((count(&[])?, count(&["--all"])?), (1, 2));
    Ok(())
}

/// Half an answer is not part of the conversation; the question is.
#[test]
fn killed_in_the_middle_of_an_answer_the_question_is_kept() -> anyhow::Result<()> {
    let home = Home::new()?;
    let half = Turn::text("Half an ").and_text("answer, ").and_text("never whole").silent_after(3);
    let server = ModelServer::scripted([half, Turn::text(DONE)])?;
    let mut child = goose(&home, &server, &["run", "-t", "The question"]).spawn()?;
    let mut out = child.stdout.take().context("its output is ours")?;
    let mut begin = [0; 8];
    out.read_exact(&mut begin)?;
    assert_eq!(&begin, b"Half an ");
    child.kill()?;
    child.wait()?;

    let resumed: crate::support::Run = goose(&home, &server, &["run", "--resume"]).output()?.try_into()?;
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "All is done.\n"), "{resumed:?}");
    let asked = server.asked();
    is_valid(&asked[1])?;
    assert_eq!(asked[1].last_user_text().as_deref(), Some("The question"));
    ensure!(!asked[1].body.to_string().contains("Half an"), "{}", asked[1].body);
    Ok(())
}

/// A question to the person that was never answered was not answered with yes.
#[test]
fn killed_at_an_approval_nothing_runs() -> anyhow::Result<()> {
    let home = Home::new()?;
    let call = Turn::call("developer__shell", json!({ "command": command("asked") }));
    let server = ModelServer::scripted([call, Turn::text(DONE)])?;
    let mut terminal = at_terminal(&home, &server, "approve", &["run", "-t", "Work"])?;
    terminal.wait_for("Allow it?")?;
    kill(terminal.id());
    assert_eq!(terminal.wait()?.signal(), Some(9));

    let resumed: crate::support::Run = goose(&home, &server, &["run", "--resume"]).output()?.try_into()?;
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "All is done.\n"), "{resumed:?}");
    let told = server.asked()[1].tool_results();
    ensure!(told[0].1.contains(INTERRUPTED), "{told:?}");
    assert_eq!(times(&home, "asked"), 0);
    Ok(())
}
