use std::sync::OnceLock;

use answerback_findings::{Aggregate, ValidationError};
use serde_json::Value;

use super::CallFailure;
use super::schema::SchemaPart;

/// Caches what entries, hints and the call to action need about each displayed finding.
#[derive(Debug)]
pub(super) struct FindingCache<'a> {
    /// The schema that the cached data was computed from. A formatter may continue with another schema or
    /// other findings.
    schema: Option<&'a Value>,
    findings: &'a [ValidationError],
    shown: Vec<CachedFinding<'a>>,
}

#[derive(Debug)]
pub(super) struct CachedFinding<'a> {
    finding: &'a ValidationError,
    /// The part of the schema that it is about.
    pub(super) part: Option<SchemaPart<'a>>,
    /// The field that was probably meant by an unknown one, computed on first use.
    pub(super) intended_field: OnceLock<Option<String>>,
}

impl<'a> FindingCache<'a> {
    pub(super) fn of(failure: &CallFailure<'a>, aggregate: &Aggregate<'a>) -> Self {
        let CallFailure { schema, findings, .. } = *failure;
        let shown = aggregate.groups.iter().map(|group| CachedFinding {
            finding: group.finding,
            part: SchemaPart::of(group.finding, schema),
            intended_field: OnceLock::new(),
        });
        Self { schema, findings, shown: shown.collect() }
    }

    /// Returns the cached data of this finding of this failure.
    pub(super) fn find(
        &self,
        failure: &CallFailure<'_>,
        finding: &ValidationError,
    ) -> Option<&CachedFinding<'a>> {
        let schemas = [self.schema, failure.schema].map(|schema| schema.map(std::ptr::from_ref));
        let is_same = schemas[0] == schemas[1] && std::ptr::eq(self.findings, failure.findings);
        let mut shown = self.shown.iter().filter(|_| is_same);
        shown.find(|known| std::ptr::eq(known.finding, finding))
    }
}
