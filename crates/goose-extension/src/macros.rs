//! Support for the code that `#[tool]` and `#[extension]` generate. Not a public interface; it may change at any time.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    marker::PhantomData,
    sync::LazyLock,
};

use parking_lot::RwLock;

pub use async_trait::async_trait;
pub use futures::future::BoxFuture;
pub use schemars;
pub use serde;
pub use serde_json;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use crate::name_words::as_words;

use crate::{
    error::{ToolError, ToolResult},
    name_words::described,
    output::{IntoToolOutput, ToolOutput, to_json},
    registry::ToolRegistry,
    schema,
    tool::JsonObject,
};

/// Arguments that the schema has accepted, as the type they were declared with.
///
/// # Errors
///
/// If serde refuses what the schema accepted; the message is serde's.
pub fn parse<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> ToolResult<T> {
    T::deserialize(Value::Object(arguments)).map_err(|error| {
        ToolError::InvalidParameters(format!(
            "Invalid arguments for `{tool}`: {error}. Correct the arguments and call the tool again."
        ))
    })
}

/// The schema of arguments, each with a description.
pub fn input_schema<T: JsonSchema>() -> JsonObject {
    described(schema::input_schema::<T>())
}

/// The only argument of a method. Its functions are chosen by the type itself, not by its name: JSON takes all
/// arguments as they come, and every other type is one argument (see [`OneArgument`]). `A` is the structure with that
/// argument.
pub struct SoleArgument<T>(PhantomData<T>);

/// The types that take all arguments as they come.
pub trait AllArguments: From<JsonObject> {}

impl AllArguments for Value {}

impl AllArguments for JsonObject {}

impl<T: AllArguments> SoleArgument<T> {
    /// True if the parameter takes all arguments.
    pub const TAKES_ALL: bool = true;

    /// The schema of the arguments: any object.
    pub fn schema<A>() -> JsonObject {
        JsonObject::from_iter([("type".to_owned(), Value::from("object"))])
    }

    /// The value of the parameter.
    ///
    /// # Errors
    ///
    /// Never. The signature is that of [`OneArgument::read`].
    pub fn read<A>(_tool: &str, arguments: JsonObject, _field: fn(A) -> T) -> ToolResult<T> {
        Ok(arguments.into())
    }
}

/// The functions of a [`SoleArgument`] that is not JSON. Those of the type itself come first.
pub trait OneArgument<T> {
    /// True if the parameter takes all arguments.
    const TAKES_ALL: bool = false;

    /// The schema of the arguments.
    fn schema<A: JsonSchema>() -> JsonObject {
        input_schema::<A>()
    }

    /// The value of the parameter.
    ///
    /// # Errors
    ///
    /// As [`parse`].
    fn read<A: DeserializeOwned>(tool: &str, arguments: JsonObject, field: fn(A) -> T) -> ToolResult<T> {
        parse(tool, arguments).map(field)
    }
}

impl<T> OneArgument<T> for SoleArgument<T> {}

/// The return value of a method. `finish` is chosen by type: a `Result` keeps its error, all else is a value.
///
/// The bounds are on the methods and not on the `impl` blocks, so that a `Result` with an unfit error is refused
/// instead of passing as a value.
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    /// The result, converted.
    ///
    /// # Errors
    ///
    /// The method's own error, or that its value cannot be converted.
    pub fn finish(self) -> ToolResult<ToolOutput>
    where
        T: IntoToolOutput,
        E: Into<ToolError>,
    {
        self.0.map_err(Into::into)?.into_tool_output()
    }

    /// The result of a tool that says `output = Output`.
    ///
    /// # Errors
    ///
    /// The method's own error, or that its value cannot be converted.
    pub fn finish_as<Output>(self) -> ToolResult<ToolOutput>
    where
        T: IsOutput<Output>,
        Output: Serialize,
        E: Into<ToolError>,
    {
        structured(self.0.map_err(Into::into)?)
    }
}

/// A value of the type that the tool announces.
#[diagnostic::on_unimplemented(
    message = "the tool says `output = {Output}`, but it returns `{Self}`",
    label = "this is not `{Output}`",
    note = "`output` is the type that the method returns, or that of its `Ok` value"
)]
pub trait IsOutput<Output> {
    /// The value as that type.
    fn into_output(self) -> Output;
}

impl<Output> IsOutput<Output> for Output {
    fn into_output(self) -> Output {
        self
    }
}

/// Whatever the value is, a text or nothing too, it is structured: that is what the tool announced.
fn structured<Output: Serialize>(value: impl IsOutput<Output>) -> ToolResult<ToolOutput> {
    Ok(ToolOutput::empty().with_structured(to_json(value.into_output())?))
}

/// The way for everything that is not a `Result`.
pub trait FinishValue<T> {
    /// The value, converted.
    ///
    /// # Errors
    ///
    /// If it cannot be converted.
    fn finish(self) -> ToolResult<ToolOutput>
    where
        T: IntoToolOutput;

    /// The value of a tool that says `output = Output`.
    ///
    /// # Errors
    ///
    /// If it cannot be converted.
    fn finish_as<Output>(self) -> ToolResult<ToolOutput>
    where
        T: IsOutput<Output>,
        Output: Serialize;
}

impl<T> FinishValue<T> for Returned<T> {
    fn finish(self) -> ToolResult<ToolOutput>
    where
        T: IntoToolOutput,
    {
        self.0.into_tool_output()
    }

    fn finish_as<Output>(self) -> ToolResult<ToolOutput>
    where
        T: IsOutput<Output>,
        Output: Serialize,
    {
        structured(self.0)
    }
}

/// The registry of a type with generic parameters, made once for each instantiation and kept for good.
pub fn registry_of<T: Any>(make: fn() -> ToolRegistry) -> &'static ToolRegistry {
    static REGISTRIES: LazyLock<RwLock<HashMap<TypeId, &'static ToolRegistry>>> =
        LazyLock::new(RwLock::default);
    let id = TypeId::of::<T>();
    if let Some(registry) = REGISTRIES.read().get(&id) {
        return registry;
    }
    let mut registries = REGISTRIES.write();
    registries.entry(id).or_insert_with(|| Box::leak(Box::new(make())))
}
