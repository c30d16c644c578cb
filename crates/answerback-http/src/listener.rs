use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpListener;

/// The address that a server listens on, with its limits and timeouts.
#[derive(Clone, Debug)]
#[must_use]
pub struct ListenSettings {
    pub(crate) address: SocketAddr,
    pub(crate) is_remote_allowed: bool,
    pub(crate) max_connections: usize,
    pub(crate) max_half_open: usize,
    pub(crate) max_per_token: usize,
    pub(crate) header_timeout: Duration,
    pub(crate) shutdown_grace: Duration,
}

impl Default for ListenSettings {
    /// Listens on any free port of 127.0.0.1, with 1024 connections in all. At most 256 connections of one address may
    /// wait without a token, and each token may have 256. The head of a request may take 30 seconds, and a shutdown 5
    /// seconds.
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            is_remote_allowed: false,
            max_connections: 1024,
            max_half_open: 256,
            max_per_token: 256,
            header_timeout: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(5),
        }
    }
}

impl From<SocketAddr> for ListenSettings {
    fn from(address: SocketAddr) -> Self {
        Self { address, ..Self::default() }
    }
}

impl ListenSettings {
    /// Sets the address to listen on. Port 0 means any free port.
    pub fn with_address(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Allows an address that other machines can reach.
    pub fn with_remote_allowed(mut self, is_allowed: bool) -> Self {
        self.is_remote_allowed = is_allowed;
        self
    }

    /// Limits how many connections are served at a time.
    pub fn with_max_connections(mut self, count: usize) -> Self {
        self.max_connections = count;
        self
    }

    /// Limits how many connections of one address may wait without having sent a token. When there is one more, the one
    /// that has waited longest is closed.
    pub fn with_max_half_open(mut self, count: usize) -> Self {
        self.max_half_open = count;
        self
    }

    /// Limits how many connections of one token are served at a time.
    pub fn with_max_connections_per_token(mut self, count: usize) -> Self {
        self.max_per_token = count;
        self
    }

    /// Limits the time for the head of each request, including the first one of a connection.
    pub fn with_header_timeout(mut self, timeout: Duration) -> Self {
        self.header_timeout = timeout;
        self
    }

    /// Sets how long requests may take to end when the server stops.
    pub fn with_shutdown_grace(mut self, grace: Duration) -> Self {
        self.shutdown_grace = grace;
        self
    }
}

/// A bound port with its settings.
#[derive(Debug)]
pub struct HttpListener {
    pub(crate) socket: TcpListener,
    pub(crate) settings: ListenSettings,
    address: SocketAddr,
}

impl HttpListener {
    /// Binds the port.
    ///
    /// # Errors
    ///
    /// If other machines could reach the address and that is not allowed, or if binding fails.
    pub async fn bind(settings: impl Into<ListenSettings>) -> Result<Self, ListenError> {
        let settings = settings.into();
        let address = settings.address;
        if !address.ip().is_loopback() {
            if !settings.is_remote_allowed {
                return Err(ListenError::Remote(address));
            }
            tracing::warn!(%address, "other machines can reach this address, and tokens are sent over the network unencrypted; put a proxy with TLS in front");
        }
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse(address),
            _ => ListenError::Failed { address, source },
        };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, settings, address })
    }

    /// The bound address with its actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The reason why a port cannot be bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Other machines could reach the address, and that was not allowed.
    #[error(
        "other machines can reach {0}; listen on 127.0.0.1, or allow remote callers explicitly"
    )]
    Remote(SocketAddr),
    /// Another process uses the port.
    #[error("port {} of {} is in use; stop the program that uses it, or choose another port; 0 means any free port", .0.port(), .0.ip())]
    InUse(SocketAddr),
    /// Binding failed for another reason.
    #[error("cannot listen on {address}")]
    Failed {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
}
