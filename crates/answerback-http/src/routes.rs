use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use tower_layer::Layer;

use crate::figures::RouteMetrics;
use crate::front::{Handler, PostRoute};
use crate::gate::{Gate, GuardedService};
use crate::guard::{Access, Guard};
use crate::not_found_page::NotFoundPage;
use crate::{Closing, Problem, ProblemKind, Scope};

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
    lost: Option<NotFoundPage>,
}

#[derive(Debug)]
struct RouteEntry {
    path: String,
    access: Access,
    body_limit: usize,
    methods: MethodRouter,
    /// The handler for POST requests, if they skip the router.
    posts: Option<Handler>,
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
        Self { body_limit: bytes, entries: Vec::new(), lost: None }
    }

    /// Adds a route for callers whose token has this scope. `methods` may also be a service:
    /// [`any_service`](axum::routing::any_service).
    ///
    /// Its handler finds a [`Principal`](crate::Principal) and a [`Closing`](crate::Closing) among the extensions of
    /// the request. An error response without a body, or with plain text, becomes a [`Problem`] of the same status.
    pub fn route(self, path: &str, scope: Scope, methods: MethodRouter) -> Self {
        self.with(path, Access::Scope(scope), methods)
    }

    /// Adds a route whose POST requests skip the router and go to `posts`, behind the same guard. `methods` handles all
    /// other methods. Use it only for the route where every microsecond counts. Its path is compared literally, so it
    /// cannot have parameters.
    pub fn route_with_posts(
        mut self,
        path: &str,
        scope: Scope,
        methods: MethodRouter,
        posts: impl Fn(Request) -> Pin<Box<dyn Future<Output = Response> + Send>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self = self.with(path, Access::Scope(scope), methods);
        if let Some(entry) = self.entries.last_mut() {
            entry.posts = Some(Handler(Arc::new(posts)));
        }
        self
    }

    /// Adds a route that needs no token. Host and origin are checked as for all others, and so is the site where a
    /// request could change something.
    pub fn open(self, path: &str, methods: MethodRouter) -> Self {
        self.with(path, Access::Open, methods)
    }

    /// Sets the page for browsers that request a URL without a route, with a `GET` that accepts HTML. Paths in or below
    /// `apart` have no page. The page needs no token. Programs get a problem, as everywhere.
    pub const fn lost(mut self, page: fn() -> Response, apart: &'static [&'static str]) -> Self {
        self.lost = Some(NotFoundPage { page, apart });
        self
    }

    /// Adds the routes of another set, which keep their limit. Its page for unknown URLs is used if this set has none.
    pub fn merge(mut self, other: Self) -> Self {
        self.entries.extend(other.entries);
        self.lost = self.lost.or(other.lost);
        self
    }

    fn with(mut self, path: &str, access: Access, methods: MethodRouter) -> Self {
        let body_limit = self.body_limit;
        let (path, posts) = (path.to_owned(), None);
        self.entries.push(RouteEntry { path, access, body_limit, methods, posts });
        self
    }

    /// Puts the guard before every route and before the fallback. So a client without a token cannot find out which
    /// routes exist.
    pub(crate) fn behind(self, guard: Guard, closing: &Closing) -> (Router, Vec<PostRoute>) {
        let guard = Arc::new(guard);
        let gate = |access, body_limit, figures| {
            let (guard, closing) = (guard.clone(), closing.clone());
            let gate = Gate { guard, closing, access, body_limit, figures };
            GuardedService(Arc::new(gate))
        };
        let lost = self.lost;
        let nothing = any(move |request: Request| async move {
            let (parts, _) = request.into_parts();
            match lost.filter(|lost| lost.is_for(&parts)) {
                Some(lost) => (lost.page)(),
                None => Problem::new(ProblemKind::NotFound).into_response(),
            }
        });
        let nothing =
            nothing.layer(gate(Access::Known(lost), self.body_limit, RouteMetrics::of_none()));
        let mut posts = Vec::new();
        let add = |router: Router, entry: RouteEntry| {
            let figures = RouteMetrics::of(&entry.path);
            let gate = gate(entry.access, entry.body_limit, figures);
            let post = entry.posts.map(|posts| gate.layer(posts));
            posts.extend(post.map(|gated| PostRoute { path: entry.path.clone(), gated }));
            router.route(&entry.path, entry.methods.layer(gate))
        };
        let router = self.entries.into_iter().fold(Router::new(), add);
        // The gates limit every body, including those that handlers read without an extractor.
        (router.fallback_service(nothing).layer(DefaultBodyLimit::disable()), posts)
    }
}
