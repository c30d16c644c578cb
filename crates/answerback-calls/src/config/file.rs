//! Reads the whole configuration file. Most keys only have an effect in a trusted file.

use serde_json::{Value, json};

use super::reader::{ConfigReader, TOP_KEYS};
use super::{
    ConfigError, ConfigWarning, ConsoleConfig, GovernanceConfig, LedgerConfig, StoreConfig,
    ValidationConfig, console, gateway, governance, keys, ledger, settings, store,
};
use crate::message::Formatters;

/// The trust in a configuration file.
///
/// A file that was only found, for example in a cloned repository, must not name commands, paths or keys.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a file is either trusted or not")]
pub enum Trust {
    /// The file was found. Only `tools.validation` is read.
    Found,
    /// The user named the file or trusts its content. All of it is read.
    Trusted,
}

/// A configuration file, parsed and checked.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The settings for the check of calls.
    pub validation: ValidationConfig,
    /// The place of the store.
    pub store: Option<StoreConfig>,
    /// The settings of the ledger.
    pub ledger: LedgerConfig,
    /// The manifest and the lock that responses are verified against, and the agent.
    pub governance: GovernanceConfig,
    /// The section `gateway` as written in the file, which the gateway parses. Null if it is missing.
    pub gateway: Value,
    /// The settings of the console.
    pub console: ConsoleConfig,
    /// The keys that were ignored because the file is not trusted.
    pub ignored: Vec<&'static str>,
    /// Keys at the root of the file that seem to belong to other programs. They are not read.
    pub foreign: Vec<String>,
}

impl Config {
    /// Reads a parsed file. Errors and warnings call it `file`.
    ///
    /// # Errors
    ///
    /// Returns an error if a value has the wrong type or is out of range, or if a trusted file has an unknown
    /// key. The error names every such value and key. Ignored sections are not checked.
    ///
    /// ```
    /// use answerback_calls::config::{Config, Trust};
    /// use serde_json::json;
    ///
    /// let parsed = json!({"store": "ledger.db", "ledger": {"queue": 0}});
    /// let found = Config::from_value("config.yml", &parsed, Trust::Found)?;
    /// assert_eq!(found.ignored, ["store", "ledger"]);
    /// let error = Config::from_value("config.yml", &parsed, Trust::Trusted).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "config.yml: ledger.queue is 0; expected an integer from 1 to 65536"
    /// );
    /// # Ok::<(), answerback_calls::config::ConfigError>(())
    /// ```
    pub fn from_value(file: &str, parsed: &Value, trust: Trust) -> Result<Self, ConfigError> {
        let mut reading = ConfigReader::new(file, trust);
        let formatters = Formatters::default();
        let (default, overrides) = reading.file(parsed, &formatters);
        let mut config = Self::default();
        let members = parsed.as_object().into_iter().flatten();
        for (name, value) in members.filter(|(name, _)| *name != "tools") {
            let Some(key) = TOP_KEYS.iter().find(|key| *key == name) else { continue };
            if trust == Trust::Found {
                config.ignored.push(key);
                continue;
            }
            match *key {
                "store" => config.store = StoreConfig::read(&mut reading, value),
                "ledger" => {
                    if let Some(members) = reading.mapping(key, value) {
                        config.ledger = LedgerConfig::read(&mut reading, members);
                    }
                }
                "governance" => {
                    if let Some(members) = reading.mapping(key, value) {
                        config.governance = GovernanceConfig::read(&mut reading, members);
                    }
                }
                "gateway" => {
                    for (key, meant) in keys::unknown_to(&gateway::schema(), key, value) {
                        reading.unknown(&key, meant);
                    }
                    config.gateway = value.clone();
                }
                "console" => {
                    if let Some(members) = reading.mapping(key, value) {
                        config.console = ConsoleConfig::read(&mut reading, members);
                    }
                }
                _ => {}
            }
        }
        config.foreign = std::mem::take(&mut reading.foreign);
        let warnings = reading.finish()?;
        config.validation = ValidationConfig { default, overrides, formatters, warnings };
        Ok(config)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not YAML, and in the cases of [`Config::from_value`].
    #[cfg(feature = "yaml")]
    pub fn from_yaml(file: &str, text: &str, trust: Trust) -> Result<Self, ConfigError> {
        Self::from_value(file, &super::yaml::parse(file, text)?, trust)
    }

    /// Returns the unknown keys, each with the key that was probably meant.
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.validation.warnings
    }
}

/// Returns the JSON Schema of the configuration file.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Answerback configuration",
        "type": ["object", "null"],
        "properties": {
            "tools": settings::schema(),
            "gateway": gateway::schema(),
            "store": store::schema(),
            "ledger": ledger::schema(),
            "governance": governance::schema(),
            "console": console::schema(),
        },
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OnFailure;

    const KEY: &str = "witness.example+5c5e0b9d+BG1v";

    fn read(parsed: &Value) -> Result<Config, ConfigError> {
        Config::from_value("f.yml", parsed, Trust::Trusted)
    }

    #[test]
    fn everything_that_may_be_said() {
        let config = read(&json!({
            "tools": {"validation": {"strict": true}},
            "gateway": {"listen": "127.0.0.1:7070"},
            "console": {},
            "store": "state/ledger.db",
            "ledger": {
                "origin": "example.org/audit", "key": "ledger.key", "anchor": "/mnt/second/anchor",
                "on_failure": "open", "queue": 100,
                "witness": [{"url": "https://witness.example/w1", "key": KEY}],
            },
            "governance": {"manifest": "m.json", "lock": "l.json", "agent": "domain-01-analysis"},
        }))
        .unwrap();
        assert!(config.validation.default.strict && config.warnings().is_empty());
        assert_eq!(config.store, Some(StoreConfig::File("state/ledger.db".to_owned())));
        let ledger = &config.ledger;
        assert_eq!((ledger.on_failure, ledger.queue), (OnFailure::Open, 100));
        assert_eq!(ledger.origin.as_deref(), Some("example.org/audit"));
        assert_eq!(ledger.witness[0].key, KEY);
        assert_eq!(config.governance.agent.as_deref(), Some("domain-01-analysis"));
        assert!(config.ignored.is_empty());
        assert_eq!(read(&json!({"store": null, "ledger": null})), Ok(Config::default()));
    }

    #[test]
    fn a_found_file_says_how_calls_are_judged_and_nothing_else() {
        let parsed = json!({
            "store": 7, "ledger": {"key": "/etc/shadow"}, "console": {}, "zzz": 1,
            "tools": {"validation": {"strict": true}},
        });
        let config = Config::from_value("f.yml", &parsed, Trust::Found).unwrap();
        assert_eq!(config.ignored, ["store", "ledger", "console"]);
        assert_eq!((&config.ledger, &config.store), (&LedgerConfig::default(), &None));
        assert!(config.validation.default.strict);
        assert_eq!((config.warnings().len(), &config.foreign[..]), (0, &["zzz".to_owned()][..]));
        // A misspelled key in a found file is a warning, because programs that know more keys may read the
        // file too.
        let parsed = json!({"gatway": {}, "mcpServers": {}, "tools": {"validations": {}}});
        let config = Config::from_value("f.yml", &parsed, Trust::Found).unwrap();
        assert_eq!((config.warnings().len(), config.foreign.len()), (3, 0));
    }

    #[test]
    fn stores() {
        let url = "postgresql://me:s3cret@db/x";
        for (value, wanted) in [
            (json!("a b/ledger.db"), StoreConfig::File("a b/ledger.db".to_owned())),
            (json!(url), StoreConfig::Url(url.to_owned())),
            (json!({"url_env": "LEDGER_URL"}), StoreConfig::UrlVariable("LEDGER_URL".to_owned())),
            (json!({"url_file": "secrets/url"}), StoreConfig::UrlFile("secrets/url".to_owned())),
        ] {
            assert_eq!(read(&json!({"store": value})).unwrap().store, Some(wanted));
        }
    }

    #[test]
    fn every_wrong_value_is_named() {
        let error = read(&json!({
            "store": {"url_env": "A B", "url_fle": 1},
            "ledger": {
                "origin": "two words", "key": "", "anchor": 3, "on_failure": "ajar", "queue": 65537,
                "witness": [{"url": "ftp://w", "key": "short"}, {"url": "https://w"}, 4],
            },
            "governance": {"lock": "l.json", "agent": ""},
        }))
        .unwrap_err();
        insta::assert_snapshot!(error, @r#"
        f.yml: store.url_fle is not a known key; did you mean url_file?
        f.yml: store.url_env is "A B"; expected the name of a variable
        f.yml: ledger.origin is "two words"; expected a name without spaces and '+', such as example.org/audit
        f.yml: ledger.key is ""; expected the path of a file
        f.yml: ledger.anchor is 3; expected the path of a file
        f.yml: ledger.on_failure is "ajar"; expected one of closed, open
        f.yml: ledger.queue is 65537; expected an integer from 1 to 65536
        f.yml: ledger.witness.0.url is "ftp://w"; expected an http:// or https:// URL
        f.yml: ledger.witness.0.key is "short"; expected a verifier key NAME+ID+KEY
        f.yml: ledger.witness.1.key is missing; expected a verifier key NAME+ID+KEY
        f.yml: ledger.witness.2 is 4; expected a mapping
        f.yml: governance.agent is ""; expected an agent's canonical id
        f.yml: governance.manifest is missing; expected the path of a file, since governance.lock is given
        "#);
        for (value, said) in [
            (json!("mysql://me:s3cret@db/x"), "expected the path of a file, a postgresql:// URL"),
            (json!({"url_env": "A", "url_file": "b"}), "expected url_env or url_file, not both"),
            (json!({}), "expected the path of a file"),
            (json!(""), "expected the path of a file"),
        ] {
            let error = read(&json!({"store": value})).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("s3cret"), "{error}");
        }
        assert!(read(&json!({"ledger": {"witness": {}}})).is_err());
    }

    /// The user meant something by an unknown key, so the program must not start with other settings instead.
    #[test]
    fn an_unknown_key_of_a_trusted_file_is_an_error() {
        let error = read(&json!({
            "upstraems": {}, "mcpServers": {}, "servers": {}, "legder": {}, "model": "x",
            "store": {"url_env": "A", "urls": 1},
            "ledger": {"orgin": "x", "witness": [{"url": "http://w", "key": KEY, "name": 1}]},
            "governance": {"agents": "x"},
            "tools": {"validations": {}, "validation": {"retry": {"max_atempts": 4}}},
            "gateway": {"upstraems": {}, "upstreams": {"a": {"comand": "x"}}},
        }))
        .unwrap_err();
        insta::assert_snapshot!(error);
        let config = read(&json!({"model": "x", "agents": {}, "gateway": {}})).unwrap();
        assert_eq!((config.foreign.len(), config.warnings().len()), (2, 0));
    }

    /// The schema rejects every key that the reader rejects, so that an editor can show the mistake.
    #[test]
    fn the_schema_knows_no_other_keys() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for parsed in [
            json!({"tool": {}}),
            json!({"tools": {"validations": {}}}),
            json!({"tools": {"validation": {"retries": 3}}}),
            json!({"tools": {"validation": {"retry": {"max_atempts": 4}}}}),
            json!({"tools": {"validation": {"overrides": {"x": {"overrides": {}}}}}}),
            json!({"store": {"url_env": "A", "urls": 1}}),
            json!({"ledger": {"orgin": "x"}}),
            json!({"ledger": {"witness": [{"url": "http://w", "key": KEY, "name": 1}]}}),
            json!({"governance": {"agents": "x"}}),
            json!({"console": {"file": "x"}}),
            json!({"gateway": {"inputs": "warn"}}),
        ] {
            assert!(!validator.is_valid(&parsed), "{parsed}");
            assert!(read(&parsed).is_err(), "{parsed}");
        }
    }

    /// The schema and the reader accept and reject the same files.
    #[test]
    fn the_schema_agrees_with_the_reader() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for parsed in [
            json!({"store": "x.db", "gateway": {"most_calls": 1}}),
            json!({"store": "postgres://h/d"}),
            json!({"store": "mysql://h/d"}),
            json!({"store": ""}),
            json!({"store": 1}),
            json!({"store": {}}),
            json!({"store": {"url_env": "A"}}),
            json!({"store": {"url_env": "1A"}}),
            json!({"store": {"url_file": "a"}}),
            json!({"store": {"url_file": "a", "url_env": "A"}}),
            json!({"ledger": {"queue": 1, "on_failure": "closed", "origin": "a/b"}}),
            json!({"ledger": {"queue": 0}}),
            json!({"ledger": {"queue": 65_537}}),
            json!({"ledger": {"origin": "a+b"}}),
            json!({"ledger": {"origin": ""}}),
            json!({"ledger": {"key": ""}}),
            json!({"ledger": {"on_failure": true}}),
            json!({"ledger": {"witness": [{"url": "https://w/x", "key": KEY}]}}),
            json!({"ledger": {"witness": [{"url": "https://w/x"}]}}),
            json!({"ledger": {"witness": [{"url": "https://", "key": KEY}]}}),
            json!({"ledger": {"witness": [{"url": "w", "key": KEY}]}}),
            json!({"ledger": {"witness": [{"url": "https://w", "key": "a+b+c"}]}}),
            json!({"ledger": {"witness": {}}}),
            json!({"governance": {"manifest": "m", "lock": "l"}}),
            json!({"governance": {"manifest": "m"}}),
            json!({"governance": {"agent": "a b"}}),
            json!({"governance": []}),
        ] {
            assert_eq!(validator.is_valid(&parsed), read(&parsed).is_ok(), "{parsed}");
        }
    }
}
