//! Pies.

use super::{
    super::{
        donut::{Slice, figure},
        fault::{Checked, Fault, check_size, check_total},
        page::Page,
        text::{clean, counted},
    },
    FIELD,
    source::{Line, Source, fault},
};

const MAX_SLICES: usize = 100;

/// Returns the page of a pie: `"label" : value` on each line.
pub(super) fn page(header: &Line, source: Source) -> Checked<Page> {
    let mut title = source.title.clone();
    let rest = header.text.trim_start_matches("pie").trim();
    let rest = rest.strip_prefix("showData").unwrap_or(rest).trim();
    if let Some(given) = rest.strip_prefix("title ") {
        title = Some(clean(given));
    }
    let mut slices = Vec::new();
    for line in source {
        if let Some(given) = line.text.strip_prefix("title ") {
            title = Some(clean(given));
        } else if line.text != "showData" {
            slices.push(slice(&line)?);
        }
        if slices.len() > MAX_SLICES {
            return Err(fault(
                &line,
                &format!("there are more than {MAX_SLICES} values. Combine the smallest ones."),
            ));
        }
    }
    if slices.is_empty() {
        return Err(Fault::new(FIELD, "the pie has no values. Write lines such as: \"Cats\" : 3"));
    }
    check_total(FIELD, slices.iter().map(|slice| slice.value).sum())?;
    let (summary, figures) = (counted(slices.len(), "value"), vec![figure(&slices, 0.0, None)]);
    Ok(Page { kind: "mermaid", noun: "pie chart", title, subtitle: None, summary, figures })
}

fn slice(line: &Line) -> Checked<Slice> {
    let wrong =
        || fault(line, "this is not a value. Write a label in quotes, a colon and a number: \"Cats\" : 3");
    let (label, value) = line.text.rsplit_once(':').ok_or_else(wrong)?;
    let label = label.trim().strip_prefix('"').and_then(|label| label.strip_suffix('"')).ok_or_else(wrong)?;
    let value: f64 = value.trim().parse().map_err(|_| wrong())?;
    let field = || format!("{FIELD}, line {}", line.number);
    check_size(field, value)?;
    Ok(Slice { label: clean(label), value })
}
