//! Opens connections.

use std::error::Error;
use std::future::poll_fn;
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

use super::remote::RemoteError;

/// The TCP keepalive settings: idle time, interval and retries. They detect a dead peer, because a stream may be
/// silent for long.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_mins(1), Duration::from_secs(15), 4);

#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;

/// The byte stream of a connection.
pub(super) type Io = <Connector as Service<Uri>>::Response;

pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// Opens connections within a time limit that covers DNS, TCP and TLS together.
#[derive(Clone)]
pub(super) struct Dialer {
    connector: Connector,
    limit: Duration,
}

impl Dialer {
    pub(super) fn new() -> Result<Self, RemoteError> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        let (first, between, times) = KEEPALIVE;
        tcp.set_keepalive(Some(first));
        tcp.set_keepalive_interval(Some(between));
        tcp.set_keepalive_retries(Some(times));
        Ok(Self { connector: secured(tcp)?, limit: Duration::MAX })
    }

    /// Returns a copy with this time limit.
    pub(super) fn within(&self, limit: Duration) -> Self {
        Self { limit, ..self.clone() }
    }

    /// Opens a connection to this URL.
    pub(super) async fn connect(&self, uri: &Uri) -> Result<Io, BoxError> {
        let mut connector = self.connector.clone();
        let connecting = async {
            poll_fn(|context| connector.poll_ready(context)).await?;
            let io: Io = connector.call(uri.clone()).await?;
            Ok(io)
        };
        match tokio::time::timeout(self.limit, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(format!("no connection after {:?}", self.limit).into()),
        }
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
#[expect(clippy::unnecessary_wraps, reason = "with TLS this can fail")]
fn secured(tcp: HttpConnector) -> Result<Connector, RemoteError> {
    Ok(tcp)
}
