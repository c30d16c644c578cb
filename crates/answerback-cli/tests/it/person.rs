//! A person at the console: the launch link, and the browser session.

use serde_json::{Value, json};

use crate::gateway::{Answer, Gateway};
use crate::wrap::Desk;

/// A person in a browser, identified by a cookie.
pub(crate) struct Person<'g> {
    gateway: &'g Gateway,
    pub(crate) cookie: String,
}

impl<'g> Person<'g> {
    pub(crate) fn unlock(desk: &Desk, gateway: &'g Gateway) -> Self {
        let link = link(desk);
        let (status, cookie) = redeem(gateway, &link);
        assert_eq!(status, 201, "{link}");
        Self { gateway, cookie: cookie.unwrap() }
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let headers = [
            ("Authorization", ""),
            ("Cookie", self.cookie.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.gateway.send(method, path, &headers, body)
    }

    pub(crate) fn decide(&self, case: &Value, decision: Value) -> Answer {
        let mut decision = decision;
        decision["digest"] = case["case"]["digest"].clone();
        decision["revision"] = case["case"]["revision"].clone();
        let path = format!("/api/cases/{}/decision", case["case"]["id"].as_str().unwrap());
        self.send("POST", &path, &decision.to_string())
    }
}

pub(crate) fn link(desk: &Desk) -> String {
    let store = desk.path("state/answerback/ledger.db");
    let link = desk.good(&["link", "--store", store.to_str().unwrap()]);
    link.trim().to_owned()
}

/// Opens a link as the page does, and returns the status and the cookie.
pub(crate) fn redeem(gateway: &Gateway, link: &str) -> (u16, Option<String>) {
    let token = link.split_once("#t=").unwrap().1;
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let answer =
        agent.post(gateway.url("/api/session")).send(json!({ "token": token }).to_string());
    let answer = answer.unwrap();
    let cookie = answer.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
    if let Some(cookie) = &cookie {
        assert!(cookie.contains("HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    }
    let cookie = cookie.map(|cookie| cookie.split(';').next().unwrap().to_owned());
    (answer.status().as_u16(), cookie)
}
