use std::sync::{Arc, Mutex, PoisonError};

use answerback::RetryTracker;
use answerback::config::{RepairMode, ValidationConfig};
use answerback::contract::tool::McpHost;
use answerback::json::Limits;
use answerback::retry::{AttemptOutcome, Context, FailureTally, HideSecrets, observe};

use crate::attempt::AttemptInput;
use crate::envelope_cache::Routines;
use crate::figures::ToolMetrics;
use crate::task_notes::TaskNotes;
use crate::{Attestor, GatewaySettings, Pins, RecordCommands, Recorder, Toolbox};

/// Describes the current state of a server behind the gateway.
#[derive(Debug)]
#[non_exhaustive]
pub struct Upstream {
    /// The server's name in the configuration.
    pub name: String,
    /// The version that the server reports, or `0.0.0` if it reports none that is a semantic version.
    pub version: String,
    /// The server's tools.
    pub tools: Toolbox,
    /// The tool definitions as they were first seen.
    pub pins: Option<Pins>,
    pub(crate) figures: ToolMetrics,
    /// The cache of envelopes for results without findings.
    pub(crate) routines: Routines,
}

impl Upstream {
    /// Creates a server with this name and these tools.
    pub fn new(name: impl Into<String>, version: Option<&str>, tools: Toolbox) -> Self {
        let version = version.map_or(NO_VERSION, semver).to_owned();
        let name = name.into();
        let figures = ToolMetrics::of(&name, &tools);
        let routines = Routines::default();
        Self { name, version, tools, pins: None, figures, routines }
    }

    /// Sets the pinned tool definitions.
    #[must_use]
    pub fn with_pins(mut self, pins: impl Into<Option<Pins>>) -> Self {
        self.pins = pins.into();
        self
    }

    /// Returns true if the server reports this version.
    pub(crate) fn has_version(&self, version: &str) -> bool {
        self.version == semver(version)
    }

    /// Returns true if a tool's definition differs from the pinned one.
    pub fn has_changed(&self, tool: &str) -> bool {
        let definition = self.tools.definition(tool);
        definition
            .zip(self.pins.as_ref())
            .is_some_and(|(digest, pins)| pins.has_changed(tool, digest))
    }
}

/// The version of a server that reports none.
const NO_VERSION: &str = "0.0.0";

/// Returns the version if it is a semantic version, or `0.0.0`.
fn semver(version: &str) -> &str {
    if is_semver(version) { version } else { NO_VERSION }
}

/// Returns true if the core is three numbers with dots. The envelope's check validates the rest.
fn is_semver(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    let is_number = |text: &&str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'))
    };
    numbers.len() == 3 && numbers.iter().all(is_number)
}

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
    tally: Mutex<FailureTally>,
    pub(crate) tasks: TaskNotes,
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
            tasks: TaskNotes::default(),
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

    /// Logs the outcome of an attempt and adds it to the counts.
    pub(crate) fn observe(&self, attempt: &AttemptInput, outcome: &AttemptOutcome) {
        let now = answerback_record::system::now();
        let context = Context::new(&attempt.policy, &HideSecrets, now);
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        observe(&attempt.call(None), outcome, &context, &mut tally);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_or_none() {
        let version = |text| Upstream::new("u", Some(text), Toolbox::default()).version;
        for (text, expected) in [
            ("1.2.3", "1.2.3"),
            ("1.2.3-rc.1+x", "1.2.3-rc.1+x"),
            ("v1.2.3", "0.0.0"),
            ("1.2", "0.0.0"),
            ("01.2.3", "0.0.0"),
            ("", "0.0.0"),
        ] {
            assert_eq!(version(text), expected, "{text}");
        }
    }
}
