//! Draws documents on a terminal.
//!
//! A drawing function takes a [`Sheet`] and a part of the document, of whatever type, and returns lines. A part that is
//! invalid is drawn as far as possible and never hides the rest. All text is sanitized in one place: `sanitise`,
//! through which every `TextSpan` is created.

mod artifact;
mod atdf;
mod banner;
mod brief;
mod chart;
mod code;
mod descriptor;
mod document;
mod draw;
mod governed;
mod language;
mod markdown;
mod mission;
mod moment;
mod sanitise;
mod sheet;
mod signals;
mod span;
mod style;
mod table;
mod timeline;
mod tool;
mod tree;
mod ui;
mod width;

pub(crate) use self::draw::{draw, file_heading, wrapped};
pub(crate) use self::sanitise::{Charset, sanitise};
pub(crate) use self::sheet::Sheet;
