//! Checks where a here-document ends. What the parser takes for text and a shell for commands would go unseen.

use tree_sitter::Node;

use super::word::text_of;

/// Whether a shell would see the same end of a here-document as the parser did.
pub(super) fn is_as_parsed(redirect: Node<'_>, source: &str) -> bool {
    let find = |kind: &str| redirect.children(&mut redirect.walk()).find(|child| child.kind() == kind);
    let (Some(start), Some(end)) = (find("heredoc_start"), find("heredoc_end")) else { return false };
    let operator = redirect.child(0).map(|child| child.start_byte()).unwrap_or_default();
    let strips_tabs = source.get(operator..start.start_byte()).is_some_and(|text| text.contains("<<-"));
    let Some(delimiter) = delimiter(text_of(start, source)) else { return false };
    let Some(line_end) = source.get(start.end_byte()..).and_then(|rest| rest.find('\n')) else {
        return false;
    };
    let mut at = start.end_byte() + line_end + 1;
    // Another one in the same line, or a line that goes on, moves the text.
    let line = source.get(start.end_byte()..at - 1).unwrap_or_default();
    if line.contains("<<") || line.ends_with('\\') || line.contains(['\'', '"', '`', '#']) {
        return false;
    }
    for line in source.get(at..).unwrap_or_default().split('\n') {
        let plain = if strips_tabs { line.trim_start_matches('\t') } else { line };
        if plain == delimiter {
            return end.start_byte() >= at && end.end_byte() == at + line.len();
        }
        at += line.len() + 1;
    }
    false
}

/// The word that ends the text.
fn delimiter(start: &str) -> Option<&str> {
    let plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let quoted = |quote: char| start.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    let delimiter = quoted('\'').or_else(|| quoted('"')).unwrap_or(start);
    Some(delimiter).filter(|text| plain(text))
}
