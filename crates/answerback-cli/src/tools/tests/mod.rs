//! Tests the tools as callers use them: every code of the catalogue, every answer against its contract, and the server
//! on a pair of streams.
#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test names its line")]

mod answers;
mod bounds;
mod codes;
mod definitions;
mod scene;
mod streams;
