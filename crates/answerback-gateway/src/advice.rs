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
    pub fix: &'static str,
}

/// Returns remarks about a tool as its server lists it.
pub fn remarks(tool: &Value) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut add = |weight, what: String, fix| remarks.push(Remark { weight, what, fix });
    let schema = &tool["inputSchema"];
    if schema.is_null() {
        let fix = "declare one; an object without properties says that there are no arguments";
        add(Weight::Problem, "has no inputSchema, so every call passes".to_owned(), fix);
        return remarks;
    }
    let compiled = Schema::compile(schema.clone());
    for problem in compiled.iter().flat_map(Schema::problems) {
        let fix = "correct the keyword; the rest of the schema is checked";
        let problem = answerback::finding::display_text(&problem.to_string(), 300);
        add(
            Weight::Problem,
            format!(
                "has a keyword in its inputSchema that is not checked as it is written: {problem}"
            ),
            fix,
        );
    }
    if let Err(fault) = compiled {
        let fix =
            "fix the schema; until then calls pass unchecked, with the warning INPUT_UNCHECKED";
        let fault = answerback::finding::display_text(&fault.to_string(), 300);
        add(Weight::Problem, format!("has an inputSchema that cannot be used: {fault}"), fix);
        return remarks;
    }
    if schema["type"] != "object" {
        let fix = "write type: object; the protocol knows no other";
        add(Weight::Problem, "has an inputSchema that is not of type object".to_owned(), fix);
    }
    let empty = serde_json::Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is_closed = schema["additionalProperties"] == false;
    for name in required.iter().filter(|name| !properties.contains_key(**name)) {
        let name = answerback::finding::display_name(name);
        let fix = "add it to properties, or take it out of required";
        if is_closed {
            add(
                Weight::Problem,
                format!("requires {name}, which it does not allow: no call can be right"),
                fix,
            );
        } else {
            add(Weight::Advice, format!("requires {name}, and does not say what it is"), fix);
        }
    }
    if let Some(output) = tool.get("outputSchema").filter(|schema| !schema.is_null())
        && let Err(fault) = Schema::compile(output.clone())
    {
        let fix = "fix the schema; until then results have the warning OUTPUT_UNCHECKED";
        let fault = answerback::finding::display_text(&fault.to_string(), 300);
        add(Weight::Problem, format!("has an outputSchema that cannot be used: {fault}"), fix);
    }
    if tool["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
        let fix = "say in a sentence what it does and when to call it";
        add(Weight::Advice, "has no description".to_owned(), fix);
    }
    let undescribed: Vec<String> = properties
        .iter()
        .filter(|(_, property)| property["description"].as_str().is_none_or(str::is_empty))
        .map(|(name, _)| answerback::finding::display_name(name))
        .collect();
    if !undescribed.is_empty() {
        let fix = "a model fills a field better whose meaning and form it is told";
        add(Weight::Advice, format!("does not describe {}", undescribed.join(", ")), fix);
    }
    if !is_closed && !properties.is_empty() {
        let fix =
            "write additionalProperties: false, so that a misspelt field is told and not lost";
        add(Weight::Advice, "takes fields that it does not know".to_owned(), fix);
    }
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_weakness_of_a_definition_has_a_remark() {
        let texts = |tool: Value| {
            let remarks = remarks(&tool);
            remarks
                .iter()
                .map(|remark| format!("{:?}: {}", remark.weight, remark.what))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let good = json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "description": "d"}}, "required": ["n"], "additionalProperties": false}});
        assert_eq!(texts(good), "");
        insta::assert_snapshot!(texts(json!({"name": "a"})), @"Problem: has no inputSchema, so every call passes");
        insta::assert_snapshot!(texts(json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {"n": {}}, "required": ["m"], "additionalProperties": false}})), @r"
        Problem: requires 'm', which it does not allow: no call can be right
        Advice: does not describe 'n'
        ");
        let partly = json!({"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {"n": {"type": "int", "description": "d"}}, "additionalProperties": false}});
        insta::assert_snapshot!(texts(partly), @"Problem: has a keyword in its inputSchema that is not checked as it is written: /properties/n/type has a value that this keyword cannot have, so it is not checked");
        assert!(
            texts(json!({"inputSchema": {"type": "dict"}}))
                .starts_with("Problem: has an inputSchema that cannot be used")
        );
        insta::assert_snapshot!(texts(json!({"inputSchema": {"properties": {"n": {"description": "d"}}}})), @r"
        Problem: has an inputSchema that is not of type object
        Advice: has no description
        Advice: takes fields that it does not know
        ");
    }
}
