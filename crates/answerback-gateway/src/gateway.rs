//! Holds the configuration and the shared state of a gateway.

use std::sync::{Arc, Mutex, PoisonError};

use answerback::RetryTracker;
use answerback::config::{RepairMode, ValidationConfig};
use answerback::contract::tool::McpHost;
use answerback::json::Limits;
use answerback::retry::FailureTally;

use crate::task_notes::TaskNotes;
use crate::{Attestor, GatewaySettings, RecordCommands, Recorder};

/// Checks calls and results between clients and servers, over any transport.
#[derive(Debug)]
pub struct Gateway {
    /// The settings for calls that are only checked, and for arguments that a person corrected.
    pub(crate) validation: ValidationConfig,
    /// The settings for calls that are forwarded. Lossless repairs are applied unless the configuration says
    /// otherwise.
    pub(crate) applied_validation: ValidationConfig,
    /// The settings for calls that are forwarded unchanged, with their findings as warnings.
    pub(crate) reported_validation: ValidationConfig,
    pub(crate) settings: GatewaySettings,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) attestor: Option<Arc<Attestor>>,
    pub(crate) host: Option<McpHost>,
    pub(crate) limits: Limits,
    /// The URL of the console, which shows the ledger to people.
    pub(crate) console: Option<String>,
    /// Formats the commands about the ledger that messages contain.
    pub(crate) commands: RecordCommands,
    /// Counts attempts if there is no store.
    pub(crate) tracker: RetryTracker,
    pub(crate) tally: Mutex<FailureTally>,
    pub(crate) task_notes: TaskNotes,
    #[cfg(feature = "otel")]
    pub(crate) tracer: Option<Arc<crate::Tracer>>,
}

impl Gateway {
    /// Creates a gateway with this configuration. It records nothing.
    pub fn new(validation: ValidationConfig, settings: GatewaySettings) -> Self {
        let tracker = RetryTracker::new(&validation);
        let limits = Limits::default().with_max_bytes(settings.largest_message);
        let (recorder, attestor, host, tally) = (None, None, None, Mutex::default());
        Self {
            applied_validation: validation
                .clone()
                .with_repairs(|mode| mode.unwrap_or(RepairMode::ApplyLossless)),
            reported_validation: validation.clone().with_repairs(|mode| match mode {
                Some(RepairMode::Off) => RepairMode::Off,
                _ => RepairMode::Offer,
            }),
            validation,
            settings,
            recorder,
            attestor,
            host,
            limits,
            console: None,
            commands: RecordCommands::default(),
            tracker,
            tally,
            task_notes: TaskNotes::default(),
            #[cfg(feature = "otel")]
            tracer: None,
        }
    }

    /// Sets the tracer, which sends spans of calls to a collector.
    #[cfg(feature = "otel")]
    #[must_use]
    pub fn with_tracer(mut self, tracer: Option<Arc<crate::Tracer>>) -> Self {
        self.tracer = tracer;
        self
    }

    /// Sets the recorder, which writes calls and results to the ledger.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Sets the agent that attests results. Each result is then recorded as a governed response. Without a
    /// recorder nothing is attested.
    #[must_use]
    pub fn with_attestor(mut self, attestor: Attestor) -> Self {
        self.attestor = Some(Arc::new(attestor));
        self
    }

    /// Sets the host that envelopes name.
    #[must_use]
    pub fn with_host(mut self, host: Option<McpHost>) -> Self {
        self.host = host;
        self
    }

    /// Sets the URL of the console, without a trailing slash. Messages about cases contain links to it.
    #[must_use]
    pub fn with_console(mut self, url: Option<String>) -> Self {
        self.console = url;
        self
    }

    /// Sets the commands that find this gateway's ledger from any folder.
    #[must_use]
    pub fn with_commands(mut self, commands: RecordCommands) -> Self {
        self.commands = commands;
        self
    }

    /// Returns the settings.
    pub fn settings(&self) -> &GatewaySettings {
        &self.settings
    }

    /// Returns the recorder, if there is one.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Returns the counts of failed calls by tool, place and code.
    pub fn tally(&self) -> FailureTally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
