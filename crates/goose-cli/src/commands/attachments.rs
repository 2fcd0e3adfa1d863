//! The attachments of a message: the question about a protected file, and a line about what is attached.

use std::sync::Arc;

use goose::exchange::{AttachError, AttachmentRequest, Exchange, MessageWithAttachments};
use goose_extension::Message;

use crate::{
    choice::Verbosity,
    escape,
    output::{FAINT, NAME, WARNING},
    stderr,
    terminal::input::Input,
};

/// Returns a message with what it attaches. Protected files are asked about; without a terminal they are refused.
///
/// # Errors
///
/// Fails if something cannot be attached. The message is not to be sent then.
pub(crate) async fn attached(
    exchange: &Exchange,
    request: AttachmentRequest<'_>,
    input: &Arc<Input>,
    verbosity: Verbosity,
) -> Result<Message, AttachError> {
    let approve = async |path: &str, reasons: &[String]| is_allowed(path, reasons, input).await;
    let MessageWithAttachments { message, attached, left_out, .. } =
        exchange.attach(request, approve).await?;
    if verbosity != Verbosity::Quiet {
        if !attached.is_empty() {
            let attached = escape::line(&attached.join(", ")).into_owned();
            stderr::line(format_args!("{FAINT}Attached: {attached}{FAINT:#}"));
        }
        for problem in left_out {
            stderr::line(format_args!("{WARNING}Not attached: {}{WARNING:#}", escape::line(&problem)));
        }
    }
    Ok(message)
}

async fn is_allowed(path: &str, reasons: &[String], input: &Arc<Input>) -> bool {
    let path = escape::line(path).into_owned();
    stderr::line(format_args!("{WARNING}?{WARNING:#} Attach {NAME}{path}{NAME:#} to the message?"));
    for reason in reasons {
        stderr::line(format_args!("  {FAINT}{}{FAINT:#}", escape::line(reason)));
    }
    stderr::can_ask() && input.turn().await.is_agreed("Attach it? (y/n) ").await
}
