//! Replacing files and locking them, through the public interface.

#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::Duration,
};

use goose_fs::{AtomicFile, FileLock, create_private_dir, open_lock_file};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_new_file_is_private_unless_it_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let (private, shared) = (folder.path().join("private"), folder.path().join("shared"));
    AtomicFile::new(&private).synced().write(b"a").unwrap();
    AtomicFile::new(&shared).shared().write(b"b").unwrap();
    assert_eq!((mode(&private), fs::read(&private).unwrap()), (0o600, b"a".to_vec()));
    assert_ne!(mode(&shared) & 0o044, 0, "others may read it");
    let made = folder.path().join("one/two");
    create_private_dir(&made).unwrap();
    assert_eq!((mode(&made), mode(&folder.path().join("one"))), (0o700, 0o700));
}

#[test]
fn a_replaced_file_keeps_its_permissions_only_where_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    AtomicFile::new(&path).write(b"old").unwrap();
    set_mode(&path, 0o640);
    AtomicFile::new(&path).keep_permissions().write(b"new").unwrap();
    assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o640, b"new".to_vec()));
    AtomicFile::new(&path).write(b"newer").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn a_draft_that_is_dropped_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    AtomicFile::new(&path).write(b"old").unwrap();
    let mut draft = AtomicFile::new(&path).temporary_name("x-", ".part").create().unwrap();
    draft.write_all(b"half").unwrap();
    assert!(names(folder.path()).iter().any(|name| name.starts_with("x-") && name.ends_with(".part")));
    drop(draft);
    assert_eq!((fs::read(&path).unwrap(), names(folder.path()).len()), (b"old".to_vec(), 1));
}

#[test]
fn a_second_holder_waits_until_the_lock_is_released() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let lock = FileLock::wait(open_lock_file(&path).unwrap(), Duration::ZERO).unwrap();
    assert!(lock.is_held());
    assert_eq!(mode(&path), 0o600);
    assert!(FileLock::try_new(open_lock_file(&path).unwrap()).unwrap().is_err());
    let late = FileLock::wait(open_lock_file(&path).unwrap(), Duration::from_millis(5)).unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    let waiting = std::thread::spawn(move || {
        FileLock::wait(open_lock_file(&path).unwrap(), Duration::from_secs(20)).unwrap();
    });
    drop(lock);
    waiting.join().unwrap();
    FileLock::wait(File::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
}

#[test]
fn a_lock_is_released_although_a_child_has_a_copy_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let open = || open_lock_file(&folder.path().join("lock")).unwrap();
    let lock = FileLock::wait(open(), Duration::ZERO).unwrap();
    // As a child has it from the moment it is forked until it runs its program.
    let copy = lock.file().try_clone().unwrap();
    drop(lock);
    assert!(FileLock::try_new(open()).unwrap().is_ok());
    drop(copy);
}
