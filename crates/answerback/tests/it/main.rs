//! The library from outside.

mod convert;
mod generate;
mod rules;
mod seeds;
mod ui;
