use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, any};

use crate::answer;
use crate::guard::{self, Access, Gate, Guard};
use crate::{Problem, ProblemKind, Scope};

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
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    path: String,
    access: Access,
    body_limit: usize,
    methods: MethodRouter,
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
        Self { body_limit: bytes, entries: Vec::new() }
    }

    /// Adds a route for callers whose token has this scope. `methods` may be a service, too:
    /// [`any_service`](axum::routing::any_service).
    ///
    /// Its handler finds a [`Principal`](crate::Principal) and [`Closing`](crate::Closing) among the extensions of the
    /// request. An error status that it answers without a body, or with plain text, becomes a [`Problem`] of that status.
    pub fn route(self, path: &str, scope: Scope, methods: MethodRouter) -> Self {
        self.with(path, Access::Scope(scope), methods)
    }

    /// Adds a route for everybody who can reach the server. Host, origin and, where something could change, site are
    /// checked as for all others.
    pub fn open(self, path: &str, methods: MethodRouter) -> Self {
        self.with(path, Access::Open, methods)
    }

    /// Adds the routes of another set, which keep their limit.
    pub fn merge(mut self, other: Self) -> Self {
        self.entries.extend(other.entries);
        self
    }

    fn with(mut self, path: &str, access: Access, methods: MethodRouter) -> Self {
        let body_limit = self.body_limit;
        self.entries.push(Entry { path: path.to_owned(), access, body_limit, methods });
        self
    }

    /// Puts the guard before every route, and before what is none: who has no token does not learn which it is.
    pub(crate) fn behind(self, guard: Guard) -> Router {
        let guard = Arc::new(guard);
        let gate = |access, body_limit| {
            let gate = Gate { guard: guard.clone(), access, body_limit };
            from_fn_with_state(gate, guard::pass)
        };
        let nothing = any(|| async { Problem::new(ProblemKind::NotFound) });
        let nothing = nothing.layer(gate(Access::Known, self.body_limit));
        let add = |router: Router, entry: Entry| {
            router.route(&entry.path, entry.methods.layer(gate(entry.access, entry.body_limit)))
        };
        let router = self.entries.into_iter().fold(Router::new(), add);
        // The gates limit every body, also of those who read it without an extractor.
        router
            .fallback_service(nothing)
            .layer(DefaultBodyLimit::disable())
            .layer(from_fn(answer::finish))
    }
}
