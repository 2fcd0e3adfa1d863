//! [`AppWriter`]: asks a model for the document of an app, checks it, and asks once more if there are
//! problems.

use std::sync::Arc;

use goose_extension::{Model, Role, Sampling, ToolError, ToolResult};

use super::{AppError, AppInfo, AppStore, document};

/// Maximum length of the model's answer, in tokens.
const MAX_TOKENS: u32 = 32_000;

/// Maximum number of requests for a usable document.
const MAX_ATTEMPTS: usize = 2;

const SYSTEM: &str = "\
You write small web apps. Answer with one complete HTML document and nothing else: it begins with <!DOCTYPE html> and \
ends with </html>.

- Everything is in the document: styles in <style>, scripts in <script>, images as inline SVG or data: URLs. The app has \
no network: no CDN, no fonts or libraries from elsewhere, no fetch, no links to other sites, no downloads.
- <title> is the app's short name, and <meta name=\"description\"> says in one sentence what it is for.
- It works in a sandboxed frame of any size, in light and dark mode (prefers-color-scheme), with keyboard and screen reader. \
localStorage may be refused: try it, and continue without.
- Scripts handle every input, empty and wrong ones too; never put user text into innerHTML.
- Write compact, readable code. No placeholders, no parts left to be done.";

/// Writes apps with a model and stores them.
#[derive(Clone)]
pub struct AppWriter {
    store: AppStore,
    model: Arc<dyn Model>,
}

impl AppWriter {
    /// Creates a writer that stores the apps of a model.
    pub fn new(store: AppStore, model: Arc<dyn Model>) -> Self {
        Self { store, model }
    }

    /// Returns the store.
    pub fn store(&self) -> &AppStore {
        &self.store
    }

    /// Creates an app from a description.
    ///
    /// # Errors
    ///
    /// Fails if the model gives no answer or no usable document, or if the store fails.
    pub async fn create(&self, prd: &str) -> ToolResult<AppInfo> {
        if prd.trim().is_empty() {
            return Err(ToolError::execution("The description is empty. Say what the app shows and does."));
        }
        let html = self.ask(format!("Write this app:\n\n{prd}")).await?;
        let prd = prd.to_owned();
        self.store.with_blocking(move |store| store.create(&html, &prd)).await
    }

    /// Changes an app as the feedback says.
    ///
    /// # Errors
    ///
    /// Fails if the app does not exist, if the model gives no answer or no usable document, or if the store
    /// fails.
    pub async fn change(&self, name: &str, feedback: &str) -> ToolResult<AppInfo> {
        if feedback.trim().is_empty() {
            return Err(ToolError::execution("The feedback is empty. Say what to change in the app."));
        }
        let wanted = name.to_owned();
        let app = self.store.with_blocking(move |store| store.show(&wanted)).await?;
        let task =
            app.task.map(|task| format!("The app was made for this:\n\n{task}\n\n")).unwrap_or_default();
        let prompt = format!(
            "{task}This is the app now:\n\n{}\n\nChange it as follows and answer with the whole new document:\n\n{feedback}",
            app.source
        );
        let html = self.ask(prompt).await?;
        let name = name.to_owned();
        self.store.with_blocking(move |store| store.change(&name, &html)).await
    }

    /// Asks the model for a document that passes the checks.
    async fn ask(&self, prompt: String) -> ToolResult<String> {
        let mut request = Sampling::new(prompt, MAX_TOKENS).with_system_prompt(SYSTEM);
        let mut problems = Vec::new();
        for _ in 0..MAX_ATTEMPTS {
            let answer = self.model.sample(request.clone()).await?.text();
            let html = extract(&answer);
            match document::check(html) {
                Ok(_) => return Ok(html.to_owned()),
                Err(found) => problems = found,
            }
            let correction = format!(
                "This cannot be used:\n- {}\n\nAnswer with the whole corrected document.",
                problems.join("\n- ")
            );
            request = request.with_message(Role::Assistant, answer).with_message(Role::User, correction);
        }
        Err(AppError::BadDocument(problems).into())
    }
}

/// Returns the document in an answer, which may have other text or a code fence around it.
fn extract(answer: &str) -> &str {
    const END: &str = "</html>";
    // ASCII lower case keeps all positions.
    let small = answer.to_ascii_lowercase();
    let start = ["<!doctype", "<html"].iter().find_map(|beginning| small.find(beginning));
    let end = small.rfind(END).map(|at| at + END.len());
    match (start, end) {
        (Some(start), Some(end)) if start < end => &answer[start..end],
        (Some(start), _) => &answer[start..],
        _ => answer.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_found_among_other_words() {
        let page = "<!DOCTYPE html><html><title>x</title></HTML>";
        for answer in
            [page.to_owned(), format!("Here:\n```html\n{page}\n```\nEnjoy <3"), format!("ÄÖÜ {page}")]
        {
            assert_eq!(extract(&answer), page);
        }
        assert_eq!(extract(" no page "), "no page");
        assert_eq!(extract("cut <html><b>"), "<html><b>");
    }
}
