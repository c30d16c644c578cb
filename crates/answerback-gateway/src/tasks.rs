//! Calls that were answered with a task: what becomes of them is asked for later.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use answerback_mcp::wire::{Message, splice};
use serde_json::Value;

use crate::admit::{Running, append_request, could_not_record};
use crate::call::ToolCall;
use crate::figures::ToolFigures;
use crate::told::Teller;
use crate::{Client, Gateway};

/// How many tasks are remembered; the newest.
const MOST: usize = 1024;

/// The tasks under way, each with the call that it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<VecDeque<Task>>);

#[derive(Debug)]
struct Task {
    id: String,
    /// Who spoke about the call.
    teller: Teller,
    may_run_twice: bool,
    figures: Arc<ToolFigures>,
}

impl Task {
    fn is(&self, principal: &str, server: &str, id: &str) -> bool {
        let about = &self.teller.about;
        self.id == id && about.principal == principal && about.upstream == server
    }
}

impl Gateway {
    /// The method that asks for the result of a task.
    pub(crate) const TASK_RESULT: &'static str = "tasks/result";

    /// Remembers the call that a result with a task answers.
    pub(crate) fn remember_task(&self, running: &Running, result: &Value) {
        let Some(id) = result["task"]["taskId"].as_str() else { return };
        let (id, teller) = (id.to_owned(), running.teller.clone());
        let mut tasks = self.tasks.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() == MOST {
            tasks.pop_front();
        }
        let (may_run_twice, figures) = (running.may_run_twice, Arc::clone(&running.figures));
        tasks.push_back(Task { id, teller, may_run_twice, figures });
    }

    /// The call whose result is asked for, where it is one of this client's that we remember. That it is asked for is
    /// durable then; where it cannot be, the answer says so.
    pub(crate) async fn asked_for(
        &self,
        client: &Client,
        server: &str,
        request: &Message,
    ) -> Option<Result<Running, Message>> {
        let id = splice::string_at(request.text(), &["params", "taskId"])?;
        let (teller, may_run_twice, figures) = {
            let tasks = self.tasks.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut newest_first = tasks.iter().rev();
            let task = newest_first.find(|task| task.is(client.principal(), server, &id))?;
            (task.teller.clone(), task.may_run_twice, Arc::clone(&task.figures))
        };
        let call = ToolCall::named(request.clone(), teller.tool())?;
        // Each time that a result is asked for is an answer of its own.
        let teller = teller.again(&call).ok()?;
        if let Some(recorder) = &self.recorder
            && let Err(error) = append_request(recorder, &teller, &call, None).await
        {
            return Some(Err(could_not_record(&teller, &error.to_string())));
        }
        let (warnings, notes) = (Vec::new(), Vec::new());
        Some(Ok(Running { call, teller, may_run_twice, warnings, notes, figures }))
    }
}
