//! A name that leads to a private file's hard link at times: whatever the moment, the private file is not shown.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use goose_extension::{Extension as _, FileTarget, HardLinks, JudgedPath};
use serde_json::json;

use crate::developer_support::Desk;

/// Time for which a race is run.
const RACE: Duration = Duration::from_secs(4);

const SECRET: &str = "top-secret";

/// Stops the race, also when an assertion fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets the name be a plain file and a hard link of the secret in turn.
fn swap(name: &PathBuf, secret: &PathBuf, draft: &PathBuf, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        fs::hard_link(secret, draft).unwrap();
        fs::rename(draft, name).unwrap();
        fs::write(draft, "plain\n").unwrap();
        fs::rename(draft, name).unwrap();
    }
}

#[tokio::test]
async fn swapped_hard_link_is_not_shown() {
    let desk = Desk::new();
    let name = desk.put("name", "plain\n");
    let secret = desk.root().join("secret");
    fs::write(&secret, format!("{SECRET}\n")).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let draft = desk.root().join("draft");
    let path = name.canonicalize().unwrap();
    let target = FileTarget { path, hard_links: HardLinks::AllowedIfPublic };
    let judged = [JudgedPath { given: "name".to_owned(), target: Ok(target) }];
    let context = desk.context().with_judged_paths(judged);
    let is_over = AtomicBool::new(false);
    let racer = (name.clone(), secret.clone(), draft.clone());
    thread::scope(|scope| {
        let stop = StopOnDrop(&is_over);
        scope.spawn(|| swap(&racer.0, &racer.1, &racer.2, &is_over));
        let handle = tokio::runtime::Handle::current();
        let (desk, context) = (&desk, &context);
        let caller = scope.spawn(move || {
            let (mut plain, begun) = (0, Instant::now());
            while begun.elapsed() < RACE {
                for (tool, arguments) in [
                    ("read", json!({ "path": "name" })),
                    ("search", json!({ "path": "name", "pattern": "plain|secret" })),
                ] {
                    let arguments = arguments.as_object().unwrap().clone();
                    let output = handle.block_on(desk.developer.call(tool, arguments, context)).unwrap();
                    let text = output.as_text();
                    assert!(!text.contains(SECRET), "{tool}: {text}");
                    plain += usize::from(text.contains("plain"));
                }
            }
            plain
        });
        let plain = caller.join();
        drop(stop);
        assert!(plain.unwrap() > 0, "nothing was read");
    });
}
