//! [`Screenshots`]: a page as an image, by a browser on this machine.
//!
//! The browser is the first of: the program in `GOOSE_BROWSER`; the names in [`NAMES`] on the `PATH`; the places in
//! [`PLACES`]. It runs without a window, with a profile of its own in a temporary folder, and is ended at a time limit.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use goose_extension::Image;
use goose_process::{ProcessSpec, Stream};

use super::pages::WrittenPage;

/// Variable that names the browser.
const VARIABLE: &str = "GOOSE_BROWSER";

/// Names of browsers on the `PATH`, in order.
const NAMES: [&str; 7] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "brave-browser",
];

/// Places of browsers that are not on the `PATH`, in order.
const PLACES: [&str; 4] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/Applications/Brave Browser.app/Contents/MacOS/Brave Browser",
];

/// Time limit of the browser.
const LIMIT: Duration = Duration::from_secs(40);

/// Maximum size of an image.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Width of the window, in pixels.
const WIDTH: u32 = 1_080;

/// Options for a run without window, network and traces.
const OPTIONS: [&str; 12] = [
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-default-browser-check",
    "--no-first-run",
];

/// Takes screenshots.
#[derive(Debug, Clone)]
pub(super) struct Screenshots {
    variables: BTreeMap<OsString, OsString>,
}

impl Screenshots {
    /// Looks for a browser with these variables, when one is needed.
    pub(super) fn new(environment: &BTreeMap<OsString, OsString>) -> Self {
        let names = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", VARIABLE];
        let variables = names.into_iter().filter_map(|name| {
            let value = environment.get(OsStr::new(name)).filter(|value| !value.is_empty())?;
            Some((OsString::from(name), value.clone()))
        });
        Self { variables: variables.collect() }
    }

    fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(OsStr::new(name))
    }

    /// Returns the browser, if there is one.
    fn browser(&self) -> Option<PathBuf> {
        if let Some(named) = self.variable(VARIABLE) {
            return self.find(named);
        }
        let on_path = NAMES.iter().find_map(|name| self.find(OsStr::new(name)));
        on_path.or_else(|| PLACES.iter().map(PathBuf::from).find(|place| place.is_file()))
    }

    /// Finds a program by its path, or by its name on the `PATH`.
    fn find(&self, program: &OsStr) -> Option<PathBuf> {
        let program = Path::new(program);
        if program.is_absolute() {
            return program.is_file().then(|| program.to_owned());
        }
        let path = self.variable("PATH")?;
        std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
    }

    /// Returns an image of a page.
    ///
    /// # Errors
    ///
    /// Says what to tell the user.
    pub(super) async fn take(&self, page: &WrittenPage) -> Result<Image, String> {
        let missing = || {
            format!(
                "no browser was found. It takes Chromium, Chrome, Edge or Brave on the PATH, or its path in {VARIABLE}."
            )
        };
        let browser = self.browser().ok_or_else(missing)?;
        let name = browser.file_name().unwrap_or_default().display().to_string();
        let run = self.run(&browser, page);
        match tokio::time::timeout(LIMIT, run).await {
            Ok(Ok(image)) => Ok(image),
            Ok(Err(error)) => Err(format!("{name} failed: {error}.")),
            Err(_) => Err(format!("{name} took longer than {} s.", LIMIT.as_secs())),
        }
    }

    /// Runs the browser. Its processes end with this future, also where the time is up.
    async fn run(&self, browser: &Path, page: &WrittenPage) -> io::Result<Image> {
        let folder = tempfile::Builder::new().prefix("goose-browser-").tempdir()?;
        let image = folder.path().join("page.png");
        let spec = self.spec(browser, page, folder.path(), &image);
        let mut process = goose_process::spawn(&spec)?;
        let status = process.wait().await?;
        process.stop(Duration::ZERO).await?;
        let read = tokio::task::spawn_blocking(move || {
            let bytes = goose_fs::read_regular(&image, MAX_BYTES + 1);
            drop(folder);
            bytes
        });
        match read.await.map_err(io::Error::other)? {
            Ok(bytes) if bytes.len() as u64 > MAX_BYTES => Err(io::Error::other("the image is too large")),
            Ok(bytes) if bytes.starts_with(b"\x89PNG") => Ok(Image::png(bytes)),
            _ => Err(io::Error::other(format!("it wrote no image ({status})"))),
        }
    }

    fn spec(&self, browser: &Path, page: &WrittenPage, folder: &Path, image: &Path) -> ProcessSpec {
        let option = |name: &str, value: &OsStr| {
            let mut option = OsString::from(name);
            option.push(value);
            option
        };
        let mut spec = ProcessSpec::new(browser);
        spec.args(OPTIONS)
            .arg(option("--user-data-dir=", folder.join("profile").as_os_str()))
            .arg(option("--screenshot=", image.as_os_str()))
            .arg(format!("--window-size={WIDTH},{}", page.height));
        if rustix::process::geteuid().is_root() {
            // Chromium's sandbox refuses to run as root. The page has no script.
            spec.arg("--no-sandbox");
        }
        spec.arg(&page.file).env_clear().envs(&self.variables).env("HOME", folder);
        spec.current_dir(folder)
            .stdin(Stream::Null)
            .stdout(Stream::Null)
            .stderr(Stream::Null)
            .without_terminal();
        spec
    }
}
