use std::fmt;

/// One kind of mistake in a text, at the first place where it was made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Mistake {
    /// What was done.
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

/// Declares the kinds: `Name, effect, "what was done and what to do instead";`. The effect is what the
/// mistake does to the reading: `safe` leaves no doubt, `guess` leaves some, `none` leaves no reading.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $(($within:ident))?, $effect:ident, $text:literal;)+) => {
        /// What a text does that JSON does not allow. [`fmt::Display`] says it to the model.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[non_exhaustive]
        pub enum MistakeKind {
            $($(#[$doc])* $name $((kinds!(@type $within)))?,)+
        }

        impl MistakeKind {
            /// What is left of the reading after this mistake.
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

/// What a mistake leaves of the reading.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum MistakeEffect {
    /// Only one reading is possible.
    Safe,
    /// The reading is likely, and another is possible.
    Guess,
    /// Any reading would be invented.
    Unreadable,
}

kinds! {
    /// `{'a': 'b'}`
    SingleQuotes, safe, "names and strings stand in single quotes; use double quotes";
    /// `{“a”: “b”}`, or back-ticks.
    OddQuotes, safe, "names or strings stand in typographic quotes or back-ticks; use the plain double quote";
    /// `{\"a\": 1}`
    EscapedQuotes, safe, "the quotes around names and strings are escaped; write them without the backslash";
    /// `True`, `False`, `None`, `u'text'`.
    PythonLiteral, safe, "a Python literal; write true, false or null, and plain strings";
    /// `undefined`
    Undefined, guess, "undefined is not JSON; leave the member out, or write null";
    /// `NaN`, `Infinity`
    NotANumber, none, "JSON has no NaN or Infinity; send a number, or null where the schema allows it";
    /// `1/6`: perhaps arithmetic, perhaps a ratio.
    Expression, none, "an expression instead of a value; compute it and send the number, or quote it if it is a text";
    /// `6 * 12 + 2`: surely arithmetic.
    Computation, guess, "arithmetic instead of a number; compute it and send the number";
    /// `data["x"]`, `date(2024, 1, 1)`
    Code, none, "program code instead of a value; send the value itself";
    /// `"a" + "b"`
    JoinedStrings, guess, "strings joined by '+'; send one string";
    /// `+1`, `.5`, `1.`, `0x1F`, `1_000`
    NumberForm, safe, "a number in a form JSON does not have; write plain decimal digits, such as 0.5 or 1000";
    /// `007`
    LeadingZero, guess, "a number with leading zeros; drop them, or quote it if it is not a quantity";
    /// `1,000`
    ThousandsSeparator, none, "a number with thousands separators; write the digits without commas";
    /// `123456789012345678901`
    RoundedNumber, guess, "an integer over 64 bits, which readers round; send it as a string";
    /// `1e999`
    NumberOutOfRange, none, "a number out of range; a double ends at about 1.8e308";
    /// `{a: 1}`
    UnquotedName, safe, "a member name without quotes; put it in double quotes";
    /// `{"a": b}`
    UnquotedString, guess, "a string without quotes; put it in double quotes";
    /// A quote is missing, or one too many, at one end of a string.
    UnbalancedQuote, guess, "a string whose quotes are not a pair; open and close it with one double quote each";
    /// `"say "hi" now"`
    UnescapedQuote, guess, "a quote inside a string; write it as \\\"";
    /// `"""text"""`
    TripleQuotes, safe, "a triple-quoted string; use one double quote at each end, and \\n for line breaks";
    /// A line break or another control character within a string.
    ControlCharacter, safe, "a raw line break, tab or control character inside a string; write it as \\n, \\t or \\u00XX";
    /// `\'`, `\x41`: escapes of other languages.
    ForeignEscape, safe, "an escape JSON does not have; allowed are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX";
    /// `C:\Users`, `\d`.
    InvalidEscape, guess, "a backslash that starts no JSON escape; write a backslash as \\\\";
    /// `\ud800` without its other half. Nobody but the model knows the character.
    LoneSurrogate, none, "half of a surrogate pair, which is no character; write both halves, or the character itself";
    /// `[1, 2,]`, `[1,,2]`
    ExtraComma, safe, "a comma with nothing after it; remove it";
    /// `[1 "a"]`
    MissingComma, guess, "a comma is missing between two members or elements";
    /// `{"a" 1}`, `{"a" = 1}`
    MissingColon, guess, "a ':' is missing between a name and its value";
    /// `{"a": }`
    MissingValue, none, "a member without a value; give it one, or leave the member out";
    /// `{"a": 1, ["b"]}`
    MissingName, none, "a value without a name inside an object; every member is \"name\": value";
    /// `{"a": [1, 2}`
    MissingBracket, guess, "a closing bracket is missing; every {{ needs its }} and every [ its ]";
    /// `{"a": 1}, "b": 2}`
    MisplacedBracket, guess, "a closing bracket that closes nothing, or too early";
    /// `{"a": 1}}`
    ExtraBracket, safe, "a closing bracket too many at the end";
    /// `(1, 2)`
    Tuple, safe, "round brackets; a JSON array stands in square brackets";
    /// `{"a", "b"}`
    Set, guess, "an object without values; a JSON array stands in square brackets";
    /// `["a": 1]`
    MembersInArray, guess, "named members inside an array; put them in an object with curly brackets";
    /// `// …`, `/* … */`, `# …`
    Comment, safe, "a comment; JSON has none";
    /// `[1, 2, ...]`
    Ellipsis, guess, "an ellipsis in place of data; write everything out";
    /// Words between members.
    StrayText, guess, "text that belongs to no member; remove it";
    /// ```` ```json … ``` ````
    CodeFence, safe, "a code fence around the JSON; send the JSON alone";
    /// `<tool_call> … </tool_call>`
    Tag, safe, "tags around the JSON; send the JSON alone";
    /// Prose before the JSON.
    LeadingText, safe, "text before the JSON; send the JSON alone";
    /// Prose after the JSON.
    TrailingText, safe, "text after the end of the JSON; send the JSON alone";
    /// `{…} {…}`
    SecondValue, guess, "a second value after the first; send one call with one object at a time";
    /// The text stops in the middle: something is missing that nobody but the model knows.
    Truncated(within), none, "the text ends within {within}; finish it, or send less";
    /// The text stops after a whole value: perhaps only brackets are missing.
    Unclosed(within), guess, "the text ends before {within} is closed; finish it, or send less";
    /// `{"a": 1, "a": 1}`
    RepeatedName, safe, "a name stands twice in one object; send it once";
    /// `{"a": 1, "a": 2}`
    ConflictingName, none, "a name stands twice in one object with different values; send it once";
    /// No value can be found.
    NoValue, none, "no JSON in the text; send one JSON object";
    /// Deeper, longer or larger than we read.
    OverLimit, none, "nested too deep, or too large to be read; send less";
    /// Anything else the strict reader refuses.
    Other, guess, "a character JSON does not allow here";
}
