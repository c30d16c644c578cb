//! Describes the current state of one server behind the gateway.

use crate::envelope_cache::EnvelopeCache;
use crate::tool_metrics::ToolMetrics;
use crate::{Pins, Toolbox};

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
    pub(crate) metrics: ToolMetrics,
    /// The cache of envelopes for results without findings.
    pub(crate) envelope_cache: EnvelopeCache,
}

impl Upstream {
    /// Creates a server with this name and these tools.
    pub fn new(name: impl Into<String>, version: Option<&str>, tools: Toolbox) -> Self {
        let version = version.map_or(DEFAULT_VERSION, version_or_default).to_owned();
        let name = name.into();
        let metrics = ToolMetrics::new(&name, &tools);
        let envelope_cache = EnvelopeCache::default();
        Self { name, version, tools, pins: None, metrics, envelope_cache }
    }

    /// Sets the pinned tool definitions.
    #[must_use]
    pub fn with_pins(mut self, pins: impl Into<Option<Pins>>) -> Self {
        self.pins = pins.into();
        self
    }

    /// Returns true if the server reports this version.
    pub(crate) fn has_version(&self, version: &str) -> bool {
        self.version == version_or_default(version)
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
const DEFAULT_VERSION: &str = "0.0.0";

/// Returns the version if it is a semantic version, or `0.0.0`.
fn version_or_default(version: &str) -> &str {
    if is_semantic_version(version) { version } else { DEFAULT_VERSION }
}

/// Returns true if the core is three numbers with dots. The envelope's check validates the rest.
fn is_semantic_version(version: &str) -> bool {
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
    fn other_versions_become_the_default_version() {
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
