//! Handles the Model Context Protocol as text.
//!
//! [`wire`] reads messages and keeps their bytes. [`link`] sends them to a server over pipes or HTTP. [`era`]
//! lets a client of one era of the protocol talk to a server of the other. This crate neither checks nor records
//! calls: the gateway does.
#![warn(missing_docs)]

pub mod era;
pub mod link;
pub mod wire;
