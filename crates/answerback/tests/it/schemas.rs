//! The published JSON Schemas and the checks agree: what is good passes both, what a schema refuses is not valid.

use answerback::contract::{Contract, Profile};
use answerback::schema;
use serde_json::Value;

use crate::rules::{good_documents, spoiled_documents};

fn published(contract: Contract) -> jsonschema::Validator {
    let schema = schema::ALL.iter().find(|schema| schema.name == contract.as_str()).unwrap();
    jsonschema::options().should_validate_formats(true).build(&schema.document()).unwrap()
}

#[test]
fn good_documents_pass_their_schema() {
    for contract in Contract::ALL {
        let validator = published(contract);
        for (name, document) in good_documents(contract) {
            let errors: Vec<String> =
                validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{contract}: {name}: {errors:?}");
        }
    }
}

#[test]
fn a_schema_refuses_nothing_that_is_strictly_valid() {
    for contract in Contract::ALL {
        let validator = published(contract);
        let (mut caught, mut broken) = (0, 0);
        for (name, document) in spoiled_documents(contract) {
            let valid = !contract
                .check(&document, Profile::Strict)
                .iter()
                .any(answerback::ValidationError::is_error);
            let passes = validator.is_valid(&document);
            assert!(
                !valid || passes,
                "{contract}: {name}: valid, but its schema refuses it: {document}"
            );
            broken += usize::from(!valid);
            caught += usize::from(!valid && !passes);
        }
        // A schema cannot say everything; one that says little would be no use.
        assert!(caught * 10 >= broken * 6, "{contract}: the schema catches {caught} of {broken}");
    }
}

#[test]
fn schemas_say_who_they_are() {
    for schema in schema::ALL {
        let document: Value = schema.document();
        assert_eq!(
            document["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{}",
            schema.name
        );
        assert!(
            document["$id"]
                .as_str()
                .unwrap()
                .ends_with(&format!("/{}.v1.schema.json", schema.name))
        );
    }
}
