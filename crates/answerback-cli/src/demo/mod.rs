//! `answerback serve --demo`: creates a temporary folder and plays a short conversation through the real server.

mod demo_folder;
mod play;

pub(crate) use demo_folder::DemoFolder;
pub(crate) use play::play;
