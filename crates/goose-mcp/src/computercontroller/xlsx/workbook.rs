//! [`Workbook`]: the sheets, their parts, and which formats are dates.

use quick_xml::events::Event;

use super::super::{
    archive::Archive,
    xml::{FormatError, Result, XmlReader, attribute, error, name},
};

/// Maximum number of sheets and of formats.
const MAX_SHEETS: usize = 1_000;
const MAX_FORMATS: usize = 100_000;

/// A sheet.
#[derive(Debug, Clone)]
pub(super) struct Sheet {
    pub(super) name: String,
    pub(super) part: String,
    pub(super) is_hidden: bool,
}

/// A workbook without its cells.
#[derive(Debug, Default)]
pub(super) struct Workbook {
    pub(super) part: String,
    pub(super) sheets: Vec<Sheet>,
    pub(super) shared_texts: Option<String>,
    /// For each format of cells, true if it shows dates.
    dates: Vec<bool>,
    /// True if dates are counted from 1904.
    pub(super) is_1904: bool,
}

impl Workbook {
    pub(super) fn read(archive: &mut Archive<'_>) -> Result<Self> {
        let part = archive.main_part()?;
        let relations = archive.relations(&part)?;
        let mut workbook = Self { part: part.clone(), ..Self::default() };
        let mut styles = None;
        for (kind, target) in relations.values() {
            match kind.rsplit('/').next() {
                Some("sharedStrings") => workbook.shared_texts = Some(target.clone()),
                Some("styles") => styles = Some(target.clone()),
                _ => {}
            }
        }
        workbook.shared_texts = workbook.shared_texts.filter(|part| archive.has(part));
        let mut reader = XmlReader::new(archive.part(&part)?);
        loop {
            match reader.next()? {
                Event::Eof => break,
                Event::Start(element) | Event::Empty(element) => match name(&element) {
                    "workbookPr" => {
                        let value = attribute(&element, "date1904");
                        workbook.is_1904 = matches!(value.as_deref(), Some("1" | "true"));
                    }
                    "sheet" if workbook.sheets.len() < MAX_SHEETS => {
                        let id = attribute(&element, "id").unwrap_or_default();
                        let Some((kind, part)) = relations.get(&id) else { continue };
                        if kind.ends_with("/worksheet") {
                            workbook.sheets.push(Sheet {
                                name: attribute(&element, "name").unwrap_or_default(),
                                part: part.clone(),
                                is_hidden: attribute(&element, "state")
                                    .is_some_and(|state| state != "visible"),
                            });
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        drop(reader);
        if let Some(styles) = styles.filter(|part| archive.has(part)) {
            workbook.dates = read_dates(archive, &styles)?;
        }
        match workbook.sheets.is_empty() {
            false => Ok(workbook),
            true => error("it has no sheets"),
        }
    }

    /// Returns a sheet by name, or the first.
    pub(super) fn sheet(&self, name: Option<&str>) -> Result<&Sheet> {
        let found = match name {
            None => self.sheets.first(),
            Some(name) => self.find(name),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self.sheets.iter().map(|sheet| sheet.name.as_str()).collect();
            let wanted = name.unwrap_or_default();
            FormatError::Other(format!("it has no sheet `{wanted}`; its sheets are: {}", names.join(", ")))
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<&Sheet> {
        self.sheets.iter().find(|sheet| sheet.name.to_lowercase() == name.to_lowercase())
    }

    /// Returns true if a format shows dates.
    pub(super) fn is_date(&self, style: usize) -> bool {
        self.dates.get(style).copied().unwrap_or(false)
    }
}

fn read_dates(archive: &mut Archive<'_>, part: &str) -> Result<Vec<bool>> {
    let mut reader = XmlReader::new(archive.part(part)?);
    let (mut custom, mut dates, mut is_inside) = (Vec::new(), Vec::new(), false);
    loop {
        match reader.next()? {
            Event::Eof => return Ok(dates),
            Event::End(element) if element.local_name().as_ref() == "cellXfs" => is_inside = false,
            Event::Start(element) | Event::Empty(element) => match name(&element) {
                "cellXfs" => is_inside = true,
                "numFmt" if custom.len() < MAX_FORMATS => {
                    let id = attribute(&element, "numFmtId").and_then(|id| id.parse::<u32>().ok());
                    let code = attribute(&element, "formatCode").unwrap_or_default();
                    custom.extend(id.filter(|_| shows_date(&code)));
                }
                "xf" if is_inside && dates.len() < MAX_FORMATS => {
                    let id = attribute(&element, "numFmtId").and_then(|id| id.parse().ok()).unwrap_or(0);
                    dates.push(matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58) || custom.contains(&id));
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// Returns true if a format has parts of a date outside of quotes and brackets.
fn shows_date(code: &str) -> bool {
    let (mut is_quoted, mut is_bracketed, mut is_escaped) = (false, false, false);
    code.chars().any(|c| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match c {
            '"' => is_quoted = !is_quoted,
            '[' => is_bracketed = true,
            ']' => is_bracketed = false,
            '\\' => is_escaped = true,
            _ => return !is_quoted && !is_bracketed && !was_escaped && "dmyhsDMYHS".contains(c),
        }
        false
    })
}
