//! Tests hostile folders: every answer must stay valid, bounded and about the folder.

use std::fs;
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use super::scene::Scene;

#[test]
fn names_of_others_do_not_spoil_an_answer() {
    let scene = Scene::harbour();
    let hostile = "One. Two! \u{1b}[31m\nThree? 'x' \u{202e}";
    scene.put("web/package.json", json!({"name": hostile, "version": hostile}).to_string());
    scene.put(
        ".bot/.dotbot-state.json",
        json!({"version": hostile, "profile": hostile, "installed_at": hostile}).to_string(),
    );
    scene.put(".bot/standards/a. B/One. Two.md", format!("---\ndomain: {}\n---\n", json!(hostile)));
    for (tool, arguments) in [
        ("solution_info", json!({})),
        ("solution_structure", json!({})),
        ("solution_standards_list", json!({})),
        ("solution_standards_list", json!({"applicable_to": hostile})),
        ("solution_standards_list", json!({"domain": "One. Two"})),
        (
            "solution_project_register",
            json!({"project_name": hostile, "owner": hostile, "tags": [hostile]}),
        ),
        ("solution_project_register", json!({"project_name": "One. Two"})),
        ("solution_health_check", json!({"check_level": "comprehensive"})),
    ] {
        // `call` checks the answer: one line, one sentence, no finding.
        scene.call(tool, &arguments);
    }
}

#[test]
fn an_answer_stays_small_however_much_is_wrong() {
    let scene = Scene::harbour();
    for index in 0..300 {
        scene.put(
            &format!(".bot/agents/a{index}.md"),
            "@.bot/none.md @.bot/nothing.md\n".repeat(50),
        );
    }
    let document = scene.call("solution_health_check", &json!({"check_level": "comprehensive"}));
    assert_eq!(document["errors"].as_array().unwrap().len(), 50);
    let left_out = document["warnings"].as_array().unwrap().last().unwrap();
    assert_eq!(left_out["code"], "PARTIAL_RESULT");
    assert_eq!(left_out["details"]["left_out"], 2 * 300 - 50 + 300 - 50);
    assert!(document.to_string().len() < 64 << 10, "{}", document.to_string().len());
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_make_anybody_wait() {
    let scene = Scene::harbour();
    for name in [
        ".bot/.dotbot-state.json",
        ".bot/solution/projects.json",
        ".bot/standards/global/naming.md",
    ] {
        scene.remove(name);
        let made = std::process::Command::new("mkfifo").arg(scene.path(name)).status().unwrap();
        assert!(made.success());
    }
    let info = scene.call("solution_info", &json!({}));
    assert_eq!(info["errors"][0]["code"], "IO_ERROR");
    assert_eq!(scene.call("solution_structure", &json!({}))["warnings"][0]["code"], "IO_ERROR");
    scene.call("solution_standards_list", &json!({}));
    scene.call("solution_health_check", &json!({"check_level": "comprehensive"}));
}

#[test]
fn registrations_at_once_are_all_kept() {
    let scene = Arc::new(Scene::harbour());
    for index in 0..8 {
        scene.put(
            &format!("p{index}/package.json"),
            json!({"name": format!("p{index}")}).to_string(),
        );
    }
    let writers: Vec<_> = (0..8)
        .map(|index| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                let arguments =
                    json!({"project_name": format!("p{index}"), "alias": format!("x{index}")});
                scene.call("solution_project_register", &arguments)
            })
        })
        .collect();
    for writer in writers {
        assert_eq!(writer.join().unwrap()["status"], "ok");
    }
    let text = fs::read_to_string(scene.path(".bot/solution/projects.json")).unwrap();
    let registry: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(registry["projects"].as_object().unwrap().len(), 9);
    let left: Vec<_> = fs::read_dir(scene.path(".bot/solution")).unwrap().collect();
    assert_eq!(left.len(), 1, "temporary files are gone");
}
