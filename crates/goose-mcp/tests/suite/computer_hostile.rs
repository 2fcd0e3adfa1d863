//! Documents that are made to harm, or damaged: an error or an answer, soon, and with little memory.

use std::{
    fmt::Write as _,
    fs,
    io::{Cursor, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use proptest::prelude::*;
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{computer_documents::pdf, computer_support::Office, developer_server::Server};

/// Maximum growth of the memory of the process by all of the documents, and time for each.
const MAX_GROWTH_KB: u64 = 100 * 1024;
const MAX_TIME: Duration = Duration::from_secs(10);

/// Cells of the large sheet. Without optimization, a tenth.
const CELLS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

const TYPES: &str = "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";
const WORKBOOK: &str =
    "<workbook xmlns:r=\"r\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"s\"/></sheets></workbook>";

fn relation(id: &str, kind: &str, target: &str) -> String {
    format!(
        "<Relationships><Relationship Id=\"{id}\" Type=\"x/{kind}\" Target=\"{target}\"/></Relationships>"
    )
}

fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn workbook(sheet: &[u8]) -> Vec<u8> {
    archive(&[
        ("[Content_Types].xml", TYPES.as_bytes()),
        ("_rels/.rels", relation("r", "officeDocument", "xl/workbook.xml").as_bytes()),
        ("xl/workbook.xml", WORKBOOK.as_bytes()),
        ("xl/_rels/workbook.xml.rels", relation("s", "worksheet", "sheet.xml").as_bytes()),
        ("xl/sheet.xml", sheet),
    ])
}

fn text_document(document: &[u8]) -> Vec<u8> {
    archive(&[
        ("[Content_Types].xml", TYPES.as_bytes()),
        ("_rels/.rels", relation("r", "officeDocument", "word/document.xml").as_bytes()),
        ("word/document.xml", document),
    ])
}

fn large_sheet() -> Vec<u8> {
    let mut sheet = String::from("<worksheet><sheetData>");
    for row in 1..=CELLS / 20 {
        let _ = write!(sheet, "<row r=\"{row}\">");
        for col in 0..20_u8 {
            let _ = write!(sheet, "<c r=\"{}{row}\"><v>{row}</v></c>", char::from(b'A' + col));
        }
        sheet.push_str("</row>");
    }
    sheet.push_str("</sheetData></worksheet>");
    sheet.into_bytes()
}

/// Returns a packed stream of zeros in a PDF.
fn pdf_bomb() -> Vec<u8> {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..200 {
        packed.write_all(&[b' '; 1024 * 1024]).unwrap();
    }
    let packed = packed.finish().unwrap();
    let mut out =
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]>>endobj\n\
                    3 0 obj<</Type/Page/Contents 4 0 R>>endobj\n"
            .to_vec();
    write!(out, "4 0 obj<</Filter/FlateDecode/Length {}>>stream\n", packed.len()).unwrap();
    out.extend(packed);
    out.extend(b"\nendstream endobj\ntrailer<</Root 1 0 R>>");
    out
}

/// Writes the documents; returns for each the call, and a part of the answer if it is known.
fn documents(folder: &Path) -> Vec<(&'static str, Value, &'static str)> {
    let laughs = "<!DOCTYPE w [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;\">]>\
                  <w><p><t>&c;&c;&c;</t></p></w>";
    let external = "<!DOCTYPE w [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><w><p><t>&a;</t></p></w>";
    let (spaces, nested) = (vec![b' '; 140 * 1024 * 1024], "<a>".repeat(100_000));
    let encrypted = String::from_utf8(pdf(&["x"])).unwrap().replace("trailer<<", "trailer<</Encrypt 9 0 R");
    let deep = format!("%PDF-1.4\n1 0 obj{}", "[".repeat(100_000));
    let ring = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Kids[2 0 R 3 0 R]>>endobj\n3 0 obj 3 0 R endobj\n\
                trailer<</Root 1 0 R>>";
    let files: [(&str, Vec<u8>); 13] = [
        ("bomb.xlsx", workbook(&spaces)),
        ("bomb.docx", text_document(&spaces)),
        ("laughs.docx", text_document(laughs.as_bytes())),
        ("external.docx", text_document(external.as_bytes())),
        ("nested.docx", text_document(nested.as_bytes())),
        (
            "long.docx",
            text_document(format!("<w><p><t>{}</t></p></w>", "x".repeat(20 * 1024 * 1024)).as_bytes()),
        ),
        ("large.xlsx", workbook(&large_sheet())),
        ("old.xlsx", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and more".to_vec()),
        ("bomb.pdf", pdf_bomb()),
        ("encrypted.pdf", encrypted.into_bytes()),
        ("deep.pdf", deep.into_bytes()),
        ("ring.pdf", ring.as_bytes().to_vec()),
        ("text.pdf", b"this is none".to_vec()),
    ];
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let xlsx = |path: &str, operation: &str| json!({ "path": path, "operation": operation });
    let docx = |path: &str| json!({ "path": path, "operation": "extract_text" });
    let find = json!({ "path": "large.xlsx", "operation": "find_text", "search_text": "nowhere" });
    let update = json!({ "path": "large.xlsx", "operation": "update_cell", "range": "C3", "value": "here" });
    vec![
        ("xlsx_tool", xlsx("bomb.xlsx", "list_worksheets"), "at most"),
        ("docx_tool", docx("bomb.docx"), "at most"),
        ("docx_tool", docx("laughs.docx"), "document type definition"),
        ("docx_tool", docx("external.docx"), "document type definition"),
        ("docx_tool", docx("nested.docx"), "nested"),
        ("docx_tool", docx("long.docx"), "longer than"),
        ("xlsx_tool", xlsx("large.xlsx", "list_worksheets"), "A1:T"),
        ("xlsx_tool", xlsx("large.xlsx", "get_range"), "ask for a smaller range"),
        ("xlsx_tool", find, "in no cell"),
        ("xlsx_tool", update, "Updated large.xlsx"),
        ("xlsx_tool", json!({ "path": "large.xlsx", "operation": "get_cell", "range": "C3" }), "C3: here"),
        ("xlsx_tool", xlsx("old.xlsx", "list_worksheets"), "password"),
        ("pdf_tool", docx("bomb.pdf"), "unpacks to more than"),
        ("pdf_tool", docx("encrypted.pdf"), "encrypted"),
        ("pdf_tool", docx("deep.pdf"), "no pages"),
        ("pdf_tool", docx("ring.pdf"), ""),
        ("pdf_tool", docx("text.pdf"), "does not begin like one"),
    ]
}

#[test]
fn hostile_documents_cost_little() {
    let folder = tempfile::tempdir().unwrap();
    let calls = documents(folder.path());
    let mut server = Server::start_service("computercontroller", folder.path(), "exec \"$@\"");
    let before = server.peak();
    for (tool, arguments, expected) in calls {
        let begun = Instant::now();
        let (text, _) = server.call(tool, &arguments);
        let shown = text.chars().take(300).collect::<String>();
        assert!(text.contains(expected), "{arguments}: {shown}");
        assert!(begun.elapsed() < MAX_TIME, "{arguments} took {:?}", begun.elapsed());
        let growth = server.peak() - before;
        assert!(growth < MAX_GROWTH_KB, "{arguments}: {growth} KB more");
        println!("{arguments}: {:?}, {growth} KB", begun.elapsed());
    }
    server.end();
}

/// Documents of each kind, made by the tools.
async fn samples(office: &Office) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let rows = json!([["a", 1], ["b", "=A1"]]);
    office.ok("xlsx_tool", json!({ "path": "a.xlsx", "operation": "save", "rows": rows })).await;
    office.ok("docx_tool", json!({ "path": "a.docx", "operation": "append", "content": "one\ntwo" })).await;
    office.put("a.pdf", pdf(&["one", "two"]));
    let read = |name: &str| fs::read(office.path(name)).unwrap();
    vec![
        ("xlsx_tool", "get_range", read("a.xlsx")),
        ("docx_tool", "extract_text", read("a.docx")),
        ("pdf_tool", "extract_text", read("a.pdf")),
        ("pdf_tool", "extract_images", read("a.pdf")),
    ]
}

#[tokio::test]
async fn truncated_documents_give_an_error_or_an_answer() {
    let office = Office::new();
    for (tool, operation, bytes) in samples(&office).await {
        for end in (0..bytes.len()).step_by((bytes.len() / 40).max(1)) {
            office.put("cut", &bytes[..end]);
            let answer = office.call(tool, json!({ "path": "cut", "operation": operation })).await.unwrap();
            assert!(
                !answer.as_text().is_empty() && !answer.as_text().contains("bug"),
                "{tool} at {end}: {}",
                answer.as_text()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_documents_give_an_error_or_an_answer(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let office = Office::new();
            for (tool, operation, mut bytes) in samples(&office).await {
                for (index, byte) in &changes {
                    *index.get_mut(&mut bytes) = *byte;
                }
                office.put("damaged", &bytes);
                let answer = office.call(tool, json!({ "path": "damaged", "operation": operation })).await.unwrap();
                assert!(!answer.as_text().contains("bug"), "{tool}: {}", answer.as_text());
            }
        });
    }
}
