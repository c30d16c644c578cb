//! Answers calls without a result: the server ended, took too long, or was never sent the call.

use answerback::finding::display_name;
use answerback_mcp::wire::Message;

use super::CallContext;
use crate::Gateway;
use crate::gateway_message::GatewayMessage;
use crate::recording_failure::RecordingFailure;

/// The outcome of a call that the server received and did not answer.
const NO_RESULT: &str = "no_result";
/// The outcome of a call that was never sent.
const NOT_SENT: &str = "not_sent";

impl Gateway {
    /// Returns the response to a call without a result, because the server ended or took too long.
    pub async fn fail(&self, context: Box<CallContext>, reason: &str) -> Message {
        let message = GatewayMessage::without_result(context.tool(), reason, context.is_repeatable);
        Box::pin(self.fail_with(context, NO_RESULT, message)).await
    }

    /// Returns the response to a call that was admitted but never sent.
    pub async fn fail_unsent(&self, context: Box<CallContext>, reason: &str) -> Message {
        let message = GatewayMessage::unsent(context.tool(), reason);
        Box::pin(self.fail_with(context, NOT_SENT, message)).await
    }

    /// Records that a client cancelled a call. Such a call is not answered.
    pub async fn record_cancellation(&self, context: Box<CallContext>, was_sent: bool) {
        let outcome = if was_sent { NO_RESULT } else { NOT_SENT };
        if let Err(error) = self.count_and_record(&context, outcome, None, "null").await {
            let tool = display_name(context.tool());
            tracing::warn!(tool_name = %tool, %error, "it could not be recorded that a call was given up");
        }
    }

    async fn fail_with(
        &self,
        context: Box<CallContext>,
        outcome: &str,
        message: GatewayMessage,
    ) -> Message {
        let reply = context.replies.reply(&message);
        match self.count_and_record(&context, outcome, None, reply.document()).await {
            Ok(receipt) => reply.into_message(receipt.as_ref()),
            // A call that did not run has no result to withhold.
            Err(error) if outcome == NOT_SENT => {
                tracing::warn!(reason = %error, "that a call was not sent could not be recorded");
                reply.into_message(None)
            }
            Err(error) => withhold_unrecorded(&context, error),
        }
    }
}

/// Returns the error for a tool that ran and whose result could not be recorded.
pub(super) fn withhold_unrecorded(
    context: &CallContext,
    reason: impl Into<RecordingFailure>,
) -> Message {
    let (tool, RecordingFailure { public, detail }) = (display_name(context.tool()), reason.into());
    tracing::error!(tool_name = %tool, reason = %detail, "a result is withheld, because it could not be recorded");
    context
        .replies
        .reply(&GatewayMessage::result_not_recorded(context.tool(), &public))
        .into_message(None)
}
