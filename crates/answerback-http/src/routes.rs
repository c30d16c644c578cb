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

/// The largest body of a route that says nothing else.
const BODY_LIMIT: usize = 4 << 20;

/// Routes, each with the scope that its callers need.
///
/// There is no way to add one without saying who may use it.
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
    /// Who answers posts, where that is not for the router.
    posts: Option<Handler>,
}

impl Default for Routes {
    fn default() -> Self {
        Self::with_body_limit(BODY_LIMIT)
    }
}

impl Routes {
    /// No routes yet. Bodies may have up to 4 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// No routes yet. Bodies may have up to this many bytes, also where others are [merged](Self::merge) with other limits.
    pub fn with_body_limit(bytes: usize) -> Self {
        Self { body_limit: bytes, entries: Vec::new(), lost: None }
    }

    /// Adds a route for callers whose token has this scope. `methods` may be a service, too:
    /// [`any_service`](axum::routing::any_service).
    ///
    /// Its handler finds a [`Principal`](crate::Principal) and [`Closing`](crate::Closing) among the extensions of the
    /// request. An error status that it answers without a body, or with plain text, becomes a [`Problem`] of that status.
    pub fn route(self, path: &str, scope: Scope, methods: MethodRouter) -> Self {
        self.with(path, Access::Scope(scope), methods)
    }

    /// Adds a route whose posts go past the router, to a function, behind the same guard; `methods` has the others. That is
    /// for the one route of which every microsecond counts: its path is compared as it is.
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

    /// Adds a route for everybody who can reach the server. Host, origin and, where something could change, site are
    /// checked as for all others.
    pub fn open(self, path: &str, methods: MethodRouter) -> Self {
        self.with(path, Access::Open, methods)
    }

    /// Says what a browser is shown that looks for a page which is not there: a `GET` that accepts HTML, at an address
    /// that is none of these and below none of them. Everybody may see it. Programs are told a problem as everywhere.
    pub const fn lost(mut self, page: fn() -> Response, apart: &'static [&'static str]) -> Self {
        self.lost = Some(NotFoundPage { page, apart });
        self
    }

    /// Adds the routes of another set, which keep their limit, and its page for who is lost.
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

    /// Puts the guard before every route, and before what is none: who has no token does not learn which it is.
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
        // The gates limit every body, also of those who read it without an extractor.
        (router.fallback_service(nothing).layer(DefaultBodyLimit::disable()), posts)
    }
}
