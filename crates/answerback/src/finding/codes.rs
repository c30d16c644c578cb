//! Explains every code. `answerback explain` and the reference in `docs/codes.md` print this table.

use super::{Severity, val};
use crate::contract::{Profile, atdf, governed, tool, ui};
use crate::governance::{handoff, lock, manifest, verify};

/// A rule with its code and explanation. Each contract defines its rules in its `check.rs`.
#[derive(Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "rules are constants of this crate")]
pub struct Rule {
    /// The stable code, such as `TOOL-004`.
    pub code: &'static str,
    /// The severity of breaking the rule under the strict profile.
    pub severity: Severity,
    /// The severity of breaking the rule under the lenient profile, if it is lower.
    pub lenient: Severity,
    /// The rule in one line, as a statement that is true for a valid document.
    pub title: &'static str,
    /// The reason for the rule, and the damage that breaking it does.
    pub reason: &'static str,
    /// The way to fix a document that breaks the rule.
    pub remedy: &'static str,
}

impl Rule {
    /// Returns the severity of breaking this rule under a profile.
    pub const fn severity_under(&self, profile: Profile) -> Severity {
        match profile {
            Profile::Strict => self.severity,
            Profile::Lenient => self.lenient,
        }
    }
}

/// Declares rules: `NAME = "CODE", severity [/ lenient severity], "title", "reason", "remedy";` and a
/// table `RULES` of them all.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $severity:ident $(/ $lenient:ident)?, $title:literal, $reason:literal, $remedy:literal;)+) => {
        $(
            $(#[$doc])*
            // The title is marked as code, because titles contain the names of members.
            #[doc = concat!("`", $title, "`")]
            pub static $name: $crate::finding::Rule = $crate::finding::Rule {
                code: $code,
                severity: $crate::finding::Severity::$severity,
                lenient: $crate::finding::codes::rules!(@lenient $severity $($lenient)?),
                title: $title,
                reason: $reason,
                remedy: $remedy,
            };
        )+
        /// All rules of this table, ordered by code.
        pub static RULES: &[&$crate::finding::Rule] = &[$(&$name),+];
    };
    (@lenient $severity:ident) => { $crate::finding::Severity::$severity };
    (@lenient $severity:ident $lenient:ident) => { $crate::finding::Severity::$lenient };
}
pub(crate) use rules;

rules! {
    DUPLICATE_NAME = "DOC-001", Error,
        "A name stands once in an object",
        "Readers keep the first, the last or both: two of them can understand one signed document differently.",
        "Remove or rename the member that is not meant.";
    INTEGER_TOO_LARGE = "DOC-002", Error,
        "An integer fits 64 bits",
        "Most readers hold integers as 64 bits or as doubles and round the rest without saying so.",
        "Send the number as a string, or as a decimal with an exponent if rounding does no harm.";
    DIGITS_LOST = "DOC-003", Warning,
        "A number has at most 17 significant digits",
        "A double keeps no more; what is written on is not what was read.",
        "Round the number, or send it as a string.";
    UNREADABLE = "DOC-004", Error,
        "A document that passes its check can be read",
        "Check and reader disagree about this document, which is a mistake of ours.",
        "Please report it, with the document if it can be shown.";
    TOO_DEEP = "DOC-005", Error,
        "A document that we write is nested no deeper than JSON readers accept",
        "Common readers reject 128 levels of arrays and objects, and the messages that carry a document add some.",
        "Nest the data less deeply, or send it as a string of JSON.";
}

/// Iterates over all rules, table by table.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        RULES,
        val::RULES,
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
