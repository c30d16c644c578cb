/// The limits for reading a document. A document over a limit is rejected, and the error names the limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest document, in bytes.
    pub max_bytes: usize,
    /// The deepest nesting of arrays and objects.
    pub max_depth: usize,
    /// The longest member name, in bytes of UTF-8.
    pub max_key_bytes: usize,
}

impl Limits {
    /// The highest value of [`Limits::max_depth`]. A recursive walk of a deeper tree could exhaust the stack.
    pub const DEEPEST: usize = 512;

    /// Sets the longest document, in bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the deepest nesting, at most [`Limits::DEEPEST`].
    #[must_use]
    pub fn with_max_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth.min(Self::DEEPEST);
        self
    }

    /// Sets the longest member name, in bytes.
    #[must_use]
    pub fn with_max_key_bytes(mut self, bytes: usize) -> Self {
        self.max_key_bytes = bytes;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes: 64 << 20, max_depth: 128, max_key_bytes: 64 << 10 }
    }
}
