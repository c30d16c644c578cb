//! Defines the rules that hold for every document, whatever its contract: the `DOC-…` codes.

crate::rules! {
    DUPLICATE_NAME = "DOC-001", Error,
        "Each name in an object is unique",
        "Readers use the first, the last or both, so two readers can understand one signed document differently.",
        "Remove or rename the member that is not intended.";
    INTEGER_TOO_LARGE = "DOC-002", Error,
        "An integer fits 64 bits",
        "Most readers store integers as 64 bits or as doubles and silently round larger ones.",
        "Send the number as a string, or as a decimal with an exponent if rounding does no harm.";
    DIGITS_LOST = "DOC-003", Warning,
        "A number has at most 17 significant digits",
        "A double stores no more digits, so the number changes when it is written again.",
        "Round the number, or send it as a string.";
    UNREADABLE = "DOC-004", Error,
        "A document that passes its check can be read",
        "The check and the reader disagree about this document, which is a bug in Answerback.",
        "Please report it, with the document if you can share it.";
    TOO_DEEP = "DOC-005", Error,
        "A written document is nested no deeper than JSON readers accept",
        "Common readers reject 128 levels of arrays and objects, and the messages that carry a document add some.",
        "Nest the data less deeply, or send it as a string of JSON.";
}
