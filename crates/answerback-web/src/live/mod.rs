//! Live events: one reader of the store for all followers, and a ring in memory for those that are nearly up to date.

mod follow;
mod ring;

pub(crate) use follow::{Live, LivePosition};
