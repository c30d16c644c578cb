/// The progress of a verification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct VerifyProgress {
    /// The number of entries read so far.
    pub done: u64,
    /// The number of entries that the source claims to have.
    pub total: u64,
}
