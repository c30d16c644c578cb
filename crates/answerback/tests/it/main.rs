//! The library from outside.

mod atdf;
mod convert;
mod generate;
mod rules;
mod seeds;
mod ui;
