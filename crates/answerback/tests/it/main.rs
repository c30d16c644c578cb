//! The library from outside.

mod convert;
mod generate;
mod judge;
mod rules;
mod seeds;
mod ui;
