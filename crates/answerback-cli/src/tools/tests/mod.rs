//! Tests the tools as callers use them: every code of the catalogue, every answer against its contract, and the server
//! on a pair of streams.

mod answers;
mod bounds;
mod codes;
mod definitions;
mod scene;
mod streams;
