//! Which tool was meant by a call of one that does not exist.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::suggest::{distance, letters_of_words};
use crate::finding::neutral::push_name;
use crate::finding::{ValidationError, val};
use crate::json::Pointer;

/// A tool that is offered: its name and the schema of its arguments.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a pair, made by whoever offers tools")]
pub struct Tool<'t> {
    /// The name.
    pub name: &'t str,
    /// The schema of the arguments.
    pub schema: &'t Value,
}

/// How many tools a message names.
const NAMED: usize = 5;
/// The longest name shown, in characters.
const NAME: usize = 128;
/// How many letters of a name are compared.
const LETTERS: usize = 64;
/// The score from which a tool is put forward as the one meant.
const CREDIBLE: f64 = 0.4;

/// The tools that may have been meant, nearest first: by name, word for word, and by how well the
/// arguments fit each tool's schema. A call that wraps others (`multi_tool_use.parallel`) is looked
/// into, for the names and the arguments inside.
///
/// ```
/// use answerback::message::{Tool, nearest_tools};
/// use serde_json::json;
///
/// let schema = json!({"properties": {"name": {"type": "string"}}});
/// let tools = ["calculate_bmi", "get_celebrity_net_worth"].map(|name| Tool { name, schema: &schema });
/// let nearest = nearest_tools("celebrate_net_worth_get", &json!({"name": "Ada"}), &tools);
/// assert_eq!(nearest[0], "get_celebrity_net_worth");
/// ```
pub fn nearest_tools<'t>(called: &str, arguments: &Value, tools: &[Tool<'t>]) -> Vec<&'t str> {
    ranked(called, arguments, tools).into_iter().map(|(tool, _)| tool.name).collect()
}

/// The finding of a call to a tool that does not exist: VAL-008 at the root, with the nearest tools.
pub fn unknown_tool(called: &str, arguments: &Value, tools: &[Tool<'_>]) -> ValidationError {
    let ranked = ranked(called, arguments, tools);
    let mut message = String::from("Unknown tool ");
    push_name(&mut message, called, NAME);
    if let Some((tool, score)) = ranked.first().filter(|(_, score)| score.total() >= CREDIBLE) {
        message.push_str(DID_YOU_MEAN);
        push_name(&mut message, tool.name, NAME);
        message.push('?');
        if score.mentioned {
            message.push_str(" Call it directly, once for each set of arguments");
        }
    }
    let mut expected = String::from(if tools.is_empty() {
        "no tool is available"
    } else {
        "a tool that exists: "
    });
    for (index, (tool, _)) in ranked.iter().take(NAMED).enumerate() {
        if index > 0 {
            expected.push_str(", ");
        }
        push_name(&mut expected, tool.name, NAME);
    }
    if ranked.len() > NAMED {
        let _ = write!(expected, " ({} more)", ranked.len() - NAMED);
    }
    ValidationError::of(&val::INVALID_ENUM_VALUE, Pointer::root())
        .with_message(message)
        .with_expected(expected)
}

/// What stands before the tool that is put forward.
const DID_YOU_MEAN: &str = "; did you mean ";

/// The tool that the finding of an unknown one puts forward, in its quotes.
pub(super) fn suggested_tool(finding: &ValidationError) -> Option<&str> {
    let (_, quoted) = finding.message.rsplit_once(DID_YOU_MEAN)?;
    let (quoted, _) = quoted.split_once('?')?;
    (quoted.len() > 2 && quoted.starts_with('\'') && quoted.ends_with('\'')).then_some(quoted)
}

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

fn ranked<'a, 't>(
    called: &str,
    arguments: &Value,
    tools: &'a [Tool<'t>],
) -> Vec<(&'a Tool<'t>, Score)> {
    let call = Call::read(called, arguments);
    let mut ranked: Vec<_> = tools.iter().map(|tool| (tool, call.score(tool))).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total().total_cmp(&a.total()));
    ranked
}

/// What of a call can be compared with tools: its name, its arguments, and what is wrapped in them.
struct Call<'c> {
    /// The name as sent, and where it has a namespace the name behind it.
    names: Vec<Name>,
    objects: Vec<&'c Map<String, Value>>,
    texts: Vec<String>,
}

impl<'c> Call<'c> {
    /// Bounds for arguments that were written to be large.
    const DEEPEST: usize = 5;
    const MOST: usize = 64;

    fn read(called: &str, arguments: &'c Value) -> Self {
        let mut call = Self { names: Name::all_of(called), objects: Vec::new(), texts: Vec::new() };
        call.collect(arguments, 0);
        call
    }

    fn collect(&mut self, value: &'c Value, depth: usize) {
        match value {
            Value::Object(members) if depth < Self::DEEPEST && self.objects.len() < Self::MOST => {
                self.objects.push(members);
                for member in members.values().take(Self::MOST) {
                    self.collect(member, depth + 1);
                }
            }
            Value::Array(items) if depth < Self::DEEPEST => {
                for item in items.iter().take(Self::MOST) {
                    self.collect(item, depth + 1);
                }
            }
            // Only below the first level: there a name is an argument, not a call within.
            Value::String(text)
                if depth > 1 && text.len() <= 256 && self.texts.len() < Self::MOST =>
            {
                self.texts.push(letters(without_namespace(text)).collect());
            }
            _ => {}
        }
    }

    fn score(&self, tool: &Tool<'_>) -> Score {
        let names = Name::all_of(tool.name);
        let likeness =
            |other: &Name| names.iter().map(|name| other.likeness(name)).fold(0.0, f64::max);
        let bare = || names.last().map_or(&[][..], |bare| bare.letters.as_slice());
        let is_bare = |text: &String| !text.is_empty() && text.chars().eq(bare().iter().copied());
        Score {
            name: self.names.iter().map(likeness).fold(0.0, f64::max),
            fit: self.objects.iter().map(|given| fit(given, tool.schema)).fold(0.0, f64::max),
            mentioned: self.texts.iter().any(is_bare),
        }
    }
}

struct Name {
    letters: Vec<char>,
    /// The letters of the words, one word after the other.
    in_words: Vec<char>,
    /// Where in them each word ends.
    ends: Vec<usize>,
}

impl Name {
    /// A name, and behind it the same without its namespace, where it has one.
    fn all_of(name: &str) -> Vec<Self> {
        let bare = without_namespace(name);
        let behind = (bare.len() < name.len()).then(|| Self::of(bare));
        std::iter::once(Self::of(name)).chain(behind).collect()
    }

    fn of(name: &str) -> Self {
        let mut all = Vec::with_capacity(name.len());
        all.extend(letters(name));
        let (mut in_words, mut ends) = (Vec::with_capacity(name.len()), Vec::with_capacity(8));
        for (letter, begins) in letters_of_words(name) {
            if begins && !in_words.is_empty() {
                ends.push(in_words.len());
            }
            in_words.extend(letter.to_lowercase());
        }
        if !in_words.is_empty() {
            ends.push(in_words.len());
        }
        Self { letters: all, in_words, ends }
    }

    fn words(&self) -> impl Iterator<Item = &[char]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.in_words[start..*end])
    }

    /// From 0 to 1: letter by letter or word by word, whichever is nearer.
    fn likeness(&self, other: &Self) -> f64 {
        if self.letters.is_empty() || other.letters.is_empty() {
            return 0.0;
        }
        let shown = |letters: &'_ [char]| letters.len().min(LETTERS);
        let letters = similarity(
            &self.letters[..shown(&self.letters)],
            &other.letters[..shown(&other.letters)],
        );
        letters.max(f64::midpoint(covered(self, other), covered(other, self)))
    }
}

/// The share of the letters of the words sought that have a like word among those offered.
fn covered(sought: &Name, offered: &Name) -> f64 {
    let (mut letters, mut found) = (0.0, 0.0);
    for word in sought.words() {
        let nearest = offered.words().map(|other| likeness(word, other)).fold(0.0, f64::max);
        let weight = count(word.len());
        letters += weight;
        found += weight * nearest;
    }
    if letters == 0.0 { 0.0 } else { found / letters }
}

/// How like two words are, from 0.6 to 1; or 0, if they are less alike than that.
fn likeness(a: &[char], b: &[char]) -> f64 {
    const LEAST: f64 = 0.6;
    // No distance is sought that could not be enough: its difference in length is the least it is.
    let longer = count(a.len().max(b.len()).max(1));
    if 1.0 - count(a.len().abs_diff(b.len())) / longer < LEAST {
        return 0.0;
    }
    let similarity = similarity(a, b);
    if similarity < LEAST { 0.0 } else { similarity }
}

fn similarity(a: &[char], b: &[char]) -> f64 {
    let longer = a.len().max(b.len());
    distance(a, b, longer).map_or(0.0, |distance| 1.0 - count(distance) / count(longer.max(1)))
}

/// From 0 to 1: how well given arguments fit a schema. Few names that fit say less than many, and a
/// value of another type says half.
fn fit(given: &Map<String, Value>, schema: &Value) -> f64 {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return 0.0 };
    if given.is_empty() || given.len() > 256 {
        return 0.0;
    }
    let mut matched = 0.0;
    for (name, value) in given {
        if let Some(field) = fields.get(name).or_else(|| alike(fields, name)) {
            matched += if may_be(value, field) { 1.0 } else { 0.5 };
        }
    }
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let present = required
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| given.contains_key(*name) || alike(given, name).is_some())
        .count();
    let known = matched / count(given.len());
    let complete = if required.is_empty() { known } else { count(present) / count(required.len()) };
    (0.6 * known + 0.4 * complete) * matched / (matched + 0.5)
}

/// The member whose name differs in case and separators only.
fn alike<'m>(members: &'m Map<String, Value>, name: &str) -> Option<&'m Value> {
    members.iter().find(|(other, _)| letters(other).eq(letters(name))).map(|(_, member)| member)
}

/// Whether a value has the type that a field's schema names first.
fn may_be(value: &Value, field: &Value) -> bool {
    match field.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("number" | "integer") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    }
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// `functions.search`, `server__search`, `tools/search`: the name behind its namespace.
fn without_namespace(name: &str) -> &str {
    let behind = |separator: &str| name.rfind(separator).map(|at| at + separator.len());
    let start = [".", "/", ":", "__"].into_iter().filter_map(behind).max().unwrap_or(0);
    if start < name.len() { &name[start..] } else { name }
}

#[expect(clippy::cast_precision_loss, reason = "counts of letters and names are small")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            Tool { name: "get_weather", schema: &place },
            Tool { name: "get_region_history", schema: &region },
            Tool { name: "get_celebrity_net_worth", schema: &person },
            Tool { name: "mail.send_message", schema: &mail },
            Tool { name: "get_history", schema: &person },
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
            .map(|name| Tool { name, schema: &empty });
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
