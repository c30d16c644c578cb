use std::sync::{Arc, Mutex, PoisonError};

use answerback::RetryTracker;
use answerback::config::{RepairMode, ValidationConfig};
use answerback::contract::tool::McpHost;
use answerback::json::Limits;
use answerback::retry::{Context, FailureTally, HideSecrets, Outcome, observe};

use crate::attempt::AttemptInput;
use crate::envelope_cache::Routines;
use crate::figures::ToolMetrics;
use crate::task_notes::TaskNotes;
use crate::{Attestor, GatewaySettings, Pins, RecordCommands, Recorder, Toolbox};

/// A server behind the gateway, as it is now.
#[derive(Debug)]
#[non_exhaustive]
pub struct Upstream {
    /// Its name in the configuration.
    pub name: String,
    /// Its version by its own word, where that is one.
    pub version: String,
    /// Its tools.
    pub tools: Toolbox,
    /// The tools as they were first seen.
    pub pins: Option<Pins>,
    pub(crate) figures: ToolMetrics,
    /// The envelopes of results about which there is nothing to say.
    pub(crate) routines: Routines,
}

impl Upstream {
    /// A server of this name with these tools.
    pub fn new(name: impl Into<String>, version: Option<&str>, tools: Toolbox) -> Self {
        let version = version.map_or(NO_VERSION, semver).to_owned();
        let name = name.into();
        let figures = ToolMetrics::of(&name, &tools);
        let routines = Routines::default();
        Self { name, version, tools, pins: None, figures, routines }
    }

    /// The server with the tools as they were first seen.
    #[must_use]
    pub fn with_pins(mut self, pins: impl Into<Option<Pins>>) -> Self {
        self.pins = pins.into();
        self
    }

    /// Whether this is the version that it gives itself.
    pub(crate) fn has_version(&self, version: &str) -> bool {
        self.version == semver(version)
    }

    /// Whether a tool says something else of itself than when it was first seen.
    pub fn has_changed(&self, tool: &str) -> bool {
        let definition = self.tools.definition(tool);
        definition
            .zip(self.pins.as_ref())
            .is_some_and(|(digest, pins)| pins.has_changed(tool, digest))
    }
}

/// The version of a server that gives itself none.
const NO_VERSION: &str = "0.0.0";

/// A version by a server's own word, where that is one.
fn semver(version: &str) -> &str {
    if is_semver(version) { version } else { NO_VERSION }
}

/// Three numbers with dots; what may follow them is left to the envelope's check.
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

/// What stands between clients and servers: it decides about calls and results, whoever carries them.
#[derive(Debug)]
pub struct Gateway {
    /// How calls are checked that are only asked about, and results that a person corrected.
    pub(crate) validation: ValidationConfig,
    /// How calls are checked that are forwarded: lossless repairs are applied unless the configuration says otherwise.
    pub(crate) applied_validation: ValidationConfig,
    /// How calls are checked that are forwarded as they came, whatever is found.
    pub(crate) reported_validation: ValidationConfig,
    pub(crate) settings: GatewaySettings,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) attestor: Option<Arc<Attestor>>,
    pub(crate) host: Option<McpHost>,
    pub(crate) limits: Limits,
    /// Where the console is that shows the record to people.
    pub(crate) console: Option<String>,
    /// How commands about the record are printed.
    pub(crate) commands: RecordCommands,
    /// Counts attempts where there is no store.
    pub(crate) tracker: RetryTracker,
    tally: Mutex<FailureTally>,
    pub(crate) tasks: TaskNotes,
    #[cfg(feature = "otel")]
    pub(crate) tracer: Option<Arc<crate::Tracer>>,
}

impl Gateway {
    /// A gateway that judges by this configuration, and records nothing.
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

    /// The gateway with spans of its calls for a collector.
    #[cfg(feature = "otel")]
    #[must_use]
    pub fn with_tracer(mut self, tracer: Option<Arc<crate::Tracer>>) -> Self {
        self.tracer = tracer;
        self
    }

    /// The gateway with a record of everything.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// The gateway with an agent that answers for results: each is recorded as a governed response of it. Without a
    /// record nothing is attested.
    #[must_use]
    pub fn with_attestor(mut self, attestor: Attestor) -> Self {
        self.attestor = Some(Arc::new(attestor));
        self
    }

    /// The gateway under this host, which envelopes name.
    #[must_use]
    pub fn with_host(mut self, host: Option<McpHost>) -> Self {
        self.host = host;
        self
    }

    /// The gateway with a console at this URL, which has no slash at its end: what a model is told to show a person has
    /// a link there.
    #[must_use]
    pub fn with_console(mut self, url: Option<String>) -> Self {
        self.console = url;
        self
    }

    /// The gateway with commands that find its record wherever a person pastes them.
    #[must_use]
    pub fn with_commands(mut self, commands: RecordCommands) -> Self {
        self.commands = commands;
        self
    }

    /// How it behaves.
    pub fn settings(&self) -> &GatewaySettings {
        &self.settings
    }

    /// The record, where there is one.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Which calls failed, by tool, place and code.
    pub fn tally(&self) -> FailureTally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells operators what became of a call.
    pub(crate) fn observe(&self, attempt: &AttemptInput, outcome: &Outcome) {
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
