use crate::Profile;
use crate::validation_error::Severity;

/// A rule with its code and explanation. Each contract defines its rules in the `check.rs` or `rule.rs` of its folder;
/// `call_codes` defines those of tool calls.
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
#[doc(hidden)]
#[macro_export]
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $severity:ident $(/ $lenient:ident)?, $title:literal, $reason:literal, $remedy:literal;)+) => {
        $(
            $(#[$doc])*
            // The title is marked as code, because titles contain the names of members.
            #[doc = concat!("`", $title, "`")]
            pub static $name: $crate::Rule = $crate::Rule {
                code: $code,
                severity: $crate::Severity::$severity,
                lenient: $crate::rules!(@lenient $severity $($lenient)?),
                title: $title,
                reason: $reason,
                remedy: $remedy,
            };
        )+
        /// All rules of this table, ordered by code.
        pub static RULES: &[&$crate::Rule] = &[$(&$name),+];
    };
    (@lenient $severity:ident) => { $crate::Severity::$severity };
    (@lenient $severity:ident $lenient:ident) => { $crate::Severity::$lenient };
}
