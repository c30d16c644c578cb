//! Finds the tool that was meant by a call of an unknown tool.

mod called;
mod fields;
mod name;

use std::fmt::Write;

use answerback_findings::neutral::push_name;
use answerback_findings::{ValidationError, call_codes};
use answerback_json::Pointer;
use answerback_redaction::redact;
use serde_json::Value;

use self::called::Called;
use self::fields::SchemaFields;
use self::name::{Name, SoughtName};

/// A tool that is offered: its name and the schema of its arguments.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers that offer tools create it")]
pub struct CandidateTool<'t> {
    /// The name.
    pub name: &'t str,
    /// The schema of the arguments.
    pub schema: &'t Value,
}

/// The number of tools that a message names.
const NAMED: usize = 5;
/// The longest name shown, in characters.
const NAME: usize = 128;
/// The score from which a tool is put forward as the one meant.
const CREDIBLE: f64 = 0.4;

/// Returns the tools that may have been meant, nearest first. It compares the names word by word, and the
/// arguments with each tool's schema. For a call that wraps others (`multi_tool_use.parallel`) it compares
/// the inner names and arguments. A caller that asks about the same tools again should keep [`OfferedTools`].
///
/// ```
/// use answerback_calls::message::{CandidateTool, nearest_tools};
/// use serde_json::json;
///
/// let schema = json!({"properties": {"name": {"type": "string"}}});
/// let tools = ["calculate_bmi", "get_celebrity_net_worth"].map(|name| CandidateTool { name, schema: &schema });
/// let nearest = nearest_tools("celebrate_net_worth_get", &json!({"name": "Ada"}), &tools);
/// assert_eq!(nearest[0], "get_celebrity_net_worth");
/// ```
pub fn nearest_tools<'t>(
    called: &str,
    arguments: &Value,
    tools: &[CandidateTool<'t>],
) -> Vec<&'t str> {
    let offered = OfferedTools::new(tools.iter().copied());
    let ranked = offered.ranked(called, arguments, tools.len());
    ranked.into_iter().map(|(index, _)| tools[index].name).collect()
}

/// The finding of a call to a tool that does not exist: VAL-008 at the root, with the nearest tools.
pub fn unknown_tool(
    called: &str,
    arguments: &Value,
    tools: &[CandidateTool<'_>],
) -> ValidationError {
    OfferedTools::new(tools.iter().copied()).unknown(called, arguments)
}

/// The tools that are offered, made ready to be compared with calls of others.
///
/// ```
/// use answerback_calls::message::{OfferedTools, CandidateTool};
/// use serde_json::json;
///
/// let schema = json!({"properties": {"path": {"type": "string"}}});
/// let tools = OfferedTools::new([CandidateTool { name: "read_file", schema: &schema }]);
/// let finding = tools.unknown("readFile", &json!({"path": "a.txt"}));
/// assert_eq!(finding.message, "Unknown tool 'readFile'; did you mean 'read_file'?");
/// ```
#[derive(Debug)]
pub struct OfferedTools(Vec<Offered>);

#[derive(Debug)]
struct Offered {
    name: String,
    /// The name, and where it has a namespace the name behind it.
    names: Vec<Name>,
    fields: SchemaFields,
}

impl OfferedTools {
    /// Makes these tools ready.
    pub fn new<'t>(tools: impl IntoIterator<Item = CandidateTool<'t>>) -> Self {
        let offered = tools.into_iter().map(|CandidateTool { name, schema }| Offered {
            name: name.to_owned(),
            names: Name::all_of(name),
            fields: SchemaFields::of(schema),
        });
        Self(offered.collect())
    }

    /// The finding of a call to a tool that is not among them: VAL-008 at the root, with the nearest.
    pub fn unknown(&self, called: &str, arguments: &Value) -> ValidationError {
        let Self(tools) = self;
        let nearest = self.ranked(called, arguments, NAMED);
        let mut message = String::from("Unknown tool ");
        push_name(&mut message, &redact(called), NAME);
        if let Some((index, score)) = nearest.first().filter(|(_, score)| score.total() >= CREDIBLE)
        {
            message.push_str(DID_YOU_MEAN);
            push_name(&mut message, &tools[*index].name, NAME);
            message.push('?');
            if score.mentioned {
                message.push_str(" Call it directly, once for each set of arguments");
            }
        }
        let mut expected =
            String::from(if tools.is_empty() { NONE_AVAILABLE } else { "a tool that exists: " });
        for (place, (index, _)) in nearest.iter().enumerate() {
            if place > 0 {
                expected.push_str(", ");
            }
            push_name(&mut expected, &tools[*index].name, NAME);
        }
        if tools.len() > nearest.len() {
            let _ = write!(expected, " ({} more)", tools.len() - nearest.len());
        }
        ValidationError::of(&call_codes::INVALID_ENUM_VALUE, Pointer::root())
            .with_message(message)
            .with_expected(expected)
    }

    /// The places of the nearest tools and their scores, the nearest first, `most` of them.
    fn ranked(&self, called: &str, arguments: &Value, most: usize) -> Vec<(usize, Score)> {
        let names = Name::all_of(called);
        let names: Vec<SoughtName<'_>> = names.iter().map(SoughtName::of).collect();
        let called = Called::new(&names, arguments);
        let scored = self.0.iter().map(|tool| called.score(tool)).enumerate();
        let mut ranked: Vec<(usize, Score)> = scored.collect();
        let order = |(place, one): &(usize, Score), (other_place, other): &(usize, Score)| {
            other.total().total_cmp(&one.total()).then(place.cmp(other_place))
        };
        if most < ranked.len() {
            ranked.select_nth_unstable_by(most, order);
            ranked.truncate(most);
        }
        ranked.sort_unstable_by(order);
        ranked
    }
}

/// The expected value if there are no tools.
const NONE_AVAILABLE: &str = "no tool is available";
/// The words before the suggested tool.
const DID_YOU_MEAN: &str = "; did you mean ";

/// The alternative that the finding of an unknown tool offers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Offer<'f> {
    /// A tool that was probably meant, in its quotes.
    Tool(&'f str),
    /// The tools that it names.
    Named,
    /// Nothing: there are no tools.
    Nothing,
}

impl<'f> Offer<'f> {
    /// Reads it off the finding.
    pub(super) fn of(finding: &'f ValidationError) -> Self {
        if finding.expected_value.as_deref() == Some(NONE_AVAILABLE) {
            return Self::Nothing;
        }
        let quoted = finding.message.rsplit_once(DID_YOU_MEAN).and_then(|(_, after)| {
            let (quoted, _) = after.split_once('?')?;
            (quoted.len() > 2 && quoted.starts_with('\'') && quoted.ends_with('\''))
                .then_some(quoted)
        });
        quoted.map_or(Self::Named, Self::Tool)
    }
}

/// The similarity of a tool to a call.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    name: f64,
    fit: f64,
    mentioned: bool,
}

impl Score {
    fn total(self) -> f64 {
        // Squared, because half a likeness of names is no likeness: most names share letters and verbs.
        self.name * self.name + 0.8 * self.fit + if self.mentioned { 2.0 } else { 0.0 }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of letters and names are small")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    fn schema(fields: &[(&str, &str)]) -> Value {
        let properties: Map<String, Value> =
            fields.iter().map(|(name, kind)| ((*name).to_owned(), json!({"type": kind}))).collect();
        let required: Vec<_> = fields.iter().take(1).map(|(name, _)| *name).collect();
        json!({"type": "object", "properties": properties, "required": required})
    }

    #[test]
    fn finds_the_tool_that_was_meant() {
        let place = schema(&[("place", "string"), ("unit", "string")]);
        let region = schema(&[("region", "string"), ("century", "integer")]);
        let person = schema(&[("name", "string"), ("currency", "string")]);
        let mail = schema(&[("to", "string"), ("subject", "string"), ("body", "string")]);
        let tools = [
            CandidateTool { name: "get_weather", schema: &place },
            CandidateTool { name: "get_region_history", schema: &region },
            CandidateTool { name: "get_celebrity_net_worth", schema: &person },
            CandidateTool { name: "mail.send_message", schema: &mail },
            CandidateTool { name: "get_history", schema: &person },
        ];
        for (called, arguments, expected) in [
            ("celebrate_net_worth_get", json!({"name": "x"}), "get_celebrity_net_worth"),
            ("get_reigion_history", json!({"region": "x", "century": 16}), "get_region_history"),
            ("getWeather", json!({}), "get_weather"),
            ("functions.get_weather", json!({}), "get_weather"),
            ("send_message", json!({}), "mail.send_message"),
            ("communicator", json!({"to": "a", "subject": "b", "body": "c"}), "mail.send_message"),
            (
                "multi_tool_use.parallel",
                json!({"tool_uses": [{"recipient_name": "functions.get_weather", "parameters": {"place": "Rome"}}]}),
                "get_weather",
            ),
            (
                "run_all",
                json!({"calls": [{"arguments": {"region": "x", "century": 3}}]}),
                "get_region_history",
            ),
        ] {
            assert_eq!(nearest_tools(called, &arguments, &tools)[0], expected, "{called}");
        }
    }

    #[test]
    fn the_finding_names_the_nearest() {
        let empty = json!({});
        let tools = ["read_file", "write_file", "list_files", "move_file", "copy_file", "stat"]
            .map(|name| CandidateTool { name, schema: &empty });
        let finding = unknown_tool("readFile", &json!({}), &tools);
        assert_eq!(finding.message, "Unknown tool 'readFile'; did you mean 'read_file'?");
        let expected = finding.expected_value.unwrap();
        assert!(expected.starts_with("a tool that exists: 'read_file', "), "{expected}");
        assert!(expected.ends_with("(1 more)"), "{expected}");
        assert_eq!(
            unknown_tool("x", &json!({}), &[]).expected_value.unwrap(),
            "no tool is available"
        );
        assert_eq!(unknown_tool("zzz", &json!({}), &tools).message, "Unknown tool 'zzz'");
    }
}
