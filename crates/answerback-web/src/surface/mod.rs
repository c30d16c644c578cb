//! The HTTP API, one file per resource.

mod agents;
mod artifacts;
mod cases;
mod events;
mod file;
mod ledger;
mod overview;
mod page;
mod playground;
mod proof;
mod replies;
mod session;
mod streams;
mod tools;

use std::sync::Arc;

use answerback_http::Routes;

use crate::Console;

pub(crate) fn routes(console: &Arc<Console>) -> Routes {
    [
        session::routes(console),
        overview::routes(console),
        replies::routes(console),
        artifacts::routes(console),
        file::routes(console),
        cases::routes(console),
        streams::routes(console),
        events::routes(console),
        tools::routes(console),
        agents::routes(console),
        ledger::routes(console),
        playground::routes(console),
        page::routes(),
    ]
    .into_iter()
    .fold(Routes::new(), Routes::merge)
}
