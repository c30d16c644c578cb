//! Finds passwords and tokens in URLs.

use super::super::SecretKind;
use super::super::value::reads_like_a_secret;
use super::{AHEAD, LONGEST_HOOK, LONGEST_LINE, SecretScanner, count_of, is_gap};

impl SecretScanner<'_> {
    /// Marks the password in `scheme://user:password@host`, a user that is a token, and the secrets in the path of a
    /// webhook.
    pub(super) fn url(&mut self, start: usize, end: usize) -> bool {
        if !self.bytes[end..].starts_with(b"://") || !self.bytes[start].is_ascii_alphabetic() {
            return self.oracle(start, end);
        }
        let authority = end + "://".len();
        let run = self.end_of_run(authority);
        self.at = authority;
        let stops = |byte: u8| matches!(byte, b'/' | b'?' | b'#' | b':');
        let first = authority + count_of(&self.bytes[authority..run], |byte| !stops(byte));
        self.steps.take(first - authority);
        if self.bytes.get(first) == Some(&b':') && first < run {
            let after = first + 1;
            let port = count_of(&self.bytes[after..run], |byte| byte.is_ascii_digit());
            self.steps.take(port);
            let is_port = port > 0
                && matches!(
                    self.bytes.get(after + port).filter(|_| after + port < run),
                    None | Some(b'/' | b'?' | b'#' | b',' | b')')
                );
            // A password may contain `/`, `?` and `@` unescaped, but it never follows a port.
            if !is_port && let Some(at_sign) = self.last_at_sign(after, run) {
                self.user(authority, first);
                self.mark(after, at_sign, SecretKind::Password);
                self.url_rest(at_sign + 1, run);
                return true;
            }
        } else if let Some(user) =
            self.bytes[authority..first].iter().position(|byte| *byte == b'@')
        {
            self.user(authority, authority + user);
        }
        self.url_rest(authority, run);
        true
    }

    /// Marks the user of a URL if it looks like a token.
    pub(super) fn user(&mut self, start: usize, end: usize) {
        const SHORTEST: usize = 16;
        let user = &self.text[start..end];
        if user.len() >= SHORTEST
            && user.bytes().any(|byte| byte.is_ascii_digit())
            && !user.contains(['.', '%'])
        {
            self.mark(start, end, SecretKind::Token);
        }
    }

    /// Handles the part of a URL after the user. Its path is public, except for the secret in the address of a
    /// webhook.
    pub(super) fn url_rest(&mut self, host: usize, run: usize) {
        const HOOKS: [&str; 7] = [
            "hooks.slack.com/services/",
            "/api/webhooks/",
            "/webhook/",
            "/bot",
            "hooks.zapier.com/",
            "/IncomingWebhook/",
            "/hooks/",
        ];
        let query = self.next_query.after(self.bytes, host, &mut self.steps, |byte| {
            is_gap(byte) || matches!(byte, b'?' | b'#')
        });
        let path = query.min(run).max(host);
        self.public_until = self.public_until.max(path);
        let near = self.text.floor_char_boundary(host + LONGEST_HOOK).max(host);
        let address = &self.text[host..path.min(near)];
        self.steps.take(address.len());
        let is_hook = HOOKS.iter().any(|hook| address.contains(hook));
        if is_hook && let Some(last) = address.rfind('/') {
            let (mut from, mut part) = (host + last + 1, &address[last + 1..]);
            if let Some(bot) = address.find("/bot")
                && address[bot + 4..].contains(':')
            {
                from = host + bot + "/bot".len();
                part = address[bot + "/bot".len()..].split('/').next().unwrap_or_default();
            }
            if part.len() >= 16 && reads_like_a_secret(part) {
                self.mark(from, from + part.len(), SecretKind::Token);
            }
        }
    }

    /// Returns the last `@` between two places of one run.
    pub(super) fn last_at_sign(&mut self, from: usize, run: usize) -> Option<usize> {
        let last = match self.last_at_sign {
            Some((end, last)) if end == run => last,
            _ => {
                self.steps.take(run - from);
                let last = self.bytes[from..run].iter().rposition(|byte| *byte == b'@');
                let last = last.map(|at| from + at);
                self.last_at_sign = Some((run, last));
                last
            }
        };
        last.filter(|at| *at > from)
    }

    /// Marks the password in Oracle's `thin:user/password@host`.
    pub(super) fn oracle(&mut self, start: usize, end: usize) -> bool {
        if &self.text[start..end] != "thin" {
            return false;
        }
        let run = self.end_of_run(end).min(self.text.floor_char_boundary(end + AHEAD));
        self.steps.take(run - end);
        let login = &self.text[end + 1..run.max(end + 1)];
        let Some((user, rest)) = login.split_once('/') else { return false };
        let Some(password) = rest.rfind('@').filter(|at| *at > 0) else { return false };
        let from = end + 1 + user.len() + 1;
        self.mark(from, from + password, SecretKind::Password);
        true
    }

    /// Marks the password in an encoded URL inside another one: `scheme%3A%2F%2Fuser%3Apassword%40host`.
    pub(super) fn encoded_url(&mut self, start: usize, end: usize) {
        let run = self.end_of_run(end).min(self.text.floor_char_boundary(end + LONGEST_LINE));
        let rest = &self.bytes[end..run];
        let begins = |bytes: &[u8], sign: &[u8]| {
            bytes.get(..sign.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(sign))
        };
        if !self.bytes[start].is_ascii_alphabetic() || !begins(rest, b"%3A%2F%2F") {
            return;
        }
        self.steps.take(rest.len());
        let authority = end + "%3A%2F%2F".len();
        let find =
            |from: usize, sign: &[u8]| (from..run).find(|at| begins(&self.bytes[*at..run], sign));
        let Some(colon) = find(authority, b"%3A") else { return };
        let Some(at_sign) = find(colon, b"%40") else { return };
        let is_user = !(authority..colon).any(|at| begins(&self.bytes[at..run], b"%2F"));
        if is_user {
            self.mark(colon + 3, at_sign, SecretKind::Password);
        }
    }
}
