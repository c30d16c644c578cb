//! Conversions: `case.json` holds one situation in every provider's shape; `case.<provider>.snap` is
//! what we read from it, what the history keeps of it and what the model is told.

use answerback::ToolResult;
use answerback::provider::{Provider, ToolCall, read_tools};
use serde_json::Value;

const PARALLEL: &str = include_str!("provider/parallel.json");
const MALFORMED: &str = include_str!("provider/malformed.json");
const TOOLS: &str = include_str!("provider/tools.json");

fn describe(call: &ToolCall) -> String {
    let id = if call.has_id { "" } else { " (ours)" };
    format!("{}{id}: {} {:?}\n", call.id, call.name, call.arguments)
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "provider",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, text) });
}

/// Answers the first call with an error and leaves the others without a result.
fn conversation(provider: Provider, message: &Value) -> String {
    let calls = provider.calls(message).expect("a readable message");
    let content = "Validation failed for tool 'read_file' (attempt 1/3):\n\n…";
    let results = [ToolResult::error(&calls[0].id, content)];
    let echo = provider.echo(message);
    let mut text = String::from("## calls\n");
    for call in &calls {
        text.push_str(&describe(call));
    }
    let turn = provider.turn(&calls, &results).expect("results that fit");
    // What the provider takes back is legal once and for all.
    assert_eq!(provider.echo(&echo), echo);
    assert_eq!(provider.calls(&echo).map(|echoed| echoed.len()), Ok(calls.len()));
    text + &format!("\n## echo\n{echo:#}\n\n## turn\n{turn:#}")
}

#[test]
fn conversations() {
    for (name, case) in [("parallel", PARALLEL), ("malformed", MALFORMED)] {
        let case: Value = serde_json::from_str(case).unwrap();
        for provider in Provider::ALL {
            let message = &case[provider.as_str()];
            snapshot(&format!("{name}.{provider}"), &conversation(provider, message));
        }
    }
}

#[test]
fn tool_lists_mean_the_same_everywhere() {
    let case: Value = serde_json::from_str(TOOLS).unwrap();
    for provider in Provider::ALL {
        let (recognised, tools) = read_tools(&case[provider.as_str()]).unwrap();
        assert_eq!(recognised, provider);
        let [tool] = &tools[..] else { panic!("{provider}: {tools:?}") };
        assert_eq!(
            (tool.name.as_str(), tool.description.as_deref()),
            ("read_file", Some("Reads a file."))
        );
        assert_eq!(tool.input_schema, case["schema"], "{provider}");
    }
}

#[test]
fn what_has_no_shape_is_named() {
    let list = serde_json::json!([{"title": "a", "inputSchema": {}}, {"inputSchema": {}}]);
    assert_eq!(
        read_tools(&list).unwrap_err().to_string(),
        "not mcp's shape: expected the tool's name at \"/0/name\""
    );
    // One entry that cannot be read is no reason to refuse the others.
    let list = serde_json::json!([{"name": "a", "inputSchema": {}}, {"inputSchema": {}}]);
    assert_eq!(read_tools(&list).unwrap().1.len(), 1);
    let list = serde_json::json!([{"name": "a", "input_schema": 7}]);
    assert_eq!(Provider::Anthropic.tools(&list).unwrap()[0].input_schema, 7);
    for provider in Provider::ALL {
        assert!(provider.calls(&Value::Null).is_err(), "{provider}");
        assert_eq!(provider.as_str().parse(), Ok(provider));
    }
    let message = serde_json::json!({"role": "assistant", "content": "no calls"});
    for provider in [Provider::OpenAiChat, Provider::Anthropic, Provider::Gemini, Provider::Bedrock]
    {
        assert_eq!(provider.calls(&message), Ok(Vec::new()), "{provider}");
        assert_eq!(provider.echo(&message), message);
    }
}

#[test]
fn a_result_answers_one_open_call() {
    let calls: Vec<_> = ["1", "2"]
        .map(|id| ToolCall::new(id, "a", answerback::provider::Arguments::Value(Value::Null)))
        .into();
    let result = |id: &str| ToolResult::success(id, "done");
    assert!(Provider::Anthropic.turn(&calls, &[result("2"), result("1")]).is_ok());
    let error = Provider::Anthropic.turn(&calls, &[result("1"), result("1")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a result answers call \"1\", which is not among the turn's open calls"
    );
}
