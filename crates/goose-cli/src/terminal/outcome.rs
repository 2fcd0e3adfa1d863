//! Description of a reply that did not succeed.

use goose::exchange::Outcome;

/// A description of what went wrong; none after success and after a cancel.
pub(crate) fn problem(outcome: &Outcome) -> Option<String> {
    Some(match outcome {
        Outcome::MaxTurns(turns) => format!(
            "The limit of {turns} model calls for one reply is reached. Continue with another \
             message, or raise the limit with --max-turns or GOOSE_MAX_TURNS."
        ),
        Outcome::MaxTokens => {
            "The answer reached its maximum length and was cut off. Ask the model to continue, or \
                               raise the limit with GOOSE_MAX_TOKENS."
                .to_owned()
        }
        Outcome::Refused => "The model or its provider refused to answer. Rephrase the request.".to_owned(),
        Outcome::Empty => {
            "The model repeatedly returned an empty answer. Try again, or use another model.".to_owned()
        }
        Outcome::Failed(failure) => match &failure.hint {
            Some(hint) => format!("{}\n{hint}", failure.message),
            None => failure.message.clone(),
        },
        _ => return None,
    })
}
