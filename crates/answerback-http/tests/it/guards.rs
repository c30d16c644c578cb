use std::time::{Duration, Instant};

use answerback_http::{BearerToken, ListenSettings, Routes, Scope, Tokens};

use crate::client::TestServer;

/// Sends the same request with each of these heads and lists the responses.
async fn told(served: &TestServer, request: &str, heads: &[&[&str]]) -> String {
    let mut lines = Vec::new();
    for head in heads {
        lines.push(format!("{head:?}: {}", served.ask(request, head).await.told()));
    }
    lines.join("\n")
}

#[tokio::test]
async fn requests_for_other_hosts_are_rejected() {
    let served = TestServer::new().await;
    let port = served.address.port();
    let token = format!("Authorization: Bearer {}", served.token.text());
    let other_port = port.checked_add(1).unwrap_or(1);
    let ours = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
    ];
    for host in ours {
        let answer = served.send("GET /api/name/7", &[&format!("Host: {host}"), &token], "").await;
        assert_eq!(answer.told(), "200 editor", "{host}");
    }
    let others = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "localhost".to_owned(),
        format!("127.0.0.1:{other_port}"),
        format!("127.0.0.2:{port}"),
        format!("0.0.0.0:{port}"),
        format!("localhost.:{port}"),
        format!("user@localhost:{port}"),
        String::new(),
    ];
    // A rebound page could read the open routes, too, unless they also check the host.
    for route in ["/api/name/7", "/healthz", "/readyz", "/page", "/nothing"] {
        for host in &others {
            let answer =
                served.send(&format!("GET {route}"), &[&format!("Host: {host}"), &token], "").await;
            assert_eq!(answer.told(), "421 HOST_UNKNOWN", "{route} {host}");
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn contradicting_hosts_are_rejected() {
    let served = TestServer::new().await;
    let ours = format!("Host: {}", served.address);
    let token = format!("Authorization: Bearer {}", served.token.text());
    let address = served.address;
    let table = [
        (format!("GET http://{address}/api/name/7"), vec![ours.as_str(), &token], "200 editor"),
        ("GET http://evil.example/api/name/7".into(), vec![&ours, &token], "421 HOST_UNKNOWN"),
        (
            format!("GET http://{address}/api/name/7"),
            vec!["Host: evil.example", &token],
            "421 HOST_UNKNOWN",
        ),
        ("GET /api/name/7".into(), vec![&ours, &ours, &token], "400 BAD_REQUEST"),
        ("GET /api/name/7".into(), vec![&ours, "Host: evil.example", &token], "400 BAD_REQUEST"),
        ("GET /api/name/7".into(), vec![&token], "400 BAD_REQUEST"),
    ];
    for (request, head, expected) in table {
        assert_eq!(served.send(&request, &head, "").await.told(), expected, "{request} {head:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn configured_names_are_accepted() {
    let served = TestServer::guarded(Routes::new(), ListenSettings::default(), |guard| {
        guard.with_host("answers.example").unwrap().with_origin("https://answers.example").unwrap()
    })
    .await;
    let token = format!("Authorization: Bearer {}", served.token.text());
    let head = [
        "Host: answers.example",
        "Origin: https://answers.example",
        "Sec-Fetch-Site: same-origin",
        &token,
    ];
    assert_eq!(served.send("GET /api/name/7", &head, "").await.told(), "200 editor");
    // Pages of a configured host are accepted only with the configured scheme and port.
    let head = ["Host: answers.example", "Origin: https://answers.example:444", &token];
    assert_eq!(served.send("GET /api/name/7", &head, "").await.told(), "403 ORIGIN_NOT_ALLOWED");
    served.stop().await;
}

#[tokio::test]
async fn pages_of_other_origins_are_rejected() {
    let served = TestServer::new().await;
    let port = served.address.port();
    let same = format!("Origin: http://127.0.0.1:{port}");
    for request in ["GET /api/name/7", "GET /page", "POST /page"] {
        let expected = if request.ends_with("page") { "200 a " } else { "200 editor" };
        let answer = served.ask(request, &[&same]).await.told();
        assert!(answer.starts_with(expected), "{request}: {answer}");
        let others = [
            "Origin: http://evil.example".to_owned(),
            "Origin: null".to_owned(),
            "Origin:".to_owned(),
            "Origin: http://127.0.0.1".to_owned(),
            format!("Origin: https://127.0.0.1:{port}"),
            // This is one of our names, but not the requested one, so its pages have another origin.
            format!("Origin: http://localhost:{port}"),
            format!("{same}\r\n{same}"),
        ];
        for other in &others {
            assert_eq!(
                served.ask(request, &[other]).await.told(),
                "403 ORIGIN_NOT_ALLOWED",
                "{request} {other}"
            );
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn another_site_may_only_link() {
    let served = TestServer::new().await;
    let sites: [&[&str]; 6] = [
        &[],
        &["Sec-Fetch-Site: same-origin"],
        &["Sec-Fetch-Site: none"],
        &["Sec-Fetch-Site: same-site"],
        &["Sec-Fetch-Site: cross-site"],
        &["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"],
    ];
    insta::assert_snapshot!(told(&served, "GET /api/name/7", &sites).await, @r#"
    []: 200 editor
    ["Sec-Fetch-Site: same-origin"]: 200 editor
    ["Sec-Fetch-Site: none"]: 200 editor
    ["Sec-Fetch-Site: same-site"]: 403 CROSS_SITE
    ["Sec-Fetch-Site: cross-site"]: 403 CROSS_SITE
    ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"]: 403 CROSS_SITE
    "#);
    insta::assert_snapshot!(told(&served, "POST /page", &sites).await, @r#"
    []: 200 a form
    ["Sec-Fetch-Site: same-origin"]: 200 a form
    ["Sec-Fetch-Site: none"]: 200 a form
    ["Sec-Fetch-Site: same-site"]: 403 CROSS_SITE
    ["Sec-Fetch-Site: cross-site"]: 403 CROSS_SITE
    ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"]: 403 CROSS_SITE
    "#);
    insta::assert_snapshot!(told(&served, "GET /page", &sites).await, @r#"
    []: 200 a page
    ["Sec-Fetch-Site: same-origin"]: 200 a page
    ["Sec-Fetch-Site: none"]: 200 a page
    ["Sec-Fetch-Site: same-site"]: 200 a page
    ["Sec-Fetch-Site: cross-site"]: 200 a page
    ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"]: 200 a page
    "#);
    served.stop().await;
}

#[tokio::test]
async fn a_token_is_required_in_the_header() {
    let served = TestServer::new().await;
    let host = format!("Host: {}", served.address);
    let text = served.token.text();
    let wrong = BearerToken::generate().unwrap();
    let good = [format!("Authorization: Bearer {text}"), format!("authorization: bearer  {text}")];
    for line in &good {
        assert_eq!(served.send("GET /api/name/7", &[&host, line], "").await.told(), "200 editor");
    }
    // A client without a token cannot find out which routes exist, or which methods they accept.
    for request in
        ["GET /api/name/7", "POST /api/name/7", "GET /nothing", "GET /metrics", "OPTIONS /api/size"]
    {
        let answer = served.send(request, &[&host], "").await;
        assert_eq!(answer.told(), "401 UNAUTHENTICATED", "{request}");
        assert!(answer.has("www-authenticate: bearer"), "{answer:?}");
    }
    let bad = [
        format!("Authorization: Bearer {}", wrong.text()),
        format!("Authorization: Basic {text}"),
        format!("Authorization: {text}"),
        format!("Authorization: Bearer {text}x"),
        "Authorization: Bearer".to_owned(),
        format!("{}\r\n{}", good[0], good[0]),
    ];
    for line in &bad {
        let answer = served.send("GET /api/name/7", &[&host, line], "").await;
        assert_eq!(answer.told(), "401 UNAUTHENTICATED", "{line}");
        assert!(answer.has("www-authenticate: bearer error=\"invalid_token\""), "{answer:?}");
    }
    for query in ["access_token", "token"] {
        let request = format!("GET /api/name/7?{query}={text}");
        let cookie = format!("Cookie: {query}={text}");
        assert_eq!(
            served.send(&request, &[&host, &cookie], "").await.told(),
            "401 UNAUTHENTICATED"
        );
    }
    served.stop().await;
}

#[tokio::test]
async fn a_missing_scope_is_named() {
    let served = TestServer::new().await;
    let answer = served.ask("POST /api/decide", &[]).await;
    assert_eq!(answer.told(), "403 SCOPE_MISSING");
    assert!(answer.body.contains("The token lacks the scope decide"), "{answer:?}");
    assert!(
        answer.has("www-authenticate: bearer error=\"insufficient_scope\", scope=\"decide\""),
        "{answer:?}"
    );
    // `admin` operates the server and does not include decisions.
    for (scopes, expected) in [
        (vec![Scope::Admin], "403 SCOPE_MISSING"),
        (vec![Scope::Admin, Scope::Decide], "200 decided"),
    ] {
        let scopes = scopes.into_iter().collect::<answerback_http::Scopes>();
        served.table.replace(Tokens::new().with("editor", &served.token, scopes).unwrap());
        assert_eq!(served.ask("POST /api/decide", &[]).await.told(), expected);
        assert_eq!(served.ask("GET /api/name/7", &[]).await.told(), "200 editor");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_revoked_token_is_rejected() {
    let served = TestServer::new().await;
    let text = served.token.text();
    let principal = served.table.authenticate(text).unwrap();
    let table = served.table.clone();
    let revoked = table.revoked(&principal);
    tokio::pin!(revoked);
    let a_moment = Duration::from_millis(20);
    assert!(tokio::time::timeout(a_moment, revoked.as_mut()).await.is_err());
    served.table.replace(Tokens::new());
    revoked.await;
    assert_eq!(served.ask("GET /api/name/7", &[]).await.told(), "401 UNAUTHENTICATED");
    served.stop().await;
}

#[tokio::test]
async fn responses_to_wrong_tokens_are_delayed() {
    let served = TestServer::new().await;
    let host = format!("Host: {}", served.address);
    let line = format!("Authorization: Bearer {}", BearerToken::generate().unwrap().text());
    let head = [host.as_str(), &line];
    let started = Instant::now();
    let wrong = async {
        let asked = (0..80).map(|_| served.send("GET /api/name/7", &head, ""));
        let mut counts = [0; 2];
        for answer in all(asked).await {
            match answer.told().as_str() {
                "401 UNAUTHENTICATED" => counts[0] += 1,
                "429 TOO_MANY_REQUESTS" if answer.has("retry-after: 1") => counts[1] += 1,
                other => panic!("{other}"),
            }
        }
        counts
    };
    let (counts, right) = tokio::join!(wrong, served.ask("GET /api/name/7", &[]));
    assert_eq!(right.told(), "200 editor");
    // The limit counts responses that are delayed at the same time. How many are rejected depends on the machine.
    assert_eq!(counts[0] + counts[1], 80);
    assert!(counts[0] >= 32, "{counts:?}");
    assert!(started.elapsed() >= Duration::from_millis(250));
    served.stop().await;
}

/// Runs futures concurrently.
async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        running.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => {
                done.push(output);
                false
            }
            std::task::Poll::Pending => true,
        });
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done
}
