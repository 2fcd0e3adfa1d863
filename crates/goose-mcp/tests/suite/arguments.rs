//! Any arguments, to every tool of every built-in: nothing panics, and what is refused changes nothing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use goose_extension::{CallContext, JsonObject, Tool, ToolError};
use goose_mcp::{BUILTINS, BuiltinOptions, builtin};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const CASES: u32 = 256;

/// The text of a failure if a tool panicked.
const PANICKED: &str = "because of a bug in it";

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());

/// Words that mean something to one tool or another, and any other text.
fn text() -> impl Strategy<Value = String> {
    let known = [
        "",
        " ",
        "*",
        "a",
        "notes",
        "kept",
        "con",
        ".lock",
        "../x",
        "a\0b",
        "#",
        "# t\n\nx",
        "\u{feff}",
        "\u{202e}",
        "first-game",
        "2147483648",
    ];
    prop_oneof![
        6 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        3 => ".{0,40}",
        1 => ".{0,8}".prop_map(|text| text.repeat(3_000)),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..30).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// A value of the type that a schema asks for, more or less.
fn of_schema(schema: &Value) -> BoxedStrategy<Value> {
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().cloned().unwrap_or_default(),
        kind => kind.clone(),
    };
    match kind.as_str() {
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => prop_oneof![
            (0_u64..20).prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (0_u8..20).prop_map(|number| Value::from(f64::from(number))),
        ]
        .boxed(),
        Some("array") => vec(text(), 0..25).prop_map(Value::from).boxed(),
        _ => text().prop_map(Value::from).boxed(),
    }
}

/// Arguments for a tool: mostly as its schema has them, each of them perhaps missing or wrong, and others.
fn arguments(tool: &Tool) -> impl Strategy<Value = JsonObject> + use<> {
    let properties =
        tool.input_schema().get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let named: Vec<_> = properties
        .iter()
        .map(|(name, schema)| {
            let value = prop_oneof![
                12 => of_schema(schema).prop_map(Some),
                1 => any_json().prop_map(Some),
                1 => Just(None),
            ];
            (Just(name.clone()), value)
        })
        .collect();
    let strange =
        prop_oneof![8 => Just(BTreeMap::new()), 1 => prop::collection::btree_map(text(), any_json(), 0..3)];
    (named, strange).prop_map(|(named, strange)| {
        let named = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
        strange.into_iter().chain(named).collect()
    })
}

/// A call of any tool of any built-in.
fn call() -> impl Strategy<Value = (&'static str, String, JsonObject)> {
    let options = BuiltinOptions::new("/nowhere");
    // What these two are told to do to files and with commands, they do; their own tests are careful with that.
    let calls = BUILTINS
        .iter()
        .filter(|known| !["developer", "computercontroller"].contains(&known.name))
        .flat_map(|known| {
            let extension = known.build(&options);
            let of_tool =
                |tool: &Tool| (Just(known.name), Just(tool.name().to_owned()), arguments(tool)).boxed();
            extension.tools().iter().map(of_tool).collect::<Vec<_>>()
        });
    proptest::strategy::Union::new(calls.collect::<Vec<_>>())
}

/// A folder with a configuration and a project, and something in each.
fn furnished() -> TempDir {
    let home = TempDir::new().unwrap();
    for folder in ["config/memory", "project/.goose/memory"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
        fs::write(home.path().join(folder).join("notes.txt"), "# t\nkept\n\nold\n\n").unwrap();
    }
    home
}

/// Every file, and what is in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_what_is_refused_changes_nothing(calls in vec(call(), 1..8)) {
        let home = furnished();
        let options = BuiltinOptions::new(home.path().join("config")).with_working_dir(home.path().join("project"));
        let context = CallContext::new().with_working_dir(home.path().join("project"));
        for (name, tool, arguments) in calls {
            let before = files(home.path());
            let extension = builtin(name, &options).unwrap();
            match RUNTIME.block_on(extension.call(&tool, arguments, &context)) {
                Ok(output) => prop_assert!(!output.as_text().contains(PANICKED), "{tool}: {}", output.as_text()),
                Err(error) => {
                    prop_assert!(matches!(error, ToolError::InvalidParameters(_)), "{tool}: {error}");
                    prop_assert!(!error.to_string().contains(PANICKED), "{tool}: {error}");
                    prop_assert_eq!(&files(home.path()), &before, "{}: {}", tool, error);
                }
            }
            let outside = files(home.path()).into_keys().find(|path| {
                let inside = ["config/memory", "project/.goose/memory"].map(|folder| home.path().join(folder));
                path.parent().is_none_or(|parent| !inside.iter().any(|folder| folder == parent))
            });
            prop_assert_eq!(outside, None, "{}", tool);
        }
    }
}
