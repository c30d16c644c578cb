use std::fmt;

/// One kind of mistake in a text, at the first place where it was made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Mistake {
    /// The kind of mistake.
    pub kind: MistakeKind,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (line {}, column {})", self.kind, self.line, self.column)
    }
}

/// Declares the kinds: `Name, effect, "the mistake, and the correction";`. The effect says how the mistake affects
/// the reading. `safe` leaves no doubt, `guess` leaves some, and `none` leaves no reading.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $(($within:ident))?, $effect:ident, $text:literal;)+) => {
        /// A kind of mistake in a text that is not valid JSON. [`fmt::Display`] describes it to the model.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[non_exhaustive]
        pub enum MistakeKind {
            $($(#[$doc])* $name $((kinds!(@type $within)))?,)+
        }

        impl MistakeKind {
            /// Returns the effect of this mistake on the reading.
            pub(super) const fn effect(self) -> MistakeEffect {
                match self {
                    $(Self::$name $((kinds!(@ignore $within)))? => kinds!(@effect $effect),)+
                }
            }
        }

        impl fmt::Display for MistakeKind {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $(($within))? => write!(formatter, $text),)+
                }
            }
        }
    };
    (@type $within:ident) => { &'static str };
    (@ignore $within:ident) => { _ };
    (@effect safe) => { MistakeEffect::Safe };
    (@effect guess) => { MistakeEffect::Guess };
    (@effect none) => { MistakeEffect::Unreadable };
}

/// The effect of a mistake on the reading.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum MistakeEffect {
    /// Only one reading is possible.
    Safe,
    /// The reading is likely, but others are possible.
    Guess,
    /// Any reading would be invented.
    Unreadable,
}

kinds! {
    /// Names or strings are in single quotes: `{'a': 'b'}`.
    SingleQuotes, safe, "names and strings stand in single quotes; use double quotes";
    /// Names or strings are in typographic quotes or backticks: `{“a”: “b”}`.
    OddQuotes, safe, "names or strings stand in typographic quotes or back-ticks; use the plain double quote";
    /// The quotes are escaped: `{\"a\": 1}`.
    EscapedQuotes, safe, "the quotes around names and strings are escaped; write them without the backslash";
    /// The text contains a Python literal: `True`, `False`, `None`, `u'text'`.
    PythonLiteral, safe, "a Python literal; write true, false or null, and plain strings";
    /// The text contains JavaScript's `undefined`.
    Undefined, guess, "undefined is not JSON; leave the member out, or write null";
    /// The text contains `NaN` or `Infinity`.
    NotANumber, none, "JSON has no NaN or Infinity; send a number, or null where the schema allows it";
    /// The value is an expression that could be arithmetic or something else, such as a ratio: `1/6`.
    Expression, none, "an expression instead of a value; compute it and send the number, or quote it if it is a text";
    /// The value is certainly arithmetic: `6 * 12 + 2`.
    Computation, guess, "arithmetic instead of a number; compute it and send the number";
    /// The value is program code: `data["x"]`, `date(2024, 1, 1)`.
    Code, none, "program code instead of a value; send the value itself";
    /// Strings are joined by `+`: `"a" + "b"`.
    JoinedStrings, guess, "strings joined by '+'; send one string";
    /// A number has a form that JSON does not permit: `+1`, `.5`, `1.`, `0x1F`, `1_000`.
    NumberForm, safe, "a number in a form JSON does not have; write plain decimal digits, such as 0.5 or 1000";
    /// A number has leading zeros: `007`.
    LeadingZero, guess, "a number with leading zeros; drop them, or quote it if it is not a quantity";
    /// A number has thousands separators: `1,000`.
    ThousandsSeparator, none, "a number with thousands separators; write the digits without commas";
    /// An integer needs more than 64 bits: `123456789012345678901`.
    RoundedNumber, guess, "an integer over 64 bits, which readers round; send it as a string";
    /// A number is out of the range of a double: `1e999`.
    NumberOutOfRange, none, "a number out of range; a double ends at about 1.8e308";
    /// A member name has no quotes: `{a: 1}`.
    UnquotedName, safe, "a member name without quotes; put it in double quotes";
    /// A string has no quotes: `{"a": b}`.
    UnquotedString, guess, "a string without quotes; put it in double quotes";
    /// A quote is missing or doubled at one end of a string.
    UnbalancedQuote, guess, "a string whose quotes are not a pair; open and close it with one double quote each";
    /// A quote inside a string is not escaped: `"say "hi" now"`.
    UnescapedQuote, guess, "a quote inside a string; write it as \\\"";
    /// A string is triple-quoted: `"""text"""`.
    TripleQuotes, safe, "a triple-quoted string; use one double quote at each end, and \\n for line breaks";
    /// A string contains a raw line break or another control character.
    ControlCharacter, safe, "a raw line break, tab or control character inside a string; write it as \\n, \\t or \\u00XX";
    /// A string contains an escape of another language: `\'`, `\x41`.
    ForeignEscape, safe, "an escape JSON does not have; allowed are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX";
    /// A backslash does not start a valid escape: `C:\Users`, `\d`.
    InvalidEscape, guess, "a backslash that starts no JSON escape; write a backslash as \\\\";
    /// A surrogate such as `\ud800` lacks its other half. Only the model knows the intended character.
    LoneSurrogate, none, "half of a surrogate pair, which is no character; write both halves, or the character itself";
    /// There is an extra comma: `[1, 2,]`, `[1,,2]`.
    ExtraComma, safe, "a comma with nothing after it; remove it";
    /// A comma is missing: `[1 "a"]`.
    MissingComma, guess, "a comma is missing between two members or elements";
    /// A colon is missing: `{"a" 1}`, `{"a" = 1}`.
    MissingColon, guess, "a ':' is missing between a name and its value";
    /// A member has no value: `{"a": }`.
    MissingValue, none, "a member without a value; give it one, or leave the member out";
    /// A value inside an object has no name: `{"a": 1, ["b"]}`.
    MissingName, none, "a value without a name inside an object; every member is \"name\": value";
    /// A closing bracket is missing: `{"a": [1, 2}`.
    MissingBracket, guess, "a closing bracket is missing; every {{ needs its }} and every [ its ]";
    /// A closing bracket comes too early or has no opening one: `{"a": 1}, "b": 2}`.
    MisplacedBracket, guess, "a closing bracket that closes nothing, or too early";
    /// There is an extra closing bracket at the end: `{"a": 1}}`.
    ExtraBracket, safe, "a closing bracket too many at the end";
    /// An array is in parentheses: `(1, 2)`.
    Tuple, safe, "round brackets; a JSON array stands in square brackets";
    /// An object has names without values: `{"a", "b"}`.
    Set, guess, "an object without values; a JSON array stands in square brackets";
    /// An array contains named members: `["a": 1]`.
    MembersInArray, guess, "named members inside an array; put them in an object with curly brackets";
    /// The text contains a comment: `// …`, `/* … */`, `# …`.
    Comment, safe, "a comment; JSON has none";
    /// An ellipsis is in place of data: `[1, 2, ...]`.
    Ellipsis, guess, "an ellipsis in place of data; write everything out";
    /// There are words between members.
    StrayText, guess, "text that belongs to no member; remove it";
    /// The JSON is in a code fence: ```` ```json … ``` ````.
    CodeFence, safe, "a code fence around the JSON; send the JSON alone";
    /// The JSON is in tags: `<tool_call> … </tool_call>`.
    Tag, safe, "tags around the JSON; send the JSON alone";
    /// There is prose before the JSON.
    LeadingText, safe, "text before the JSON; send the JSON alone";
    /// There is prose after the JSON.
    TrailingText, safe, "text after the end of the JSON; send the JSON alone";
    /// A second value follows the first: `{…} {…}`.
    SecondValue, guess, "a second value after the first; send one call with one object at a time";
    /// The text is truncated, and only the model knows the missing part.
    Truncated(within), none, "the text ends within {within}; finish it, or send less";
    /// The text ends after a complete value, so perhaps only brackets are missing.
    Unclosed(within), guess, "the text ends before {within} is closed; finish it, or send less";
    /// A name is repeated with the same value: `{"a": 1, "a": 1}`.
    RepeatedName, safe, "a name stands twice in one object; send it once";
    /// A name is repeated with different values: `{"a": 1, "a": 2}`.
    ConflictingName, none, "a name stands twice in one object with different values; send it once";
    /// The text contains no JSON value.
    NoValue, none, "no JSON in the text; send one JSON object";
    /// The text exceeds a limit on depth, length or size.
    OverLimit, none, "nested too deep, or too large to be read; send less";
    /// The strict parser rejects the text for another reason.
    Other, guess, "a character JSON does not allow here";
}
