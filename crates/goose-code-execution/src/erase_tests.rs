//! Types become blanks; everything else stays.

use super::*;

fn erased(code: &str) -> String {
    let erased = erase(code).unwrap();
    assert_eq!(erased.syntax_error, None, "{code}");
    erased.code
}

#[test]
fn types_become_blanks() {
    for (code, expected) in [
        ("let x: number = 1;", "let x         = 1;"),
        ("const f = <T,>(a: T, b?: string): T => a;", "const f =     (a   , b         )    => a;"),
        ("f<string>(x as any)!.y;", "f        (x       ) .y;"),
        ("type A = {b: string};\nlet x = 1;", ";                    \nlet x = 1;"),
        ("interface A {\n  b: string\n}\nx;", ";            \n           \n \nx;"),
        ("declare const z: string;", ";                       "),
        ("let y = x satisfies A;", "let y = x            ;"),
        ("let v!: string;", "let v         ;"),
        ("try {} catch (e: unknown) {}", "try {} catch (e         ) {}"),
        ("function f(this: A, b) {}", "function f(         b) {}"),
        ("function f(a: string): void;\nfunction f(a) {}", ";                           \nfunction f(a) {}"),
        ("import type { A } from \"a\";", ";                         "),
        ("const a = <any>b;", "const a =      b;"),
        ("x = y as const;", "x = y         ;"),
        ("new Map<string, number>();", "new Map                ();"),
    ] {
        assert_eq!(erased(code).trim_end(), expected.trim_end(), "{code}");
        assert_eq!(erased(code).len(), code.len());
    }
}

#[test]
fn classes_lose_their_types() {
    let lines = [
        ("abstract class A<T> extends B<T> implements C {", "class A extends B {"),
        ("  private readonly a?: string = '';", "a = '';"),
        ("  declare b: number;", ";"),
        ("  abstract c(): void;", ";"),
        ("  public static async d<U>(x: U): Promise<U> { return x; }", "static async d (x ) { return x; }"),
        ("  [key: string]: unknown;", ";"),
        ("}", "}"),
    ];
    let (code, expected): (Vec<&str>, Vec<&str>) = lines.into_iter().unzip();
    let squeeze = |line: &str| {
        line.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ;", ";").replace(";;", ";")
    };
    let erased: Vec<String> = erased(&code.join("\n")).lines().map(squeeze).collect();
    assert_eq!(erased, expected);
}

#[test]
fn erased_end_of_a_statement_leaves_a_semicolon() {
    assert_eq!(erased("const a = b as any\n(c)()"), "const a = b;      \n(c)()");
    assert_eq!(erased("let a = 1\ntype B = string\n(c)()"), "let a = 1\n;              \n(c)()");
    assert_eq!(erased("f(b as any)\n"), "f(b       )\n");
    assert_eq!(erased("const a = b as any,\n  c = d"), "const a = b       ,\n  c = d");
}

#[test]
fn arrow_stays_on_the_line_of_its_parenthesis() {
    let code = "const f = (a): {\n  b: string;\n} => a;";
    assert_eq!(erased(code), "const f = (a    \n            \n) => a;");
}

#[test]
fn syntax_with_a_meaning_at_run_time_is_refused() {
    for (code, line, word) in [
        ("let a;\nenum A { B }", 2, "enums"),
        ("\n\nnamespace A { export const b = 1 }", 3, "namespaces"),
        ("@d class A {}", 1, "decorators"),
        ("class A {\n  constructor(private a: string) {}\n}", 2, "parameter properties"),
        ("import { a } from \"b\";", 1, "nothing to import"),
        ("await import(\"fs\");", 1, "nothing to import"),
        ("export * from \"a\";", 1, "no exports"),
    ] {
        let refused = erase(code).unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("Line {line}: ")) && refused.contains(word),
            "{code}: {refused}"
        );
    }
}

#[test]
fn syntax_errors_have_a_line() {
    for (code, line) in [("let a = 1;\nlet b = ;\n", 2), ("f(1;\n", 1), ("let = = 3", 1)] {
        let error = erase(code).unwrap().syntax_error.unwrap();
        assert!(error.starts_with(&format!("Line {line}, column ")), "{code}: {error}");
    }
}

#[test]
fn returns_and_last_expressions_are_detected() {
    let shape = |code: &str| {
        let erased = erase(code).unwrap();
        (erased.has_return, erased.ends_in_expression, erased.code.ends_with("run();"))
    };
    assert_eq!(shape("1 + 1"), (false, true, false));
    assert_eq!(shape("if (a) return 1;"), (true, false, false));
    assert_eq!(shape("const f = () => { return 1 };"), (false, false, false));
    assert_eq!(shape("export async function run() { return 1 }"), (false, true, true));
    assert_eq!(shape("async function run() {}\nrun()"), (false, true, false));
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let code = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(erased(&code), code);
}
