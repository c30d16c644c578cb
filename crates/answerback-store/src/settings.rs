use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use answerback::config::OnFailure;
use answerback_ledger::Anchor;

/// Gives the time, in microseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Fills bytes with randomness, or fails.
pub type Random = Arc<dyn Fn(&mut [u8]) -> std::io::Result<()> + Send + Sync>;

type MakeAnchor = Arc<dyn Fn() -> Box<dyn Anchor> + Send + Sync>;

/// How a store is opened.
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
    /// Whether the clock is this machine's, so that an engine may put its own in its place.
    pub(crate) is_system_clock: bool,
    pub(crate) random: Random,
}

impl Settings {
    /// The defaults, with the key in this file, which is created on first use.
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
            random: Arc::new(crate::fill_random),
        }
    }

    /// The name of the log. Without it, `answerback.local/UUID`.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = Some(origin.into());
        self
    }

    /// Adds an anchor that is a file outside the store's folder.
    pub fn with_anchor_file(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.with_anchor(move || Box::new(answerback_ledger::FileAnchor::new(path.clone())))
    }

    /// Adds an anchor of another kind. It is made anew each time the store is opened.
    pub fn with_anchor(
        mut self,
        make: impl Fn() -> Box<dyn Anchor> + Send + Sync + 'static,
    ) -> Self {
        self.anchors.push(Arc::new(make));
        self
    }

    /// Adds a witness, which is asked to sign checkpoints as long as the store is open. One that does not answer
    /// shows in the figures, and holds nobody up.
    #[cfg(feature = "witness")]
    pub fn with_witness(mut self, witness: crate::Witness) -> Self {
        self.witnesses.push(witness);
        self
    }

    /// What becomes of an answer that could not be recorded.
    pub const fn with_on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// How many units, and bytes of them, may wait.
    pub const fn with_queue(mut self, units: usize, bytes: usize) -> Self {
        self.queue_units = units;
        self.queue_bytes = bytes;
        self
    }

    /// How many units may wait; the bytes of them stay as they are.
    pub const fn with_queue_units(mut self, units: usize) -> Self {
        self.queue_units = units;
        self
    }

    /// How long another process may hold the write lock.
    pub const fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// The largest blob, in bytes.
    pub const fn with_largest_blob(mut self, bytes: usize) -> Self {
        self.largest_blob = bytes;
        self
    }

    /// The most retry states that are kept. A blocked one is never dropped for an open one.
    pub const fn with_most_attempts(mut self, attempts: u64) -> Self {
        self.most_attempts = attempts;
        self
    }

    /// How often what lapsed is removed: retry states, what was private to a case.
    pub const fn with_sweep_every(mut self, pause: Duration) -> Self {
        self.sweep_every = pause;
        self
    }

    /// Whether this process builds the index for full text.
    pub const fn with_full_text(mut self, full_text: bool) -> Self {
        self.full_text = full_text;
        self
    }

    /// Another clock. Without one, a store that several machines share goes by its database's.
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self.is_system_clock = false;
        self
    }

    /// Another source of randomness.
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
