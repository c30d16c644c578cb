//! Explains every code. `answerback explain` and the reference in `docs/codes.md` print this table.

use answerback_findings::{Rule, call_codes, codes};

use crate::governance::{handoff, lock, manifest, verify};
use crate::{atdf, governed, tool, ui};

/// Iterates over all rules, table by table.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        codes::RULES,
        call_codes::RULES,
        atdf::RULES,
        atdf::descriptor::RULES,
        governed::RULES,
        verify::rule::RULES,
        handoff::rule::RULES,
        manifest::rule::RULES,
        lock::rule::RULES,
        ui::RULES,
        tool::RULES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Returns the rule with this code, ignoring case.
pub fn find(code: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.code.eq_ignore_ascii_case(code))
}
