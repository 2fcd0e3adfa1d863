//! `web_scrape`: fetches one page.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `fetch.rs` | the request: redirects by hand, checked addresses, caps |
//! | `lookup.rs` | names to addresses, checked before they are connected to |
//! | `page.rs` | HTML as Markdown or text |
//! | `body.rs` | bytes as text: compression and character sets |

mod body;
mod fetch;
mod lookup;
mod page;
#[cfg(test)]
mod tests;

use goose_extension::{HostPolicy, prelude::*};
use goose_fs::head_chars;
use std::sync::Arc;

use self::fetch::{Fetched, fetch};
pub(crate) use self::lookup::{Lookup, SystemLookup};
use super::{ComputerController, blocking, failed};

/// Maximum length of the text in an answer. All of it is saved.
const MAX_SHOWN_CHARS: usize = 40_000;

/// Form in which a page is returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PageForm {
    #[default]
    Markdown,
    Text,
    Json,
    Binary,
}

impl ComputerController {
    /// Fetch a web page. Returns its text, cut if long, and the file with all of it. Fails if the host cannot be reached or is not
    /// allowed, after 30 seconds, 5 redirects or 10 MB, and if the answer is an error.
    #[tool(title = "Fetch a web page", group = ["fetch", "browser"], read_only, open_world)]
    pub(super) async fn web_scrape(
        &self,
        /// Address, with http or https
        url: String,
        /// `markdown`, `text`, `json` (checked) or `binary` (only saved), default markdown
        #[arg(default)]
        save_as: PageForm,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let policy = context.judged_hosts().cloned().unwrap_or_else(|| Arc::new(HostPolicy::default()));
        context.status(format!("fetching {url}"));
        let fetched = fetch(&url, &policy, &self.lookup).await?;
        let cache = self.cache.clone();
        blocking(move || {
            let (extension, content) = convert(&fetched, save_as)?;
            let name = fetched.url.host_str().unwrap_or("page").to_owned();
            let bytes = content.as_deref().map_or(fetched.bytes.as_slice(), str::as_bytes);
            let saved = cache.map(|cache| cache.save(&name, extension, bytes));
            if content.is_none() && !matches!(saved, Some(Ok(_))) {
                return Err(failed("The file could not be saved, so nothing was kept of it."));
            }
            let mut shown = fetched.summary();
            match saved {
                Some(Ok(path)) => shown.push_str(&format!("\nSaved to {}", path.display())),
                Some(Err(error)) => shown.push_str(&format!("\nNot saved: {error}")),
                None => {}
            }
            if let Some(content) = content {
                let head = head_chars(&content, MAX_SHOWN_CHARS);
                shown.push_str(&format!("\n\n{head}"));
                if head.len() < content.len() {
                    shown.push_str(&format!(
                        "\n[… {} more bytes in the saved file]",
                        content.len() - head.len()
                    ));
                }
            }
            Ok(ToolOutput::text(shown))
        })
        .await
    }
}

/// Returns the content in the wanted form, with the extension of its file; no content for bytes that are only saved.
fn convert(fetched: &Fetched, form: PageForm) -> ToolResult<(&'static str, Option<String>)> {
    if form == PageForm::Binary {
        return Ok(("bin", None));
    }
    let Some(text) = body::text(&fetched.bytes, &fetched.content_type) else {
        return Err(failed(format!(
            "{} is not text but {}. Use save_as `binary` to save it.",
            fetched.url, fetched.content_type
        )));
    };
    let is_html = fetched.is_html(&text);
    Ok(match form {
        PageForm::Json => {
            let value: Value = serde_json::from_str(&text).map_err(|error| {
                failed(format!("{} is not JSON: {error}. Use save_as `text`.", fetched.url))
            })?;
            ("json", Some(serde_json::to_string_pretty(&value).unwrap_or(text)))
        }
        PageForm::Markdown if is_html => ("md", Some(page::markdown(&text, &fetched.url))),
        PageForm::Text if is_html => ("txt", Some(page::text(&text))),
        _ => ("txt", Some(text)),
    })
}
