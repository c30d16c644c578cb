//! Defines the ten codes for a tool call that does not match its schema.

use crate::rules;

rules! {
    REQUIRED_FIELD_MISSING = "VAL-001", Error,
        "Every required field is present",
        "The tool cannot run without it, and an invented value would be worse than none.",
        "Send the field. If its value is not known, ask for it.";
    TYPE_MISMATCH = "VAL-002", Error,
        "A value has the type of its schema",
        "A tool reads a number, a list or an object in different ways; \"5\" is not 5.",
        "Send the value as JSON of the expected type: no quotes around numbers, booleans, lists and objects, and no null for a field that may be left out.";
    CONSTRAINT_VIOLATION = "VAL-003", Error,
        "A value is within the bounds of its schema",
        "The tool rejects or misreads values outside the minimum, the maximum or another bound.",
        "Choose a value within the bounds named in the finding.";
    INVALID_JSON = "VAL-004", Error,
        "The arguments are one JSON value",
        "Text that is not JSON, or repeats a name, is ambiguous. A guess would run the tool with unintended arguments.",
        "Send one JSON object: double quotes, no comments, no expressions, nothing before or after it.";
    UNKNOWN_FIELD = "VAL-005", Error,
        "The tool knows every field",
        "An unknown field is usually misspelled, and the tool would silently ignore it.",
        "Rename the field to the intended one, or leave it out.";
    ARRAY_LENGTH_VIOLATION = "VAL-006", Error,
        "A list has a permitted number of items, without duplicates if they must be unique",
        "The tool handles only so many items at a time, or needs at least some.",
        "Send fewer items, or more only if the data is there; otherwise ask.";
    PATTERN_MISMATCH = "VAL-007", Error,
        "A text matches the pattern of its schema",
        "The pattern describes the only form that the tool accepts.",
        "Write the value in the form that the pattern describes.";
    INVALID_ENUM_VALUE = "VAL-008", Error,
        "A value is a permitted one, and a tool is an offered one",
        "The tool accepts no other value.",
        "Choose one of the listed values, spelled exactly as listed.";
    STRING_LENGTH_VIOLATION = "VAL-009", Error,
        "A text has a permitted length",
        "The length counts Unicode characters. The tool truncates or rejects longer texts, and cannot use shorter ones.",
        "Shorten the text to the maximum, or write the full text if there is a minimum.";
    FORMAT_VIOLATION = "VAL-010", Error,
        "A text has the format of its schema",
        "The tool parses dates, addresses, URIs and similar texts, and fails on any other form.",
        "Write the value in the named format; the finding shows an example of it.";
}
