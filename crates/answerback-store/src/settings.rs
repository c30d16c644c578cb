use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use answerback::config::OnFailure;
use answerback_ledger::Anchor;

/// Returns the time in microseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Fills the slice with random bytes, or fails.
pub type Random = Arc<dyn Fn(&mut [u8]) -> std::io::Result<()> + Send + Sync>;

type MakeAnchor = Arc<dyn Fn() -> Box<dyn Anchor> + Send + Sync>;

/// Configures how a store is opened.
///
/// ```
/// use answerback_store::{OnFailure, Settings};
///
/// let settings = Settings::new("/var/lib/answerback/ledger.key")
///     .with_anchor_file("/mnt/second/ledger.anchor")
///     .with_on_failure(OnFailure::Open);
/// # let _ = settings;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Settings {
    pub(crate) key: PathBuf,
    pub(crate) origin: Option<String>,
    pub(crate) anchors: Vec<MakeAnchor>,
    #[cfg(feature = "witness")]
    pub(crate) witnesses: Vec<crate::Witness>,
    pub(crate) on_failure: OnFailure,
    pub(crate) queue_units: usize,
    pub(crate) queue_bytes: usize,
    pub(crate) lock_timeout: Duration,
    pub(crate) largest_blob: usize,
    pub(crate) most_attempts: u64,
    pub(crate) sweep_every: Duration,
    pub(crate) full_text: bool,
    pub(crate) clock: Clock,
    /// True if the clock is the system clock. An engine may then use its own clock instead.
    pub(crate) is_system_clock: bool,
    pub(crate) random: Random,
}

impl Settings {
    /// Creates the default settings with the key in this file. The file is created on first use.
    pub fn new(key: impl Into<PathBuf>) -> Self {
        Self {
            key: key.into(),
            origin: None,
            anchors: Vec::new(),
            #[cfg(feature = "witness")]
            witnesses: Vec::new(),
            on_failure: OnFailure::Closed,
            queue_units: 4096,
            queue_bytes: 64 << 20,
            lock_timeout: Duration::from_secs(5),
            largest_blob: 16 << 20,
            most_attempts: 100_000,
            sweep_every: Duration::from_mins(1),
            full_text: false,
            clock: Arc::new(system_clock),
            is_system_clock: true,
            random: Arc::new(crate::randomness::fill_random),
        }
    }

    /// Sets the name of the log. The default is `answerback.local/UUID`.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = Some(origin.into());
        self
    }

    /// Adds an anchor in a file, which should be outside the store's folder.
    pub fn with_anchor_file(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.with_anchor(move || Box::new(answerback_ledger::FileAnchor::new(path.clone())))
    }

    /// Adds another kind of anchor. The store calls `make` each time it opens.
    pub fn with_anchor(
        mut self,
        make: impl Fn() -> Box<dyn Anchor> + Send + Sync + 'static,
    ) -> Self {
        self.anchors.push(Arc::new(make));
        self
    }

    /// Adds a witness. While the store is open, the witness is asked to cosign checkpoints. A
    /// witness that fails is reported in the statistics and delays nothing.
    #[cfg(feature = "witness")]
    pub fn with_witness(mut self, witness: crate::Witness) -> Self {
        self.witnesses.push(witness);
        self
    }

    /// Sets whether a reply that could not be recorded is sent or withheld.
    pub const fn with_on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Sets the maximum number of units in the queue, and their maximum total size in bytes.
    pub const fn with_queue(mut self, units: usize, bytes: usize) -> Self {
        self.queue_units = units;
        self.queue_bytes = bytes;
        self
    }

    /// Sets the maximum number of units in the queue, and leaves the maximum size unchanged.
    pub const fn with_queue_units(mut self, units: usize) -> Self {
        self.queue_units = units;
        self
    }

    /// Sets how long the store waits for another process to release the write lock.
    pub const fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets the maximum size of a blob in bytes.
    pub const fn with_largest_blob(mut self, bytes: usize) -> Self {
        self.largest_blob = bytes;
        self
    }

    /// Sets the maximum number of stored retry states. The limit never removes a blocked state.
    pub const fn with_most_attempts(mut self, attempts: u64) -> Self {
        self.most_attempts = attempts;
        self
    }

    /// Sets how often expired data is removed: retry states and the private data of cases.
    pub const fn with_sweep_every(mut self, pause: Duration) -> Self {
        self.sweep_every = pause;
        self
    }

    /// Sets whether this process fills the full-text index.
    pub const fn with_full_text(mut self, full_text: bool) -> Self {
        self.full_text = full_text;
        self
    }

    /// Sets another clock. By default, a store that several machines share uses the clock of its
    /// database.
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self.is_system_clock = false;
        self
    }

    /// Sets another source of random bytes.
    pub fn with_random(
        mut self,
        random: impl Fn(&mut [u8]) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.random = Arc::new(random);
        self
    }

    pub(crate) fn random<const N: usize>(&self) -> Result<[u8; N], crate::StoreError> {
        let mut bytes = [0; N];
        (self.random)(&mut bytes).map_err(|error| crate::StoreError::Engine(Arc::new(error)))?;
        Ok(bytes)
    }
}

fn system_clock() -> i64 {
    let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => micros(since),
        Err(before) => -micros(before.duration()),
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("key", &self.key)
            .field("origin", &self.origin)
            .field("anchors", &self.anchors.len())
            .field("on_failure", &self.on_failure)
            .finish_non_exhaustive()
    }
}
