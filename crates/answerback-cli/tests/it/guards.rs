//! Tests the console's access checks from outside.

use std::fs;
use std::io::Read as _;

use serde_json::json;

use crate::console::start;
use crate::event_reader::Reader;
use crate::person::{Person, link, redeem};
use crate::replies::example;
use crate::wrap::Desk;

#[test]
fn who_may_not_is_kept_out() {
    let desk = Desk::new();
    let config = "gateway:\n  tokens:\n    writer: {scopes: [ingest], file: writer.token}\n    caller: {scopes: [call], file: caller.token}\n";
    let gateway = start(&desk, config);
    let person = Person::unlock(&desk, &gateway);
    let asked = gateway.send("POST", "/api/replies", &[], &example("mission_draft"));
    let case = person.send("GET", "/api/cases", "").last()["cases"][0].clone();
    let path = format!("/api/cases/{}/decision", asked.last()["cases"][0].as_str().unwrap());
    let decision =
        json!({"decision": "approve", "digest": case["case"]["digest"], "revision": 0}).to_string();
    let writer = fs::read_to_string(desk.path("writer.token")).unwrap();
    let writer = format!("Bearer {}", writer.trim());
    let caller = fs::read_to_string(desk.path("caller.token")).unwrap();
    let caller = format!("Bearer {}", caller.trim());
    let (waited, seen) = (path.clone(), path.replace("decision", "acknowledgement"));
    let cookie = person.cookie.as_str();
    let none = ("Authorization", "");
    for (what, method, path, headers, status, code) in [
        ("no token", "GET", "/api/replies", vec![none], 401, "UNAUTHENTICATED"),
        ("no token", "GET", "/api/events", vec![none], 401, "UNAUTHENTICATED"),
        (
            "a wrong cookie",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", "answerback_1=ab_x")],
            401,
            "UNAUTHENTICATED",
        ),
        (
            "a rebound name",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", cookie), ("Host", "evil.example")],
            421,
            "HOST_UNKNOWN",
        ),
        ("a rebound page", "GET", "/", vec![none, ("Host", "evil.example")], 421, "HOST_UNKNOWN"),
        (
            "a cross-site read",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")],
            403,
            "CROSS_SITE",
        ),
        (
            "another port's read",
            "GET",
            "/api/replies",
            vec![none, ("Cookie", cookie), ("Sec-Fetch-Site", "same-site")],
            403,
            "CROSS_SITE",
        ),
        (
            "a cross-site decision",
            "POST",
            &path,
            vec![none, ("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")],
            403,
            "CROSS_SITE",
        ),
        (
            "a foreign origin",
            "POST",
            &path,
            vec![none, ("Cookie", cookie), ("Origin", "https://evil.example")],
            403,
            "ORIGIN_NOT_ALLOWED",
        ),
        ("our own token decides", "POST", &path, vec![], 403, "SCOPE_MISSING"),
        (
            "an ingest token decides",
            "POST",
            &path,
            vec![("Authorization", writer.as_str())],
            403,
            "SCOPE_MISSING",
        ),
        (
            "another's case is waited for",
            "GET",
            &waited,
            vec![("Authorization", writer.as_str())],
            404,
            "NOT_FOUND",
        ),
        (
            "another's case is acknowledged",
            "POST",
            &seen,
            vec![("Authorization", writer.as_str())],
            404,
            "NOT_FOUND",
        ),
        (
            "a token that calls asks a person",
            "POST",
            "/mcp/answerback",
            vec![("Authorization", caller.as_str())],
            403,
            "FORBIDDEN",
        ),
        (
            "an ingest token reads",
            "GET",
            "/api/replies",
            vec![("Authorization", writer.as_str())],
            403,
            "SCOPE_MISSING",
        ),
        ("our own token makes links", "POST", "/api/launch", vec![], 403, "SCOPE_MISSING"),
        (
            "an agent's session hands in",
            "POST",
            "/api/replies",
            vec![none, ("Cookie", cookie)],
            403,
            "SCOPE_MISSING",
        ),
    ] {
        let body = match (method, path) {
            ("POST", path) if path == seen => "{}",
            ("POST", _) => decision.as_str(),
            _ => "",
        };
        let answer = gateway.send(method, path, &headers, body);
        let told = answer.last()["data"]["code"].as_str().unwrap_or_default();
        assert_eq!((answer.status, told), (status, code), "{what}");
    }
    // A link opens one session.
    let link = link(&desk);
    assert_eq!(redeem(&gateway, &link).0, 201);
    let used = redeem(&gateway, &link);
    assert_eq!(used, (401, None));
    assert_eq!(redeem(&gateway, "x#t=ab_guess").0, 401);

    // Revoking a session ends its open stream.
    let mut reader = Reader::open(&gateway, "/api/events", &format!("Cookie: {cookie}\r\n"));
    assert_eq!(reader.next().unwrap().0, "hello");
    let sessions = person.send("GET", "/api/sessions", "").last()["sessions"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 2, "{sessions}");
    let own = sessions.as_array().unwrap().iter().find(|session| session["is_current"] == true);
    let path = format!("/api/sessions/{}", own.unwrap()["id"].as_str().unwrap());
    assert_eq!(person.send("DELETE", &path, "").status, 204);
    while reader.next().is_some() {}
    assert_eq!(person.send("GET", "/api/replies", "").status, 401);
}

#[test]
fn pages_are_for_everybody_and_say_nothing() {
    let desk = Desk::new();
    let gateway = start(&desk, "");
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let get = |path: &str| agent.get(gateway.url(path)).call().unwrap();
    let mut page = get("/inbox");
    let mut html = String::new();
    page.body_mut().as_reader().read_to_string(&mut html).unwrap();
    let header = |name: &str| page.headers().get(name).unwrap().to_str().unwrap().to_owned();
    assert!(header("content-security-policy").contains("require-trusted-types-for 'script'"));
    assert_eq!(header("cache-control"), "no-cache");
    assert!(
        !html.contains("<style") && !html.contains("style=") && !html.contains("onload"),
        "{html}"
    );
    let script = html.split("src=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let asset = get(&script);
    assert_eq!(asset.status().as_u16(), 200, "{script}");
    assert!(asset.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    // A missing script must not be answered with the page, so that an outdated page notices.
    assert_eq!(get("/assets/gone.js").status().as_u16(), 401);
    assert_eq!(gateway.send("GET", "/assets/gone.js", &[], "").status, 404);
    // For an unknown URL, a browser gets the application, which shows that the page does not exist. A program gets a
    // problem.
    let lost = |path: &str, accept: &str| {
        let mut answer = agent.get(gateway.url(path)).header("Accept", accept).call().unwrap();
        let mut body = String::new();
        answer.body_mut().as_reader().read_to_string(&mut body).unwrap();
        (answer.status().as_u16(), body == html)
    };
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    assert_eq!(lost("/nowhere", browser), (404, true));
    assert_eq!(lost("/r/1/2/3", browser), (404, true));
    assert_eq!(lost("/apis", browser), (404, true));
    for path in ["/api/nowhere", "/api", "/mcp/nowhere/else", "/assets/gone.js"] {
        assert_eq!(lost(path, browser), (401, false), "{path}");
    }
    assert_eq!(lost("/nowhere", "application/json"), (401, false));
    let told = gateway.send("GET", "/nowhere", &[("Accept", "application/json")], "");
    assert_eq!((told.status, &told.last()["data"]["code"]), (404, &json!("NOT_FOUND")));
    let evil =
        gateway.send("GET", "/nowhere", &[("Accept", browser), ("Host", "evil.example")], "");
    assert_eq!(evil.status, 421);
}
