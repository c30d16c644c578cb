//! The three ATDF validators as tools. The library contains their rules.

use std::borrow::Cow;

use answerback::Timestamp;
use answerback::contract::atdf::EnrichedResponse;
use answerback::contract::atdf::validators::{
    DateLimits, validate_date_range, validate_email, validate_password_strength,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::call::BuiltinCallError;
use crate::tools::definition::{BuiltinToolDefinition, atdf_schema};

/// The longest text that is validated. The schemas have no `format`, because validating the format is the tools' job.
const MAX_LENGTH: u32 = 1024;

/// A validator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Validator {
    DateRange,
    Email,
    PasswordStrength,
}

#[derive(Deserialize)]
struct DateRangeArguments {
    start_date: String,
    end_date: String,
    #[serde(default)]
    enforce_limits: bool,
}

#[derive(Deserialize)]
struct EmailArguments {
    email: String,
}

#[derive(Deserialize)]
struct PasswordArguments {
    password: String,
}

impl Validator {
    pub(crate) fn run(
        self,
        arguments: &Value,
        now: Timestamp,
    ) -> Result<EnrichedResponse, BuiltinCallError> {
        Ok(match self {
            Self::DateRange => {
                let DateRangeArguments { start_date, end_date, enforce_limits } =
                    DateRangeArguments::deserialize(arguments)?;
                let limits =
                    if enforce_limits { DateLimits::Enforced } else { DateLimits::Advised };
                validate_date_range(&start_date, &end_date, limits, now)
            }
            Self::Email => validate_email(&EmailArguments::deserialize(arguments)?.email, now),
            Self::PasswordStrength => {
                let PasswordArguments { password } = PasswordArguments::deserialize(arguments)?;
                validate_password_strength(&password, now)
            }
        })
    }

    /// Returns the arguments in a form that an error may repeat. An unknown member of the password tool may be the
    /// password itself. So such members lose their names, and arguments that are not an object lose their value.
    pub(crate) fn repeatable(self, arguments: &Value) -> Cow<'_, Value> {
        match (self, arguments) {
            (Self::PasswordStrength, Value::Object(members)) => {
                let shown = members.iter().enumerate().map(|(index, (name, value))| {
                    let is_known = name == "password";
                    let name =
                        if is_known { name.clone() } else { format!("unknown_{}", index + 1) };
                    (name, value.clone())
                });
                Cow::Owned(Value::Object(shown.collect()))
            }
            (Self::PasswordStrength, Value::String(_)) => Cow::Owned("(not shown)".into()),
            (Self::PasswordStrength, Value::Number(_)) => Cow::Owned(0.into()),
            (Self::PasswordStrength, Value::Array(_)) => Cow::Owned(json!([])),
            _ => Cow::Borrowed(arguments),
        }
    }

    pub(crate) fn definition(self) -> BuiltinToolDefinition {
        match self {
            Self::DateRange => BuiltinToolDefinition::new(
                "validate_date_range",
                "Validate a date range",
                "Checks that a start lies before an end and that both lie in the future. Use it before booking or \
                 scheduling. A range that is not good is answered with every condition, which of them failed, a \
                 range that would be good, and steps to mend it.",
                json!({
                    "type": "object",
                    "properties": {
                        "start_date": {
                            "type": "string",
                            "maxLength": MAX_LENGTH,
                            "description": "When the range starts: ISO 8601 with a time and a UTC offset.",
                            "examples": ["2030-01-01T09:00:00Z", "2030-01-01T09:00:00+01:00"],
                        },
                        "end_date": {
                            "type": "string",
                            "maxLength": MAX_LENGTH,
                            "description": "When the range ends: ISO 8601 with a time and a UTC offset.",
                            "examples": ["2030-01-15T18:00:00Z"],
                        },
                        "enforce_limits": {
                            "type": "boolean",
                            "default": false,
                            "description": "Whether the advised limits count too: a start at least one day and an \
                                            end at most 365 days from now.",
                        },
                    },
                    "required": ["start_date", "end_date"],
                    "additionalProperties": false,
                }),
                atdf_schema(),
            ),
            Self::Email => BuiltinToolDefinition::new(
                "validate_email",
                "Validate an e-mail address",
                "Checks the form and the length of an e-mail address; it sends nothing. An address that is not good \
                 is answered with what was expected and examples.",
                json!({
                    "type": "object",
                    "properties": {
                        "email": {
                            "type": "string",
                            "maxLength": MAX_LENGTH,
                            "description": "The address to judge, as it was given.",
                            "examples": ["user@example.com"],
                        },
                    },
                    "required": ["email"],
                    "additionalProperties": false,
                }),
                atdf_schema(),
            ),
            Self::PasswordStrength => BuiltinToolDefinition::new(
                "validate_password_strength",
                "Validate a password's strength",
                "Judges how strong a password is: length, upper and lower case, a number, a special character. The \
                 password is never repeated in the answer.",
                json!({
                    "type": "object",
                    "properties": {
                        "password": {
                            "type": "string",
                            "format": "password",
                            "writeOnly": true,
                            "maxLength": MAX_LENGTH,
                            "description": "The password to judge. It is neither kept nor repeated.",
                        },
                    },
                    "required": ["password"],
                    "additionalProperties": false,
                }),
                atdf_schema(),
            ),
        }
    }
}
