//! Secrets are looked up by name and never shown.

use std::fs;

use anyhow::{Context, Result, ensure};
use goose_config::{ConfigError, EnvSecrets, FileSecrets, MAX_SECRETS_BYTES, Secret, SecretChain, Secrets};

fn file_with(text: &str) -> Result<(tempfile::TempDir, FileSecrets)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("secrets.yaml");
    fs::write(&path, text)?;
    Ok((folder, FileSecrets::new(path)))
}

#[test]
fn environment_takes_precedence_over_the_file() -> Result<()> {
    let (_folder, file) = file_with("A: from the file\nB: from the file\n")?;
    let secrets =
        SecretChain::default().then(EnvSecrets::from_iter([("A", "from outside"), ("B", "")])).then(file);
    assert_eq!(secrets.get("A")?, Some(Secret::new("from outside")));
    assert_eq!(secrets.get("B")?, Some(Secret::new("from the file")));
    assert_eq!(secrets.get("C")?, None);
    Ok(())
}

#[test]
fn file_is_read_for_each_lookup() -> Result<()> {
    let (folder, file) =
        file_with("NUMBER: 0123\nVERSION: 1.10\nTEXT: 'a: b'\nNOTHING:\nOTHER: {of: [another, kind]}\n")?;
    let get = |name: &str| anyhow::Ok(file.get(name)?.map(|secret| secret.expose().to_owned()));
    assert_eq!(get("NUMBER")?.as_deref(), Some("0123"));
    assert_eq!(get("VERSION")?.as_deref(), Some("1.10"));
    assert_eq!(get("TEXT")?.as_deref(), Some("a: b"));
    assert_eq!(get("NOTHING")?, None);
    fs::write(folder.path().join("secrets.yaml"), "NUMBER: 9\n")?;
    assert_eq!(get("NUMBER")?.as_deref(), Some("9"));
    fs::remove_file(folder.path().join("secrets.yaml"))?;
    assert_eq!(get("NUMBER")?, None);
    Ok(())
}

#[test]
fn invalid_file_is_reported_with_line_and_without_secrets() -> Result<()> {
    for (text, name, position) in [
        ("A: hush\nB: [hush\n", "A", Some((2, 4))),
        ("A: hush\nB: {hush: hush}\n", "B", Some((2, 4))),
        ("- hush\n", "A", Some((1, 1))),
        ("A: hush\nA: hush\n", "A", Some((2, 1))),
    ] {
        let (folder, file) = file_with(text)?;
        let error = file.get(name).err().with_context(|| text.to_owned())?;
        let ConfigError::Malformed { place, .. } = &error else { anyhow::bail!("{text}: {error:?}") };
        assert_eq!(place.position, position, "{text}");
        let printed = format!("{error} {error:?}");
        ensure!(printed.contains("secrets.yaml") && !printed.contains("hush"), "{printed}");
        assert_eq!(fs::read_to_string(folder.path().join("secrets.yaml"))?, text);
    }
    Ok(())
}

#[test]
fn oversized_file_is_not_read() -> Result<()> {
    let (folder, file) = file_with("A: b\n")?;
    let path = folder.path().join("secrets.yaml");
    fs::File::options().write(true).open(&path)?.set_len(MAX_SECRETS_BYTES + 1)?;
    assert_eq!(file.get("A"), Err(ConfigError::TooLarge { path, limit: MAX_SECRETS_BYTES }));
    Ok(())
}

#[cfg(unix)]
#[test]
fn file_that_other_users_can_read_is_detected() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let (folder, file) = file_with("A: b\n")?;
    let path = folder.path().join("secrets.yaml");
    for (mode, exposed) in [(0o600, false), (0o640, true), (0o604, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        assert_eq!(file.is_readable_by_others(), exposed, "{mode:o}");
        assert_eq!(file.get("A")?, Some(Secret::new("b")), "{mode:o}");
    }
    Ok(())
}

#[test]
fn debug_output_hides_secrets() {
    let chain = SecretChain::default().then(EnvSecrets::from_iter([("A", "hush")]));
    assert_eq!(format!("{:?}", Secret::new("hush")), "Secret(…)");
    assert!(!format!("{chain:?} {:?}", EnvSecrets::from_iter([("A", "hush")])).contains("hush"));
}
