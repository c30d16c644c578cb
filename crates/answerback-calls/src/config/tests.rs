use serde_json::{Value, json};

use super::setting::SettingKind;
use super::settings::SETTINGS;
use super::*;
use crate::message::{Formatters, StandardFormatter};
use crate::retry::{Policies, WhileBlocked};

fn read(validation: &Value) -> Result<ValidationConfig, ConfigError> {
    ValidationConfig::from_value("f.yml", &json!({"tools": {"validation": validation}}))
}

#[test]
fn the_documents_numbers_are_the_defaults() {
    let config = ValidationConfig::from_value("f.yml", &Value::Null).unwrap();
    assert_eq!(config, ValidationConfig::default());
    let formatting = config.default.formatting;
    assert_eq!(config.default.retry.max_attempts(), 3);
    assert_eq!(formatting.max_message_length, 2000);
    assert_eq!((formatting.max_errors_shown, formatting.max_value_preview), (10, 100));
}

#[test]
fn a_tool_overrides_what_it_names() {
    let config = read(&json!({
        "retry": {"max_attempts": 2, "while_blocked": "allow_valid"},
        "overrides": {"write_file": {"retry": {"max_attempts": 5}, "strict": true}, "noop": null},
    }))
    .unwrap();
    let (usual, special) = (config.of("read_file"), config.of("write_file"));
    assert_eq!((usual.retry.max_attempts(), usual.strict), (2, false));
    assert_eq!((special.retry.max_attempts(), special.strict), (5, true));
    assert_eq!(special.retry.while_blocked, WhileBlocked::AllowValid);
    assert_eq!(config.of("noop"), usual);
    let policies = Policies::from(&config);
    assert_eq!(policies.of("write_file").max_attempts(), 5);
    assert_eq!(policies.of("another").max_attempts(), 2);
}

#[test]
fn a_formatter_is_selected_by_its_name() {
    let validation = json!({
        "formatting": {"formatter": "standard"},
        "overrides": {"read_file": {"formatting": {"formatter": "file_paths"}}, "other": null},
    });
    let config = read(&validation).unwrap();
    assert_eq!(config.formatter("read_file"), config.formatters.of("", Some("file_paths")));
    assert_eq!(config.formatter("other"), config.formatters.of("", Some("standard")));
    let error = read(&json!({
        "formatting": {"formatter": "sql"},
        "overrides": {"x": {"formatting": {"formatter": "a b"}}, "y": {"strict": true}},
    }))
    .unwrap_err();
    insta::assert_snapshot!(error, @r#"
    f.yml: tools.validation.formatting.formatter is "sql"; expected one of file_paths, standard
    f.yml: tools.validation.overrides.x.formatting.formatter is "a b"; expected the name of a formatter, such as standard or file_paths
    "#);
    let parsed = json!({"tools": {"validation": {"formatting": {"formatter": "sql"}}}});
    let formatters = Formatters::default().with_name("sql", StandardFormatter);
    assert!(ValidationConfig::from_value_with("f", &parsed, formatters).is_ok());
}

#[test]
fn every_value_out_of_range_is_named() {
    let error = read(&json!({
        "retry": {"max_attempts": 0, "while_blocked": "maybe", "blocked_seconds": -1},
        "formatting": {"max_message_length": 4001, "max_errors_shown": "ten"},
        "strict": "yes",
        "overrides": {"x": {"retry": {"max_attempts": 2.5}, "formatting": []}},
    }))
    .unwrap_err();
    insta::assert_snapshot!(error, @"
    f.yml: tools.validation.retry.max_attempts is 0; expected an integer from 1 to 10
    f.yml: tools.validation.retry.while_blocked is \"maybe\"; expected one of block, allow_valid
    f.yml: tools.validation.retry.blocked_seconds is -1; expected an integer from 1 to 86400
    f.yml: tools.validation.formatting.max_message_length is 4001; expected an integer from 500 to 4000
    f.yml: tools.validation.formatting.max_errors_shown is \"ten\"; expected an integer from 1 to 100
    f.yml: tools.validation.strict is \"yes\"; expected true or false
    f.yml: tools.validation.overrides.x.retry.max_attempts is 2.5; expected an integer from 1 to 10
    f.yml: tools.validation.overrides.x.formatting is []; expected a mapping
    ");
    assert!(ValidationConfig::from_value("f.yml", &json!([1])).is_err());
}

#[test]
fn the_ends_of_every_range_are_accepted() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for setting in &SETTINGS {
        let SettingKind::Integer { least, most, get, .. } = &setting.kind else { continue };
        for (value, fits) in
            [(*least, true), (*most, true), (least.wrapping_sub(1), false), (most + 1, false)]
        {
            let validation = json!({setting.group.unwrap(): {setting.name: value}});
            let config = read(&validation);
            let whole = json!({"tools": {"validation": validation}});
            assert_eq!(validator.is_valid(&whole), fits, "{whole}");
            assert_eq!(
                config.as_ref().map(|config| get(&config.default)).ok(),
                fits.then_some(value)
            );
        }
    }
}

#[test]
fn unknown_keys_warn() {
    let parsed = json!({
        "tool": 1,
        "gateway": {},
        "tools": {"validation": {
            "retry": {"max_atempts": 4, "zzz": 1},
            "Formatting": {},
            "overrides": {"x": {"overrides": {}}},
        }},
    });
    let config = ValidationConfig::from_value("f.yml", &parsed).unwrap();
    let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(warnings.join("\n"), @r#"
    f.yml: tool is not a known key; did you mean tools?
    f.yml: tools.validation.retry.max_atempts is not a known key; did you mean max_attempts?
    f.yml: tools.validation.retry.zzz is not a known key
    f.yml: tools.validation.Formatting is not a known key; did you mean formatting?
    f.yml: tools.validation.overrides.x.overrides is not a known key
    "#);
}

#[test]
fn the_schema_agrees_with_the_reader() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let table = [
        json!({"retry": {"max_attempts": 3}}),
        json!({"retry": {"max_attempts": 11}}),
        json!({"retry": null, "repair": "apply_safe"}),
        json!({"repair": "apply_lossless", "formats": "assert"}),
        json!({"formats": false}),
        json!({"formats": "strict"}),
        json!({"overrides": {"x": {"formats": "warn"}}}),
        json!({"repair": "always"}),
        json!({"repair": false}),
        json!({"repair": true}),
        json!({"retry": {"while_blocked": false}}),
        json!({"overrides": {"x": {"formatting": {"style": "compact", "max_message_length": 500}}}}),
        json!({"overrides": {"x": {"formatting": {"max_message_length": 499}}}}),
        json!({"overrides": {"x": {"strict": 1}}}),
    ];
    for validation in table {
        let parsed = json!({"tools": {"validation": validation}});
        assert_eq!(validator.is_valid(&parsed), read(&validation).is_ok(), "{validation}");
    }
}

/// The word works as `answerback init` writes it, and also without quotes, which YAML reads as false.
#[cfg(feature = "yaml")]
#[test]
fn off_is_a_word() {
    for off in ["off", "\"off\"", "Off"] {
        let text = format!("tools: {{validation: {{repair: {off}}}}}\n");
        let config = ValidationConfig::from_yaml("f.yml", &text).unwrap();
        assert_eq!(config.default.repair, Some(RepairMode::Off), "{off}");
    }
}

#[cfg(feature = "yaml")]
#[test]
fn yaml_as_the_document_writes_it() {
    let text = "\
tools:
  validation:
    retry:
      max_attempts: 4 # one more

    formatting:
      max_message_length: 2000
      max_errors_shown: 10
      max_value_preview: 100
";
    let config = ValidationConfig::from_yaml(".agent/config.yml", text).unwrap();
    assert_eq!(config.default.retry.max_attempts(), 4);
    assert!(config.warnings.is_empty());
    for text in ["", "# nothing\n", "tools:\n"] {
        assert_eq!(
            ValidationConfig::from_yaml("f", text),
            Ok(ValidationConfig::default()),
            "{text}"
        );
    }
    for text in ["tools: [", "tools: 1\ntools: 2\n", "a: &a [*a]\n", ": 1\n"] {
        let error = ValidationConfig::from_yaml("f.yml", text).unwrap_err().to_string();
        assert!(error.starts_with("f.yml: not YAML that we read: "), "{error}");
        // The parser's advice for programmers must not reach the user.
        assert!(!error.contains("Option") && !error.contains("RetryPolicy"), "{error}");
    }
    let error = ValidationConfig::from_yaml("f.yml", "tools:\n  : 1\n").unwrap_err().to_string();
    assert!(error.ends_with("a name is missing before the colon"), "{error}");
}
