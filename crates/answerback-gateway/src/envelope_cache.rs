//! Caches the envelopes of results without findings.
//!
//! For one tool they differ only in the time, the duration and the call's id. So the first envelope is built and
//! checked normally, and later ones fill these values into its text.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use answerback::contract::tool::EnvelopeResponse;
use answerback::{Timestamp, UuidV4};
use answerback_mcp::wire::splice;

/// Holds the values that differ between such envelopes. None of them can violate the contract.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnvelopeValues<'a> {
    pub(crate) now: Timestamp,
    pub(crate) duration_ms: u64,
    pub(crate) correlation_id: &'a UuidV4,
}

/// Caches envelope templates by tool and by the place of the result that they refer to.
#[derive(Debug, Default)]
pub(crate) struct EnvelopeCache {
    /// The template is `None` if the contract does not allow the tool's name. Only tools of the catalog are
    /// cached, so the size is limited.
    templates: RwLock<HashMap<String, HashMap<&'static str, Option<EnvelopeTemplate>>>>,
}

impl EnvelopeCache {
    /// Returns the text of an envelope, or `None` if the tool has none. The first one is built with `build`.
    pub(crate) fn text(
        &self,
        tool: &str,
        place: &'static str,
        values: EnvelopeValues<'_>,
        build: impl FnOnce() -> Option<EnvelopeResponse>,
    ) -> Option<String> {
        let templates = self.templates.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = templates.get(tool).and_then(|places| places.get(place)) {
            return template.as_ref().map(|template| template.text(values));
        }
        drop(templates);
        let text = build().map(|envelope| envelope.to_text());
        let template = text.as_deref().map(EnvelopeTemplate::of);
        // An envelope that cannot be split into a template is built each time.
        if !matches!(template, Some(None)) {
            let mut templates = self.templates.write().unwrap_or_else(PoisonError::into_inner);
            templates.entry(tool.to_owned()).or_default().insert(place, template.flatten());
        }
        text
    }
}

#[derive(Clone, Copy, Debug)]
enum TemplateGap {
    Timestamp,
    Duration,
    Correlation,
}

/// Holds the text of an envelope with gaps.
#[derive(Debug)]
struct EnvelopeTemplate {
    /// The text pieces, each with the gap after it.
    pieces: Vec<(String, TemplateGap)>,
    end: String,
}

impl EnvelopeTemplate {
    fn of(text: &str) -> Option<Self> {
        let place = |name: &str, gap: TemplateGap| {
            Some((splice::range_of(text, splice::at(text, &["audit", name])?), gap))
        };
        let mut gaps = [
            place("timestamp", TemplateGap::Timestamp)?,
            place("duration_ms", TemplateGap::Duration)?,
            place("correlation_id", TemplateGap::Correlation)?,
        ];
        gaps.sort_by_key(|(place, _)| place.start);
        let mut from = 0;
        let mut pieces = Vec::new();
        for (place, gap) in gaps {
            pieces.push((text[from..place.start].to_owned(), gap));
            from = place.end;
        }
        Some(Self { pieces, end: text[from..].to_owned() })
    }

    fn text(&self, values: EnvelopeValues<'_>) -> String {
        let mut text = String::with_capacity(512);
        for (piece, gap) in &self.pieces {
            text.push_str(piece);
            match gap {
                TemplateGap::Timestamp => quote(&mut text, &values.now.to_utc_seconds()),
                TemplateGap::Duration => text.push_str(&values.duration_ms.to_string()),
                TemplateGap::Correlation => quote(&mut text, values.correlation_id.as_str()),
            }
        }
        text.push_str(&self.end);
        text
    }
}

/// Writes a text that needs no escaping as a JSON string.
fn quote(text: &mut String, plain: &str) {
    text.push('"');
    text.push_str(plain);
    text.push('"');
}

#[cfg(test)]
mod tests {
    use answerback::contract::tool::{EnvelopeBuilder, McpHost};

    use super::*;

    #[test]
    fn a_cached_envelope_equals_a_built_one() {
        let cache = EnvelopeCache::default();
        for (millis, duration_ms, byte) in
            [(1_767_362_220_000, 0, 7), (0, 18_446_744_073_709, 9), (1_800_000_000_999, 12, 255)]
        {
            let now = Timestamp::from_unix_millis(millis);
            let correlation_id = UuidV4::from_random([byte; 16]);
            for (tool, host) in [("read", None), ("solution.info", McpHost::detect(|_| true))] {
                let build = || {
                    EnvelopeBuilder::new(tool, "1.2.3")
                        .summary(format!("{tool} ran."))
                        // The same names outside of the audit are not gaps.
                        .data("audit", serde_json::json!({"timestamp": 1, "duration_ms": 2}))
                        .source("upstreams/\"quoted\"")
                        .duration_ms(duration_ms)
                        .host(host)
                        .correlation_id(correlation_id.as_str())
                        .build(now)
                        .ok()
                };
                let values = EnvelopeValues { now, duration_ms, correlation_id: &correlation_id };
                let text = cache.text(tool, "/content", values, build);
                assert_eq!(text, build().map(|envelope| envelope.to_text()), "{tool}");
                assert!(text.is_some());
            }
        }
    }

    #[test]
    fn a_missing_envelope_is_cached_too() {
        let cache = EnvelopeCache::default();
        let correlation_id = UuidV4::from_random([1; 16]);
        let now = Timestamp::from_unix_millis(0);
        let values = EnvelopeValues { now, duration_ms: 1, correlation_id: &correlation_id };
        assert_eq!(cache.text("no tool", "/content", values, || None), None);
        let again = || panic!("it is known that there is none");
        assert_eq!(cache.text("no tool", "/content", values, again), None);
    }
}
