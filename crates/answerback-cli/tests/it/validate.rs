//! `answerback validate`: the three ATDF validators.

use serde_json::Value;

use crate::program::{run, run_with, told};

/// The answer without the times of this very moment.
fn settled(output: &std::process::Output) -> String {
    let mut text = told(output);
    if let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) {
        let times = ["/meta/timestamp", "/data/details/received/current_time"];
        for time in times.iter().filter_map(|place| document.pointer(place)?.as_str()) {
            text = text.replace(time, "[now]");
        }
    }
    // A drawing has the time as 2026-01-02 03:04:05 UTC.
    if let Some(end) = text.find(" UTC\n")
        && let Some(start) = end.checked_sub("2026-01-02 03:04:05".len())
    {
        text.replace_range(start..end, "[now]");
    }
    text
}

#[test]
fn answers_are_enriched() {
    for (name, arguments) in [
        ("email-good", &["validate", "email", "user@example.com"][..]),
        ("email-bad", &["validate", "email", "user@"]),
        ("email-empty", &["validate", "email", ""]),
        (
            "dates-no-offset",
            &["validate", "date-range", "2030-01-01T00:00:00", "2030-02-01T00:00:00Z"],
        ),
        ("dates-good", &["validate", "date-range", "2990-01-01T00:00:00Z", "2990-01-15T00:00:00Z"]),
        ("email-text", &["validate", "email", "nobody", "--format", "text"]),
    ] {
        insta::assert_snapshot!(format!("validate-{name}"), settled(&run(".", arguments)));
    }
}

#[test]
fn dates_in_the_past_are_refused() {
    let output =
        run(".", &["validate", "date-range", "2001-02-01T00:00:00Z", "2001-01-01T00:00:00Z"]);
    assert_eq!(output.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["code"], "INVALID_DATE_RANGE");
    assert_eq!(answer["data"]["details"]["validation_results"]["start_after_now"], false);
}

#[test]
fn a_password_is_never_shown() {
    for (password, exit) in [("MyP@ssw0rd!-secret", 0), ("hunter2-secret", 1), ("", 1)] {
        let output = run_with(".", &["validate", "password"], format!("{password}\n"));
        assert_eq!(output.status.code(), Some(exit), "{}", told(&output));
        assert!(!told(&output).contains("-secret"));
    }
}
