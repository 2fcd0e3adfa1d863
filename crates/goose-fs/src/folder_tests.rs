#![expect(clippy::disallowed_methods, reason = "tests prepare files by themselves")]

use std::{fs, os::unix::fs::symlink};

use super::*;

/// A folder with files and links, by its real path.
fn furnished() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("real/deep")).unwrap();
    fs::write(root.join("real/deep/file"), "content").unwrap();
    symlink("real", root.join("alias")).unwrap();
    symlink("real/deep/file", root.join("direct")).unwrap();
    symlink("round", root.join("round")).unwrap();
    symlink("nowhere/file", root.join("dangling")).unwrap();
    (folder, root)
}

fn is_link_error<T: std::fmt::Debug>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| is_link(&error))
}

#[test]
fn resolving_follows_links_and_keeps_missing_parts() {
    let (_folder, root) = furnished();
    for (path, expected) in [
        ("alias/deep/file", "real/deep/file"),
        ("direct", "real/deep/file"),
        ("alias/../real/./deep", "real/deep"),
        ("dangling", "nowhere/file"),
        ("new/../alias/new", "real/new"),
    ] {
        assert_eq!(resolve(&root.join(path)).unwrap(), root.join(expected), "{path}");
    }
    assert!(is_link_error(resolve(&root.join("round/x"))));
    let below_a_file = resolve(&root.join("direct/x")).unwrap_err();
    assert_eq!(below_a_file.kind(), io::ErrorKind::NotADirectory);
}

/// One call, and the other way for systems without it, give the same answers.
#[test]
fn both_ways_to_open_refuse_links_alike() {
    let (_folder, root) = furnished();
    let top = Folder::open(&root).unwrap();
    let step_by_step = |path: &str, flags| {
        let names = names(Path::new(path)).unwrap();
        open_step_by_step(top.as_fd(), &names, flags)
    };
    let open = |path: &str, flags| open_below(top.as_fd(), Path::new(path), flags);
    for (path, flags) in [
        ("direct", FILE),
        ("dangling", FILE),
        ("round", FILE),
        ("alias/deep/file", FILE),
        ("alias", FOLDER),
        ("alias/deep", FOLDER),
    ] {
        assert!(is_link_error(open(path, flags)), "{path}");
        assert!(is_link_error(step_by_step(path, flags)), "{path}, step by step");
    }
    for (path, flags, kind) in [
        ("real/none", FILE, io::ErrorKind::NotFound),
        ("real/deep/file/x", FILE, io::ErrorKind::NotADirectory),
        ("real/deep/file", FOLDER, io::ErrorKind::NotADirectory),
    ] {
        assert_eq!(open(path, flags).unwrap_err().kind(), kind, "{path}");
        assert_eq!(step_by_step(path, flags).unwrap_err().kind(), kind, "{path}, step by step");
    }
    open("real/deep/file", FILE).unwrap();
    step_by_step("real/deep/file", FILE).unwrap();
    open("real/../real", FOLDER).unwrap_err();
}

#[test]
fn folders_are_created_but_not_through_links() {
    let (_folder, root) = furnished();
    Folder::create(&root.join("real/new/deeper")).unwrap();
    assert!(root.join("real/new/deeper").is_dir());
    for path in ["alias/other", "dangling/other"] {
        assert!(is_link_error(Folder::create(&root.join(path))), "{path}");
    }
    assert_eq!(Folder::open(&root.join("real")).unwrap().names(10).unwrap().len(), 2);
    assert!(!root.join("nowhere").exists());
}

#[test]
fn a_folder_stays_the_same_whatever_takes_its_name() {
    let (_folder, root) = furnished();
    let folder = Folder::open(&root.join("real")).unwrap();
    fs::rename(root.join("real"), root.join("moved")).unwrap();
    symlink("/etc", root.join("real")).unwrap();
    assert_eq!(io::read_to_string(folder.open_file(Path::new("deep/file")).unwrap()).unwrap(), "content");
    assert_eq!(folder.names(10).unwrap(), ["deep"]);
    assert_eq!(folder.stat(Path::new("deep/file")).unwrap().st_size, 7);
    symlink("x", root.join("moved/link")).unwrap();
    assert_eq!(folder.read_link(Path::new("link")).unwrap(), Path::new("x"));
    folder.stat(Path::new("passwd")).unwrap_err();
}

/// Opening a pipe in the usual way would wait for its other end.
#[test]
fn only_regular_files_are_read() {
    let (_folder, root) = furnished();
    let pipe = root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    symlink("pipe", root.join("to_pipe")).unwrap();
    for path in [pipe, root.join("to_pipe"), root.join("real"), "/dev/zero".into()] {
        let error = read_regular(&path, 100).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file", "{}", path.display());
    }
    assert_eq!(read_regular(&root.join("direct"), 100).unwrap(), b"content");
    assert_eq!(read_regular(&root.join("direct"), 2).unwrap(), b"con");
    assert_eq!(open_regular(&root.join("dangling")).unwrap_err().kind(), io::ErrorKind::NotFound);
}
