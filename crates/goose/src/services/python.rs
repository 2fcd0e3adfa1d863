//! `inline_python`: code from the configuration, run with `uvx`.

use std::{
    io,
    path::{Path, PathBuf},
};

use goose_fs::AtomicFile;
use sha2::{Digest as _, Sha256};

/// What runs Python code with its dependencies.
pub(super) const RUNNER: &str = "uvx";

/// Puts the code into a file named by its content and gives its path. Blocking.
pub(super) fn place(code: &str, folder: &Path) -> io::Result<PathBuf> {
    let name = format!("{:x}.py", Sha256::digest(code));
    let path = folder.join(name);
    if std::fs::read(&path).is_ok_and(|there| there == code.as_bytes()) {
        return Ok(path);
    }
    std::fs::create_dir_all(folder)?;
    AtomicFile::new(&path).write(code.as_bytes())?;
    Ok(path)
}

/// The runner's arguments: the MCP library, the code's own dependencies, the code.
pub(super) fn arguments(dependencies: &[String], script: &Path) -> Vec<String> {
    let wanted = std::iter::once("mcp").chain(dependencies.iter().map(String::as_str));
    let mut arguments: Vec<String> = wanted.flat_map(|it| ["--with".to_owned(), it.to_owned()]).collect();
    arguments.push("python".to_owned());
    arguments.push(script.display().to_string());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_placed_once_and_anew_where_it_was_changed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let scripts = folder.path().join("scripts");
        let path = place("print(1)", &scripts)?;
        assert_eq!(std::fs::read_to_string(&path)?, "print(1)");
        std::fs::write(&path, "print(2)")?;
        assert_eq!(place("print(1)", &scripts)?, path);
        assert_eq!(std::fs::read_to_string(&path)?, "print(1)");
        assert_ne!(place("print(3)", &scripts)?, path);
        Ok(())
    }

    #[test]
    fn the_runner_gets_the_library_the_dependencies_and_the_script() {
        let arguments = arguments(&["httpx".to_owned(), "rich==14".to_owned()], Path::new("/x.py"));
        assert_eq!(arguments, ["--with", "mcp", "--with", "httpx", "--with", "rich==14", "python", "/x.py"]);
    }
}
