//! The document of an app: checks what a model wrote, and adds the header that protects and describes it.
//!
//! A stored file is a header and the document. The header has the policy that forbids network access, the
//! description in the form of goose 1.52 (JSON-LD and the task, each in a script that is not run), and an end
//! mark. The policy is its first element, so that it applies to everything after it, however a browser parses
//! the rest. The checks of references give better apps and messages; the policy is what protects.
//!
//! A policy does not keep a page from navigating to another address. A program that shows an app has to put
//! it into a sandboxed frame, as MCP clients do; [`framed`] does that for a browser.

use std::fmt::Write as _;

use goose_extension::visible_line;
use goose_fs::truncate_chars;
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Maximum size of an app.
pub const MAX_APP_BYTES: usize = 1024 * 1024;

/// Policy of every app: scripts, styles and images in the document itself, and no network access.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     img-src data: blob:; media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'; webrtc 'block'";

/// Type of the script with the description of an app.
const DESCRIPTION_TYPE: &str = "application/ld+json";

/// Type of the script with the task of an app.
const TASK_TYPE: &str = "application/x-goose-prd";

/// JSON-LD type and context of the description, as goose 1.52 writes them.
const APP_TYPE: &str = "GooseApp";
const APP_CONTEXT: &str = "https://goose.ai/schema";

/// End mark of the header.
const HEADER_END: &str = "<!-- end of goose's header -->\n";

/// Maximum number of problems in one report.
const MAX_PROBLEMS: usize = 10;

/// Maximum number of characters of a quoted reference.
const MAX_QUOTE_CHARS: usize = 80;

const MAX_TITLE_CHARS: usize = 100;
const MAX_DESCRIPTION_CHARS: usize = 300;
const MAX_TASK_BYTES: usize = 64 * 1024;

/// Attributes that make a browser load something. `href` does so except on hyperlinks.
const LOADING: [&str; 9] =
    ["src", "srcset", "href", "xlink:href", "poster", "data", "background", "formaction", "action"];

/// Elements whose `href` is followed only by a person.
const HYPERLINKS: [&str; 2] = ["a", "area"];

/// Description of an app, as stored in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Description {
    /// Name that the file had when it was written.
    pub name: String,
    /// Purpose of the app, in a sentence.
    pub description: String,
    /// Width of its window, if it wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Height of its window, if it wants one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// True if its window can be resized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resizable: Option<bool>,
}

/// Parts of a document that are checked or stored.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) title: String,
    /// Text of `<meta name="description">`.
    pub(super) summary: String,
    pub(super) description: Option<Description>,
    /// Task that the app was made for.
    pub(super) task: Option<String>,
    problems: Vec<String>,
    is_complete: bool,
}

/// Element whose text is being read.
enum TextElement {
    Nothing,
    Title,
    Style,
    Description,
    Task,
}

impl Outline {
    /// Reads a document.
    pub(super) fn read(html: &str) -> Self {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        let mut outline = Self::default();
        let mut within = TextElement::Nothing;
        for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
            match token {
                Token::StartTag(tag) => within = outline.start(&tag),
                Token::EndTag(tag) => {
                    within = TextElement::Nothing;
                    outline.is_complete |= tag.name.as_slice() == b"html";
                }
                Token::String(text) => outline.text(&within, &String::from_utf8_lossy(&text.value)),
                _ => {}
            }
        }
        outline
    }

    fn start(&mut self, tag: &StartTag<()>) -> TextElement {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        let mut attributes = Vec::new();
        for (key, value) in &tag.attributes {
            let key = String::from_utf8_lossy(key).into_owned();
            let value = String::from_utf8_lossy(&value.value).into_owned();
            self.check_attribute(&name, &key, &value);
            attributes.push((key, value));
        }
        let value =
            |key: &str| attributes.iter().find(|(known, _)| known == key).map(|(_, value)| value.trim());
        let is = |key: &str, text: &str| value(key).is_some_and(|value| value.eq_ignore_ascii_case(text));
        match name.as_str() {
            "base" => self.problem("`<base>` is not allowed; remove it"),
            "meta" if is("http-equiv", "refresh") => {
                self.problem("`<meta http-equiv=\"refresh\">` is not allowed; change the page with a script");
            }
            "meta" if is("name", "description") && self.summary.is_empty() => {
                self.summary = one_line(value("content").unwrap_or_default(), MAX_DESCRIPTION_CHARS);
            }
            "title" if self.title.is_empty() => return TextElement::Title,
            "style" => return TextElement::Style,
            "script" if is("type", DESCRIPTION_TYPE) => return TextElement::Description,
            "script" if is("type", TASK_TYPE) => return TextElement::Task,
            _ => {}
        }
        TextElement::Nothing
    }

    fn text(&mut self, within: &TextElement, text: &str) {
        match within {
            TextElement::Title => self.title += &one_line(text, MAX_TITLE_CHARS),
            TextElement::Style => self.check_style(text),
            TextElement::Description if self.description.is_none() => self.description = description(text),
            TextElement::Task if self.task.is_none() => {
                self.task = Some(text.trim().replace("<\\/", "</"));
            }
            _ => {}
        }
    }

    fn check_attribute(&mut self, element: &str, key: &str, value: &str) {
        if key == "style" {
            self.check_style(value);
        }
        let is_hyperlink = key == "href" && HYPERLINKS.contains(&element);
        // `<base>` is always refused, by its element.
        if !LOADING.contains(&key) || is_hyperlink || element == "base" {
            return;
        }
        let outside = if key == "srcset" {
            // A data URL contains commas, so the value is split at spaces and each candidate recognized by
            // its beginning.
            value.split_whitespace().find(|part| part.contains("://") || part.starts_with("//"))
        } else {
            Some(value).filter(|value| !is_inside(value))
        };
        if let Some(outside) = outside {
            self.problem(format!(
                "`<{element} {key}=\"{}\">` refers to something outside the document; {}",
                visible_line(&truncate_chars(outside, MAX_QUOTE_CHARS)),
                advice(element)
            ));
        }
    }

    /// Checks the references in a style sheet.
    fn check_style(&mut self, style: &str) {
        let style = style.to_ascii_lowercase();
        if style.contains("@import") {
            self.problem("`@import` is not allowed in styles; write the rules into `<style>`");
        }
        for part in style.split("url(").skip(1) {
            let target = part.trim_start().trim_start_matches(['"', '\'']);
            let target = target.split([')', '"', '\'']).next().unwrap_or_default();
            if !is_inside(target) {
                self.problem(format!(
                    "`url({})` in a style refers to something outside the document; use a data: URL",
                    visible_line(&truncate_chars(target, MAX_QUOTE_CHARS))
                ));
            }
        }
    }

    fn problem(&mut self, problem: impl Into<String>) {
        let problem = problem.into();
        if self.problems.len() < MAX_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// Returns true if a reference points into the document itself.
fn is_inside(reference: &str) -> bool {
    let reference = reference.trim_start().to_ascii_lowercase();
    let inside = ["#", "data:", "blob:", "about:", "javascript:"];
    reference.is_empty() || inside.iter().any(|beginning| reference.starts_with(beginning))
}

fn advice(element: &str) -> &'static str {
    match element {
        "script" => "write the script into the document",
        "link" => "write the styles into `<style>`",
        "img" | "image" | "video" | "audio" | "source" => "use a data: URL or inline SVG",
        "form" | "button" | "input" => "handle it with a script; nothing can be sent",
        _ => "leave it out; the app has no network",
    }
}

/// Checks what a model wrote. Returns its outline, or a list of problems.
pub(super) fn check(html: &str) -> Result<Outline, Vec<String>> {
    if html.len() > MAX_APP_BYTES {
        return Err(vec![format!(
            "the document has {} bytes; at most {MAX_APP_BYTES} are allowed",
            html.len()
        )]);
    }
    let mut outline = Outline::read(html);
    if !outline.is_complete {
        outline.problem(
            "the document is not complete: there is no `</html>`; write it shorter if it was cut off",
        );
    }
    if outline.title.is_empty() {
        outline.problem("there is no `<title>`, which names the app");
    }
    if outline.problems.is_empty() { Ok(outline) } else { Err(outline.problems) }
}

/// Returns a document with its header.
pub(super) fn with_header(html: &str, description: &Description, task: Option<&str>) -> String {
    let html = without_doctype(source(html));
    let mut json = json!({ "@context": APP_CONTEXT, "@type": APP_TYPE });
    if let (Some(json), Ok(serde_json::Value::Object(described))) =
        (json.as_object_mut(), serde_json::to_value(description))
    {
        json.extend(described);
    }
    // `<` is escaped because the end tag is the only HTML that is recognized inside a script.
    let json = json.to_string().replace('<', "\\u003c");
    let mut text = format!(
        "<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">\n\
         <script type=\"{DESCRIPTION_TYPE}\">\n{json}\n</script>\n"
    );
    if let Some(task) = task {
        let task = &task[..task.floor_char_boundary(MAX_TASK_BYTES)];
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "<script type=\"{TASK_TYPE}\">\n{}\n</script>\n",
            task.replace("</", "<\\/").replace("<!--", "<\\!--")
        );
    }
    text + HEADER_END + html
}

/// Script that runs before those of an app. A link to another address does nothing, because the frame would
/// only become empty. Browsers do not support `webrtc` in the policy, so its interfaces are removed; a frame
/// inside the app still has them.
const FRAME_SCRIPT: &str = "<script>\
for (const name of Object.getOwnPropertyNames(window)) if (name.includes('RTC')) delete window[name];\
addEventListener('click', event => { \
const link = event.composedPath().find(node => node.href !== undefined); \
if (link && !link.getAttribute('href')?.startsWith('#') && link.protocol !== 'javascript:') event.preventDefault() }, true)\
</script>";

/// Returns a page that shows a document with its header in a sandboxed frame, which cannot navigate away,
/// open windows or download. The policy of the page applies to the frame too, so no request is sent; a
/// browser may still open an empty connection in advance.
pub(super) fn framed(html: &str, title: &str) -> String {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let app = format!("{FRAME_SCRIPT}{html}").replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">\n\
         <meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>html, body {{ height: 100%; margin: 0; overflow: hidden }} iframe {{ border: 0; height: 100%; width: 100% }}</style>\n\
         <iframe autofocus title=\"App\" sandbox=\"allow-scripts allow-forms allow-modals\" srcdoc=\"{app}\"></iframe>\n"
    )
}

/// Returns the document without its header.
pub(super) fn source(stored: &str) -> &str {
    stored.split_once(HEADER_END).map_or(stored, |(_, html)| html)
}

/// Returns true if a stored file has the header.
pub(super) fn has_header(stored: &str) -> bool {
    let policy = format!(
        "<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">"
    );
    stored.starts_with(&policy) && stored.contains(HEADER_END)
}

/// Returns a document without its doctype, which the header already has.
fn without_doctype(html: &str) -> &str {
    const DOCTYPE: &str = "<!doctype";
    let html = html.trim_start_matches('\u{feff}').trim_start();
    match html.get(..DOCTYPE.len()) {
        Some(start) if start.eq_ignore_ascii_case(DOCTYPE) => {
            html.split_once('>').map_or(html, |(_, rest)| rest.trim_start())
        }
        _ => html,
    }
}

/// Parses the description of an app. Returns `None` for other data.
fn description(text: &str) -> Option<Description> {
    let value: serde_json::Value = serde_json::from_str(text.trim()).ok()?;
    (value.get("@type")?.as_str()? == APP_TYPE).then(|| {
        let mut described: Description = serde_json::from_value(value).unwrap_or_default();
        described.description = one_line(&described.description, MAX_DESCRIPTION_CHARS);
        described
    })
}

fn one_line(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible_line(&truncate_chars(&line, max_chars)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str) -> String {
        format!("<!doctype html><html><head><title>Clock</title></head><body>{body}</body></html>")
    }

    #[test]
    fn a_document_that_needs_nothing_else_is_accepted() {
        let body = "<style>p { background: url(data:image/png;base64,AA) } </style><img src='data:image/png;base64,AA'>\
                    <a href='https://example.com'>more</a><svg><use href='#icon'/></svg>\
                    <script>const x = '<img src=\"http://example.com/\">';</script>";
        let outline = check(&page(body)).expect("it is fine");
        assert_eq!(outline.title, "Clock");
    }

    #[test]
    fn references_to_the_outside_are_refused_with_what_to_do() {
        for (body, advice) in [
            ("<script src='https://cdn.example.com/x.js'></script>", "write the script into the document"),
            ("<link rel=stylesheet href=//example.com/a.css>", "write the styles into"),
            ("<img src=logo.png>", "data: URL"),
            ("<IMG SRC=' HTTPS://example.com/x'>", "data: URL"),
            ("<img srcset='https://example.com/x 2x'>", "data: URL"),
            ("<style>@import 'x.css'</style>", "@import"),
            ("<p style=\"background: URL( 'https://example.com/x' )\">", "outside the document"),
            ("<form action='/send'>", "nothing can be sent"),
            ("<iframe src='https://example.com'></iframe>", "no network"),
            ("<base href='https://example.com'>", "<base>"),
            ("<meta http-equiv=Refresh content='0; url=x'>", "refresh"),
        ] {
            let problems = check(&page(body)).expect_err(body);
            assert!(problems.len() == 1 && problems[0].contains(advice), "{body}: {problems:?}");
        }
    }

    #[test]
    fn a_document_that_was_cut_off_or_is_too_large_is_refused() {
        for html in ["", "plain text", "<html><title>x</title><script>let a = '</html>"] {
            let problems = check(html).expect_err(html);
            assert!(problems.iter().any(|problem| problem.contains("not complete")), "{problems:?}");
        }
        let large = page(&"x".repeat(MAX_APP_BYTES));
        assert!(check(&large).expect_err("it is too large")[0].contains("bytes"));
    }

    #[test]
    fn the_policy_comes_first_and_nothing_breaks_out_of_the_header() {
        let described = Description {
            name: "clock".to_owned(),
            description: "</script><script>alert(1)</script>".to_owned(),
            width: Some(300),
            ..Description::default()
        };
        let task = "a clock </script><img src=x> <!-- ";
        let stored = with_header(&page("now"), &described, Some(task));
        assert!(
            stored.starts_with("<!DOCTYPE html>\n<meta http-equiv=\"Content-Security-Policy\""),
            "{stored}"
        );
        assert_eq!(stored.to_lowercase().matches("<!doctype").count(), 1);
        let outline = Outline::read(&stored);
        assert_eq!(outline.description, Some(described.clone()));
        assert!(outline.task.as_deref().is_some_and(|task| task.starts_with("a clock </script><img src=x>")));
        assert!(outline.problems.is_empty() && outline.is_complete, "{outline:?}");
        assert!(has_header(&stored) && !has_header(&page("now")));
        let again = with_header(&stored, &described, Some(task));
        assert_eq!(again, stored, "the header is there once");
    }
}
