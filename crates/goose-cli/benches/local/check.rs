//! Whether a task was done, by looking.

use std::{fs, process::Command};

use crate::{
    run::Done,
    task::{After, Prints, Task},
};

/// How much of what is there instead is shown, in characters.
const SHOWN_CHARS: usize = 160;

/// What is not as it should be.
pub(crate) fn problems(task: &Task, done: &Done) -> Vec<String> {
    let mut problems: Vec<String> =
        task.answer.iter().filter_map(|wanted| unsaid(wanted, &done.answer)).collect();
    problems.extend(task.after.iter().flat_map(|(path, after)| file(done, path, after)));
    problems.extend(task.prints.iter().filter_map(|prints| printed(done, prints)));
    problems
}

fn unsaid(wanted: &str, answer: &str) -> Option<String> {
    let answer = answer.to_lowercase();
    let is_said = wanted.split('|').any(|one| answer.contains(&one.to_lowercase()));
    (!is_said).then(|| format!("the answer does not say {wanted:?}: {}", start(&answer)))
}

fn file(done: &Done, path: &str, after: &After) -> Vec<String> {
    let place = done.folder.join(path);
    if after.gone {
        return place.exists().then(|| format!("{path} is still there")).into_iter().collect();
    }
    let Ok(text) = fs::read_to_string(&place) else { return vec![format!("{path} is not there")] };
    let mut problems = Vec::new();
    if after.is.as_ref().is_some_and(|wanted| wanted.trim_end() != text.trim_end()) {
        problems.push(format!("{path} is {}", start(&text)));
    }
    let lacking = after.has.iter().filter(|wanted| !text.contains(wanted.as_str()));
    problems.extend(lacking.map(|wanted| format!("{path} lacks {wanted:?}: {}", start(&text))));
    let having = after.lacks.iter().filter(|wanted| text.contains(wanted.as_str()));
    problems.extend(having.map(|unwanted| format!("{path} has {unwanted:?}: {}", start(&text))));
    problems
}

fn printed(done: &Done, prints: &Prints) -> Option<String> {
    let output = match Command::new("bash").arg("-c").arg(&prints.run).current_dir(&done.folder).output() {
        Ok(output) => output,
        Err(error) => return Some(format!("{}: {error}", prints.run)),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    (printed.trim_end() != prints.is.trim_end()).then(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("`{}` prints {} {}", prints.run, start(&printed), start(&errors))
    })
}

fn start(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN_CHARS).collect::<String>())
}
