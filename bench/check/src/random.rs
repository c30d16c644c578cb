/// Numbers that look random and are the same in every run (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % end
    }

    /// An amount of money, in hundredths.
    pub(crate) fn price(&mut self) -> u32 {
        u32::try_from(self.below(100_000)).unwrap_or_default()
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// 16 bytes for an id.
    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        (u128::from(self.next()) << 64 | u128::from(self.next())).to_le_bytes()
    }

    /// A sentence of about this many words.
    pub(crate) fn sentence(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words.max(1) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(self.pick(WORDS));
        }
        text.push('.');
        text
    }
}

const WORDS: &[&str] = &[
    "order",
    "customer",
    "the",
    "of",
    "invoice",
    "was",
    "found",
    "in",
    "région",
    "and",
    "shipment",
    "is",
    "delayed",
    "by",
    "three",
    "days",
    "report",
    "for",
    "März",
    "shows",
    "a",
    "rise",
    "「在庫」",
    "between",
    "forecast",
    "with",
    "tests",
    "failed",
    "path",
    "module",
    "to",
    "\"quoted\"",
];
