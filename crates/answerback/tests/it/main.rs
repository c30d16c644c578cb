//! The library from outside.

mod rules;
mod seeds;
mod ui;
