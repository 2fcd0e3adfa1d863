//! Paragraphs and images put at the end of a document, and new documents.

use std::io::Write as _;

use quick_xml::events::Event;

use super::{
    super::{
        archive::{self, Archive, Change, Output},
        xml::{Result, attribute, copy, error, escaped, name},
    },
    paragraph::WORD,
};

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const DRAWING: &str = "http://schemas.openxmlformats.org/drawingml/2006";
const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;

/// Units of length for one pixel, and for the width between the margins.
const EMU_PER_PIXEL: u64 = 9_525;
const MAX_WIDTH_EMU: u64 = 5_486_400;

/// Returns an empty document.
pub(super) fn new_document() -> Result<Vec<u8>> {
    let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml";
    let types = format!(
        r#"{DECLARATION}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="{kind}.document.main+xml"/><Override PartName="/word/styles.xml" ContentType="{kind}.styles+xml"/></Types>"#
    );
    let relation = |kind: &str, target: &str| {
        format!(
            r#"{DECLARATION}<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" Type="{RELATIONS}/{kind}" Target="{target}"/></Relationships>"#
        )
    };
    let document = format!(
        r#"{DECLARATION}<w:document xmlns:w="{WORD}"><w:body><w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1440" w:right="1440" w:bottom="1440" w:left="1440" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr></w:body></w:document>"#
    );
    archive::create(&[
        ("[Content_Types].xml", &types),
        ("_rels/.rels", &relation("officeDocument", "word/document.xml")),
        ("word/document.xml", &document),
        ("word/_rels/document.xml.rels", &relation("styles", "styles.xml")),
        ("word/styles.xml", &styles()),
    ])
}

fn styles() -> String {
    let heading = |level: usize| {
        let size = [32, 28, 26, 24, 22, 22, 22, 22, 22][level - 1];
        format!(
            r#"<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/><w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:pPr><w:keepNext/><w:spacing w:before="240" w:after="120"/><w:outlineLvl w:val="{}"/></w:pPr><w:rPr><w:b/><w:sz w:val="{size}"/></w:rPr></w:style>"#,
            level - 1
        )
    };
    let headings: String = (1..=9).map(heading).collect();
    format!(
        r#"{DECLARATION}<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:pPr><w:spacing w:after="120"/></w:pPr><w:rPr><w:sz w:val="22"/></w:rPr></w:style>{headings}</w:styles>"#
    )
}

/// Puts XML at the end of the text.
pub(super) fn append(bytes: &[u8], addition: &str) -> Result<Vec<u8>> {
    let mut archive = Archive::open(bytes)?;
    let main = archive.main_part()?;
    archive.rewrite(
        |archive, part, output| match part == main {
            true => put_at_end(archive, part, output, addition),
            false => Ok(Change::Copied),
        },
        &[],
    )
}

fn put_at_end(archive: &mut Archive<'_>, part: &str, output: &mut Output, addition: &str) -> Result<Change> {
    archive::start(output, part)?;
    let (mut depth, mut is_put) = (0_usize, false);
    copy(archive.part(part)?, output, |event, output| {
        let is_section = |element| name(element) == "sectPr";
        let is_place = match event {
            // The last section of the body stands behind all text.
            Event::Start(element) => depth == 2 && is_section(element),
            Event::Empty(element) => depth == 2 && is_section(element),
            Event::End(element) => depth == 2 && element.local_name().as_ref() == "body",
            _ => false,
        };
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if is_place && !is_put {
            is_put = true;
            output.write_all(addition.as_bytes())?;
        }
        Ok(true)
    })?;
    if is_put { Ok(Change::Written) } else { error("it has no body") }
}

/// Puts an image at the end of the text, with a description.
pub(super) fn add_image(bytes: &[u8], image: &[u8], description: &str) -> Result<Vec<u8>> {
    let Some((extension, width, height)) = dimensions(image) else {
        return error("the image is not a PNG or JPEG file");
    };
    let mut archive = Archive::open(bytes)?;
    let main = archive.main_part()?;
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let mut names = (1..10_000).map(|number| (number, format!("media/goose{number}.{extension}")));
    let full = |file: &str| if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    let Some((number, file)) = names.find(|(_, file)| !archive.has(&full(file))) else {
        return error("it has too many images");
    };
    let existing = archive.relations(&main)?;
    let Some(id) = (1..100_000).map(|it| format!("rIdGoose{it}")).find(|id| !existing.contains_key(id))
    else {
        return error("it has too many relations");
    };
    let relations = archive::relations_part(&main);
    let relation = format!(r#"<Relationship Id="{id}" Type="{RELATIONS}/image" Target="{file}"/>"#);
    let mut added = vec![(full(&file), image.to_vec())];
    if !archive.has(&relations) {
        let text = format!(r#"{DECLARATION}<Relationships xmlns="{PACKAGE}">{relation}</Relationships>"#);
        added.push((relations.clone(), text.into_bytes()));
    }
    let kind = if extension == "png" { "image/png" } else { "image/jpeg" };
    let default = format!(r#"<Default Extension="{extension}" ContentType="{kind}"/>"#);
    let drawing = drawing(&id, number, (width, height), description);
    archive.rewrite(
        |archive, part, output| match part {
            "[Content_Types].xml" => add_type(archive, part, output, extension, &default),
            part if part == relations => {
                archive::start(output, part)?;
                copy(archive.part(part)?, output, |event, output| {
                    if matches!(event, Event::End(element) if element.local_name().as_ref() == "Relationships") {
                        output.write_all(relation.as_bytes())?;
                    }
                    Ok(true)
                })?;
                Ok(Change::Written)
            }
            part if part == main => put_at_end(archive, part, output, &drawing),
            _ => Ok(Change::Copied),
        },
        &added,
    )
}

/// Adds the type of an extension, unless it is there.
fn add_type(
    archive: &mut Archive<'_>,
    part: &str,
    output: &mut Output,
    extension: &str,
    default: &str,
) -> Result<Change> {
    archive::start(output, part)?;
    let mut is_there = false;
    copy(archive.part(part)?, output, |event, output| {
        match event {
            Event::Start(element) | Event::Empty(element) if name(element) == "Default" => {
                is_there |=
                    attribute(element, "Extension").is_some_and(|it| it.eq_ignore_ascii_case(extension));
            }
            Event::End(element) if element.local_name().as_ref() == "Types" && !is_there => {
                output.write_all(default.as_bytes())?;
            }
            _ => {}
        }
        Ok(true)
    })?;
    Ok(Change::Written)
}

fn drawing(id: &str, number: usize, (width, height): (u32, u32), description: &str) -> String {
    let (width, height) = (u64::from(width) * EMU_PER_PIXEL, u64::from(height) * EMU_PER_PIXEL);
    let (width, height) = match width > MAX_WIDTH_EMU {
        true => (MAX_WIDTH_EMU, height * MAX_WIDTH_EMU / width),
        false => (width, height),
    };
    let (description, height) = (escaped(description).replace('\n', " "), height.max(1));
    format!(
        r#"<w:p xmlns:w="{WORD}"><w:r><w:drawing><wp:inline xmlns:wp="{DRAWING}/wordprocessingDrawing" distT="0" distB="0" distL="0" distR="0"><wp:extent cx="{width}" cy="{height}"/><wp:docPr id="{}" name="Image {number}" descr="{description}"/><a:graphic xmlns:a="{DRAWING}/main"><a:graphicData uri="{DRAWING}/picture"><pic:pic xmlns:pic="{DRAWING}/picture"><pic:nvPicPr><pic:cNvPr id="0" name="Image {number}"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip xmlns:r="{RELATIONS}" r:embed="{id}"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="{width}" cy="{height}"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>"#,
        900_000 + number
    )
}

/// Returns the extension, width and height of an image.
fn dimensions(image: &[u8]) -> Option<(&'static str, u32, u32)> {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    let (extension, width, height) = if image.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("png", number(image.get(16..20)?), number(image.get(20..24)?))
    } else {
        let mut at = 2;
        if !image.starts_with(b"\xFF\xD8") {
            return None;
        }
        loop {
            let (marker, length) = (*image.get(at + 1)?, number(image.get(at + 2..at + 4)?) as usize);
            if matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC) {
                break ("jpeg", number(image.get(at + 7..at + 9)?), number(image.get(at + 5..at + 7)?));
            }
            at += 2 + length.max(2);
        }
    };
    (width > 0 && height > 0).then_some((extension, width, height))
}
