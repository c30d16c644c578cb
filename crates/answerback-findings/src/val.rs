//! Defines the ten codes for a tool call that does not match its schema.

use crate::rules;

rules! {
    REQUIRED_FIELD_MISSING = "VAL-001", Error,
        "Every required field is there",
        "The tool cannot run without it, and a value made up for it would be worse than none.",
        "Send the field. If its value is not known, ask for it.";
    TYPE_MISMATCH = "VAL-002", Error,
        "A value has the type its schema names",
        "A tool reads a number, a list or an object in different ways; \"5\" is not 5.",
        "Send the value as JSON of the expected type: no quotes around numbers, booleans, lists and objects, and no null for a field that may be left out.";
    CONSTRAINT_VIOLATION = "VAL-003", Error,
        "A value keeps to the bounds of its schema",
        "Values outside the minimum, the maximum or another bound are refused or misread by the tool.",
        "Choose a value within the bounds named in the finding.";
    INVALID_JSON = "VAL-004", Error,
        "The arguments are one JSON value",
        "Text that is not JSON, or holds a name twice, can be read in several ways; guessing would run the tool with arguments nobody chose.",
        "Send one JSON object: double quotes, no comments, no expressions, nothing before or after it.";
    UNKNOWN_FIELD = "VAL-005", Error,
        "Every field is one that the tool knows",
        "A field the tool does not know is most often a misspelt one, and would be dropped without a word.",
        "Rename the field to the one that was meant, or leave it out.";
    ARRAY_LENGTH_VIOLATION = "VAL-006", Error,
        "A list has a permitted number of items, each once where that is asked",
        "The tool handles only so many items at a time, or needs at least some.",
        "Send fewer items, or more only if the data is there; otherwise ask.";
    PATTERN_MISMATCH = "VAL-007", Error,
        "A text matches the pattern of its schema",
        "The pattern describes the only form in which the tool understands the text.",
        "Write the value in the form that the pattern describes.";
    INVALID_ENUM_VALUE = "VAL-008", Error,
        "A value is one of those permitted, and a tool one of those offered",
        "The set is closed: the tool has no meaning for any other value.",
        "Choose one of the values listed, spelt exactly as it is listed.";
    STRING_LENGTH_VIOLATION = "VAL-009", Error,
        "A text has a permitted length",
        "Texts are counted in Unicode characters; the tool cuts or refuses what is longer, and cannot use what is shorter.",
        "Shorten the text to the maximum, or give the full text where a minimum is asked.";
    FORMAT_VIOLATION = "VAL-010", Error,
        "A text has the format its schema names",
        "Dates, addresses, URIs and the like are parsed by the tool, and fail there if they are written in another way.",
        "Write the value in the named format; the finding shows an example of it.";
}
