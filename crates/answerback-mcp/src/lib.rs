//! The Model Context Protocol as text.
//!
//! [`wire`] reads messages and leaves them as they came; [`link`] carries them to a server, whatever it is; [`era`]
//! lets a client of one era of the protocol talk to a server of the other. Nothing in here judges or records: that is
//! the gateway's.
#![warn(missing_docs)]

pub mod era;
pub mod link;
pub mod wire;
