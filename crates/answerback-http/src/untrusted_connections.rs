//! Limits the connections that have sent no valid token yet, and the connections of each token.
//!
//! A connection costs its client nothing, but holds one of the server's slots until its head timeout. So only a limited
//! number of connections of one address may wait without a token. When there is one more, the one that has waited
//! longest is closed, instead of rejecting the newest. A client that sends its request at once is then served, even if
//! others hold open many connections from the same address. On a development machine all clients share one address.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::{PerCallerLimit, PerCallerPermit};

/// The network part of an IPv6 address. The owner of a network can choose the rest freely.
const NETWORK_MASK: u128 = !0 << 64;

/// The connections of a server that wait without having sent a token.
#[derive(Debug)]
pub(crate) struct UntrustedConnections {
    per_address: usize,
    /// The limit for all addresses together.
    total: usize,
    /// The limit on connections of each token.
    per_token: PerCallerLimit,
    queue: Mutex<UntrustedQueue>,
}

/// The connections that wait without having sent a token.
#[derive(Debug, Default)]
struct UntrustedQueue {
    /// The number of the newest connection.
    newest: u64,
    /// All waiting connections, the longest wait first.
    by_age: BTreeMap<u64, Arc<ConnectionEntry>>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
}

/// The reason why a connection is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Eviction {
    /// Its address has too many waiting connections, and this one has sent no request yet.
    AddressLimit,
    /// All addresses together have too many waiting connections, and this one has sent no request yet.
    TotalLimit,
    /// Too many connections wait, and this one is idle between two requests.
    Idle,
}

/// One connection and its places in the limits. Clones are the same connection.
#[derive(Clone, Debug)]
pub(crate) struct TrackedConnection(Arc<ConnectionEntry>);

#[derive(Debug)]
struct ConnectionEntry {
    address: IpAddr,
    server: Arc<UntrustedConnections>,
    /// True once a request had a valid token. The connection then skips the limits on untrusted ones.
    is_trusted: AtomicBool,
    state: Mutex<ConnectionState>,
    /// The token that the connection belongs to, and its place in the token's limit.
    token_permit: Mutex<Option<(String, PerCallerPermit)>>,
    /// The connection's place among all connections. It is released as soon as the connection is evicted, not when it
    /// is closed. So a burst of connections does not use up the places of others.
    slot: Mutex<Option<OwnedSemaphorePermit>>,
}

#[derive(Debug)]
struct ConnectionState {
    /// The connection's number while it waits.
    number: Option<u64>,
    has_sent_request: bool,
    is_evicted: bool,
    /// True if a request that arrived after the eviction gets the reason as its response.
    has_eviction_response: bool,
    evict: Option<oneshot::Sender<Eviction>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maps an address to the key by which its connections are counted.
fn limit_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK_MASK).into(),
        address @ IpAddr::V4(_) => address,
    }
}

impl UntrustedConnections {
    pub(crate) fn new(per_address: usize, total: usize, per_token: usize) -> Arc<Self> {
        let (per_token, queue) = (PerCallerLimit::new(per_token), Mutex::default());
        Arc::new(Self { per_address: per_address.max(1), total: total.max(1), per_token, queue })
    }

    /// Adds a connection that was just accepted. The receiver reports if it must be closed.
    pub(crate) fn enter(
        self: &Arc<Self>,
        address: IpAddr,
        slot: Option<OwnedSemaphorePermit>,
    ) -> (TrackedConnection, oneshot::Receiver<Eviction>) {
        let (evict, evicted) = oneshot::channel();
        let state = ConnectionState {
            number: None,
            has_sent_request: false,
            is_evicted: false,
            has_eviction_response: false,
            evict: Some(evict),
        };
        let inner = Arc::new(ConnectionEntry {
            address: limit_key(address),
            server: Arc::clone(self),
            is_trusted: AtomicBool::new(false),
            state: Mutex::new(state),
            token_permit: Mutex::default(),
            slot: Mutex::new(slot),
        });
        self.enqueue(&inner);
        (TrackedConnection(inner), evicted)
    }

    /// Adds the connection as the newest waiting one, and evicts the oldest ones beyond the limits.
    fn enqueue(&self, connection: &Arc<ConnectionEntry>) {
        let mut queue = lock(&self.queue);
        queue.newest += 1;
        let number = queue.newest;
        lock(&connection.state).number = Some(number);
        queue.by_age.insert(number, Arc::clone(connection));
        let of_address = queue.by_address.entry(connection.address).or_default();
        of_address.insert(number);
        if of_address.len() > self.per_address
            && let Some(oldest) = of_address.first().copied()
        {
            queue.evict(oldest, Eviction::AddressLimit);
        }
        if queue.by_age.len() > self.total
            && let Some(oldest) = queue.by_age.keys().next().copied()
        {
            queue.evict(oldest, Eviction::TotalLimit);
        }
    }
}

impl UntrustedQueue {
    fn remove(&mut self, number: u64) -> Option<Arc<ConnectionEntry>> {
        let connection = self.by_age.remove(&number)?;
        if let Some(of_address) = self.by_address.get_mut(&connection.address) {
            of_address.remove(&number);
            if of_address.is_empty() {
                self.by_address.remove(&connection.address);
            }
        }
        Some(connection)
    }

    fn evict(&mut self, number: u64, limit: Eviction) {
        let Some(connection) = self.remove(number) else { return };
        let mut state = lock(&connection.state);
        state.number = None;
        state.is_evicted = true;
        lock(&connection.slot).take();
        let eviction = if state.has_sent_request { Eviction::Idle } else { limit };
        if let Some(evict) = state.evict.take() {
            let _ = evict.send(eviction);
        }
    }
}

impl TrackedConnection {
    /// Records that the head of a request arrived. Returns false if the connection is being closed.
    pub(crate) fn begin_request(&self) -> bool {
        if self.0.is_trusted.load(Ordering::Acquire) {
            return true;
        }
        let mut queue = lock(&self.0.server.queue);
        let mut state = lock(&self.0.state);
        state.has_sent_request = true;
        if let Some(number) = state.number.take() {
            queue.remove(number);
        }
        state.has_eviction_response |= state.is_evicted;
        !state.is_evicted
    }

    /// Records that a request was answered, and whether it had a valid token.
    pub(crate) fn end_request(&self, is_authenticated: bool) {
        if self.0.is_trusted.load(Ordering::Acquire) {
            return;
        }
        if is_authenticated {
            self.0.is_trusted.store(true, Ordering::Release);
        } else if !lock(&self.0.state).is_evicted {
            self.0.server.enqueue(&self.0);
        }
    }

    /// Counts the connection among those of a token. Returns false if the token has reached its limit.
    pub(crate) fn claim(&self, token: &str) -> bool {
        let mut permit = lock(&self.0.token_permit);
        if permit.as_ref().is_some_and(|(name, _)| name == token) {
            return true;
        }
        match self.0.server.per_token.acquire(token) {
            Some(acquired) => {
                *permit = Some((token.to_owned(), acquired));
                true
            }
            None => false,
        }
    }

    /// The largest number of connections of each token.
    pub(crate) fn token_limit(&self) -> usize {
        self.0.server.per_token.limit()
    }

    /// True if a request on the connection was answered with the reason why it is closed.
    pub(crate) fn has_eviction_response(&self) -> bool {
        lock(&self.0.state).has_eviction_response
    }

    /// Releases all places of a connection that has ended, even if other references to it remain.
    pub(crate) fn release(&self) {
        lock(&self.0.slot).take();
        lock(&self.0.token_permit).take();
        let mut queue = lock(&self.0.server.queue);
        let mut state = lock(&self.0.state);
        if let Some(number) = state.number.take() {
            queue.remove(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_longest_waiting_connection_is_evicted() {
        let server = UntrustedConnections::new(2, 100, 1);
        let (first, mut first_evicted) = server.enter(address(1), None);
        let (second, mut second_evicted) = server.enter(address(1), None);
        let (_other, mut other_evicted) = server.enter(address(2), None);
        assert!(first_evicted.try_recv().is_err());
        // A connection with a running request does not wait.
        assert!(first.begin_request());
        let (third, mut third_evicted) = server.enter(address(1), None);
        assert!(first_evicted.try_recv().is_err() && second_evicted.try_recv().is_err());
        // Without a token it waits again after its response.
        first.end_request(false);
        assert_eq!(second_evicted.try_recv(), Ok(Eviction::AddressLimit));
        assert!(!second.begin_request() && second.has_eviction_response());
        let _fourth = server.enter(address(1), None);
        assert_eq!(third_evicted.try_recv(), Ok(Eviction::AddressLimit));
        assert!(!third.has_eviction_response());
        let _fifth = server.enter(address(1), None);
        assert_eq!(first_evicted.try_recv(), Ok(Eviction::Idle));
        assert!(other_evicted.try_recv().is_err());
    }

    #[test]
    fn a_connection_with_a_token_is_never_evicted() {
        let server = UntrustedConnections::new(1, 1, 1);
        let (trusted, mut evicted) = server.enter(address(1), None);
        assert!(trusted.begin_request());
        trusted.end_request(true);
        for last in 0..9 {
            drop(server.enter(address(last), None));
        }
        assert!(trusted.begin_request() && evicted.try_recv().is_err());
        trusted.end_request(false);
        assert!(trusted.begin_request() && evicted.try_recv().is_err());
    }

    #[test]
    fn all_addresses_together_have_a_limit() {
        let server = UntrustedConnections::new(9, 2, 1);
        let mut evictions: Vec<_> =
            (0..3).map(|last| server.enter(address(last), None).1).collect();
        let evicted: Vec<_> = evictions.iter_mut().map(|it| it.try_recv().ok()).collect();
        assert_eq!(evicted, [Some(Eviction::TotalLimit), None, None]);
    }

    #[test]
    fn connections_of_a_token_are_limited() {
        let server = UntrustedConnections::new(9, 9, 1);
        let (first, second) = (server.enter(address(1), None).0, server.enter(address(1), None).0);
        assert!(first.claim("a") && first.claim("a") && !second.claim("a") && second.claim("b"));
        assert!(first.claim("c") && second.claim("a"));
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let is_same = |one: &str, other: &str| {
            limit_key(one.parse().unwrap()) == limit_key(other.parse().unwrap())
        };
        assert!(is_same("2001:db8::1", "2001:db8::ffff:1"));
        assert!(!is_same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(is_same("::ffff:10.0.0.1", "10.0.0.1"));
    }

    proptest! {
        /// Whatever the connections do, the limits hold, and ended connections leave nothing behind.
        #[test]
        fn the_bounds_hold(steps in proptest::collection::vec((0..5_u8, 0..3_u8, 0..8_usize), 0..80)) {
            let server = UntrustedConnections::new(3, 5, 2);
            let mut connections: Vec<(TrackedConnection, oneshot::Receiver<Eviction>)> = Vec::new();
            for (step, last, which) in steps {
                let count = connections.len();
                match (step, connections.get(which % count.max(1))) {
                    (0, _) | (_, None) => connections.push(server.enter(address(last), None)),
                    (1, Some((connection, _))) => { connection.begin_request(); }
                    (2, Some((connection, _))) if connection.begin_request() => connection.end_request(false),
                    (3, Some((connection, _))) if connection.begin_request() => connection.end_request(true),
                    (4, Some((connection, _))) => {
                        connection.release();
                        connections.swap_remove(which % count);
                    }
                    _ => {}
                }
                let queue = lock(&server.queue);
                prop_assert!(queue.by_age.len() <= 5);
                prop_assert!(queue.by_address.values().all(|of| (1..=3).contains(&of.len())));
                let sum: usize = queue.by_address.values().map(BTreeSet::len).sum();
                prop_assert_eq!(sum, queue.by_age.len());
            }
            for (connection, _) in &connections {
                connection.release();
            }
            prop_assert!(lock(&server.queue).by_age.is_empty());
        }
    }
}
