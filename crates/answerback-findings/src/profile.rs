/// The strictness of a check.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the contracts define two profiles")]
pub enum Profile {
    /// Checks to the letter. Everything that this library writes passes this profile.
    #[default]
    Strict,
    /// Follows common practice: a violation that the contracts tolerate is a warning.
    Lenient,
}
