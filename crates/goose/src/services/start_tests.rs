//! Tests of Python code that runs as a program.

use super::*;

#[test]
fn code_is_placed_once_and_anew_where_it_was_changed() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let scripts = folder.path().join("scripts");
    let path = write_script("print(1)", &scripts)?;
    assert_eq!(std::fs::read_to_string(&path)?, "print(1)");
    std::fs::write(&path, "print(2)")?;
    assert_eq!(write_script("print(1)", &scripts)?, path);
    assert_eq!(std::fs::read_to_string(&path)?, "print(1)");
    assert_ne!(write_script("print(3)", &scripts)?, path);
    Ok(())
}

#[test]
fn the_runner_gets_the_library_the_dependencies_and_the_script() {
    let arguments = runner_arguments(&["httpx".to_owned(), "rich==14".to_owned()], Path::new("/x.py"));
    assert_eq!(arguments, ["--with", "mcp", "--with", "httpx", "--with", "rich==14", "python", "/x.py"]);
}
