use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use answerback_http::{
    HealthChecks, HttpListener, ListenError, ListenSettings, Metrics, Routes, Scope,
};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{any, any_service, get, post};
use tokio::io::AsyncWriteExt;

use crate::client::{TestServer, read_to_end, read_until};

#[tokio::test]
async fn every_response_has_headers_and_every_error_a_document() {
    let page = Routes::new()
        .public("/cached", get(|| async { ([(header::CACHE_CONTROL, "max-age=60")], "an asset") }));
    let served = TestServer::with(page, ListenSettings::default()).await;
    let table = [
        ("GET /api/name/7", "200 editor"),
        ("GET /page", "200 a page"),
        ("GET /healthz", r#"200 {"alive":true}"#),
        ("GET /nothing", "404 NOT_FOUND"),
        ("DELETE /api/name/7", "405 METHOD_NOT_ALLOWED"),
        ("POST /api/decide", "403 SCOPE_MISSING"),
    ];
    for (request, expected) in table {
        let answer = served.ask(request, &[]).await;
        assert_eq!(answer.told(), expected, "{request}");
        for line in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(answer.has(line), "{request} lacks {line}: {}", answer.head);
        }
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
    }
    assert!(served.ask("DELETE /api/name/7", &[]).await.has("allow: get,head"));
    let cached = served.ask("GET /cached", &[]).await;
    assert!(cached.has("cache-control: max-age=60") && !cached.has("cache-control: no-store"));
    served.stop().await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_rejected() {
    let larger = Routes::with_body_limit(5 << 20).route(
        "/api/larger",
        Scope::Ingest,
        post(|body: axum::body::Bytes| async move { body.len().to_string() }),
    );
    let served = TestServer::with(larger, ListenSettings::default()).await;
    let head = [
        format!("Host: {}", served.address),
        format!("Authorization: Bearer {}", served.token.text()),
    ];
    let send = async |path: &str, line: &str, body: &str| {
        served.send(&format!("POST {path}"), &[&head[0], &head[1], line], body).await.told()
    };
    let (fits, larger) = ("x".repeat(1000), "x".repeat(1001));
    assert_eq!(send("/api/size", "Content-Length: 1000", &fits).await, "200 1000");
    // The declared size alone is rejected; the body is never sent.
    assert_eq!(send("/api/size", "Content-Length: 1001", "").await, "413 BODY_TOO_LARGE");
    assert_eq!(send("/api/size", "Content-Length: 99999999999", "").await, "413 BODY_TOO_LARGE");
    // A body without a declared size is counted as it arrives.
    let chunked = |body: &str| format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    assert_eq!(send("/api/size", "Transfer-Encoding: chunked", &chunked(&fits)).await, "200 1000");
    assert_eq!(
        send("/api/size", "Transfer-Encoding: chunked", &chunked(&larger)).await,
        "413 BODY_TOO_LARGE"
    );
    // A route's own limit applies, even above the framework's default.
    let large = "x".repeat(3 << 20);
    let length = format!("Content-Length: {}", large.len());
    assert_eq!(send("/api/larger", &length, &large).await, "200 3145728");
    served.stop().await;
}

#[tokio::test]
async fn post_routes_have_the_same_guard() {
    let posts = |request: axum::extract::Request| -> Pin<Box<dyn Future<Output = _> + Send>> {
        Box::pin(async move {
            let has_token = request.headers().contains_key(header::AUTHORIZATION);
            match axum::body::to_bytes(request.into_body(), usize::MAX).await {
                Ok(body) => format!("{} {has_token}", body.len()).into_response(),
                Err(_) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
            }
        })
    };
    let methods = any(|| async { "the router" });
    let routes = Routes::with_body_limit(5)
        .route_with_post_handler("/api/posts", Scope::Ingest, methods.clone(), posts)
        .route_with_post_handler("/api/others", Scope::Decide, methods, posts);
    let served = TestServer::with(routes, ListenSettings::default()).await;
    let host = format!("Host: {}", served.address);
    let token = format!("Authorization: Bearer {}", served.token.text());
    let (five, six) = ("Content-Length: 5", "Content-Length: 6");
    let table: [(&str, &[&str], &str, &str); 10] = [
        ("POST /api/posts", &[&host, &token, five], "12345", "200 5 false"),
        ("POST /api/posts?a", &[&host, &token, five], "12345", "200 5 false"),
        ("GET /api/posts", &[&host, &token], "", "200 the router"),
        ("POST /api/posts", &[&host, five], "12345", "401 UNAUTHENTICATED"),
        ("POST /api/posts", &["Host: evil.example", &token, five], "12345", "421 HOST_UNKNOWN"),
        (
            "POST /api/posts",
            &[&host, &token, "Origin: http://a.example", five],
            "12345",
            "403 ORIGIN_NOT_ALLOWED",
        ),
        (
            "POST /api/posts",
            &[&host, &token, "Sec-Fetch-Site: cross-site", five],
            "12345",
            "403 CROSS_SITE",
        ),
        ("POST /api/posts", &[&host, &token, six], "", "413 BODY_TOO_LARGE"),
        (
            "POST /api/posts",
            &[&host, &token, "Transfer-Encoding: chunked"],
            "6\r\n123456\r\n0\r\n\r\n",
            "413 BODY_TOO_LARGE",
        ),
        ("POST /api/others", &[&host, &token, five], "12345", "403 SCOPE_MISSING"),
    ];
    for (request, head, body, expected) in table {
        let answer = served.send(request, head, body).await;
        assert_eq!(answer.told(), expected, "{request} {head:?}");
        assert!(answer.has("x-content-type-options: nosniff"), "{}", answer.head);
    }
    served.stop().await;
}

#[tokio::test]
async fn a_service_receives_every_method_but_no_token() {
    let inner =
        axum::Router::new().fallback(|method: axum::http::Method, headers: HeaderMap| async move {
            format!("{method} {}", headers.contains_key(header::AUTHORIZATION))
        });
    let routes = Routes::new().route("/mcp", Scope::Read, any_service(inner.clone())).route(
        "/mcp/{name}",
        Scope::Read,
        any_service(inner),
    );
    let served = TestServer::with(routes, ListenSettings::default()).await;
    for request in ["GET /mcp", "POST /mcp/files", "DELETE /mcp/files"] {
        let method = request.split(' ').next().unwrap();
        assert_eq!(served.ask(request, &[]).await.told(), format!("200 {method} false"));
    }
    served.stop().await;
}

#[tokio::test]
async fn readiness_reports_the_reasons() {
    let starting = HealthChecks::new()
        .with_part("store", || Ok(()))
        .with_part("upstream files", || Err("starting".to_owned()));
    let listener = HttpListener::bind(ListenSettings::default()).await.unwrap();
    let address = listener.address();
    let table = answerback_http::TokenTable::new(answerback_http::Tokens::new());
    let server = tokio::spawn(answerback_http::serve(
        listener,
        starting.routes(),
        answerback_http::Guard::new(table),
        std::future::pending(),
    ));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (answer, _) = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    insta::assert_snapshot!(body, @r#"{"ready":false,"parts":{"store":{"ready":true},"upstream files":{"ready":false,"reason":"starting"}}}"#);
    server.abort();
}

#[tokio::test]
async fn metrics_need_the_scope_read() {
    let metrics = Metrics::install().unwrap();
    assert!(Metrics::install().is_ok(), "a second installation is the first");
    let served = TestServer::with(metrics.routes(), ListenSettings::default()).await;
    served.ask("GET /api/name/7?secret=hidden", &[]).await;
    served.ask("BREW /api/name/8", &[]).await;
    served.ask("GET /nothing/9", &[]).await;
    served.ask("POST /api/decide", &[]).await;
    let page = served.ask("GET /metrics", &[]).await;
    assert!(page.has("content-type: text/plain; version=0.0.4; charset=utf-8"), "{}", page.head);
    for line in [
        r#"answerback_http_requests_total{method="GET",route="/api/name/{id}",status="200"} 1"#,
        r#"answerback_http_requests_total{method="other",route="/api/name/{id}",status="405"} 1"#,
        r#"answerback_http_requests_total{method="GET",route="none",status="404"} 1"#,
        r#"answerback_http_request_seconds_count{route="/api/name/{id}"} 2"#,
        r#"answerback_http_refused_total{code="SCOPE_MISSING"} 1"#,
    ] {
        assert!(page.body.lines().any(|other| other == line), "{line} is not in\n{}", page.body);
    }
    assert!(!page.body.contains("hidden"));
    served.stop().await;
}

#[tokio::test]
async fn the_error_for_a_used_port_says_what_to_do() {
    let first = HttpListener::bind(ListenSettings::default()).await.unwrap();
    let second = HttpListener::bind(first.address()).await.unwrap_err();
    assert!(matches!(second, ListenError::InUse(address) if address == first.address()));
    let port = first.address().port().to_string();
    insta::assert_snapshot!(second.to_string().replace(&port, "PORT"), @"port PORT of 127.0.0.1 is in use; stop the program that uses it, or choose another port; 0 means any free port");
}

#[tokio::test]
async fn remote_addresses_must_be_allowed() {
    let everywhere = ListenSettings::default().with_address("0.0.0.0:0".parse().unwrap());
    insta::assert_snapshot!(HttpListener::bind(everywhere).await.unwrap_err(), @"other machines can reach 0.0.0.0:0; listen on 127.0.0.1, or allow remote callers explicitly");
}

#[tokio::test]
async fn a_connection_beyond_the_limit_gets_503() {
    let settings = ListenSettings::default().with_max_connections(1);
    let served = TestServer::with(Routes::new(), settings).await;
    let mut first = served.connect().await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    first.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut first, "alive").await;
    let second = served.ask("GET /api/name/7", &[]).await;
    assert_eq!(second.told(), "503 UNAVAILABLE");
    assert!(second.has("retry-after: 1") && second.has("connection: close"), "{second:?}");
    // The first connection is still served.
    first.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut first, "alive").await;
    drop(first);
    served.stop().await;
}

#[tokio::test]
async fn an_unfinished_head_times_out() {
    let settings = ListenSettings::default().with_header_timeout(Duration::from_millis(100));
    let served = TestServer::with(Routes::new(), settings).await;
    for part in ["", "GET /healthz HTTP/1.1\r\nHost:"] {
        let mut stream = served.connect().await;
        stream.write_all(part.as_bytes()).await.unwrap();
        let (answer, _) = read_to_end(&mut stream).await;
        assert!(!answer.contains("alive"), "{answer}");
    }
    served.stop().await;
}

/// Idle connections cost their clients nothing, so they must not lock out a client with a request.
#[tokio::test]
async fn half_open_connections_are_evicted_for_new_ones() {
    let settings = ListenSettings::default().with_max_connections(16).with_max_half_open(4);
    let served = TestServer::with(Routes::new(), settings).await;
    let mut half_open = Vec::new();
    for number in 0..40 {
        let mut stream = served.connect().await;
        if number % 2 == 0 {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost:").await.unwrap();
        }
        half_open.push(stream);
        let answer = served.ask("GET /api/name/7", &[]).await;
        assert_eq!(answer.told(), "200 editor", "beside {number} others");
    }
    // The evicted connections received the reason.
    for stream in &mut half_open[..30] {
        let (answer, _) = read_to_end(stream).await;
        assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{answer}");
        assert!(
            answer.contains("TOO_MANY_CONNECTIONS") && answer.contains("retry-after: 1"),
            "{answer}"
        );
    }
    // The newest connections are still open.
    let newest = half_open.last_mut().unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    newest.write_all(request.as_bytes()).await.unwrap();
    read_until(newest, "alive").await;
    drop(half_open);
    served.stop().await;
}

/// A connection that was answered without a token and then stays idle counts as waiting.
#[tokio::test]
async fn idle_connections_without_a_token_are_evicted() {
    let settings = ListenSettings::default().with_max_half_open(2);
    let served = TestServer::with(Routes::new(), settings).await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut stream = served.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(&mut stream, "alive").await;
        idle.push(stream);
    }
    // The oldest was closed, after its earlier request was answered.
    assert_eq!(read_to_end(&mut idle[0]).await.0, "");
    for stream in &mut idle[1..] {
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(stream, "alive").await;
    }
    drop(idle);
    served.stop().await;
}

#[tokio::test]
async fn connections_per_token_are_limited() {
    let settings = ListenSettings::default().with_max_connections_per_token(1);
    let served = TestServer::with(Routes::new(), settings).await;
    let (host, token) = (served.address, served.token.text());
    let request = format!(
        "GET /api/name/7 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let mut first = served.connect().await;
    first.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut first, "editor").await;
    let second = served.ask("GET /api/name/7", &[]).await;
    assert_eq!(second.told(), "429 TOO_MANY_CONNECTIONS");
    assert!(second.has("retry-after: 1") && second.has("connection: close"), "{second:?}");
    // The first connection is still served, and frees its place when it ends.
    first.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut first, "editor").await;
    drop(first);
    let mut answer = served.ask("GET /api/name/7", &[]).await;
    while answer.status == 429 {
        tokio::task::yield_now().await;
        answer = served.ask("GET /api/name/7", &[]).await;
    }
    assert_eq!(answer.told(), "200 editor");
    served.stop().await;
}

#[tokio::test]
async fn a_head_beyond_the_limit_is_rejected() {
    let served = TestServer::new().await;
    let answer =
        served.ask("GET /api/name/7", &[&format!("X-Long: {}", "x".repeat(60 << 10))]).await;
    assert_eq!(answer.told(), "200 editor");
    let answer =
        served.ask("GET /api/name/7", &[&format!("X-Long: {}", "x".repeat(64 << 10))]).await;
    assert_eq!(answer.status, 431);
    served.stop().await;
}

/// The captured log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_line_contains_no_secrets() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    // The server's tasks run on this thread, so they use this subscriber.
    let guard = tracing::subscriber::set_default(subscriber);
    let served = TestServer::new().await;
    served.ask("GET /api/name/secret-id?secret=query", &["X-Header: secret-header"]).await;
    served.ask("GET /secret-path", &[]).await;
    let host = format!("Host: {}", served.address);
    served.send("GET /api/name/7", &[&host, "Authorization: Bearer secret-token"], "").await;
    let token = served.token.text().to_owned();
    served.stop().await;
    drop(guard);
    let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let requests: Vec<String> = logged
        .lines()
        .filter(|line| line.contains(": request"))
        .map(|line| {
            let is_time = |word: &&str| !word.starts_with("seconds=");
            line.split_whitespace().filter(is_time).collect::<Vec<_>>().join(" ")
        })
        .collect();
    insta::assert_snapshot!(requests.join("\n"), @r#"
    INFO answerback_http::finish_response: request method="GET" route="/api/name/{id}" status=200 principal="editor"
    INFO answerback_http::finish_response: request method="GET" route="none" status=404 principal="editor"
    INFO answerback_http::finish_response: request method="GET" route="/api/name/{id}" status=401
    "#);
    assert!(!logged.contains("secret") && !logged.contains(&token), "{logged}");
}
