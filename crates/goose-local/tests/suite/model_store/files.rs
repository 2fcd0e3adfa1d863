//! Files of the store: list, find, check, remove.

use std::{fs, os::unix::fs::symlink};

use anyhow::{Context as _, ensure};
use goose_local::model_store::{
    Catalogue, DEFAULT_MODEL, Event, ModelStore, ModelStoreError, Place, State, Verdict, check_header,
    check_model,
};
use goose_test_support::{GgufWriter, tiny_model};

use super::{NAME, TestStore, good_hub, hub_source, model};

const QUIET: &(dyn Fn(Event<'_>) + Send + Sync) = &|_| {};

#[tokio::test]
async fn models_are_listed_with_their_state() -> anyhow::Result<()> {
    let file = model(50_000);
    let test = TestStore::new(&file, vec![hub_source()])?;
    let states = |test: &TestStore| -> anyhow::Result<Vec<(String, State)>> {
        Ok(test.store.list()?.into_iter().map(|item| (item.name, item.state)).collect())
    };
    let with = |state| [(NAME.to_owned(), state), (DEFAULT_MODEL.to_owned(), State::Absent)];
    assert_eq!(states(&test)?, with(State::Absent));
    fs::create_dir_all(test.store.folder())?;
    fs::write(test.part(), &file[..100])?;
    assert_eq!(states(&test)?, with(State::Part { bytes: 100 }));
    fs::write(test.file(), &file[..200])?;
    assert_eq!(states(&test)?, with(State::Damaged { bytes: 200 }));
    fs::write(test.file(), &file)?;
    fs::write(test.store.folder().join("mine.gguf"), &file)?;
    fs::write(test.store.folder().join("notes.txt"), b"x")?;
    let mine = ("mine".to_owned(), State::Here { bytes: 50_000 });
    assert_eq!(states(&test)?, [with(State::Here { bytes: 50_000 }).to_vec(), vec![mine]].concat());
    Ok(())
}

#[tokio::test]
async fn models_are_found_by_name_and_by_path() -> anyhow::Result<()> {
    let file = model(50_000);
    let server = good_hub(file.clone())?;
    let test = TestStore::new(&file, vec![hub_source()])?.with_hub(&server)?;
    ensure!(matches!(test.store.locate(NAME)?, Place::Elsewhere(entry) if entry.name == NAME));
    test.pull().await?;
    assert_eq!(test.store.locate(NAME)?, Place::File(test.file()));
    let elsewhere = test.path().join("elsewhere.gguf");
    fs::write(&elsewhere, &file)?;
    assert_eq!(test.store.locate(&elsewhere.display().to_string())?, Place::File(elsewhere));
    let unknown = test.store.locate("no-such");
    ensure!(matches!(unknown, Err(ModelStoreError::Unknown { known, .. }) if known[0] == NAME));
    ensure!(matches!(test.store.locate("/no/such.gguf"), Err(ModelStoreError::NoFile { .. })));
    Ok(())
}

#[tokio::test]
async fn verify_finds_one_wrong_byte() -> anyhow::Result<()> {
    let mut file = model(9_000_000);
    let test = TestStore::new(&file, vec![hub_source()])?;
    ensure!(matches!(test.store.verify(NAME, QUIET).await, Err(ModelStoreError::Absent { .. })));
    fs::create_dir_all(test.store.folder())?;
    fs::write(test.file(), &file)?;
    assert_eq!(test.store.verify(NAME, QUIET).await?, Verdict::Right);
    file[8_999_999] ^= 1;
    fs::write(test.file(), &file)?;
    ensure!(matches!(test.store.verify(NAME, QUIET).await?, Verdict::Wrong { .. }));
    fs::write(test.store.folder().join("mine.gguf"), model(100))?;
    let found = super::sha256(&model(100))?;
    assert_eq!(test.store.verify("mine", QUIET).await?, Verdict::Unknown { found });
    Ok(())
}

#[test]
fn remove_stays_within_the_folder() -> anyhow::Result<()> {
    let file = model(1_000);
    let test = TestStore::new(&file, vec![hub_source()])?;
    fs::create_dir_all(test.store.folder())?;
    let outside = test.path().join("precious.gguf");
    fs::write(&outside, &file)?;
    symlink(&outside, test.store.folder().join("link.gguf"))?;
    test.store.remove("link")?;
    ensure!(outside.exists() && !test.store.folder().join("link.gguf").exists());
    for name in ["../precious", "/tmp/x", "precious", "..", ""] {
        let error = test.store.remove(name).err().context("it went outside")?;
        ensure!(matches!(error, ModelStoreError::Unknown { .. }), "{error}");
    }
    ensure!(outside.exists());
    fs::write(test.file(), &file)?;
    fs::write(test.part(), &file[..10])?;
    assert_eq!(test.store.remove(NAME)?, 1_010);
    ensure!(!test.file().exists() && !test.part().exists());
    ensure!(matches!(test.store.remove(NAME), Err(ModelStoreError::Absent { .. })));
    Ok(())
}

#[test]
fn only_gguf_headers_are_accepted() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file.gguf");
    let mut big_endian = model(100);
    big_endian[4..8].copy_from_slice(&[0, 0, 0, 3]);
    let mut newer = model(100);
    newer[4] = 9;
    for (bytes, expected) in [
        (b"GGUF".to_vec(), "too short"),
        (b"PK\x03\x04 this is some other kind of file".to_vec(), "does not begin with `GGUF`"),
        (big_endian, "big-endian"),
        (newer, "version 9"),
        (b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(), "neither tensors nor metadata"),
    ] {
        fs::write(&path, bytes)?;
        let error = check_header(&path).err().context("it is not a model")?;
        ensure!(error.to_string().contains(expected), "{error}");
    }
    ensure!(check_header(folder.path()).is_err());
    fs::write(&path, model(100))?;
    check_header(&path)?;
    Ok(())
}

#[test]
fn an_invalid_user_catalogue_is_refused() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let own = folder.path().join("models.json");
    assert_eq!(Catalogue::with_user_entries(&own)?, Catalogue::builtin());
    let good = TestStore::new(&model(100), vec![hub_source()])?.store.catalogue().entries()[0].clone();
    let mut outside = good.clone();
    outside.name = "../x".to_owned();
    let mut unhashed = good.clone();
    unhashed.sha256.truncate(10);
    for (text, expected) in [
        ("{".to_owned(), "is invalid"),
        (serde_json::to_string(&[outside])?, "is not a valid name"),
        (serde_json::to_string(&[unhashed])?, "sha256"),
        (serde_json::to_string(&[&good])?.replace("maker/models", "a/--b"), "not a plain path"),
        (" ".repeat(1_100_000), "larger than"),
    ] {
        fs::write(&own, text)?;
        let error = Catalogue::with_user_entries(&own).err().context("it makes no sense")?;
        ensure!(error.to_string().contains(expected), "{error}");
        ensure!(error.hint().is_some());
    }
    fs::write(&own, serde_json::to_string(&[&good])?)?;
    assert_eq!(Catalogue::with_user_entries(&own)?.find(NAME), Some(&good));
    ensure!(ModelStore::new("/nowhere/at/all", Catalogue::builtin()).list()?.len() == 1);
    Ok(())
}

/// A file with a valid header may still not run. The engine gives the reason.
#[test]
fn only_models_that_run_are_accepted() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file.gguf");
    tiny_model::write(&path, 1)?;
    assert_eq!(check_model(&path)?.architecture, "qwen2");
    let good = fs::read(&path)?;
    let mut of_another_kind = GgufWriter::default();
    of_another_kind.text("general.architecture", "mamba");
    for (bytes, expected) in [
        (model(1_000), "it is damaged"),
        (good[..good.len() / 2].to_vec(), "it is damaged"),
        (of_another_kind.finish(), "its architecture is `mamba`"),
    ] {
        fs::write(&path, bytes)?;
        let error = check_model(&path).err().context("it cannot run")?;
        ensure!(matches!(error, ModelStoreError::NotAModel { .. }), "{error}");
        ensure!(error.to_string().contains(expected), "{error}");
    }
    ensure!(matches!(check_model(&folder.path().join("none")), Err(ModelStoreError::NoFile { .. })));
    Ok(())
}
