use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::response::Response;

/// The page that browsers get for a URL that matches no route. It reveals nothing about the server, so it needs no
/// token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotFoundPage {
    pub(crate) page: fn() -> Response,
    /// Path prefixes without pages, which only programs request.
    pub(crate) excluded: &'static [&'static str],
}

impl NotFoundPage {
    pub(crate) fn applies_to(self, parts: &Parts) -> bool {
        let path = parts.uri.path();
        let is_below = |prefix: &&str| {
            path.strip_prefix(*prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let accepted = parts.headers.get_all(header::ACCEPT).iter();
        let mut accepted = accepted.filter_map(|value| value.to_str().ok());
        matches!(parts.method, Method::GET | Method::HEAD)
            && !self.excluded.iter().any(is_below)
            && accepted.any(|value| value.contains("text/html"))
    }
}
