use std::sync::Arc;

use answerback_http::Routes;

use super::{
    agents, artifacts, cases, events, file, ledger, overview, page, playground, replies, session,
    streams, tools,
};
use crate::Console;

impl Console {
    /// Returns the routes of the API, and of the web application if it is built in.
    pub fn routes(self: &Arc<Self>) -> Routes {
        [
            session::routes(self),
            overview::routes(self),
            replies::routes(self),
            artifacts::routes(self),
            file::routes(self),
            cases::routes(self),
            streams::routes(self),
            events::routes(self),
            tools::routes(self),
            agents::routes(self),
            ledger::routes(self),
            playground::routes(self),
            page::routes(),
        ]
        .into_iter()
        .fold(Routes::new(), Routes::merge)
    }
}
