//! Decisions for programs: requests them, waits for them, and reports them as they are recorded.

mod notify;
mod request;
