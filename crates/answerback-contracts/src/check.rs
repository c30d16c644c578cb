use answerback_findings::{Profile, ValidationError};
use answerback_json::Timestamp;
use serde_json::Value;

use crate::governance::{handoff, lock, manifest};
use crate::kind::Contract;
use crate::{atdf, governed, tool, ui};

impl Contract {
    /// Checks that the timestamp of a document is not in the future. The caller passes in the current time.
    /// Only governed responses and handoffs are checked, because they are ordered by their timestamps.
    pub fn check_time(self, document: &Value, now: Timestamp) -> Option<ValidationError> {
        let rule = match self {
            Self::Governed => &governed::rule::TIMESTAMP_FUTURE,
            Self::Handoff => &handoff::rule::TIMESTAMP_FUTURE,
            _ => return None,
        };
        governed::check::preamble::not_in_the_future(rule, document, now)
    }

    /// Checks a document and returns every finding. The document is valid if no finding is an error.
    pub fn check(self, document: &Value, profile: Profile) -> Vec<ValidationError> {
        match self {
            Self::Atdf => atdf::check(document, profile),
            Self::Governed => governed::check(document, profile),
            Self::Ui => ui::check(document, profile),
            Self::Tool => tool::check(document, profile),
            Self::Descriptor => atdf::descriptor::check(document, profile),
            Self::Handoff => handoff::check(document, profile),
            Self::Manifest => manifest::check(document, profile),
            Self::Lock => lock::check(document, profile),
        }
    }
}
