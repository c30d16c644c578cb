//! A pool of random bytes from the operating system. A recorded call needs a few bytes five times,
//! and the pool saves a system call each time.

use std::cell::RefCell;
use std::io;

/// The number of bytes fetched at a time.
const FETCHED: usize = 1024;

/// The maximum number of bytes taken from the pool. Larger requests go to the system directly.
const MOST: usize = 64;

/// The random bytes that a thread has fetched and not used yet.
struct Pool {
    bytes: [u8; FETCHED],
    /// The number of unused bytes, which are at the end of the array.
    left: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; FETCHED], left: 0 }) };
}

/// Fills the slice with random bytes that are used only once.
///
/// # Errors
///
/// Returns an error if the system has no randomness.
pub(crate) fn fill_random(wanted: &mut [u8]) -> io::Result<()> {
    if wanted.len() > MOST {
        return fetch(wanted);
    }
    // A thread that is ending no longer has a pool.
    let pooled = POOL.try_with(|pool| pool.try_borrow_mut().ok().map(|mut pool| pool.give(wanted)));
    pooled.ok().flatten().unwrap_or_else(|| fetch(wanted))
}

fn fetch(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
}

impl Pool {
    fn give(&mut self, wanted: &mut [u8]) -> io::Result<()> {
        if self.left < wanted.len() {
            // Mark the pool as empty first, so that the bytes of a failed fetch are never used.
            self.left = 0;
            fetch(&mut self.bytes)?;
            self.left = FETCHED;
        }
        let start = FETCHED - self.left;
        let given = &mut self.bytes[start..start + wanted.len()];
        wanted.copy_from_slice(given);
        // Erase the bytes from the pool, so that only the caller has them.
        given.fill(0);
        self.left -= wanted.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn sixteen() -> [u8; 16] {
        let mut bytes = [0; 16];
        fill_random(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn bytes_are_never_handed_out_twice() {
        let many = || (0..1000).map(|_| sixteen()).collect::<Vec<_>>();
        let other = std::thread::spawn(many);
        let all: HashSet<[u8; 16]> = many().into_iter().chain(other.join().unwrap()).collect();
        assert_eq!(all.len(), 2000);
        assert!(!all.contains(&[0; 16]));
    }

    #[test]
    fn handed_out_bytes_are_erased_from_the_pool() {
        let mut given = [0; 40];
        fill_random(&mut given).unwrap();
        let is_kept = |bytes: &[u8]| bytes.windows(given.len()).any(|window| *window == given);
        POOL.with_borrow(|pool| assert!(!is_kept(&pool.bytes)));
    }

    #[test]
    fn any_length_can_be_filled() {
        for length in [0, 1, MOST - 1, MOST, MOST + 1, 3 * FETCHED] {
            let mut bytes = vec![0; length];
            for _ in 0..50 {
                fill_random(&mut bytes).unwrap();
            }
            let is_zero = bytes.iter().all(|byte| *byte == 0);
            assert!(length < 8 || !is_zero, "{length}");
        }
    }
}
