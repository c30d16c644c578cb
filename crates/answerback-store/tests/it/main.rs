//! The embedded store, held to the promises of every store, to crashes and to damage.

mod conformance;
mod crash;
mod damage;
mod processes;
mod scene;
