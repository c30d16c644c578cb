//! What happens now: one reader of the store for all who follow, and a short memory for those who are close behind.

mod follow;
mod ring;

pub(crate) use follow::{Live, LivePosition};
