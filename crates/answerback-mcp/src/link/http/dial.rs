//! How connections are made.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower_service::Service;

use super::remote::RemoteError;

/// How long a connection that nobody uses is kept. Many servers close theirs after five seconds; a request that crosses
/// with that would be lost.
const UNUSED: Duration = Duration::from_secs(4);
/// How many bytes the head of an answer may have.
const LONGEST_HEAD: usize = 1 << 16;
/// When a silent connection is asked whether somebody is there, and how often. A stream may be silent for long.
const ALIVE: (Duration, Duration, u32) = (Duration::from_mins(1), Duration::from_secs(15), 4);

/// Sends requests and keeps connections. It follows no redirect, keeps no cookie and asks no proxy.
pub(super) type HttpClient = Client<Dial, Full<Bytes>>;

#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;

type BoxError = Box<dyn Error + Send + Sync>;

/// Makes connections, none of which may take too long: name, TCP and TLS together.
#[derive(Clone)]
pub(super) struct Dial {
    connector: Connector,
    limit: Duration,
}

impl Dial {
    pub(super) fn new() -> Result<Self, RemoteError> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        let (first, between, times) = ALIVE;
        tcp.set_keepalive(Some(first));
        tcp.set_keepalive_interval(Some(between));
        tcp.set_keepalive_retries(Some(times));
        Ok(Self { connector: secured(tcp)?, limit: Duration::MAX })
    }

    /// A client whose connections have to be there within this time.
    pub(super) fn client(&self, limit: Duration) -> HttpClient {
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(UNUSED);
        builder.http1_max_buf_size(LONGEST_HEAD);
        builder.build(Self { limit, ..self.clone() })
    }
}

#[cfg(feature = "tls")]
fn secured(mut tcp: HttpConnector) -> Result<Connector, RemoteError> {
    tcp.enforce_http(false);
    let builder = hyper_rustls::HttpsConnectorBuilder::new()
        .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
        .map_err(|error| RemoteError::Tls(error.to_string()))?;
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "with TLS there is something to fail")]
fn secured(tcp: HttpConnector) -> Result<Connector, RemoteError> {
    Ok(tcp)
}

impl Service<Uri> for Dial {
    type Response = <Connector as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, limit) = (self.connector.call(uri), self.limit);
        Box::pin(async move {
            match tokio::time::timeout(limit, connecting).await {
                Ok(connected) => Ok(connected?),
                Err(_) => Err(format!("no connection after {limit:?}").into()),
            }
        })
    }
}
