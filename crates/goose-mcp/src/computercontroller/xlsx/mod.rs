//! `xlsx_tool`: spreadsheets. Reading goes through a sheet as a stream, so that its size hardly matters.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `reference.rs` | `B2` and `A1:C3` |
//! | `workbook.rs` | the sheets, their parts, and which formats are dates |
//! | `cells.rs` | the cells of a sheet, and shared texts |
//! | `read.rs` | the operations that read |
//! | `write.rs` | changed cells, new sheets and workbooks |

mod cells;
mod read;
mod reference;
mod workbook;
mod write;

use std::sync::Arc;

use goose_extension::prelude::*;

use self::{
    reference::{Area, Position},
    workbook::Workbook,
};
use super::{ComputerController, archive::Archive, blocking, document::Document, failed, xml::FormatError};

/// Operations that write.
pub(super) const WRITING: &[&str] = &["update_cell", "save"];

/// Maximum number of cells that are written at once.
const MAX_WRITTEN_CELLS: usize = 20_000;

/// What to do with a workbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum XlsxOperation {
    ListWorksheets,
    GetColumns,
    GetRange,
    FindText,
    GetCell,
    UpdateCell,
    Save,
}

/// Value of a cell that is written.
#[derive(Debug, Clone, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum NewValue {
    Bool(bool),
    Number(f64),
    Text(String),
    Empty(Option<()>),
}

/// The arguments besides path and operation.
struct Request {
    worksheet: Option<String>,
    range: Option<String>,
    search_text: Option<String>,
    case_sensitive: bool,
    row: Option<u32>,
    col: Option<u32>,
    value: Option<NewValue>,
    rows: Vec<Vec<NewValue>>,
}

impl ComputerController {
    /// Read or change an xlsx workbook. `save` writes rows, and creates the file or the sheet. Returns cells with their
    /// references, or what was written. Fails if it is not a workbook, is protected, or has no such sheet.
    #[tool(title = "Spreadsheet", group = ["read", "edit"], destructive, open_world = false)]
    #[expect(clippy::too_many_arguments, reason = "these are the parameters of the tool")]
    pub(super) async fn xlsx_tool(
        &self,
        /// The workbook
        path: String,
        /// `list_worksheets`, `get_columns`, `get_range`, `find_text`, `get_cell`, `update_cell` or `save`
        operation: XlsxOperation,
        /// Name of the sheet, default the first
        worksheet: Option<String>,
        /// Cells such as `A1:C10`, or the first cell for `save`; default all, or A1
        range: Option<String>,
        /// Text to find; default none
        search_text: Option<String>,
        /// Distinguish upper and lower case, default false
        #[arg(default)]
        case_sensitive: bool,
        /// Row of the cell, 1 to 1048576; default that of `range`
        #[arg(min = 1, max = 1_048_576)]
        row: Option<u32>,
        /// Column of the cell, 1 to 16384; default that of `range`
        #[arg(min = 1, max = 16_384)]
        col: Option<u32>,
        /// New value; a text that starts with `=` is a formula; default none, which empties the cell
        value: Option<NewValue>,
        /// Rows of values for `save`; default none
        #[arg(default)]
        rows: Vec<Vec<NewValue>>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let request = Request { worksheet, range, search_text, case_sensitive, row, col, value, rows };
        let (place, backend) = (self.resolve_path(&path, context)?, self.backend(context));
        let changes = Arc::clone(&self.changes);
        blocking(move || match operation {
            XlsxOperation::UpdateCell | XlsxOperation::Save => {
                let _turn = changes.lock();
                let document = match operation {
                    XlsxOperation::Save => Document::open_or_new(&*backend, place, || {
                        write::new_workbook(request.worksheet.as_deref())
                            .map_err(|error| failed(error.to_string()))
                    })?,
                    _ => Document::open(&*backend, place)?,
                };
                let (bytes, message) = request.write(operation, &document)?;
                document.replace(&*backend, &bytes)?;
                Ok(message)
            }
            _ => {
                let document = Document::open(&*backend, place)?;
                request
                    .read(operation, &document.bytes)
                    .map_err(|error| document.invalid("a workbook", error))
            }
        })
        .await
    }
}

impl Request {
    fn read(&self, operation: XlsxOperation, bytes: &[u8]) -> Result<String, FormatError> {
        let mut archive = Archive::open(bytes)?;
        let workbook = Workbook::read(&mut archive)?;
        if operation == XlsxOperation::ListWorksheets {
            return read::list(&mut archive, &workbook);
        }
        if operation == XlsxOperation::FindText {
            let wanted = self.search_text.as_deref().filter(|text| !text.is_empty());
            let wanted = wanted.ok_or_else(|| FormatError::Other("`search_text` is missing".to_owned()))?;
            return read::find(
                &mut archive,
                &workbook,
                self.worksheet.as_deref(),
                wanted,
                self.case_sensitive,
            );
        }
        let sheet = workbook.sheet(self.worksheet.as_deref())?;
        match operation {
            XlsxOperation::GetColumns => read::columns(&mut archive, &workbook, sheet),
            XlsxOperation::GetCell => read::cell(&mut archive, &workbook, sheet, self.cell()?),
            _ => {
                let area = self.range.as_deref().map(Area::parse).transpose()?;
                read::range(&mut archive, &workbook, sheet, area)
            }
        }
    }

    /// Returns the changed workbook, with what to say about it.
    fn write(&self, operation: XlsxOperation, document: &Document) -> ToolResult<(Vec<u8>, String)> {
        let rows = match operation {
            XlsxOperation::Save => self.rows.clone(),
            _ => vec![vec![self.value.clone().unwrap_or(NewValue::Empty(None))]],
        };
        let count: usize = rows.iter().map(Vec::len).sum();
        if count > MAX_WRITTEN_CELLS {
            return Err(failed(format!(
                "{count} cells are too many at once, at most {MAX_WRITTEN_CELLS}. Write them in parts."
            )));
        }
        let write = || {
            let first = match operation {
                XlsxOperation::Save => self
                    .range
                    .as_deref()
                    .map_or(Ok(Position::FIRST), |range| Area::parse(range).map(|area| area.first))?,
                _ => self.cell()?,
            };
            write::update(
                &document.bytes,
                self.worksheet.as_deref(),
                first,
                &rows,
                operation == XlsxOperation::Save,
            )
        };
        let (bytes, sheet) = write().map_err(|error| document.invalid("a workbook", error))?;
        let verb = if document.is_new() { "Created" } else { "Updated" };
        Ok((bytes, format!("{verb} {}: {count} cells in the sheet `{sheet}`", document.place)))
    }

    fn cell(&self) -> Result<Position, FormatError> {
        match (self.row, self.col, &self.range) {
            (Some(row), Some(col), _) => Ok(Position { row, col }),
            (_, _, Some(range)) => Area::parse(range).map(|area| area.first),
            _ => Err(FormatError::Other(
                "the cell is missing: name it in `range`, or with `row` and `col`".to_owned(),
            )),
        }
    }
}
