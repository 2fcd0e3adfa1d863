//! Extensions with generic parameters: one registry for each instantiation.

use goose_extension::prelude::*;

use super::{call, refusal};

trait Store {
    const NAME: &'static str;

    fn get(&self, key: &str) -> String;
}

struct Upper;

impl Store for Upper {
    const NAME: &'static str = "upper";

    fn get(&self, key: &str) -> String {
        key.to_uppercase()
    }
}

struct Lower;

impl Store for Lower {
    const NAME: &'static str = "lower";

    fn get(&self, key: &str) -> String {
        key.to_lowercase()
    }
}

/// The bounds do not say that `S` can be shared; the extension is there for those that can.
struct Memory<S> {
    store: S,
}

#[extension]
impl<S> Memory<S>
where
    S: Store,
{
    #[tool(description = S::NAME)]
    fn recall(&self, key: &str) -> String {
        self.store.get(key)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry<T> {
    entry: T,
}

#[derive(Default)]
struct Log<T>(std::sync::Mutex<Vec<T>>);

#[extension]
impl<T: serde::de::DeserializeOwned + JsonSchema> Log<T> {
    #[tool]
    fn add(&self, Arguments(new): Arguments<Entry<T>>) -> usize {
        let mut entries = self.0.lock().unwrap();
        entries.push(new.entry);
        entries.len()
    }
}

#[tokio::test]
async fn arguments_as_one_type_may_be_generic() {
    let (numbers, texts) = (Log::<u8>::default(), Log::<String>::default());
    assert_eq!(call(&numbers, "add", json!({ "entry": 1 })).await, Ok(json!(1)));
    assert_eq!(call(&texts, "add", json!({ "entry": "x" })).await, Ok(json!(1)));
    refusal(&numbers, "add", json!({ "entry": "x" })).await;
    refusal(&texts, "add", json!({ "entry": 1 })).await;
}

struct Shelf<T, const N: usize>([T; N]);

#[extension(name = "shelf")]
impl<T: Serialize + Clone + Send + Sync + 'static, const N: usize> Extension for Shelf<T, N> {
    fn prompt(&self) -> String {
        format!("There are {N}.")
    }

    #[tool]
    async fn all(&self) -> Vec<T> {
        self.0.to_vec()
    }
}

#[tokio::test]
async fn each_instantiation_has_its_own_tools() {
    let (upper, lower) = (Memory { store: Upper }, Memory { store: Lower });
    assert_eq!(call(&upper, "recall", json!({ "key": "Key" })).await, Ok(json!("KEY")));
    assert_eq!(call(&lower, "recall", json!({ "key": "Key" })).await, Ok(json!("key")));
    assert_eq!(upper.tools()[0].description(), "upper");
    assert_eq!(lower.tools()[0].description(), "lower");
    assert!(std::ptr::eq(upper.tools(), Memory { store: Upper }.tools()));
}

#[tokio::test]
async fn constants_are_parameters_too() {
    let (two, one) = (Shelf(["a", "b"]), Shelf([1]));
    assert_eq!(call(&two, "all", json!({})).await, Ok(json!(["a", "b"])));
    assert_eq!(call(&one, "all", json!({})).await, Ok(json!([1])));
    assert_eq!(
        (two.name(), two.prompt().as_str(), one.prompt().as_str()),
        ("shelf", "There are 2.", "There are 1.")
    );
}
