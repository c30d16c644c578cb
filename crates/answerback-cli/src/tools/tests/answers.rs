//! Tests the exact text of the tools' answers.

use crate::tools::call::{BuiltinCall, BuiltinCallError};
use crate::tools::{SolutionRoot, Toolset};
use serde_json::{Value, json};

use super::scene::{Scene, environment, judged};

fn pretty(document: &Value) -> String {
    serde_json::to_string_pretty(document).unwrap()
}

#[test]
fn envelopes_of_a_good_solution() {
    let scene = Scene::harbour();
    let register = json!({
        "project_name": "be",
        "alias": "api",
        "summary": "Books berths and answers what is free",
        "tags": ["api", "backend"],
        "owner": "harbour office",
    });
    for (name, tool, arguments) in [
        ("info", "solution_info", json!({"include_roadmap": true})),
        ("structure", "solution_structure", json!({"include_dependencies": true})),
        ("standards", "solution_standards_list", json!({"applicable_to": "fe"})),
        ("register", "solution_project_register", register),
        ("structure-after", "solution_structure", json!({})),
        ("health", "solution_health_check", json!({"check_level": "comprehensive"})),
    ] {
        insta::assert_snapshot!(name, pretty(&scene.call(tool, &arguments)));
    }
    let registry = std::fs::read_to_string(scene.path(".bot/solution/projects.json")).unwrap();
    insta::assert_snapshot!("registry", registry);
}

#[test]
fn envelopes_of_failures() {
    let scene = Scene::harbour();
    scene.edit(".bot/agents/builder.md", "naming.md", "namings.md");
    scene.edit(".bot/agents/planner.md", "role: ", "roll: ");
    for (name, tool, arguments) in [
        ("arguments", "solution_project_register", json!({"name": "fe", "alias": "Front End"})),
        ("alias", "solution_project_register", json!({"project_name": "be", "alias": "fe"})),
        ("project", "solution_project_register", json!({"project_name": "habour-web"})),
        ("domain", "solution_standards_list", json!({"domain": "backened"})),
        ("sick", "solution_health_check", json!({"check_level": "comprehensive"})),
    ] {
        insta::assert_snapshot!(format!("failure-{name}"), pretty(&scene.call(tool, &arguments)));
    }
}

#[test]
fn validators_answer_in_atdf() {
    let scene = Scene::harbour();
    let code = |tool: &str, arguments: Value| {
        let document = scene.call(tool, &arguments);
        let code = document["data"]["code"].as_str().unwrap_or("good");
        code.to_owned()
    };
    for (tool, arguments, expected) in [
        (
            "validate_date_range",
            json!({"start_date": "2026-02-01T00:00:00Z", "end_date": "2026-02-02T00:00:00Z"}),
            "good",
        ),
        (
            "validate_date_range",
            json!({"start_date": "2026-02-02T00:00:00Z", "end_date": "2026-02-01T00:00:00Z"}),
            "INVALID_DATE_RANGE",
        ),
        (
            "validate_date_range",
            json!({"start_date": "2027-02-01T00:00:00Z", "end_date": "2027-02-02T00:00:00Z", "enforce_limits": true}),
            "INVALID_DATE_RANGE",
        ),
        (
            "validate_date_range",
            json!({"start_date": "tomorrow", "end_date": ""}),
            "INVALID_DATE_FORMAT",
        ),
        (
            "validate_date_range",
            json!({"start_date": "2026-02-01T00:00:00Z"}),
            "REQUIRED_FIELD_MISSING",
        ),
        (
            "validate_date_range",
            json!({"start_date": 1, "end_date": "x", "limits": true}),
            "VALIDATION_FAILED",
        ),
        ("validate_email", json!({"email": "user@example.com"}), "good"),
        ("validate_email", json!({"email": "user@"}), "INVALID_EMAIL_FORMAT"),
        ("validate_email", json!({"email": ""}), "EMPTY_EMAIL"),
        ("validate_email", json!({"email": "x".repeat(2000)}), "STRING_LENGTH_VIOLATION"),
        ("validate_email", json!({"email": null}), "TYPE_MISMATCH"),
        ("validate_email", json!({"email": "a@b.cc", "address": "a"}), "UNKNOWN_FIELD"),
        ("validate_email", Value::Null, "TYPE_MISMATCH"),
        ("validate_password_strength", json!({"password": "MyP@ssw0rd!"}), "good"),
        ("validate_password_strength", json!({"password": "mypassword"}), "WEAK_PASSWORD"),
        ("validate_password_strength", json!({"password": ""}), "EMPTY_PASSWORD"),
    ] {
        assert_eq!(code(tool, arguments.clone()), expected, "{tool} {arguments}");
    }
}

#[test]
fn a_password_is_never_repeated() {
    let scene = Scene::harbour();
    // None of our messages contains these words.
    let secret = "Zebra-quartz-77";
    for arguments in [
        json!({"password": secret}),
        json!({"password": secret.to_lowercase()}),
        json!({"password": secret.repeat(100)}),
        json!({"password": [secret]}),
        json!({"password": {"value": secret}}),
        json!({"passwrd": secret}),
        json!({"password": "x", "old": secret}),
        json!({"password": "x", secret: 1}),
        json!([secret]),
        json!(secret),
    ] {
        let text = scene.call("validate_password_strength", &arguments).to_string();
        let shown = text.to_lowercase();
        assert!(!shown.contains("zebra") && !shown.contains("quartz"), "{arguments}\n{text}");
    }
}

#[test]
fn a_solution_that_is_made_later_is_found() {
    let made = tempfile::tempdir().unwrap();
    let below = made.path().join("src");
    std::fs::create_dir(&below).unwrap();
    let tools = Toolset::new(SolutionRoot::Above(below), environment());
    let missing = judged(&tools, "solution_structure", &json!({}));
    assert_eq!(missing["errors"][0]["code"], "DOTBOT_NOT_FOUND");
    std::fs::create_dir(made.path().join(".bot")).unwrap();
    assert_eq!(judged(&tools, "solution_structure", &json!({}))["status"], "ok");
}

#[test]
fn an_unknown_tool_is_no_answer_and_names_the_nearest() {
    let scene = Scene::harbour();
    let error = scene.tools.call(&BuiltinCall::new("solution.health", json!({}))).unwrap_err();
    let BuiltinCallError::UnknownTool(finding) = error else { panic!("{error:?}") };
    assert_eq!(
        finding.message,
        "Unknown tool 'solution.health'; did you mean 'solution_health_check'?"
    );
}

#[test]
fn the_audit_says_where_and_for_whom() {
    let scene = Scene::harbour();
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let call = BuiltinCall::new("solution_info", json!({})).with_correlation_id(id.try_into().ok());
    let document = scene.tools.call(&call).unwrap().to_document();
    assert_eq!(document["audit"]["correlation_id"], id);
    assert_eq!(document["audit"]["host"], "ci");
}
