//! Serves the web application. Its files are public, so they need no token.

use answerback_http::Routes;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The paths of the pages. All of them serve one document, which routes by its own path.
const PAGES: [&str; 16] = [
    "/",
    "/unlock",
    "/inbox",
    "/inbox/{id}",
    "/replies",
    "/r/{id}",
    "/r/{id}/a/{position}",
    "/live",
    "/live/{stream}",
    "/tools",
    "/tools/{server}/{name}",
    "/agents",
    "/ledger",
    "/ledger/{index}",
    "/playground",
    "/settings",
];

/// The content security policy: pages run only our scripts and connect only to this server. Text never becomes markup
/// without a trusted type.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html answerback-worker";

const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Path prefixes for programs, which never have pages.
const API_PREFIXES: [&str; 3] = ["/api", "/mcp", "/assets"];

pub(super) fn routes() -> Routes {
    let Some(page) = document() else { return Routes::new() };
    let mut routes = Routes::new().with_not_found_page(not_found_page, &API_PREFIXES);
    for path in PAGES {
        let show = move || async move { asset_response("/index.html", page) };
        routes = routes.public(path, get(show));
    }
    for (name, bytes) in ASSETS.iter().filter(|(name, _)| *name != "/index.html") {
        routes = routes.public(name, get(move || async move { asset_response(name, bytes) }));
    }
    routes
}

/// Returns the document of all pages.
fn document() -> Option<&'static [u8]> {
    let (_, page) = ASSETS.iter().find(|(name, _)| *name == "/index.html")?;
    Some(page)
}

/// Serves the same document with status 404. The document itself shows that the page does not exist.
fn not_found_page() -> Response {
    let mut response = asset_response("/index.html", document().unwrap_or_default());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

fn asset_response(name: &str, bytes: &'static [u8]) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    let value_of = |text: &'static str| HeaderValue::from_static(text);
    headers.insert(header::CONTENT_TYPE, value_of(media_type(name)));
    // Names below /assets change with their content.
    let caching = if name.starts_with("/assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    headers.insert(header::CACHE_CONTROL, value_of(caching));
    headers.insert(header::CONTENT_SECURITY_POLICY, value_of(POLICY));
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, value_of(value));
    }
    response
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
