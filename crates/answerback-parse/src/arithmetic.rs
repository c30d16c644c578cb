//! Evaluates arithmetic in place of a number.

use serde_json::Number;

/// The longest expression that is computed, in bytes. `DEEPEST` limits the nesting of its parentheses.
const LONGEST: usize = 128;
const DEEPEST: usize = 8;

/// True if a word consists of numbers with operators between them, and is not a date.
pub(super) fn is_arithmetic(word: &str) -> bool {
    let allowed = |letter: char| {
        letter.is_ascii_digit() || letter.is_ascii_whitespace() || "+-*/%^().eE_".contains(letter)
    };
    word.starts_with(|letter: char| letter.is_ascii_digit() || "(+-.".contains(letter))
        && word.chars().all(allowed)
        && word.contains(|letter: char| letter.is_ascii_digit())
        && word.chars().skip(1).any(|letter| "+-*/%^".contains(letter))
        && !is_date(word)
}

/// True for three groups of digits, one of them a year: `2024-10-15`, `10/15/2024`.
fn is_date(word: &str) -> bool {
    ['-', '/'].into_iter().any(|separator| {
        let groups = || word.split(separator);
        let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
        groups().count() == 3
            && groups().all(|group| !group.is_empty() && digits(group))
            && groups().any(|group| group.len() == 4)
    })
}

/// Computes an expression that can only be arithmetic: one with `*`, or with spaces around its operators.
///
/// `1/6`, `10-5` and `555-1234` could also be a ratio, a range or a telephone number. For them it returns `None`.
pub(super) fn compute(word: &str) -> Option<Number> {
    if word.len() > LONGEST || !(word.contains('*') || word.contains([' ', '\t'])) {
        return None;
    }
    let mut sum = Sum { rest: word, depth: 0, whole: true };
    let value = sum.terms()?;
    if !sum.rest.trim_start().is_empty() {
        return None;
    }
    // Below 2^53, a double holds a whole number exactly.
    if sum.whole && value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        return format!("{value:.0}").parse::<i64>().ok().map(Number::from);
    }
    Number::from_f64(value)
}

struct Sum<'t> {
    rest: &'t str,
    depth: usize,
    /// True if every operand so far was an integer.
    whole: bool,
}

impl Sum<'_> {
    fn terms(&mut self) -> Option<f64> {
        let mut value = self.factors()?;
        loop {
            if self.take("+") {
                value += self.factors()?;
            } else if self.take("-") {
                value -= self.factors()?;
            } else {
                return Some(value);
            }
        }
    }

    fn factors(&mut self) -> Option<f64> {
        let mut value = self.operand()?;
        loop {
            // Powers and remainders differ between languages, so they are not computed.
            if self.take("**") {
                return None;
            } else if self.take("*") {
                value *= self.operand()?;
            } else if self.take("/") {
                value /= Some(self.operand()?).filter(|&divisor| divisor != 0.0)?;
            } else {
                return Some(value);
            }
        }
    }

    fn operand(&mut self) -> Option<f64> {
        if self.take("(") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return None;
            }
            let value = self.terms()?;
            self.depth -= 1;
            return self.take(")").then_some(value);
        }
        let negative = self.take("-");
        self.rest = self.rest.trim_start();
        let length = self.rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
        let (digits, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        let value: f64 = digits.parse().ok()?;
        self.whole &= !digits.contains('.');
        self.rest = rest;
        Some(if negative { -value } else { value })
    }

    fn take(&mut self, operator: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(operator);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_arithmetic_from_the_rest() {
        for word in
            ["1/6", "6*12+2", "5 * 2800.0", "(1 + 2) * 3", "-1/2", "10-5", "2 ** 8", "1e3/2"]
        {
            assert!(is_arithmetic(word), "{word}");
        }
        for word in ["2024-10-15", "10/15/2024", "1.1.1", "-5", "x*2", "1st", "()", "--", "12"] {
            assert!(!is_arithmetic(word), "{word}");
        }
    }

    #[test]
    fn computes_only_what_is_sure() {
        let cases = [
            ("6*12+2", "74"),
            ("5 * 2800 * 0.1", "1400.0"),
            ("5 * 2800.0", "14000.0"),
            ("2*(3 + -4)", "-2"),
            ("1 / 4", "0.25"),
            ("8 / 4", "2"),
            ("0 * -1", "0"),
        ];
        for (word, expected) in cases {
            assert_eq!(compute(word).map(|number| number.to_string()).as_deref(), Some(expected));
        }
        let long = format!("1{}", " + 1".repeat(100));
        let deep = format!("{}1 * 1", "(".repeat(50));
        let refused = [
            "1/6",
            "10-5",
            "1 / 0",
            "2 ** 8",
            "7 % 2",
            "1 * ",
            "* 2",
            "1 2",
            "1.2.3 * 2",
            &long,
            &deep,
        ];
        for word in refused {
            assert_eq!(compute(word), None, "{word}");
        }
    }
}
