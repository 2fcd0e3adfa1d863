//! Links and anchors of the documentation, and the table of contents of the book.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use anyhow::ensure;
use pulldown_cmark::{Event, Tag, TagEnd};

use super::{Page, pages, root};

/// Table of contents of the book, with the paths of all other pages below `docs`.
const CONTENTS: &str = "docs/SUMMARY.md";

impl Page {
    /// Returns the targets of links and images, with their lines.
    fn links(&self) -> Vec<(usize, String)> {
        let target = |(event, range): (Event<'_>, std::ops::Range<usize>)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((self.line_of(range.start), dest_url.to_string()))
            }
            _ => None,
        };
        self.events().filter_map(target).collect()
    }

    /// Returns the anchors of the headings, as GitHub and mdBook make them.
    fn anchors(&self) -> BTreeSet<String> {
        let (mut anchors, mut heading) = (BTreeSet::new(), None);
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|text| anchor(&text))),
                _ => {}
            }
        }
        anchors
    }
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Resolves a path that is relative to a page, without looking at the disk.
fn resolve(page: &str, link: &str) -> String {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            part => path.push(part),
        }
    }
    path.display().to_string()
}

#[test]
fn links_lead_to_files_and_headings() -> anyhow::Result<()> {
    let pages = pages()?;
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.name.as_str(), page.anchors())).collect();
    let (mut failures, mut count) = (Vec::new(), 0);
    for page in &pages {
        for (line, link) in page.links().into_iter().filter(|(_, link)| !link.contains("://")) {
            count += 1;
            let (path, wanted) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.name.clone() } else { resolve(&page.name, path) };
            let is_there = root().join(&target).exists();
            let has_anchor = wanted.is_empty()
                || anchors.get(target.as_str()).is_some_and(|anchors| anchors.contains(wanted));
            let leaves_book = page.name.starts_with("docs/") && !target.starts_with("docs/");
            if !is_there || !has_anchor || leaves_book {
                failures.push(format!("{}:{line}: {link}", page.name));
            }
        }
    }
    ensure!(count > 50, "few links were found: {count}");
    ensure!(failures.is_empty(), "these links lead nowhere, or out of the book:\n{}", failures.join("\n"));
    Ok(())
}

#[test]
fn the_contents_of_the_book_name_every_page_once() -> anyhow::Result<()> {
    let pages = pages()?;
    let mut listed = Vec::new();
    for page in pages.iter().filter(|page| page.name == CONTENTS) {
        listed.extend(page.links().into_iter().map(|(_, link)| resolve(CONTENTS, &link)));
    }
    listed.sort();
    let names = pages.iter().map(|page| page.name.as_str());
    let expected: Vec<&str> = names.filter(|name| name.starts_with("docs/") && *name != CONTENTS).collect();
    assert_eq!(listed, expected);
    let book = std::fs::read_to_string(root().join("docs/book.toml"))?;
    ensure!(book.contains("src = \".\""), "{CONTENTS} is beside book.toml");
    Ok(())
}
