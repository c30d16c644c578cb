use std::pin::Pin;
use std::sync::Arc;

use answerback_http::{Principal, Routes, Scope};
use axum::body::Body;
use axum::extract::Path;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;

use super::{GatewayService, check_route, endpoint};

impl GatewayService {
    /// The routes: `/mcp` for all servers combined, `/mcp/NAME` for each server, and the route that checks a call.
    pub fn routes(self: &Arc<Self>) -> Routes {
        let (all, posts, one) = (Arc::clone(self), Arc::clone(self), Arc::clone(self));
        let all = any(move |request: Request<Body>| async move {
            endpoint::handle_request(&all, None, request).await
        });
        let posts = move |request: Request<Body>| -> Pin<Box<dyn Future<Output = _> + Send>> {
            let service = Arc::clone(&posts);
            Box::pin(async move { endpoint::handle_request(&service, None, request).await })
        };
        let one = any(move |Path(name): Path<String>, request: Request<Body>| async move {
            let config = one.config();
            let Some(backend) = config.all().find(|backend| backend.name() == name) else {
                return StatusCode::NOT_FOUND.into_response();
            };
            let principal = request.extensions().get::<Principal>();
            if let Some(scope) = backend.separate_scope
                && !principal.is_some_and(|principal| principal.has(scope))
            {
                return StatusCode::FORBIDDEN.into_response();
            }
            endpoint::handle_request(&one, Some(&name), request).await
        });
        Routes::with_body_limit(self.config().gateway.settings().largest_message)
            .route_with_post_handler("/mcp", Scope::Call, all, posts)
            .route("/mcp/{name}", Scope::Call, one)
            .merge(check_route::routes(self))
    }
}
