//! What a table says and a small model cannot work out: how many rows it has, and the largest, the smallest and the sum of its
//! columns of numbers.

use super::wording::words;

/// The signs between the columns of a table.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// The least rows that are worth it, with the heading.
const LEAST_ROWS: usize = 3;

/// How people ask for them.
const WORDS: [(Wanted, &[&str]); 4] = [
    (
        Wanted::Largest,
        &[
            "most", "largest", "biggest", "highest", "maximum", "max", "top", "best", "longest", "greatest",
            "heaviest", "oldest", "latest", "busiest", "dearest", "fastest", "tallest", "hottest",
        ],
    ),
    (
        Wanted::Smallest,
        &[
            "least", "smallest", "lowest", "minimum", "min", "fewest", "worst", "shortest", "cheapest",
            "lightest", "youngest", "earliest", "slowest", "coldest",
        ],
    ),
    (Wanted::Sum, &["sum", "total", "altogether", "overall"]),
    (Wanted::Rows, &["many", "number", "count", "rows", "entries"]),
];

/// The most columns that are summed up.
const MAX_COLUMNS: usize = 12;

/// What a question wants to know of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Largest,
    Smallest,
    Sum,
    Rows,
}

/// The facts about a file that a question is about, where it is a table; none where it is not, or wants to know none of this.
pub(super) fn facts(text: &str, question: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let separator = SEPARATORS.into_iter().find(|sign| is_table(&lines, *sign))?;
    let (heading, rows) = lines.split_first()?;
    let asked: Vec<String> = words(question).map(str::to_lowercase).collect();
    let wanted: Vec<Wanted> = WORDS
        .iter()
        .filter(|(_, list)| asked.iter().any(|word| list.contains(&word.as_str())))
        .map(|it| it.0)
        .collect();
    let rows: Vec<(&str, Vec<&str>)> = rows.iter().map(|row| (*row, cells(row, separator))).collect();
    let names = cells(heading, separator);
    let is_named = |name: &str| words(name).any(|word| asked.contains(&word.to_lowercase()));
    let is_number = |index: usize| {
        rows.iter().all(|(_, cells)| cells.get(index).is_some_and(|cell| number(cell).is_some()))
    };
    let columns = || names.iter().enumerate().take(MAX_COLUMNS).filter(|(index, _)| is_number(*index));
    let has_named = columns().any(|(_, name)| is_named(name));
    let mut facts = Vec::new();
    if wanted.contains(&Wanted::Rows) {
        facts.push(format!("Rows below the heading: {}", rows.len()));
    }
    for (index, name) in columns().filter(|(_, name)| is_named(name) || !has_named) {
        facts.extend(wanted.iter().filter_map(|wanted| column(*wanted, name, index, &rows)));
    }
    (!facts.is_empty()).then(|| facts.join("\n"))
}

/// Whether all lines have the same columns, more than one, under a heading without numbers.
fn is_table(lines: &[&str], separator: char) -> bool {
    let columns = |line: &&str| line.matches(separator).count();
    let Some(first) = lines.first().map(columns).filter(|count| *count > 0) else { return false };
    let is_heading = |line: &&str| cells(line, separator).iter().all(|cell| number(cell).is_none());
    lines.len() >= LEAST_ROWS
        && lines.iter().all(|line| columns(line) == first)
        && lines.first().is_some_and(is_heading)
}

fn cells(line: &str, separator: char) -> Vec<&str> {
    line.split(separator).map(|cell| cell.trim().trim_matches('"')).collect()
}

fn number(cell: &str) -> Option<f64> {
    cell.trim_start_matches(['$', '€', '£']).parse::<f64>().ok().filter(|number| number.is_finite())
}

/// What there is to say about a column of numbers.
fn column(wanted: Wanted, name: &str, index: usize, rows: &[(&str, Vec<&str>)]) -> Option<String> {
    let value = |cells: &[&str]| cells.get(index).and_then(|cell| number(cell)).unwrap_or_default();
    let mut best = rows.first()?;
    for row in rows {
        let is_better = match wanted {
            Wanted::Largest => value(&row.1) > value(&best.1),
            Wanted::Smallest => value(&row.1) < value(&best.1),
            Wanted::Sum | Wanted::Rows => false,
        };
        if is_better {
            best = row;
        }
    }
    match wanted {
        Wanted::Largest => Some(format!("The row with the largest {name}: {}", best.0)),
        Wanted::Smallest => Some(format!("The row with the smallest {name}: {}", best.0)),
        Wanted::Sum => {
            let sum: f64 = rows.iter().map(|(_, cells)| value(cells)).sum();
            // Sums of decimals have an error far behind the point.
            Some(format!("The sum of {name}: {}", (sum * 1e6).round() / 1e6))
        }
        Wanted::Rows => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "name,price_eur,town\nAda,0.1,Leeds\nBob,10.2,Ghent\nEve,3,Riga\n";

    #[test]
    fn what_is_asked_of_a_table_is_worked_out() {
        let told = |question: &str| facts(TABLE, question).unwrap_or_default();
        assert_eq!(told("Who pays the highest price?"), "The row with the largest price_eur: Bob,10.2,Ghent");
        assert_eq!(told("Which is cheapest?"), "The row with the smallest price_eur: Ada,0.1,Leeds");
        assert_eq!(told("What do they cost in total?"), "The sum of price_eur: 13.3");
        assert_eq!(told("How many people are there?"), "Rows below the heading: 3");
        assert_eq!(told("Where does Bob live?"), "");
    }

    #[test]
    fn other_texts_are_no_tables() {
        for text in ["", "a,b\n1,2", "one, two\nthree\nfour, five", "1,2\n3,4\n5,6", "no\ncolumns\nhere"] {
            assert_eq!(facts(text, "How many, and which is the largest?"), None, "{text}");
        }
    }
}
