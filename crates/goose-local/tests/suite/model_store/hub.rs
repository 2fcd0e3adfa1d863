//! Downloads from a hub.

use std::{fs, sync::Arc};

use anyhow::{Context as _, ensure};
use goose_local::model_store::{CatalogueEntry, ModelStoreError, PullOptions, WAYS_OUT};
use goose_test_support::{HttpAnswer, Loopback};

use super::{HUB_PATH, NAME, TestStore, good_hub, hub_source, model};

#[tokio::test]
async fn a_file_is_downloaded_once() -> anyhow::Result<()> {
    let file = model(300_000);
    let server = good_hub(file.clone())?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    let pulled = test.pull().await?;
    assert_eq!((pulled.path, pulled.was_here), (test.file(), false));
    test.is_done(&file)?;
    assert_eq!(
        test.events("Bytes").last().map(String::as_str),
        Some("Bytes { bytes: 300000, total: 300000 }")
    );
    ensure!(test.pull().await?.was_here);
    assert_eq!(server.asked().len(), 1);
    Ok(())
}

#[tokio::test]
async fn an_interrupted_download_is_resumed() -> anyhow::Result<()> {
    let file = model(100_000);
    let mut cuts = vec![30_000, 20_000].into_iter();
    let server = Loopback::answering({
        let file = file.clone();
        move |asked| {
            let answer = HttpAnswer::file(asked, &file);
            match cuts.next() {
                Some(cut) => answer.cut_after(cut),
                None => answer,
            }
        }
    })?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    test.pull().await?;
    test.is_done(&file)?;
    let ranges: Vec<Option<usize>> = server.asked().iter().map(|asked| asked.range_from()).collect();
    assert_eq!(ranges, [None, Some(30_000), Some(50_000)]);
    assert_eq!(test.events("Again").len(), 2);
    Ok(())
}

/// A server without ranges sends everything again, and may stop earlier than before.
#[tokio::test]
async fn a_server_without_ranges_keeps_the_partial_file() -> anyhow::Result<()> {
    let file = model(100_000);
    let mut cuts = vec![60_000, 20_000].into_iter();
    let server = Loopback::answering({
        let file = file.clone();
        move |_| match cuts.next() {
            Some(cut) => HttpAnswer::new(200, file.clone()).cut_after(cut),
            None => HttpAnswer::new(404, ""),
        }
    })?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    ensure!(test.pull().await.is_err());
    assert_eq!(fs::read(test.part())?, &file[..60_000]);
    let server = Loopback::answering({
        let file = file.clone();
        move |_| HttpAnswer::new(200, file.clone())
    })?;
    let test = test.with_hub(&server)?;
    test.pull().await?;
    test.is_done(&file)?;
    assert_eq!(server.asked().len(), 1);
    assert_eq!(server.asked()[0].range_from(), Some(60_000));
    Ok(())
}

/// The response of a hub with another file does not discard the partial file.
#[tokio::test]
async fn a_hub_with_another_file_keeps_the_partial_file() -> anyhow::Result<()> {
    let file = model(80_000);
    let part = |from: usize, total: usize| {
        let answer = HttpAnswer::new(206, model(total)[from..].to_vec());
        answer.with_header("content-range", &format!("bytes {from}-{}/{total}", total - 1))
    };
    let table = [
        (part(50_000, 90_000), "the file there has 90000 bytes"),
        (part(60_000, 80_000), "the server does not resume where the download ended"),
        (HttpAnswer::new(206, "?"), "the server does not resume where the download ended"),
        (
            HttpAnswer::new(416, "").with_header("content-range", "bytes */40000"),
            "the file there has 40000 bytes",
        ),
        (HttpAnswer::new(416, ""), "the server does not resume where the download ended"),
        (HttpAnswer::new(200, model(90_000)), "the file there has 90000 bytes"),
    ];
    for (answer, expected) in table {
        let server = Loopback::answering(move |_| answer.clone())?;
        let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
        fs::create_dir_all(test.store.folder())?;
        fs::write(test.part(), &file[..50_000])?;
        let error = test.pull().await.err().context("it is another file")?;
        ensure!(error.to_string().contains(expected), "{error}");
        ensure!(error.hint().is_some_and(|hint| hint.contains("the partial download is kept")));
        assert_eq!(fs::read(test.part())?, &file[..50_000], "{expected}");
        assert_eq!(server.asked().len(), 1, "{expected}");
    }
    Ok(())
}

/// The server begins a little earlier than requested.
#[tokio::test]
async fn overlapping_bytes_are_skipped() -> anyhow::Result<()> {
    let file = model(80_000);
    let server = Loopback::answering({
        let file = file.clone();
        move |_| {
            let answer = HttpAnswer::new(206, file[49_000..].to_vec());
            answer.with_header("content-range", "bytes 49000-79999/80000")
        }
    })?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    fs::create_dir_all(test.store.folder())?;
    fs::write(test.part(), &file[..50_000])?;
    test.pull().await?;
    test.is_done(&file)
}

/// Only the checksum shows that a partial file is wrong.
#[tokio::test]
async fn a_wrong_partial_file_is_discarded_after_the_checksum() -> anyhow::Result<()> {
    let file = model(80_000);
    let server = good_hub(file.clone())?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    fs::create_dir_all(test.store.folder())?;
    fs::write(test.part(), vec![7; 50_000])?;
    test.pull().await?;
    test.is_done(&file)?;
    let ranges: Vec<Option<usize>> = server.asked().iter().map(|asked| asked.range_from()).collect();
    assert_eq!(ranges, [Some(50_000), None]);
    Ok(())
}

#[tokio::test]
async fn a_file_with_a_wrong_checksum_is_never_used() -> anyhow::Result<()> {
    let (file, mut other) = (model(80_000), model(80_000));
    other[70_000] ^= 1;
    let server = good_hub(other)?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    let error = test.pull().await.err().context("a wrong file was taken")?;
    ensure!(error.to_string().contains("checksum does not match"), "{error}");
    ensure!(!test.file().exists());
    assert_eq!(fs::metadata(test.part())?.len(), 0);
    ensure!(error.hint().is_some_and(|hint| !hint.contains("is kept")), "nothing is kept");
    Ok(())
}

#[tokio::test]
async fn failed_downloads_are_explained_with_alternatives() -> anyhow::Result<()> {
    let file = model(50_000);
    let table: [(HttpAnswer, &str); 4] = [
        (HttpAnswer::new(404, ""), "the file is not there (404)"),
        (HttpAnswer::new(403, ""), "access is denied (403)"),
        (HttpAnswer::new(503, ""), "503"),
        (HttpAnswer::new(200, model(60_000)), "the file there has 60000 bytes"),
    ];
    for (answer, expected) in table {
        let server = Loopback::answering(move |_| answer.clone())?;
        let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
        let error = test.pull().await.err().context("there was nothing to fetch")?;
        let text = error.to_string();
        ensure!(text.contains("the model hub (maker/models)") && text.contains(expected), "{text}");
        let hint = error.hint().context("no hint")?;
        ensure!(hint.contains(WAYS_OUT) && hint.contains("HF_ENDPOINT"), "{hint}");
    }
    // The port has no listener.
    let test = TestStore::new(&file, vec![hub_source()])?;
    let error = test.pull().await.err().context("the hub does not run")?;
    ensure!(error.to_string().contains("127.0.0.1 cannot be reached"), "{error}");
    ensure!(PullOptions::new(Some("ftp://hub")).is_err());
    Ok(())
}

#[tokio::test]
async fn redirects_are_followed_with_the_range() -> anyhow::Result<()> {
    let file = model(60_000);
    let server = Loopback::answering({
        let file = file.clone();
        move |asked| match asked.path.as_str() {
            HUB_PATH => HttpAnswer::new(302, "").with_header("location", "/elsewhere?signed=1"),
            _ => HttpAnswer::file(asked, &file),
        }
    })?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    fs::create_dir_all(test.store.folder())?;
    fs::write(test.part(), &file[..10_000])?;
    test.pull().await?;
    test.is_done(&file)?;
    assert_eq!(server.asked()[1].range_from(), Some(10_000));
    Ok(())
}

/// The free space is checked before the first request.
#[tokio::test]
async fn too_little_space_is_reported_before_the_download() -> anyhow::Result<()> {
    let server = good_hub(model(1_000))?;
    let entry = CatalogueEntry {
        name: NAME.to_owned(),
        title: "A huge one".to_owned(),
        bytes: 1 << 60,
        sha256: "0".repeat(64),
        licence: "CC0-1.0".to_owned(),
        context: 64,
        sources: vec![hub_source()],
    };
    let test = TestStore::from_entry(&entry)?.with_hub(&server)?;
    let error = test.pull().await.err().context("it cannot fit")?;
    ensure!(matches!(error, ModelStoreError::NoSpace { .. }), "{error}");
    ensure!(error.hint().is_some_and(|hint| hint.contains("Free some space")));
    ensure!(server.asked().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_dropped_download_is_resumed_by_the_next() -> anyhow::Result<()> {
    let file = model(200_000);
    let mut is_first = true;
    let server = Loopback::answering({
        let file = file.clone();
        move |asked| {
            let answer = HttpAnswer::file(asked, &file);
            if std::mem::take(&mut is_first) { answer.silent_after(120_000) } else { answer }
        }
    })?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    let waited = async {
        while fs::metadata(test.part()).map_or(0, |about| about.len()) < 120_000 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        pulled = test.pull() => anyhow::bail!("it ended: {pulled:?}"),
        () = waited => {}
    }
    test.pull().await?;
    test.is_done(&file)?;
    assert_eq!(server.asked().last().and_then(|asked| asked.range_from()), Some(120_000));
    Ok(())
}

#[tokio::test]
async fn the_second_of_two_downloads_waits_and_finds_the_file() -> anyhow::Result<()> {
    let file = model(200_000);
    let server = Arc::new(good_hub(file.clone())?);
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    let (one, other) = tokio::join!(test.pull(), test.pull());
    let mut were_here = [one?.was_here, other?.was_here];
    were_here.sort_unstable();
    assert_eq!(were_here, [false, true]);
    assert_eq!((server.asked().len(), test.events("Waiting").len()), (1, 1));
    test.is_done(&file)
}

#[tokio::test]
async fn a_model_is_not_removed_during_its_download() -> anyhow::Result<()> {
    let file = model(200_000);
    let server = Loopback::answering({
        let file = file.clone();
        move |asked| HttpAnswer::file(asked, &file).silent_after(120_000)
    })?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    let refused = async {
        while fs::metadata(test.part()).map_or(0, |about| about.len()) < 120_000 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        test.store.remove(NAME)
    };
    let refused = tokio::select! {
        pulled = test.pull() => anyhow::bail!("it ended: {pulled:?}"),
        refused = refused => refused,
    };
    let error = refused.err().context("it was removed under a download")?;
    let process = format!("is being downloaded by another goose process (process {})", std::process::id());
    ensure!(error.to_string().contains(&process) && error.hint().is_some(), "{error}");
    assert_eq!(fs::metadata(test.part())?.len(), 120_000);
    assert_eq!(test.store.remove(NAME)?, 120_000, "the download was dropped");
    Ok(())
}
