//! Random scripts: nestings of all shell syntax, with a marker command at random places, where it is run and
//! where it is text. Half of the scripts are damaged afterwards, because parsers and shells differ most in
//! syntax that is nearly correct.

/// Command that no allowed script may run.
pub(super) const MARKER: &str = "mark";

/// A small random number generator (splitmix64), so that a case depends only on its seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Self(seed);
        // Neighbouring seeds give unrelated cases.
        dice.0 = dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % (count.max(1) as u64)).unwrap_or_default()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
}

/// Programs that only read, which every mode of the fuzzer allows.
pub(super) const HARMLESS: [&str; 8] = ["echo", "true", "cat", "ls", "printf", "head", "pwd", "grep"];

const NAMES: &[&str] = &["x", "y", "HOME", "1", "@", "*", "#", "?", "-", "$", "!", "IFS", "x1"];

/// Words that need no quotes, and some that look as if they did.
const PLAIN: &[&str] = &[
    "a", "b", "-n", "--", "-", "a.b", "x=1", "=", "==", ":", ".", "..", "@", "+", "%", "^", "~", "a:b",
    "a,b", "{a,b}", "{a", "}", "{}", "*", "?", "[a]", "[", "]", "!", "a#b", "a!b", "a=b", "+=", "=~", "-eq",
    "2", "10", "in", "do", "done", "if", "fi", "esac", "then", "{1..3}", "\u{e003}", "?(a)", "@(a|b)", "a\\",
    "é", "\u{a0}",
];

/// Pieces of syntax that are inserted at the wrong places.
const BITS: &[&str] = &[
    " ",
    "\n",
    "\t",
    ";",
    "&",
    "|",
    "&&",
    "||",
    ";;",
    "(",
    ")",
    "{",
    "}",
    "$",
    "`",
    "\"",
    "'",
    "\\",
    "\\\n",
    "#",
    " #",
    "<",
    ">",
    "<<",
    "<<-",
    "<<<",
    "&>",
    "|&",
    "$(",
    "$((",
    "))",
    "${",
    "$'",
    "$\"",
    "[[",
    "]]",
    "[",
    "]",
    "!",
    "=",
    "~",
    "*",
    "?",
    "\r",
    "\u{b}",
    "\u{c}",
    "\u{1}",
    "\u{7f}",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{200b}",
    "0",
    "1",
    " mark ",
    "\nmark\n",
    ";mark;",
    "$(mark)",
    "`mark`",
    "E\n",
    "\nE\n",
    "<<E\n",
    "<<'E'\n",
    "in ",
    " do ",
    " then ",
    "fi",
    "done",
    "esac",
    "case x in ",
    "x=",
    "x+=",
    "\\'",
    "\\\"",
    "\\`",
    "\\$",
    "$ ",
    "@",
    "%",
    "^",
    ",",
    "==",
    "=~",
    "{ ",
    " }",
    "; }",
    "function ",
    "() ",
    "time ",
    "coproc ",
    "! ",
    "select ",
    "2>&1",
    "<&",
    ">|",
    "<>",
    "<(",
    ">(",
    "\\\\",
    "''",
    "\"\"",
    "$$",
    "$#",
    "${#",
    "}}",
    ": ",
    "-v ",
    " -eq ",
];

/// Placeholders for paths until a script is complete. Scripts have no other slash, so damage cannot turn a
/// path into one of the system that runs the tests.
const PATHS: [(char, &str); 4] =
    [('\u{e000}', "/dev/null"), ('\u{e001}', "./../bin/mark"), ('\u{e002}', "./s"), ('\u{e003}', "~/a")];

/// Placeholder for the slash of `${x/a/b}`.
const OPERATOR: char = '\u{e004}';

/// Generates one script.
pub(super) struct Grammar {
    dice: Dice,
    /// Remaining number of nested parts.
    fuel: usize,
    /// True if the marker may be a plain command.
    is_plain: bool,
    /// True to use only common syntax. Such scripts are allowed more often, so that damage counts for more.
    is_mild: bool,
}

/// Returns the script of a seed.
pub(super) fn script(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let (is_plain, is_mild) = (dice.chance(50), dice.chance(40));
    let fuel = 3 + dice.below(10);
    let mut grammar = Grammar { dice, fuel, is_plain, is_mild };
    let mut script = if grammar.dice.chance(12) { grammar.soup() } else { grammar.list(0) };
    if !script.contains(MARKER) {
        let payload = grammar.payload();
        script = match grammar.dice.below(4) {
            0 => format!("echo '{payload}'; {script}"),
            1 => format!("{script}\necho \"{payload}\""),
            2 => format!("{script} # {payload}"),
            _ => format!("cat <<'E'\n{payload}\nE\n{script}"),
        };
    }
    if grammar.dice.chance(50) {
        for _ in 0..=grammar.dice.below(3) {
            script = grammar.damaged(&script);
        }
    }
    // Arguments cannot contain NUL, and long scripts are slow.
    script.retain(|c| c != '\0' && c != '/');
    with_paths(&script.chars().take(1500).collect::<Vec<char>>())
}

/// Inserts the paths that are whole words, and removes the others.
fn with_paths(script: &[char]) -> String {
    let mut text = String::new();
    for (index, c) in script.iter().enumerate() {
        let path = PATHS.iter().find(|(placeholder, _)| placeholder == c);
        let is_before = index == 0 || " \t\n<>|;&(=".contains(script[index - 1]);
        let is_after = script.get(index + 1).is_none_or(|next| " \t\n<>|;&)".contains(*next));
        let is_operator = *c == OPERATOR;
        match path {
            Some((_, path)) if is_before && is_after => text.push_str(path),
            None if is_operator && ends_with_name(&text) => text.push('/'),
            Some(_) => {}
            None if is_operator => {}
            None => text.push(*c),
        }
    }
    text
}

/// Returns true if the text ends with the name of an expansion.
fn ends_with_name(text: &str) -> bool {
    let name = text.rsplit_once("${").map(|(_, name)| name);
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "@*#?$!-/".contains(c)))
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl Grammar {
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.dice.pick(of)
    }

    fn burn(&mut self) -> bool {
        let has_fuel = self.fuel > 0;
        self.fuel = self.fuel.saturating_sub(1);
        has_fuel
    }

    /// Returns the marker as a command, written in one of many ways.
    fn marker(&mut self) -> String {
        if self.dice.chance(75) {
            return self.pick(&["mark", "mark", "mark", "mark x", "mark >\u{e000}"]).to_owned();
        }
        self.pick(&[
            "m\\ark",
            "'mark'",
            "\"mark\"",
            "ma''rk",
            "ma\"\"rk",
            "ma\\\nrk",
            "${x:-mark}",
            "$'mark'",
            "$'m\\x61rk'",
            "{mark,x}",
            "\u{e001}",
            "y=mark; $y",
            "x=1 mark",
            ">\u{e000} mark",
            "command mark",
            "! mark",
            "env mark",
            "$(echo mark)",
            "`echo mark`",
            "m[a]rk; mark",
            "\tmark",
            "mark;",
            "eval mark",
            "exec mark",
        ])
        .to_owned()
    }

    /// Returns the marker inside text that a shell may or may not run, depending on the context.
    fn payload(&mut self) -> String {
        let marker = self.marker();
        match self.dice.below(26) {
            0..=5 => format!("$({marker})"),
            6..=8 => format!("`{marker}`"),
            9 => format!("; {marker}; "),
            10 => format!("\n{marker}\n"),
            11 => format!("| {marker} "),
            12 => format!(" && {marker} #"),
            13 => format!("}}; {marker}; {{ "),
            14 => format!("'; {marker}; '"),
            15 => format!("\"; {marker}; \""),
            16 => format!("); {marker}; (:"),
            17 => format!("a[$({marker})]"),
            18 => format!("${{x:-$({marker})}}"),
            19 => format!("\\`{marker}\\`"),
            20 => format!("<({marker})"),
            21 => format!("'$({marker})'"),
            22 => format!("$ $({marker})"),
            23 => format!("\nE\n{marker}\n"),
            24 => format!("`echo \\`{marker}\\``"),
            _ => marker,
        }
    }

    /// Returns several commands.
    fn list(&mut self, depth: usize) -> String {
        let mut list = self.command(depth);
        for _ in 0..self.dice.below(if depth == 0 { 3 } else { 2 }) {
            let separator = match list.ends_with('\n') {
                true => "",
                false => self.pick(&[
                    "; ", "; ", "\n", "\n", " && ", " || ", " | ", " & ", ";", "&&\n", "|\n", "||\n",
                    " # a\n", ";\n", " |& ", "\r\n", "\n\n", " \\\n; ", " # '\n", " # \"\n", " # `\n",
                    "\n# $(\n", " &\n",
                ]),
            };
            list.push_str(separator);
            list.push_str(&self.command(depth));
        }
        if self.dice.chance(4) {
            let payload = self.payload();
            list.push_str(&format!(" # {payload}"));
        }
        list
    }

    fn command(&mut self, depth: usize) -> String {
        if !self.burn() {
            return self.simple(depth, 1);
        }
        match self.dice.below(24) {
            0..=2 if self.is_plain => self.marker(),
            3 if self.is_plain => self.launcher(depth),
            0..=9 => self.simple(depth, 3),
            10 if !self.is_mild => self.assignment(depth),
            11 | 12 if !self.is_mild => self.test(depth),
            11 => "[ -f a ]".to_owned(),
            13..=15 => self.here_document(depth),
            16 if self.dice.chance(25) => self.launcher(depth),
            _ => self.compound(depth),
        }
    }

    /// Returns a harmless program with words and redirections.
    fn simple(&mut self, depth: usize, most: usize) -> String {
        let mut line = String::new();
        if self.dice.chance(5) {
            line = format!("{} ", self.assignment(depth));
        }
        line.push_str(self.pick(&HARMLESS));
        for _ in 0..self.dice.below(most + 1) {
            line.push_str(self.pick(&[" ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n "]));
            line.push_str(&self.word(depth));
        }
        if self.dice.chance(12) {
            let redirection = self.pick(&[
                " >\u{e000}",
                " 2>&1",
                " <\u{e000}",
                " 2>\u{e000}",
                " >&2",
                " <&-",
                " >|\u{e000}",
                " &>\u{e000}",
                " <<<",
                " <>\u{e000}",
                " {x}>\u{e000}",
                " >&-",
                " >",
                " <",
            ]);
            line.push_str(redirection);
            if redirection.ends_with(['<', '>']) {
                line.push_str(&self.word(depth));
            }
        }
        line
    }

    fn word(&mut self, depth: usize) -> String {
        let mut word = String::new();
        for _ in 0..=self.dice.below(2) {
            word.push_str(&self.part(depth));
        }
        word
    }

    fn part(&mut self, depth: usize) -> String {
        if depth > 3 || !self.burn() {
            return self.pick(PLAIN).to_owned();
        }
        if self.is_mild {
            return match self.dice.below(10) {
                0..=2 => {
                    self.pick(&["a", "b", "-n", "a.b", "a:b", ".", "..", "x=1", "@", "*", "é"]).to_owned()
                }
                9 => self
                    .pick(&[
                        "${x}",
                        "${x:-a}",
                        "${x:-'a b'}",
                        "$((1 + 2))",
                        "\\;",
                        "a\\ b",
                        "\\$x",
                        "{a,b}",
                        "~",
                        "[a-z]",
                        "\\\n",
                    ])
                    .to_owned(),
                3 | 4 => format!("'{}'", self.payload().replace('\'', "\"")),
                5 | 6 => self.double_quoted(depth),
                7 => format!("${}", self.pick(NAMES)),
                _ => format!("$({})", self.list(depth + 1)),
            };
        }
        match self.dice.below(26) {
            0..=3 => self.pick(PLAIN).to_owned(),
            4..=6 => format!("'{}'", self.payload().replace('\'', "\"")),
            7..=10 => self.double_quoted(depth),
            11 => format!("${}", self.pick(NAMES)),
            12..=14 => self.expansion(depth),
            15 | 16 => format!("$({})", self.list(depth + 1)),
            17 => self.backticks(depth),
            18 => self.arithmetic(depth),
            19 => format!("$'{}'", self.text(depth)),
            20 => format!("$\"{}\"", self.text(depth)),
            21 => format!("\\{}", self.pick(BITS)),
            22 => "\\\n".to_owned(),
            23 => format!("<({})", self.list(depth + 1)),
            24 => quoted(&self.payload()),
            _ => format!("$[{}]", self.text(depth)),
        }
    }

    /// Returns text for quotes or here-documents, where most characters are literal.
    fn text(&mut self, depth: usize) -> String {
        if self.is_mild {
            let name = self.pick(NAMES);
            return match self.dice.below(6) {
                0 => self
                    .pick(&[
                        "a b", "a; b", "# a", "(a)", "'a'", "'", "\\\"", "\\$", "\\\\", "\\`", "a\nb", "!",
                    ])
                    .to_owned(),
                1 => format!("a ${name} '${{{name}}}'"),
                2 => format!("$({})", self.list(depth + 1)),
                3 => format!("\\$({})", self.marker()),
                4 => format!("; {} #", self.marker()),
                _ => format!("a {}", self.pick(PLAIN)),
            };
        }
        let mut text = String::new();
        for _ in 0..=self.dice.below(3) {
            let more = match self.dice.below(16) {
                0..=4 => self
                    .pick(&[
                        "a ", "$ ", "$", "$\t", "'", "\\\"", "\\$", "\\\\", "\\`", "\n", "\\\n", "!", "#",
                        "{", "}", " # ", "(", ")", ";", "\\'", "$'", "''", "\\", "*", "[", "\r",
                    ])
                    .to_owned(),
                5..=8 => self.payload(),
                9 => format!("${}", self.pick(NAMES)),
                10 | 11 if depth < 4 => self.expansion(depth + 1),
                12 if depth < 4 => format!("$({})", self.list(depth + 1)),
                13 if depth < 4 => self.backticks(depth + 1),
                14 if depth < 4 => self.arithmetic(depth + 1),
                _ => self.pick(PLAIN).to_owned(),
            };
            text.push_str(&more);
        }
        text
    }

    fn double_quoted(&mut self, depth: usize) -> String {
        let text = self.text(depth);
        // Most quotes are closed.
        if self.dice.chance(85) {
            format!("\"{}\"", text.replace('"', "\\\""))
        } else {
            format!("\"{text}\"")
        }
    }

    fn expansion(&mut self, depth: usize) -> String {
        let name = match self.dice.below(8) {
            0 => format!("x[{}]", self.text(depth + 1)),
            _ => self.pick(NAMES).to_owned(),
        };
        let prefix = self.pick(&["", "", "", "", "", "", "#", "!"]);
        let operator = self.pick(&[
            "",
            "",
            ":-",
            ":-",
            "-",
            ":=",
            "=",
            ":?",
            "?",
            ":+",
            "+",
            "#",
            "##",
            "%",
            "%%",
            "\u{e004}",
            "\u{e004}\u{e004}",
            "\u{e004}#",
            "\u{e004}%",
            ":",
            "^",
            "^^",
            ",",
            ",,",
            "@P",
            "@Q",
            "@A",
            "@",
            "*",
            " ",
            "\n",
        ]);
        let operand = if operator.is_empty() { String::new() } else { self.operand(depth) };
        format!("${{{prefix}{name}{operator}{operand}}}")
    }

    fn operand(&mut self, depth: usize) -> String {
        match self.dice.below(6) {
            0 => self.text(depth + 1),
            1 => self.payload(),
            2 => format!("'{}'", self.payload()),
            3 => format!("{{ }}; {}; echo }}", self.marker()),
            4 => self.word(depth + 1),
            _ => self.pick(PLAIN).to_owned(),
        }
    }

    /// Returns a script in backticks, with or without the necessary escapes.
    fn backticks(&mut self, depth: usize) -> String {
        let script = self.list(depth + 1);
        match self.dice.below(3) {
            0 => format!("`{script}`"),
            1 => format!("`{}`", script.replace('\\', "\\\\").replace('`', "\\`")),
            _ => format!("`{}`", script.replace('`', "\\`").replace('$', "\\$")),
        }
    }

    fn arithmetic(&mut self, depth: usize) -> String {
        let mut sum = String::new();
        for _ in 0..=self.dice.below(3) {
            let more = match self.dice.below(8) {
                0 => format!("'{}'", self.payload()),
                1 => format!("x[{}]", self.payload()),
                2 => format!("\"{}\"", self.text(depth + 1)),
                3 => self.payload(),
                _ => self
                    .pick(&[
                        "1", " + ", "x", "2", " ", "$x", "16#f", "<<", "#", "\n", "x=1", "(1)", "!", "\\",
                    ])
                    .to_owned(),
            };
            sum.push_str(&more);
        }
        match self.dice.below(4) {
            0 => format!("$(({sum}) )"),
            _ => format!("$(({sum}))"),
        }
    }

    fn assignment(&mut self, depth: usize) -> String {
        let name = self.pick(&["x", "y", "x1", "IFS", "PS4", "PATH", "x[0]", "BASH_ENV", "LC_ALL", "CDPATH"]);
        let operator = self.pick(&["=", "=", "=", "+=", " ="]);
        let value = match self.dice.below(6) {
            0 => format!("({} {})", self.word(depth), self.word(depth)),
            1 => quoted(&self.payload()),
            _ => self.word(depth),
        };
        format!("{name}{operator}{value}")
    }

    fn test(&mut self, depth: usize) -> String {
        let operator = self.pick(&[
            " = ", " == ", " != ", " -eq ", " =~ ", " -lt ", " < ", " > ", " -o ", " -a ", " && ", " || ",
            " | ", " ; ", " = \n", " \n= ",
        ]);
        let unary = self
            .pick(&["", "", "-z ", "-n ", "! ", "-v ", "-R ", "-t ", "-f ", "! \n", "-z \n", "# \n", "( "]);
        let (left, right) = (self.word(depth), self.word(depth));
        let (open, close) = match self.dice.below(8) {
            0..=3 => ("[ ", self.pick(&[" ]", " ]", "\n]", " ]]"])),
            4 | 5 => ("[[ ", self.pick(&[" ]]", " ]]", "\n]]", " ]"])),
            6 => ("test ", ""),
            _ => ("((", "))"),
        };
        match self.dice.below(3) {
            0 => format!("{open}{unary}{left}{close}"),
            _ => format!("{open}{unary}{left}{operator}{right}{close}"),
        }
    }

    fn here_document(&mut self, depth: usize) -> String {
        let operator = self.pick(&["<<", "<<", "<<-", " << ", "0<<", "<< \\\n"]);
        let kinds = if self.is_mild { 5 } else { 15 };
        let (written, end) = [
            ("E", "E"),
            ("E", "E"),
            ("'E'", "E"),
            ("'E'", "E"),
            ("\"E\"", "E"),
            ("\\E", "E"),
            ("E''", "E"),
            ("$E", "$E"),
            ("'E F'", "E F"),
            ("$'E'", "E"),
            ("E\\\n", "E"),
            ("\"E\\$\"", "E$"),
            ("`E`", "`E`"),
            ("''", ""),
            ("${E}", "${E}"),
        ][self.dice.below(kinds)];
        let mut body = String::new();
        for _ in 0..self.dice.below(4) {
            let line = match self.dice.below(5) {
                _ if self.is_mild && written == "E" => "a".to_owned(),
                0 => self.payload(),
                1 => self.text(depth + 1),
                2 => self.marker(),
                3 => self
                    .pick(&[" E", "\tE", "E ", "E\\", "E\r", "EE", "\\", "`", "'", "\"", "E;", "E)"])
                    .to_owned(),
                _ => self.expansion(depth + 1),
            };
            body.push_str(&line);
            body.push('\n');
        }
        let last = match self.dice.below(12) {
            0 => format!("\t{end}\n"),
            1 => String::new(),
            2 => format!("{end} \n"),
            3 => end.to_owned(),
            _ => format!("{end}\n"),
        };
        let program = match self.dice.below(12) {
            0 if self.is_plain => "sh",
            _ => "cat",
        };
        let rest = match self.dice.below(6) {
            0 => format!("; {}", self.simple(depth, 2)),
            1 => format!(" | {}", self.simple(depth, 1)),
            2 => self.pick(&[" # a", " <<'F'", " &&", " \\", ";", " <<E", " >\u{e000}"]).to_owned(),
            _ => String::new(),
        };
        let document = format!("{program} {operator}{written}{rest}\n{body}{last}");
        match self.dice.below(10) {
            0 => format!("echo $({document})"),
            1 => format!("echo \"$({document})\""),
            2 => format!("echo `{document}`"),
            3 => format!("( {document} )"),
            _ => document,
        }
    }

    fn compound(&mut self, depth: usize) -> String {
        if depth > 3 {
            return self.simple(depth, 2);
        }
        let script = self.list(depth + 1);
        let break_line = if script.ends_with('\n') { "" } else { "\n" };
        match self.dice.below(if self.is_mild { 9 } else { 18 }) {
            0 => format!(
                "if {script}{break_line} then {}\nelse {}\nfi",
                self.list(depth + 1),
                self.list(depth + 1)
            ),
            1 => format!("for x in {} {}; do {script}{break_line} done", self.word(depth), self.word(depth)),
            2 => format!("for x\ndo {script}{break_line} done"),
            3 => format!("while {script}{break_line} do break; {} \ndone", self.simple(depth, 2)),
            4 => format!("until {script}{break_line} do break; done"),
            5 | 6 => {
                let pattern = self.pick(&[
                    "a",
                    "*",
                    "(a",
                    "a|b",
                    "'a'",
                    "[a]",
                    "\"$x\"",
                    "esac",
                    "$(echo a)",
                    "a)b",
                    "\\a",
                ]);
                let end = self.pick(&[";;", ";;", ";&", ";;&", "\n", ";; b) echo;;"]);
                format!("case {} in {pattern}) {script} {end} esac", self.word(depth))
            }
            7 => format!("({script}{break_line})"),
            8 => format!("{{ {script}{break_line}}}"),
            9 => {
                let name = self.pick(&["f", "f", "echo", "cat", "ls", "true"]);
                let keyword = self.pick(&["", "", "function "]);
                let body = self.marker_or(&script);
                format!("{keyword}{name}() {{ {body}\n}}; {name}")
            }
            10 => format!("! {script}"),
            11 => format!("time {script}"),
            12 => format!("(({script}))"),
            13 => format!("((1)); {script}"),
            14 => format!("( ({script}{break_line}) )"),
            15 => format!("for ((x=0;x<1;x++)); do {script}{break_line} done"),
            16 => format!("coproc {script}"),
            _ => format!("select x in a; do {script}{break_line} break; done"),
        }
    }

    /// Returns the script or the marker: the body of a function must not call the function.
    fn marker_or(&mut self, script: &str) -> String {
        let is_call = HARMLESS.iter().any(|name| script.contains(name));
        if self.dice.chance(50) || is_call { self.marker() } else { script.to_owned() }
    }

    /// Returns a command that runs the marker through another program, or later.
    fn launcher(&mut self, depth: usize) -> String {
        let inner = match self.dice.below(3) {
            0 if depth < 2 => self.list(depth + 1),
            _ => self.marker(),
        };
        let script = quoted(&inner);
        let double = format!("\"{}\"", inner.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$"));
        match self.dice.below(34) {
            0 => format!("eval {script}"),
            1 => format!("eval {double}"),
            2 => format!("eval {inner}"),
            3 => format!("sh -c {script}"),
            4 => format!("bash -c {double}"),
            5 => format!("env sh -c {script}"),
            6 => "env x=1 mark".to_owned(),
            7 => "echo a | xargs mark".to_owned(),
            8 => "echo mark | xargs -I% sh -c %".to_owned(),
            9 => format!("echo {script} | sh"),
            10 => ". \u{e002}".to_owned(),
            11 => "sh \u{e002}".to_owned(),
            12 => format!("trap {script} EXIT"),
            13 => format!("alias echo=mark\necho {}", self.word(depth)),
            14 => "find . -exec mark \\;".to_owned(),
            15 => "timeout 1 mark".to_owned(),
            16 => "command mark".to_owned(),
            17 => format!("exec sh -c {script}"),
            18 => "nice mark".to_owned(),
            19 => format!("PS4={script}; set -x; echo a"),
            20 => format!("x={script}; $x"),
            21 => format!("x={script}; eval \"$x\""),
            22 => format!("sh <<E\n{inner}\nE\n"),
            23 => format!("bash <<<{script}"),
            24 => format!("env -S {double}"),
            25 => format!("x={}; echo ${{x@P}}", quoted(&format!("$({inner})"))),
            26 => format!("x='a[$({inner})]'; echo $((x))"),
            27 => format!("printf -v 'x[$({inner})]' a"),
            28 => format!("read 'x[$({inner})]' <<E\na\nE\n"),
            29 => "f() { mark; }; f".to_owned(),
            30 => "set -- mark; \"$@\"".to_owned(),
            31 => format!("ENV=\u{e002} sh -ic {script}"),
            32 => "BASH_ENV=\u{e002} bash -c :".to_owned(),
            _ => format!("builtin eval {script}"),
        }
    }

    /// Returns pieces of syntax in any order.
    fn soup(&mut self) -> String {
        let mut soup = String::from(self.pick(&HARMLESS));
        for _ in 0..3 + self.dice.below(9) {
            let more = match self.dice.below(5) {
                0 => self.payload(),
                1 => self.pick(&HARMLESS).to_owned(),
                2 => self.pick(PLAIN).to_owned(),
                _ => self.pick(BITS).to_owned(),
            };
            soup.push_str(&more);
            if self.dice.chance(40) {
                soup.push(' ');
            }
        }
        soup
    }

    /// Returns the script with one random change.
    fn damaged(&mut self, script: &str) -> String {
        let characters: Vec<char> = script.chars().collect();
        let place = self.dice.below(characters.len() + 1);
        let length = 1 + self.dice.below(4);
        let end = (place + length).min(characters.len());
        let (head, middle, tail) = (&characters[..place], &characters[place..end], &characters[end..]);
        let text = |part: &[char]| part.iter().collect::<String>();
        let bit = self.pick(BITS);
        match self.dice.below(6) {
            0..=2 => format!("{}{bit}{}{}", text(head), text(middle), text(tail)),
            3 => format!("{}{}", text(head), text(tail)),
            4 => format!("{}{}{}{}", text(head), text(middle), text(middle), text(tail)),
            _ => format!("{}{bit}{}", text(head), text(tail)),
        }
    }
}
