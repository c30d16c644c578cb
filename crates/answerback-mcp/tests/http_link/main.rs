//! Links to servers behind URLs, against servers on this machine.

mod faults;
mod legacy;
mod modern;
mod server;
