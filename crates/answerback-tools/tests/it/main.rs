//! The tools as their callers use them: every code of the catalogue, every answer by its contract, and the server
//! on a pair of streams.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod answers;
mod bounds;
mod codes;
mod definitions;
mod scene;
mod streams;
