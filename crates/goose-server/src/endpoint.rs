//! [`Endpoint`]: a route with everything that the router, the gate and the OpenAPI document know of it.

use axum::{
    Router,
    handler::Handler,
    routing::{MethodFilter, MethodRouter, on},
};
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{
    error::ErrorBody,
    gate::{Access, AccessTable},
    state::AppState,
    tokens::Scope,
};

/// Function that makes a schema.
pub(crate) type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// Body of a request or an answer in the document.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    Json(MakeSchema),
    /// Server-sent events, each with JSON of this schema.
    Events(MakeSchema),
    Text,
    Nothing,
}

/// Answer in the document.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    pub(crate) contents: Vec<Content>,
}

/// Parameter of a query or a header in the document.
pub(crate) struct Parameter {
    pub(crate) place: &'static str,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) schema: serde_json::Value,
}

/// Route.
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Content>,
    pub(crate) answers: Vec<Answer>,
    handler: MethodRouter<AppState>,
}

impl Endpoint {
    fn new<H, T>(method: Method, filter: MethodFilter, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        Self {
            method,
            path,
            access: Access::Scope(Scope::Admin),
            tag: "goose",
            summary: "",
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            handler: on(filter, handler),
        }
    }

    pub(crate) fn get<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::GET, MethodFilter::GET, path, handler).scope(Scope::Read)
    }

    pub(crate) fn post<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::POST, MethodFilter::POST, path, handler).scope(Scope::Run)
    }

    pub(crate) fn patch<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::PATCH, MethodFilter::PATCH, path, handler).scope(Scope::Run)
    }

    pub(crate) fn delete<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::DELETE, MethodFilter::DELETE, path, handler)
    }

    /// Sets the scope that a token needs. By default that is `read` for GET, `admin` for DELETE, and `run` otherwise.
    pub(crate) fn scope(mut self, scope: Scope) -> Self {
        self.access = Access::Scope(scope);
        self
    }

    /// Lets everyone in.
    pub(crate) fn open(mut self) -> Self {
        self.access = Access::Open;
        self
    }

    pub(crate) fn about(mut self, tag: &'static str, summary: &'static str) -> Self {
        (self.tag, self.summary) = (tag, summary);
        self
    }

    pub(crate) fn query(
        mut self,
        name: &'static str,
        about: &'static str,
        schema: serde_json::Value,
    ) -> Self {
        self.parameters.push(Parameter { place: "query", name, about, schema });
        self
    }

    pub(crate) fn header(mut self, name: &'static str, about: &'static str) -> Self {
        let schema = serde_json::json!({"type": "string"});
        self.parameters.push(Parameter { place: "header", name, about, schema });
        self
    }

    pub(crate) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Content::Json(schema_of::<T>));
        self
    }

    pub(crate) fn gives<T: JsonSchema>(self, status: u16, about: &'static str) -> Self {
        self.answers(status, about, vec![Content::Json(schema_of::<T>)])
    }

    pub(crate) fn answers(mut self, status: u16, about: &'static str, contents: Vec<Content>) -> Self {
        self.answers.push(Answer { status, about, contents });
        self
    }

    /// Adds answers with an error.
    pub(crate) fn fails(mut self, answers: &[(u16, &'static str)]) -> Self {
        let error = |(status, about): &(u16, &'static str)| Answer {
            status: *status,
            about,
            contents: vec![Content::Json(schema_of::<ErrorBody>)],
        };
        self.answers.extend(answers.iter().map(error));
        self
    }
}

/// Returns the schema of a type, as a reference to a component where it has a name.
pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Puts the routes and their rights together.
pub(crate) fn router(endpoints: Vec<Endpoint>) -> (Router<AppState>, AccessTable) {
    let mut router = Router::new();
    let mut access = AccessTable::default();
    for endpoint in endpoints {
        access.0.insert((endpoint.method, endpoint.path), endpoint.access);
        router = router.route(endpoint.path, endpoint.handler);
    }
    (router, access)
}
