//! Properties for any input: no tool panics; what the schema accepts is entered, what it refuses is not; and the schema
//! accepts exactly what serde accepts.

use std::{
    collections::{BTreeMap, HashMap},
    sync::atomic::{AtomicU64, Ordering},
};

use goose_extension::{CallContext, Extension, JsonObject, extension, schema::input_schema, tool};
use goose_test_support::KitchenSink;
use proptest::{collection::vec, prelude::*, sample::select};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value, json};

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-300_i64..300).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |float| Number::from_f64(float).map(Value::Number)),
        (-300_i32..300).prop_map(|integer| json!(f64::from(integer))),
        select(vec![
            json!(255),
            json!(256),
            json!(-129),
            json!(i32::MAX),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(1e300)
        ]),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,8}",
        select(vec!["small", "Small", "large", "hello", "", "x", "\u{1F980}", "ab"]).prop_map(str::to_owned),
    ]
}

/// Any JSON, biased towards what tools look for.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..5).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let known =
        ["message", "a", "b", "to", "parts", "label", "quality", "name", "count", "size", "reason", "code"];
    prop_oneof![4 => select(known.to_vec()).prop_map(str::to_owned), 1 => text()]
}

fn any_arguments() -> impl Strategy<Value = JsonObject> {
    vec((key(), any_json()), 0..5).prop_map(|pairs| pairs.into_iter().collect())
}

/// Arguments near those that `assemble` accepts.
fn near_parts() -> impl Strategy<Value = JsonObject> {
    let part =
        (text(), any_json(), select(vec![json!("small"), json!("large"), json!("tiny")]), any::<bool>())
            .prop_map(|(name, count, size, has_count)| {
                let mut part = json!({ "name": name, "size": size });
                if has_count {
                    part["count"] = count;
                }
                part
            });
    (vec(part, 0..3), any_json(), number()).prop_map(|(parts, label, quality)| {
        let arguments = json!({ "parts": parts, "label": label, "quality": quality });
        arguments.as_object().cloned().unwrap_or_default()
    })
}

/// Tools that end by themselves and quickly, whatever they get.
const TOOLS: [&str; 12] = [
    "echo",
    "add",
    "numbers",
    "text",
    "nothing",
    "picture",
    "mixed",
    "assemble",
    "whole",
    "fail",
    "refuse",
    "read_missing",
];

/// An extension that counts how often its tools are entered.
trait Counting: Extension + Sized {
    fn fresh() -> Self;

    fn entered(&self) -> u64;
}

impl Counting for KitchenSink {
    fn fresh() -> Self {
        Self::new()
    }

    fn entered(&self) -> u64 {
        Self::entered(self)
    }
}

/// Limits of every kind, some of them wider than the type.
#[derive(Default)]
struct Limits(AtomicU64);

#[extension]
impl Limits {
    #[tool]
    fn limited(
        &self,
        #[arg(min = -5, max = 500)] wide: u8,
        #[arg(min = 3, max = 200)] narrow: u8,
        #[arg(min = -500.5, max = 100.5)] mixed: i8,
        #[arg(max = 18_446_744_073_709_551_615_u64)] long: Option<i64>,
        #[arg(min = -1.5, max = 1e3)] float: Option<f64>,
        #[arg(min_length = 1, max_length = 4, pattern = "^[a-z]*$")] text: Option<&str>,
        #[arg(min_items = 1, max_items = 2)] list: Option<&[u8]>,
        #[arg(default = 7, min = 5, max = 1000)] defaulted: u8,
    ) -> Value {
        self.0.fetch_add(1, Ordering::SeqCst);
        json!([wide, narrow, mixed, long, float, text, list, defaulted])
    }
}

impl Counting for Limits {
    fn fresh() -> Self {
        Self::default()
    }

    fn entered(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Arguments near those that `limited` accepts.
fn near_limits() -> impl Strategy<Value = JsonObject> {
    let near = || prop_oneof![3 => (-6_i64..260).prop_map(Value::from), 1 => number()];
    let text =
        prop_oneof!["[a-z]{0,5}".prop_map(Value::from), text().prop_map(Value::from), Just(Value::Null)];
    let list = prop_oneof![vec(near(), 0..4).prop_map(Value::from), Just(Value::Null)];
    (near(), near(), near(), number(), number(), text, list, near()).prop_map(
        |(wide, narrow, mixed, long, float, text, list, defaulted)| {
            let arguments = json!({
                "wide": wide, "narrow": narrow, "mixed": mixed, "long": long, "float": float, "text": text,
                "list": list, "defaulted": defaulted,
            });
            arguments.as_object().cloned().unwrap_or_default()
        },
    )
}

/// One of the optional or numeric arguments in doubt, the others as they should be.
fn one_near_limit() -> impl Strategy<Value = JsonObject> {
    let names = ["wide", "narrow", "mixed", "long", "float", "text", "list", "defaulted"];
    (near_limits(), select(names.to_vec())).prop_map(|(mut arguments, name)| {
        let doubtful = arguments.remove(name).unwrap_or_default();
        let right = json!({ "wide": 1, "narrow": 3, "mixed": 0, name: doubtful });
        right.as_object().cloned().unwrap_or_default()
    })
}

fn entered_exactly_when_the_schema_says_so<T: Counting>(
    tool: &str,
    arguments: JsonObject,
) -> Result<(), TestCaseError> {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        static ORACLES: HashMap<String, jsonschema::Validator> = oracles();
    }
    let bench = T::fresh();
    let accepted = ORACLES.with(|oracles| oracles[tool].is_valid(&Value::Object(arguments.clone())));
    let context = CallContext::new();
    let call = bench.call(tool, arguments.clone(), &context);
    let result = RUNTIME.with(|runtime| runtime.block_on(call));
    prop_assert_eq!(bench.entered() == 1, accepted, "{}({:?}) gave {:?}", tool, arguments, result);
    match result {
        // The guard turns a panic into a result with this text.
        Ok(output) => prop_assert!(!output.as_text().contains("because of a bug in it"), "{output:?}"),
        Err(error) => prop_assert!(error.to_string().contains(tool), "{error}"),
    }
    Ok(())
}

/// The schemas, read by a validator of their own.
fn oracles() -> HashMap<String, jsonschema::Validator> {
    let compile = |schema: &JsonObject| {
        jsonschema::options().should_validate_formats(true).build(&Value::Object(schema.clone())).unwrap()
    };
    let (bench, limits) = (KitchenSink::new(), Limits::default());
    let tools = bench.tools().iter().chain(limits.tools());
    tools.map(|tool| (tool.name().to_owned(), compile(tool.input_schema()))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_panics_and_the_schema_decides(tool in select(TOOLS.to_vec()), arguments in any_arguments()) {
        entered_exactly_when_the_schema_says_so::<KitchenSink>(tool, arguments)?;
    }

    #[test]
    fn the_schema_decides_on_nested_arguments(arguments in near_parts()) {
        entered_exactly_when_the_schema_says_so::<KitchenSink>("assemble", arguments)?;
    }

    #[test]
    fn the_schema_decides_on_limits(arguments in prop_oneof![near_limits(), one_near_limit()]) {
        entered_exactly_when_the_schema_says_so::<Limits>("limited", arguments)?;
    }

    #[test]
    fn the_schema_accepts_what_serde_accepts(field in select(FIELDS.to_vec()), value in prop_oneof![any_json(), any_field()]) {
        let mut everything = valid();
        everything.insert(field.to_owned(), value);
        agree(&Value::Object(everything))?;
    }

    #[test]
    fn a_missing_or_unknown_field_is_seen_by_both(field in select(FIELDS.to_vec()), extra in text()) {
        let mut everything = valid();
        everything.remove(field);
        agree(&Value::Object(everything.clone()))?;
        everything.insert(extra, json!(1));
        agree(&Value::Object(everything))?;
    }
}

/// One field for every kind of type that arguments are made of.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read by serde")]
struct Everything {
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    isize: isize,
    u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    usize: usize,
    f32: f32,
    f64: f64,
    bool: bool,
    char: char,
    text: String,
    path: std::path::PathBuf,
    option: Option<u8>,
    nested_option: Option<Inner>,
    list: Vec<i16>,
    pair: (u8, String),
    array: [bool; 2],
    map: BTreeMap<String, u8>,
    choice: Choice,
    tagged: Tagged,
    either: Either,
    #[serde(default)]
    defaulted: u8,
    anything: Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only read by serde")]
struct Inner {
    depth: u8,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Choice {
    Small,
    Large,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
#[expect(dead_code, reason = "only read by serde")]
enum Tagged {
    Point { x: i32 },
    Name { name: String },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read by serde")]
enum Either {
    Number(i32),
    Text(String),
}

const FIELDS: [&str; 27] = [
    "i8",
    "i16",
    "i32",
    "i64",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "f32",
    "f64",
    "bool",
    "char",
    "text",
    "path",
    "option",
    "nested_option",
    "list",
    "pair",
    "array",
    "map",
    "choice",
    "tagged",
    "either",
    "defaulted",
    "anything",
];

fn valid() -> JsonObject {
    let everything = json!({
        "i8": -1, "i16": -1, "i32": -1, "i64": -1, "isize": -1, "u8": 1, "u16": 1, "u32": 1, "u64": 1, "usize": 1,
        "f32": 0.5, "f64": 2, "bool": true, "char": "c", "text": "t", "path": "p", "option": null, "nested_option": null,
        "list": [1, 2], "pair": [1, "a"], "array": [true, false], "map": { "k": 1 }, "choice": "Small",
        "tagged": { "kind": "point", "x": 1 }, "either": 1, "defaulted": 1, "anything": { "a": [null] },
    });
    everything.as_object().cloned().unwrap_or_default()
}

/// Values that are right for some field or nearly so.
fn any_field() -> impl Strategy<Value = Value> {
    prop_oneof![
        number(),
        text().prop_map(Value::from),
        vec(number(), 0..3).prop_map(Value::from),
        (number(), text()).prop_map(|(number, text)| json!([number, text])),
        (select(vec!["point", "name", "other"]), number())
            .prop_map(|(kind, x)| json!({ "kind": kind, "x": x })),
        text().prop_map(|name| json!({ "kind": "name", "name": name })),
        (text(), number()).prop_map(|(key, value)| json!({ key: value })),
        number().prop_map(|depth| json!({ "depth": depth })),
    ]
}

/// Forms that serde reads beyond what the type's schema says: a structure as an array of its fields, an enum without
/// fields as an object. Refusing them is right.
fn is_serde_only(everything: &Value) -> bool {
    let structure_as_array = ["nested_option", "tagged"].iter().any(|field| everything[*field].is_array());
    structure_as_array || everything["choice"].is_object()
}

/// The tool layer's verdict (schema, after integral floats became integers) and serde's are the same.
fn agree(value: &Value) -> Result<(), TestCaseError> {
    thread_local! {
        static TOOL: goose_extension::Tool = goose_extension::Tool::new("t", "d", input_schema::<Everything>());
    }
    let arguments = value.as_object().cloned().unwrap_or_default();
    match TOOL.with(|tool| tool.check(arguments)) {
        Ok(normalised) => {
            let parsed = Everything::deserialize(Value::Object(normalised));
            prop_assert!(parsed.is_ok(), "the schema accepts {value}, serde does not: {:?}", parsed.err());
        }
        Err(error) => {
            let parsed = Everything::deserialize(value);
            prop_assert!(
                parsed.is_err() || is_serde_only(value),
                "serde accepts {value}, the schema does not: {error}"
            );
        }
    }
    Ok(())
}
