use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use tower_layer::Layer;

use crate::connection_service::{PostHandler, PostRoute};
use crate::guard::{Access, Guard};
use crate::not_found_page::NotFoundPage;
use crate::route_guard::{RouteGuard, RouteGuardLayer};
use crate::route_metrics::RouteMetrics;
use crate::{Problem, ProblemKind, Scope, ShutdownSignal};

/// The default limit for request bodies.
const BODY_LIMIT: usize = 4 << 20;

/// A set of routes, each with the scope that its callers need.
///
/// A route cannot be added without an access rule.
///
/// ```
/// use answerback_http::{Routes, Scope};
/// use axum::routing::get;
///
/// let routes = Routes::new()
///     .route("/api/replies/{id}", Scope::Read, get(|| async { "a reply" }))
///     .merge(Routes::with_body_limit(16 << 20).route("/mcp", Scope::Call, axum::routing::any(|| async {})));
/// ```
#[derive(Debug)]
#[must_use]
pub struct Routes {
    body_limit: usize,
    entries: Vec<RouteEntry>,
    not_found_page: Option<NotFoundPage>,
}

#[derive(Debug)]
struct RouteEntry {
    path: String,
    access: Access,
    body_limit: usize,
    methods: MethodRouter,
    /// The handler for POST requests, if they skip the router.
    post_handler: Option<PostHandler>,
}

impl Default for Routes {
    fn default() -> Self {
        Self::with_body_limit(BODY_LIMIT)
    }
}

impl Routes {
    /// Creates an empty set whose bodies may have up to 4 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty set whose bodies may have up to `bytes` bytes. The limit stays when the set is
    /// [merged](Self::merge) with others.
    pub fn with_body_limit(bytes: usize) -> Self {
        Self { body_limit: bytes, entries: Vec::new(), not_found_page: None }
    }

    /// Adds a route for callers whose token has this scope. `methods` may also be a service:
    /// [`any_service`](axum::routing::any_service).
    ///
    /// Its handler finds a [`Principal`](crate::Principal) and a [`ShutdownSignal`](crate::ShutdownSignal) among the
    /// extensions of the request. An error response without a body, or with plain text, becomes a [`Problem`] of the
    /// same status.
    pub fn route(self, path: &str, scope: Scope, methods: MethodRouter) -> Self {
        self.with_entry(path, Access::Scope(scope), methods)
    }

    /// Adds a route whose POST requests skip the router and go to `handler`, behind the same guard. `methods` handles
    /// all other methods. Use it only for the route where every microsecond counts. Its path is compared literally, so
    /// it cannot have parameters.
    pub fn route_with_post_handler(
        mut self,
        path: &str,
        scope: Scope,
        methods: MethodRouter,
        handler: impl Fn(Request) -> Pin<Box<dyn Future<Output = Response> + Send>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self = self.with_entry(path, Access::Scope(scope), methods);
        if let Some(entry) = self.entries.last_mut() {
            entry.post_handler = Some(PostHandler(Arc::new(handler)));
        }
        self
    }

    /// Adds a route that needs no token. Host and origin are checked as for all others. Cross-site requests may only
    /// read.
    pub fn public(self, path: &str, methods: MethodRouter) -> Self {
        self.with_entry(path, Access::Open, methods)
    }

    /// Sets the page for browsers that request a URL without a route, with a `GET` that accepts HTML. Paths in or below
    /// `excluded` have no page. The page needs no token. Programs get a problem, as everywhere.
    pub const fn with_not_found_page(
        mut self,
        page: fn() -> Response,
        excluded: &'static [&'static str],
    ) -> Self {
        self.not_found_page = Some(NotFoundPage { page, excluded });
        self
    }

    /// Adds the routes of another set, which keep their limit. Its page for unknown URLs is used if this set has none.
    pub fn merge(mut self, other: Self) -> Self {
        self.entries.extend(other.entries);
        self.not_found_page = self.not_found_page.or(other.not_found_page);
        self
    }

    fn with_entry(mut self, path: &str, access: Access, methods: MethodRouter) -> Self {
        let body_limit = self.body_limit;
        let (path, post_handler) = (path.to_owned(), None);
        self.entries.push(RouteEntry { path, access, body_limit, methods, post_handler });
        self
    }

    /// Puts the guard before every route and before the fallback. So a client without a token cannot find out which
    /// routes exist.
    pub(crate) fn guarded_by(
        self,
        guard: Guard,
        shutdown: &ShutdownSignal,
    ) -> (Router, Vec<PostRoute>) {
        let guard = Arc::new(guard);
        let layer = |access, body_limit, metrics| {
            let (guard, shutdown) = (guard.clone(), shutdown.clone());
            let route_guard = RouteGuard { guard, shutdown, access, body_limit, metrics };
            RouteGuardLayer(Arc::new(route_guard))
        };
        let not_found_page = self.not_found_page;
        let fallback = any(move |request: Request| async move {
            let (parts, _) = request.into_parts();
            match not_found_page.filter(|page| page.applies_to(&parts)) {
                Some(not_found) => (not_found.page)(),
                None => Problem::new(ProblemKind::NotFound).into_response(),
            }
        });
        let access = Access::AnyToken(not_found_page);
        let fallback = fallback.layer(layer(access, self.body_limit, RouteMetrics::unmatched()));
        let mut post_routes = Vec::new();
        let add = |router: Router, entry: RouteEntry| {
            let metrics = RouteMetrics::new(&entry.path);
            let layer = layer(entry.access, entry.body_limit, metrics);
            let handler = entry.post_handler.map(|handler| layer.layer(handler));
            post_routes
                .extend(handler.map(|handler| PostRoute { path: entry.path.clone(), handler }));
            router.route(&entry.path, entry.methods.layer(layer))
        };
        let router = self.entries.into_iter().fold(Router::new(), add);
        // The route guards limit every body, including those that handlers read without an extractor.
        (router.fallback_service(fallback).layer(DefaultBodyLimit::disable()), post_routes)
    }
}
