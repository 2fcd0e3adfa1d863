//! `Tail` on real streams.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use goose_process::{Process, ProcessSpec, Stream, Tail};
use tokio::io::AsyncWriteExt as _;

use crate::support::{PATIENCE, within};

fn follow(script: &str) -> anyhow::Result<(Process, Tail)> {
    let mut process =
        goose_process::spawn(ProcessSpec::new("sh").args(["-c", script]).stderr(Stream::Piped))?;
    let stderr = process.take_stderr().context("the stream was piped")?;
    Ok((process, Tail::follow(stderr)))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_words_of_a_program_are_there() -> anyhow::Result<()> {
    let (mut process, tail) = follow("echo one >&2; echo two >&2; printf three >&2")?;
    process.wait().await?;
    tokio::time::timeout(PATIENCE, tail.ended()).await?;
    ensure!(tail.text() == "one\ntwo\nthree", "{tail:?}");
    ensure!(tail.last_lines(2) == "two\nthree", "{tail:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_never_stops_writing_is_read_and_little_is_kept() -> anyhow::Result<()> {
    for script in ["while :; do echo 'a line of some length' >&2; done", "exec tr '\\0' x </dev/zero >&2"] {
        let (process, tail) = follow(script)?;
        let written = format!("/proc/{}/io", process.id());
        let much = || {
            let io = std::fs::read_to_string(&written).unwrap_or_default();
            io.lines().any(|line| {
                line.strip_prefix("wchar: ").and_then(|n| n.parse().ok()).is_some_and(|n: u64| n > 1 << 20)
            })
        };
        within(PATIENCE, "it writes a megabyte", much).await?;
        ensure!(tail.text().len() <= 64 * 1024 && tail.text().lines().count() <= 200);
        ensure!(!tail.text().is_empty());
        process.stop(Duration::ZERO).await?;
    }
    Ok(())
}

#[tokio::test]
async fn characters_arrive_whole_however_they_are_cut() -> anyhow::Result<()> {
    let text = "größer\n€ 🦀 end";
    for cut in 0..=text.len() {
        let (reader, mut writer) = tokio::io::duplex(64);
        let tail = Tail::follow(reader);
        writer.write_all(&text.as_bytes()[..cut]).await?;
        tokio::task::yield_now().await;
        writer.write_all(&text.as_bytes()[cut..]).await?;
        drop(writer);
        tail.ended().await;
        ensure!(tail.text() == text, "cut at {cut}: {tail:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_stream_is_closed_with_the_last_copy() -> anyhow::Result<()> {
    let (reader, mut writer) = tokio::io::duplex(64);
    let tail = Tail::follow(reader);
    let copy = tail.clone();
    drop(tail);
    writer.write_all(b"still here").await?;
    drop(copy);
    tokio::task::yield_now().await;
    ensure!(tokio::time::timeout(PATIENCE, writer.write_all(&[b'x'; 256])).await?.is_err());
    Ok(())
}
