//! The ten codes of the retry contract.

use crate::finding::codes::rules;

rules! {
    REQUIRED = "VAL-001", Error,
        "A required field is present",
        "The tool cannot do its work without it, or without it beside another field.",
        "Add the field with a value of the expected kind.";
    TYPE = "VAL-002", Error,
        "A value has the type its schema names",
        "A tool reads a value by its type: the text \"5\" is not the number 5.",
        "Send the value as the expected type.";
    CONSTRAINT = "VAL-003", Error,
        "A value keeps the bounds and rules of its schema",
        "Bounds, multiples, forbidden and exclusive forms are checked here: every rule that has no code of its own.",
        "Choose a value within the rule that the message states.";
    SYNTAX = "VAL-004", Error,
        "The arguments are one JSON value in which a name stands once",
        "What is not JSON cannot be judged further, and a repeated name is read differently by different readers.",
        "Send one JSON object: names and texts in double quotes, numbers written out, nothing before or after it.";
    UNKNOWN = "VAL-005", Error,
        "Every field is known to the tool",
        "An unknown field is usually a misspelt one; a tool that ignores it does something else than was asked.",
        "Rename the field to a known one, or leave it out.";
    ARRAY = "VAL-006", Error,
        "An array has an allowed length and no forbidden repeats",
        "The tool takes only so many items, or each only once.",
        "Send the allowed number of items; do not invent any to reach a minimum.";
    PATTERN = "VAL-007", Error,
        "A text matches its pattern",
        "The tool takes this text apart by its form.",
        "Write the text in the form that the pattern describes.";
    ENUM = "VAL-008", Error,
        "A value is one of those listed",
        "The tool knows only these values.",
        "Choose one of the listed values, letter by letter.";
    LENGTH = "VAL-009", Error,
        "A text has an allowed length",
        "The tool stores or forwards only so much text.",
        "Shorten or complete the text.";
    FORMAT = "VAL-010", Error,
        "A text has the format its schema names",
        "Dates, addresses and identifiers are read by machines.",
        "Write the text in the named format.";
}
