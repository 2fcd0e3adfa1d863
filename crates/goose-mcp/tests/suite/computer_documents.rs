//! Spreadsheets, texts and PDF files: what is written can be read. `scripts/interop` does the same with the libraries
//! of others.

use std::{fs, io::Write as _};

use goose_extension::{FileTarget, HardLinks, JudgedPath};
use serde_json::json;

use crate::computer_support::Office;

/// A PNG of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

#[tokio::test]
async fn a_workbook_is_written_changed_and_read() {
    let office = Office::new();
    let rows = json!([["name", "count", "due"], ["Ada & <Bob>", 3, true], ["Grüße", 4.5, "=B2+B3"]]);
    let made = office.ok("xlsx_tool", json!({ "path": "a.xlsx", "operation": "save", "rows": rows })).await;
    assert!(made.starts_with("Created a.xlsx: 9 cells"), "{made}");
    let get = |arguments: serde_json::Value| {
        let mut all = json!({ "path": "a.xlsx" });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let office = &office;
        async move { office.ok("xlsx_tool", all).await }
    };
    assert_eq!(get(json!({ "operation": "list_worksheets" })).await, "Sheet1 (A1:C3, 9 cells)\n");
    assert_eq!(
        get(json!({ "operation": "get_columns" })).await,
        "Row 1 of `Sheet1`:\nA: name\nB: count\nC: due\n"
    );
    let range = get(json!({ "operation": "get_range", "range": "A2:C3" })).await;
    assert_eq!(range, "A2: Ada & <Bob> | B2: 3 | C2: TRUE\nA3: Grüße | B3: 4.5 | C3:  (=B2+B3)");
    assert_eq!(
        get(json!({ "operation": "find_text", "search_text": "GRÜSSE" })).await,
        "`GRÜSSE` is in no cell."
    );
    assert_eq!(get(json!({ "operation": "find_text", "search_text": "grüße" })).await, "Sheet1!A3: Grüße");
    get(json!({ "operation": "update_cell", "row": 2, "col": 2, "value": 7 })).await;
    get(json!({ "operation": "update_cell", "range": "E9", "value": "far" })).await;
    get(json!({ "operation": "update_cell", "range": "A1" })).await;
    assert_eq!(get(json!({ "operation": "get_cell", "row": 2, "col": 2 })).await, "B2: 7");
    assert_eq!(get(json!({ "operation": "get_cell", "range": "E9" })).await, "E9: far");
    assert_eq!(get(json!({ "operation": "get_cell", "range": "A1" })).await, "A1 is empty.");
    get(json!({ "operation": "save", "worksheet": "More", "range": "B2", "rows": [["x"]] })).await;
    assert_eq!(
        get(json!({ "operation": "list_worksheets" })).await,
        "Sheet1 (A1:E9, 9 cells)\nMore (B2:B2, 1 cells)\n"
    );
    let missing = office
        .err("xlsx_tool", json!({ "path": "a.xlsx", "operation": "get_range", "worksheet": "No" }))
        .await;
    assert!(missing.contains("its sheets are: Sheet1, More"), "{missing}");
}

#[tokio::test]
async fn a_text_is_written_changed_and_read() {
    let office = Office::new();
    office.put("dot.png", PIXEL);
    let docx = |arguments: serde_json::Value| {
        let mut all = json!({ "path": "a.docx" });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let office = &office;
        async move { office.ok("docx_tool", all).await }
    };
    let style = json!({ "bold": true, "size": 28, "color": "FF0000", "alignment": "center" });
    let made =
        docx(json!({ "operation": "structured", "content": "Title", "level": 1, "style": style })).await;
    assert_eq!(made, "Created a.docx: added 1 paragraphs");
    docx(json!({ "operation": "append", "content": "One & two\nThree <four>" })).await;
    docx(json!({ "operation": "add_image", "image_path": "dot.png", "content": "A dot" })).await;
    docx(json!({ "operation": "add_image", "image_path": "dot.png" })).await;
    assert_eq!(docx(json!({ "operation": "extract_text" })).await, "# Title\n\nOne & two\n\nThree <four>");
    let replaced = docx(json!({ "operation": "replace", "old_text": "& two", "content": "& 2" })).await;
    assert_eq!(replaced, "Updated a.docx: replaced 1 times");
    assert!(docx(json!({ "operation": "extract_text" })).await.contains("One & 2\n"));
    let missing = office
        .err("docx_tool", json!({ "path": "a.docx", "operation": "replace", "old_text": "nope" }))
        .await;
    assert!(missing.contains("nothing was changed"), "{missing}");
    let bad = json!({ "path": "a.docx", "operation": "add_image", "image_path": "a.docx" });
    assert!(office.err("docx_tool", bad).await.contains("not a PNG or JPEG"));
}

/// Returns a PDF with a page for each text, without a table of objects.
pub(crate) fn pdf(texts: &[&str]) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let kids: Vec<String> = (0..texts.len()).map(|index| format!("{} 0 R", 10 + index * 2)).collect();
    writeln!(out, "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj").unwrap();
    writeln!(
        out,
        "2 0 obj<</Type/Pages/Kids[{}]/Count {}/Resources<</Font<</F1 3 0 R>>>>>>endobj",
        kids.join(" "),
        kids.len()
    )
    .unwrap();
    writeln!(out, "3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>endobj")
        .unwrap();
    for (index, text) in texts.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj 0 -14 Td (second line) Tj ET");
        writeln!(
            out,
            "{} 0 obj<</Type/Page/Parent 2 0 R/Contents {} 0 R>>endobj",
            10 + index * 2,
            11 + index * 2
        )
        .unwrap();
        writeln!(
            out,
            "{} 0 obj<</Length {}>>stream\n{content}\nendstream endobj",
            11 + index * 2,
            content.len()
        )
        .unwrap();
    }
    write!(out, "trailer<</Root 1 0 R>>\n%%EOF").unwrap();
    out
}

#[tokio::test]
async fn the_text_of_a_pdf_is_read_page_by_page() {
    let office = Office::new();
    office.put("a.pdf", pdf(&["Hello \\(world\\)", "Page two"]));
    let text = office.ok("pdf_tool", json!({ "path": "a.pdf", "operation": "extract_text" })).await;
    assert_eq!(
        text,
        "## Page 1 of 2\n\nHello (world)\nsecond line\n\n## Page 2 of 2\n\nPage two\nsecond line"
    );
    let text =
        office.ok("pdf_tool", json!({ "path": "a.pdf", "operation": "extract_text", "page": 2 })).await;
    assert!(text.starts_with("## Page 2 of 2"), "{text}");
    let beyond =
        office.err("pdf_tool", json!({ "path": "a.pdf", "operation": "extract_text", "page": 3 })).await;
    assert!(beyond.contains("has 2 pages"), "{beyond}");
    let images = office.ok("pdf_tool", json!({ "path": "a.pdf", "operation": "extract_images" })).await;
    assert_eq!(images, "There are no images.");
}

#[tokio::test]
async fn only_the_judged_file_is_used() {
    let office = Office::new();
    let other = office.put("other.xlsx", "kept");
    let target = FileTarget { path: office.path("real.xlsx"), hard_links: HardLinks::Refused };
    let judged = [JudgedPath { given: "name.xlsx".to_owned(), target: Ok(target) }];
    std::os::unix::fs::symlink(&other, office.path("name.xlsx")).unwrap();
    let context = office.context().with_judged_paths(judged);
    let arguments = json!({ "path": "name.xlsx", "operation": "save", "rows": [[1]] });
    office.call_in("xlsx_tool", arguments, &context).await.unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"kept");
    assert!(office.path("real.xlsx").is_file());
    let arguments = json!({ "path": "other.xlsx", "operation": "list_worksheets" });
    let refused = office.call_in("xlsx_tool", arguments, &context).await.unwrap();
    assert!(refused.as_text().contains("the permissions did not look at it"));
}
