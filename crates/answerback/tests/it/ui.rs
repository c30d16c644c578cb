//! The UI envelope from outside: check, reader, writer and JSON Schema agree about every document of the
//! rules' table.

use answerback::contract::ui::{ResponseEnvelope, validate_response_envelope};
use answerback::contract::{Contract, Profile};
use answerback::finding::ValidationError;
use serde_json::Value;

use crate::rules::{good_documents, spoiled_documents};

fn is_valid(document: &Value, profile: Profile) -> bool {
    !Contract::Ui.check(document, profile).iter().any(ValidationError::is_error)
}

#[test]
fn whatever_the_lenient_check_passes_is_read_and_written_again() {
    let mut read = 0;
    for (name, document) in
        spoiled_documents(Contract::Ui).into_iter().chain(good_documents(Contract::Ui))
    {
        let envelope = ResponseEnvelope::from_document(&document);
        assert_eq!(envelope.is_ok(), is_valid(&document, Profile::Lenient), "{name}: {envelope:?}");
        let Ok(envelope) = envelope else { continue };
        let written = envelope.to_document();
        assert_eq!(ResponseEnvelope::from_document(&written).as_ref(), Ok(&envelope), "{name}");
        // Writing mends counts and fills in what was left out; it takes nothing away.
        let again = ResponseEnvelope::from_document(&written).unwrap().to_document();
        assert_eq!(again, written, "{name}");
        if is_valid(&document, Profile::Strict) {
            assert_eq!(validate_response_envelope(&written), Ok(()), "{name}");
            assert!(holds(&written, &document), "{name}: {written} lost something of {document}");
        }
        read += 1;
    }
    assert!(read > 40, "only {read} documents could be read");
}

/// Whether `written` has all that `document` has. Times may be written in another form.
fn holds(written: &Value, document: &Value) -> bool {
    match (written, document) {
        (Value::Object(written), Value::Object(document)) => document
            .iter()
            .all(|(name, value)| written.get(name).is_some_and(|written| holds(written, value))),
        (Value::Array(written), Value::Array(document)) => {
            written.len() == document.len()
                && written.iter().zip(document).all(|(written, document)| holds(written, document))
        }
        (Value::String(written), Value::String(document)) => {
            let time = |text| answerback::Timestamp::parse(text).map(|(time, _)| time);
            written == document || time(written).is_ok_and(|one| time(document) == Ok(one))
        }
        _ => written == document,
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::*;

    fn validator() -> jsonschema::Validator {
        let schema = schemars::schema_for!(ResponseEnvelope);
        jsonschema::validator_for(schema.as_value())
            .unwrap_or_else(|error| panic!("the schema does not compile: {error}"))
    }

    #[test]
    fn accepts_every_good_document_and_what_we_write() {
        let validator = validator();
        for (name, document) in good_documents(Contract::Ui) {
            let written = ResponseEnvelope::from_document(&document).unwrap().to_document();
            for document in [document, written] {
                let error = validator.validate(&document).err().map(|error| error.to_string());
                assert_eq!(error, None, "{name}");
            }
        }
    }

    #[test]
    fn refuses_what_a_schema_can_refuse_and_nothing_that_is_valid() {
        let validator = validator();
        let (mut refused, mut passed) = (0, Vec::new());
        for (name, document) in spoiled_documents(Contract::Ui) {
            let accepts = validator.is_valid(&document);
            if is_valid(&document, Profile::Strict) {
                assert!(accepts, "{name}: only a warning");
            } else if accepts {
                passed.push(name);
            } else {
                refused += 1;
            }
        }
        // What is left compares two places, counts, or needs a calendar.
        insta::assert_snapshot!(passed.join("\n"), @"
        the 30th of February
        row_count is wrong
        column_count is wrong
        section_count is wrong
        line_count is wrong
        event_count is wrong
        a short row
        a long row
        start_time is another time
        end_time is null in spite of events
        start_time without events
        ");
        assert!(refused > 60, "only {refused} refused");
    }
}
