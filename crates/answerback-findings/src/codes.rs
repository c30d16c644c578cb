//! Defines the rules that hold for every document, whatever its contract: the `DOC-…` codes.

crate::rules! {
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
