use std::sync::Arc;

use answerback::contract::tool::ErrorObject;
use answerback_mcp::wire::Id;

use crate::Upstream;
use crate::gateway_reply::ReplyBuilder;
use crate::task::{TaskRole, TaskScope};
use crate::tool_call_request::ToolCallRequest;
use crate::tool_metrics::ToolCounters;

/// Carries one tool call through its steps, from its admission to the record of its response.
#[derive(Debug)]
pub struct CallContext {
    /// The request as it was received. It is boxed because a blocked call continues without the rest.
    pub(crate) request: Box<ToolCallRequest>,
    /// Builds our own replies to the call, and holds the facts that its entries contain.
    pub(crate) replies: ReplyBuilder,
    /// True if the tool is annotated as read-only or idempotent, so that repeating the call is safe.
    pub(crate) is_repeatable: bool,
    /// The warnings for the result's envelope.
    pub(crate) warnings: Vec<ErrorObject>,
    /// The notes for the model that are added to the result.
    pub(crate) notes: Vec<String>,
    /// The counters for the result.
    pub(crate) metrics: Arc<ToolCounters>,
    /// The call's relation to a task, if it has one.
    pub(crate) task: Option<Box<TaskRole>>,
    /// The connection whose tasks the call can see.
    pub(crate) scope: TaskScope,
}

impl CallContext {
    /// Creates the context of a request that was just read.
    pub(crate) fn new(
        request: Box<ToolCallRequest>,
        replies: ReplyBuilder,
        upstream: &Upstream,
        metrics: Arc<ToolCounters>,
    ) -> Self {
        Self {
            is_repeatable: upstream.tools.may_run_twice(&request.name),
            request,
            replies,
            warnings: Vec::new(),
            notes: Vec::new(),
            metrics,
            task: None,
            scope: TaskScope::default(),
        }
    }

    /// Returns the id of the client's request.
    pub fn id(&self) -> &Id {
        &self.request.id
    }

    /// Returns the name of the called tool, as the client sent it.
    pub(crate) fn tool(&self) -> &str {
        &self.request.name
    }
}
