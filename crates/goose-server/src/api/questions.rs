//! Open questions of all sessions, and their answers.

use axum::{Extension, extract::State};
use goose::session::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MISSING, TAG, sessions::session_id};
use crate::{
    body::{Json, JsonBody, PathText},
    endpoint::Endpoint,
    error::{ApiError, ApiResult},
    questions::{AnswerRequest, Question, checked},
    state::AppState,
    tokens::Client,
};

/// Questions that wait for an answer.
#[derive(Debug, Serialize, JsonSchema)]
struct QuestionList {
    /// Questions, oldest first in each session.
    questions: Vec<Question>,
}

/// Question that was answered.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Answered {
    /// Id of the question.
    id: String,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/questions", list)
            .about(TAG, "Lists the open questions of all sessions that are open here")
            .gives::<QuestionList>(200, "Questions"),
        Endpoint::post("/api/v1/sessions/{session}/answers", answer)
            .about(TAG, "Answers a question by its id and its digest. The first answer counts.")
            .takes::<AnswerRequest>()
            .gives::<Answered>(200, "The answer counts")
            .fails(&[MISSING, (409, "The question was answered already, or is another one")]),
    ]
}

pub(super) fn of_session(session: &crate::sessions::OpenSession) -> Vec<Question> {
    session.exchange().questions().iter().filter_map(|record| Question::of(record)).collect()
}

async fn list(State(app): State<AppState>) -> Json<QuestionList> {
    let sessions = app.sessions.all_open().await;
    Json(QuestionList { questions: sessions.iter().flat_map(of_session).collect() })
}

async fn answer(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    PathText(id): PathText,
    JsonBody(request): JsonBody<AnswerRequest>,
) -> ApiResult<Json<Answered>> {
    let session: SessionId = session_id(id)?;
    let gone = || ApiError::conflict("not_open", "This question was answered already, or is not open.");
    let session = match app.sessions.opened(&session).await {
        Some(session) => session,
        None => {
            app.sessions.summary(&session).await?;
            return Err(gone());
        }
    };
    let id = request.id.clone();
    let records = session.exchange().questions();
    let asked = records.iter().filter_map(|record| Question::of(record)).find(|question| question.id == id);
    let answer = checked(&asked.ok_or_else(gone)?, request, &client)?;
    match session.exchange().answer(&id, answer) {
        true => Ok(Json(Answered { id })),
        false => Err(gone()),
    }
}
