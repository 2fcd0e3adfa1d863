//! The memory that a model needs, and how fast it is on this machine, after `goose models use`.

use std::{process::ExitCode, time::Duration};

use goose::config::Settings;
use goose_local::{Needs, Speed, free_memory};

use crate::{
    local,
    output::{byte_size, say},
    stderr,
};

/// Time limit of the measurement, with the time to read the weights from the disk.
const MEASURING_TIME: Duration = Duration::from_secs(20);

/// Shows what a model needs. The model is in use already, so a failure is only shown.
pub(super) async fn show(model: &str, settings: &Settings) -> anyhow::Result<ExitCode> {
    let needs = match local::needs(model, settings) {
        Ok(needs) => needs,
        Err(error) => {
            stderr::line(format_args!("What it needs is not known: {error}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let free = free_memory();
    say(&memory_line(&needs, free))?;
    if free.is_some_and(|free| free < needs.bytes()) {
        stderr::line("That does not fit: goose would be very slow, or be ended. Use a smaller file.");
        return Ok(ExitCode::SUCCESS);
    }
    if stderr::is_seen() {
        stderr::status("Measuring the speed");
    }
    let measured = tokio::task::spawn_blocking(move || needs.measure(MEASURING_TIME)).await;
    stderr::end_status();
    match measured? {
        Ok(speed) => say(&speed_line(speed)),
        Err(error) => {
            stderr::line(format_args!("The speed cannot be measured: {error}"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn memory_line(needs: &Needs, free: Option<u64>) -> String {
    let Needs { weights, conversation, context, .. } = needs;
    let all = format!(
        "Memory: {}: {} for the weights, and up to {} for a conversation of {context} tokens.",
        byte_size(needs.bytes()),
        byte_size(*weights),
        byte_size(*conversation),
    );
    match free {
        Some(free) => format!("{all} {} are free here.", byte_size(free)),
        None => all,
    }
}

fn speed_line(speed: Option<Speed>) -> String {
    match speed {
        Some(Speed { reading, writing }) => {
            format!("Speed here: it reads {} and writes {} tokens a second.", rate(reading), rate(writing))
        }
        None => format!(
            "Speed here: too slow to measure in {} seconds. Use a smaller file.",
            MEASURING_TIME.as_secs()
        ),
    }
}

/// A rate with a digit after the point where that matters.
fn rate(tokens: f64) -> String {
    if tokens < 10.0 { format!("{tokens:.1}") } else { format!("{tokens:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_shown_as_precisely_as_they_matter() {
        let line = speed_line(Some(Speed { reading: 84.6, writing: 3.06 }));
        assert_eq!(line, "Speed here: it reads 85 and writes 3.1 tokens a second.");
        assert!(speed_line(None).contains("too slow"));
    }
}
