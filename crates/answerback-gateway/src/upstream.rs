use crate::envelope_cache::Routines;
use crate::tool_metrics::ToolMetrics;
use crate::{Pins, Toolbox};

/// The current state of a server behind the gateway.
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
    pub(crate) metrics: ToolMetrics,
    /// The cache of envelopes for results without findings.
    pub(crate) routines: Routines,
}

impl Upstream {
    /// Creates a server with this name and these tools.
    pub fn new(name: impl Into<String>, version: Option<&str>, tools: Toolbox) -> Self {
        let version = version.map_or(NO_VERSION, semver).to_owned();
        let name = name.into();
        let metrics = ToolMetrics::new(&name, &tools);
        let routines = Routines::default();
        Self { name, version, tools, pins: None, metrics, routines }
    }

    /// Sets the pinned tool definitions.
    #[must_use]
    pub fn with_pins(mut self, pins: impl Into<Option<Pins>>) -> Self {
        self.pins = pins.into();
        self
    }

    /// True if the server reports this version.
    pub(crate) fn has_version(&self, version: &str) -> bool {
        self.version == semver(version)
    }

    /// True if a tool's definition differs from the pinned one.
    pub fn has_changed(&self, tool: &str) -> bool {
        let definition = self.tools.definition(tool);
        definition
            .zip(self.pins.as_ref())
            .is_some_and(|(digest, pins)| pins.has_changed(tool, digest))
    }
}

/// The version of a server that reports none.
const NO_VERSION: &str = "0.0.0";

/// The version if it is a semantic version, or `0.0.0` otherwise.
fn semver(version: &str) -> &str {
    if is_semver(version) { version } else { NO_VERSION }
}

/// True if the core is three numbers with dots. The envelope's check validates the rest.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_not_semantic_becomes_0_0_0() {
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
