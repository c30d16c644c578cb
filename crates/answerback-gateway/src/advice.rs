//! Checks the definitions of tools for mistakes that make calls fail.

use answerback::call::Schema;
use serde_json::Value;

/// Ranks how much a remark matters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the checks produce exactly these")]
pub enum Weight {
    /// Calls cannot be checked, or no call can be valid.
    Problem,
    /// Calls will fail more often than necessary.
    Advice,
}

/// Describes a weakness in a tool's definition.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Remark {
    /// The severity of the remark.
    pub weight: Weight,
    /// The weakness, as the end of a sentence about the tool.
    pub what: String,
    /// The recommended fix.
    pub mend: &'static str,
}

/// Returns remarks about a tool as its server lists it.
pub fn remarks(tool: &Value) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut say = |weight, what: String, mend| remarks.push(Remark { weight, what, mend });
    let schema = &tool["inputSchema"];
    if schema.is_null() {
        let mend = "declare one; an object without properties says that there are no arguments";
        say(Weight::Problem, "has no inputSchema, so every call passes".to_owned(), mend);
        return remarks;
    }
    let compiled = Schema::compile(schema.clone());
    for problem in compiled.iter().flat_map(Schema::problems) {
        let mend = "correct the keyword; the rest of the schema is checked";
        let problem = answerback::finding::display_text(&problem.to_string(), 300);
        say(
            Weight::Problem,
            format!(
                "has a keyword in its inputSchema that is not checked as it is written: {problem}"
            ),
            mend,
        );
    }
    if let Err(fault) = compiled {
        let mend =
            "mend the schema; until then calls pass unchecked, with the warning INPUT_UNCHECKED";
        let fault = answerback::finding::display_text(&fault.to_string(), 300);
        say(Weight::Problem, format!("has an inputSchema that cannot be used: {fault}"), mend);
        return remarks;
    }
    if schema["type"] != "object" {
        let mend = "write type: object; the protocol knows no other";
        say(Weight::Problem, "has an inputSchema that is not of type object".to_owned(), mend);
    }
    let empty = serde_json::Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_closed = schema["additionalProperties"] == false;
    for name in required.iter().filter(|name| !properties.contains_key(**name)) {
        let name = answerback::finding::display_name(name);
        let mend = "add it to properties, or take it out of required";
        if is_closed {
            say(
                Weight::Problem,
                format!("requires {name}, which it does not allow: no call can be right"),
                mend,
            );
        } else {
            say(Weight::Advice, format!("requires {name}, and does not say what it is"), mend);
        }
    }
    if let Some(output) = tool.get("outputSchema").filter(|schema| !schema.is_null())
        && let Err(fault) = Schema::compile(output.clone())
    {
        let mend = "mend the schema; until then results have the warning OUTPUT_UNCHECKED";
        let fault = answerback::finding::display_text(&fault.to_string(), 300);
        say(Weight::Problem, format!("has an outputSchema that cannot be used: {fault}"), mend);
    }
    if tool["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
        let mend = "say in a sentence what it does and when to call it";
        say(Weight::Advice, "has no description".to_owned(), mend);
    }
    let silent: Vec<String> = properties
        .iter()
        .filter(|(_, property)| property["description"].as_str().is_none_or(str::is_empty))
        .map(|(name, _)| answerback::finding::display_name(name))
        .collect();
    if !silent.is_empty() {
        let mend = "a model fills a field better whose meaning and form it is told";
        say(Weight::Advice, format!("does not describe {}", silent.join(", ")), mend);
    }
    if !is_closed && !properties.is_empty() {
        let mend =
            "write additionalProperties: false, so that a misspelt field is told and not lost";
        say(Weight::Advice, "takes fields that it does not know".to_owned(), mend);
    }
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_said_about_a_tool() {
        let said = |tool: Value| {
            let remarks = remarks(&tool);
            remarks
                .iter()
                .map(|remark| format!("{:?}: {}", remark.weight, remark.what))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let good = json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "description": "d"}}, "required": ["n"], "additionalProperties": false}});
        assert_eq!(said(good), "");
        insta::assert_snapshot!(said(json!({"name": "a"})), @"Problem: has no inputSchema, so every call passes");
        insta::assert_snapshot!(said(json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {"n": {}}, "required": ["m"], "additionalProperties": false}})), @r"
        Problem: requires 'm', which it does not allow: no call can be right
        Advice: does not describe 'n'
        ");
        let partly = json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {"n": {"type": "int", "description": "d"}}, "additionalProperties": false}});
        insta::assert_snapshot!(said(partly), @"Problem: has a keyword in its inputSchema that is not checked as it is written: /properties/n/type has a value that this keyword cannot have, so it is not checked");
        assert!(
            said(json!({"inputSchema": {"type": "dict"}}))
                .starts_with("Problem: has an inputSchema that cannot be used")
        );
        insta::assert_snapshot!(said(json!({"inputSchema": {"properties": {"n": {"description": "d"}}}})), @r"
        Problem: has an inputSchema that is not of type object
        Advice: has no description
        Advice: takes fields that it does not know
        ");
    }
}
