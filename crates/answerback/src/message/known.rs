use std::sync::OnceLock;

use serde_json::Value;

use super::schema::Part;
use crate::finding::{Aggregate, ValidationError};

/// What entries, hints and the call to action ask about each finding that is shown, worked out once.
#[derive(Debug)]
pub(super) struct Known<'a>(Vec<KnownFinding<'a>>);

#[derive(Debug)]
pub(super) struct KnownFinding<'a> {
    finding: &'a ValidationError,
    /// The part of the schema that it is about.
    pub(super) part: Option<Part<'a>>,
    /// The field that was probably meant by an unknown one, once somebody asked.
    pub(super) meant_field: OnceLock<Option<String>>,
}

impl<'a> Known<'a> {
    pub(super) fn of(aggregate: &Aggregate<'a>, schema: Option<&'a Value>) -> Self {
        let known = aggregate.groups.iter().map(|group| KnownFinding {
            finding: group.finding,
            part: Part::of(group.finding, schema),
            meant_field: OnceLock::new(),
        });
        Self(known.collect())
    }

    /// What is known of this very finding.
    pub(super) fn find(&self, finding: &ValidationError) -> Option<&KnownFinding<'a>> {
        self.0.iter().find(|known| std::ptr::eq(known.finding, finding))
    }
}
