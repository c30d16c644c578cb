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
mod problem;
mod proof;
mod replies;
mod request;
mod response;
mod routes;
mod session;
mod streams;
mod tools;
