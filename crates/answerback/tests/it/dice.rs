//! Chance that comes out the same each time.

/// A row of random numbers that is the same each time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    pub(crate) fn one_of<'o, T>(&mut self, options: &'o [T]) -> &'o T {
        &options[self.below(options.len())]
    }

    /// As many characters of an alphabet.
    pub(crate) fn text(&mut self, alphabet: &str, length: usize) -> String {
        (0..length).map(|_| char::from(*self.one_of(alphabet.as_bytes()))).collect()
    }
}
