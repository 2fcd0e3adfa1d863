//! Changed cells, new sheets and new workbooks. A sheet is copied as a stream, with the cells put in where they belong;
//! everything else of the workbook stays as it is.

use std::{
    collections::{BTreeMap, btree_map},
    fmt::Write as _,
    io::Write,
};

use quick_xml::events::{BytesStart, Event};

use super::{
    super::{
        archive::{self, Archive, Change, Output},
        xml::{Result, attribute, copy, error, escaped, name},
    },
    NewValue,
    cells::Counter,
    reference::Position,
    workbook::Workbook,
};

/// Longest text in a cell.
const MAX_TEXT_CHARS: usize = 32_767;

/// Longest name of a sheet.
const MAX_NAME_CHARS: usize = 31;

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const SHEET_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml";
const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;

/// New cells, row by row.
type Cells<'v> = BTreeMap<u32, BTreeMap<u32, &'v NewValue>>;

/// Returns an empty workbook with one sheet.
pub(super) fn new_workbook(sheet: Option<&str>) -> Result<Vec<u8>> {
    let name = sheet_name(sheet.unwrap_or("Sheet1"))?;
    let types = format!(
        r#"{DECLARATION}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{SHEET_TYPE}"/></Types>"#
    );
    let root = format!(
        r#"{DECLARATION}<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
    );
    let workbook = format!(
        r#"{DECLARATION}<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="{name}" sheetId="1" r:id="rId1"/></sheets><calcPr fullCalcOnLoad="1"/></workbook>"#
    );
    let relations = format!(
        r#"{DECLARATION}<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#
    );
    archive::create(&[
        ("[Content_Types].xml", &types),
        ("_rels/.rels", &root),
        ("xl/workbook.xml", &workbook),
        ("xl/_rels/workbook.xml.rels", &relations),
        ("xl/worksheets/sheet1.xml", &empty_sheet()),
    ])
}

fn empty_sheet() -> String {
    format!(r#"{DECLARATION}<worksheet xmlns="{MAIN}"><sheetData/></worksheet>"#)
}

fn sheet_name(name: &str) -> Result<String> {
    let is_fine = !name.is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.contains(['[', ']', ':', '*', '?', '/', '\\']);
    match is_fine {
        true => Ok(escaped(name)),
        false => error(format!(
            "`{name}` cannot name a sheet: at most {MAX_NAME_CHARS} characters, without []:*?/\\"
        )),
    }
}

/// Writes rows of values from a cell on. Returns the new workbook and the name of the sheet.
pub(super) fn update(
    bytes: &[u8],
    sheet: Option<&str>,
    first: Position,
    rows: &[Vec<NewValue>],
    may_create: bool,
) -> Result<(Vec<u8>, String)> {
    let mut archive = Archive::open(bytes)?;
    let workbook = Workbook::read(&mut archive)?;
    if let Some(name) = sheet.filter(|name| may_create && workbook.find(name).is_none()) {
        let with_sheet = add_sheet(&mut archive, &workbook, name)?;
        return update(&with_sheet, sheet, first, rows, false);
    }
    let found = workbook.sheet(sheet)?;
    let cells = cells(first, rows)?;
    let change = |archive: &mut Archive<'_>, part: &str, output: &mut Output| {
        change_part(archive, part, output, &workbook, &found.part, &cells)
    };
    Ok((archive.rewrite(change, &[])?, found.name.clone()))
}

fn cells(first: Position, rows: &[Vec<NewValue>]) -> Result<Cells<'_>> {
    let mut cells = Cells::new();
    for (row, values) in (first.row..).zip(rows) {
        for (col, value) in (first.col..).zip(values) {
            if Position::parse(&Position { row, col }.to_string()).is_none() {
                return error("the rows reach beyond the end of the sheet");
            }
            if let NewValue::Text(text) = value
                && text.chars().count() > MAX_TEXT_CHARS
            {
                return error(format!(
                    "a text is longer than {MAX_TEXT_CHARS} characters, which cells cannot hold"
                ));
            }
            cells.entry(row).or_default().insert(col, value);
        }
    }
    Ok(cells)
}

fn change_part(
    archive: &mut Archive<'_>,
    part: &str,
    output: &mut Output,
    workbook: &Workbook,
    sheet: &str,
    cells: &Cells<'_>,
) -> Result<Change> {
    // The order of calculation would name cells that have no formula any more. It is made again on opening.
    if part.ends_with("/calcChain.xml") {
        return Ok(Change::Dropped);
    }
    let relations = archive::relations_part(&workbook.part);
    if part != sheet && part != relations && part != workbook.part && part != "[Content_Types].xml" {
        return Ok(Change::Copied);
    }
    archive::start(output, part)?;
    let input = archive.part(part)?;
    if part == sheet {
        let mut merge = Merge::new(cells);
        copy(input, output, |event, output| merge.event(event, output))?;
        return Ok(Change::Written);
    }
    copy(input, output, |event, output| {
        let (Event::Start(element) | Event::Empty(element)) = event else { return Ok(true) };
        let is_chain = |key| {
            attribute(element, key)
                .is_some_and(|value| value.ends_with("calcChain") || value.ends_with("/calcChain.xml"))
        };
        match name(element) {
            "Override" => Ok(!is_chain("PartName")),
            "Relationship" => Ok(!is_chain("Type")),
            // Values that depend on changed cells are computed again on opening.
            "calcPr" => {
                let mut changed = BytesStart::new(element.name().0);
                let others = element.attributes().flatten().filter(|it| it.key.0 != "fullCalcOnLoad");
                changed.extend_attributes(others);
                changed.push_attribute(("fullCalcOnLoad", "1"));
                write!(output, "<{}/>", &*changed)?;
                Ok(false)
            }
            _ => Ok(true),
        }
    })?;
    Ok(Change::Written)
}

/// Puts cells into a sheet while it is copied.
struct Merge<'c, 'v> {
    rows: std::iter::Peekable<btree_map::Iter<'c, u32, BTreeMap<u32, &'v NewValue>>>,
    /// Cells that are still to come in the open row.
    row: Vec<(u32, &'v NewValue)>,
    at: u32,
    counter: Counter,
    /// True within a cell that is replaced.
    is_skipping: bool,
    is_data: bool,
}

impl<'c, 'v> Merge<'c, 'v> {
    fn new(cells: &'c Cells<'v>) -> Self {
        let rows = cells.iter().peekable();
        Self { rows, row: Vec::new(), at: 0, counter: Counter::default(), is_skipping: false, is_data: false }
    }

    fn event<W: Write>(&mut self, event: &Event<'_>, output: &mut W) -> Result<bool> {
        match event {
            Event::Start(element) | Event::Empty(element) => {
                let is_empty = matches!(event, Event::Empty(_));
                match name(element) {
                    // It is optional, and may be too small now.
                    "dimension" if !self.is_data => return Ok(false),
                    "sheetData" => {
                        self.is_data = !is_empty;
                        if is_empty {
                            let tag = element.name().0;
                            write!(output, "<{tag}>")?;
                            self.rows_before(u32::MAX, prefix(tag), output)?;
                            write!(output, "</{tag}>")?;
                            return Ok(false);
                        }
                    }
                    "row" if self.is_data => return self.start_row(element, is_empty, output),
                    "c" if self.is_data => return self.start_cell(element, is_empty, output),
                    _ => {}
                }
                Ok(!self.is_skipping)
            }
            Event::End(element) => match element.local_name().as_ref() {
                "c" if self.is_skipping => {
                    self.is_skipping = false;
                    Ok(false)
                }
                "row" if self.is_data => {
                    self.cells_before(u32::MAX, prefix(element.name().0), output)?;
                    Ok(true)
                }
                "sheetData" => {
                    self.rows_before(u32::MAX, prefix(element.name().0), output)?;
                    self.is_data = false;
                    Ok(true)
                }
                _ => Ok(!self.is_skipping),
            },
            _ => Ok(!self.is_skipping),
        }
    }

    fn start_row<W: Write>(
        &mut self,
        element: &BytesStart<'_>,
        is_empty: bool,
        output: &mut W,
    ) -> Result<bool> {
        self.at = self.counter.row(element);
        let tag = element.name().0;
        self.rows_before(self.at, prefix(tag), output)?;
        self.row = match self.rows.next_if(|(row, _)| **row == self.at) {
            Some((_, cells)) => cells.iter().map(|(col, value)| (*col, *value)).collect(),
            None => Vec::new(),
        };
        if self.row.is_empty() {
            return Ok(true);
        }
        // The columns that it uses are only a hint, and may be wrong now.
        let mut changed = BytesStart::new(tag);
        changed.extend_attributes(element.attributes().flatten().filter(|it| it.key.0 != "spans"));
        write!(output, "<{}>", &*changed)?;
        if is_empty {
            self.cells_before(u32::MAX, prefix(tag), output)?;
            write!(output, "</{tag}>")?;
        }
        Ok(false)
    }

    fn start_cell<W: Write>(
        &mut self,
        element: &BytesStart<'_>,
        is_empty: bool,
        output: &mut W,
    ) -> Result<bool> {
        let at = self.counter.cell(element);
        let prefix = prefix(element.name().0);
        self.cells_before(at.col, prefix, output)?;
        let Some(index) = self.row.iter().position(|(col, _)| *col == at.col) else { return Ok(true) };
        let (_, value) = self.row.remove(index);
        let style = attribute(element, "s");
        output.write_all(cell_xml(at, value, style.as_deref(), prefix).as_bytes())?;
        self.is_skipping = !is_empty;
        Ok(false)
    }

    fn cells_before<W: Write>(&mut self, col: u32, prefix: &str, output: &mut W) -> Result<()> {
        let count = self.row.iter().take_while(|(it, _)| *it < col).count();
        for (col, value) in self.row.drain(..count) {
            output.write_all(cell_xml(Position { row: self.at, col }, value, None, prefix).as_bytes())?;
        }
        Ok(())
    }

    fn rows_before<W: Write>(&mut self, row: u32, prefix: &str, output: &mut W) -> Result<()> {
        while let Some((row, cells)) = self.rows.next_if(|(it, _)| **it < row) {
            write!(output, r#"<{prefix}row r="{row}">"#)?;
            for (col, value) in cells {
                output
                    .write_all(cell_xml(Position { row: *row, col: *col }, value, None, prefix).as_bytes())?;
            }
            write!(output, "</{prefix}row>")?;
        }
        Ok(())
    }
}

/// Returns the prefix of a name with its colon.
fn prefix(name: &str) -> &str {
    name.find(':').map_or("", |at| &name[..=at])
}

fn cell_xml(at: Position, value: &NewValue, style: Option<&str>, p: &str) -> String {
    let style = style.map(|style| format!(r#" s="{}""#, escaped(style))).unwrap_or_default();
    match value {
        NewValue::Empty(_) => format!(r#"<{p}c r="{at}"{style}/>"#),
        NewValue::Bool(value) => {
            format!(r#"<{p}c r="{at}"{style} t="b"><{p}v>{}</{p}v></{p}c>"#, u8::from(*value))
        }
        NewValue::Number(value) => format!(r#"<{p}c r="{at}"{style}><{p}v>{value}</{p}v></{p}c>"#),
        NewValue::Text(text) => match text.strip_prefix('=').filter(|formula| !formula.is_empty()) {
            Some(formula) => format!(r#"<{p}c r="{at}"{style}><{p}f>{}</{p}f></{p}c>"#, escaped(formula)),
            None => format!(
                r#"<{p}c r="{at}"{style} t="inlineStr"><{p}is><{p}t xml:space="preserve">{}</{p}t></{p}is></{p}c>"#,
                escaped(text)
            ),
        },
    }
}

/// Returns the workbook with one more sheet, at the end.
fn add_sheet(archive: &mut Archive<'_>, workbook: &Workbook, sheet: &str) -> Result<Vec<u8>> {
    let name_attribute = sheet_name(sheet)?;
    let folder = workbook.part.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let file = (1..).map(|number| format!("worksheets/goose{number}.xml"));
    let full = |file: &str| if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    let Some(file) = file.take(10_000).find(|file| !archive.has(&full(file))) else {
        return error("it has too many sheets");
    };
    let part = full(&file);
    let ids = archive.relations(&workbook.part)?;
    let Some(id) = (1..100_000).map(|number| format!("rIdGoose{number}")).find(|id| !ids.contains_key(id))
    else {
        return error("it has too many relations");
    };
    let relations = archive::relations_part(&workbook.part);
    let change = |archive: &mut Archive<'_>, name_of_part: &str, output: &mut Output| {
        let (end, mut addition) = match name_of_part {
            "[Content_Types].xml" => {
                ("Types", format!(r#"<Override PartName="/{part}" ContentType="{SHEET_TYPE}"/>"#))
            }
            it if it == relations => (
                "Relationships",
                format!(r#"<Relationship Id="{id}" Type="{RELATIONS}/worksheet" Target="{file}"/>"#),
            ),
            it if it == workbook.part => ("sheets", String::new()),
            _ => return Ok(Change::Copied),
        };
        archive::start(output, name_of_part)?;
        let input = archive.part(name_of_part)?;
        let mut largest = 0_u32;
        copy(input, output, |event, output| {
            if let Event::Start(element) | Event::Empty(element) = event
                && name(element) == "sheet"
            {
                let id = attribute(element, "sheetId").and_then(|id| id.parse().ok()).unwrap_or(0);
                largest = largest.max(id);
            }
            if let Event::End(element) = event
                && element.local_name().as_ref() == end
            {
                if end == "sheets" {
                    let p = prefix(element.name().0);
                    let _ = write!(
                        addition,
                        r#"<{p}sheet xmlns:goose="{RELATIONS}" name="{name_attribute}" sheetId="{}" goose:id="{id}"/>"#,
                        largest.saturating_add(1)
                    );
                }
                output.write_all(addition.as_bytes())?;
            }
            Ok(true)
        })?;
        Ok(Change::Written)
    };
    archive.rewrite(change, &[(part.clone(), empty_sheet().into_bytes())])
}
