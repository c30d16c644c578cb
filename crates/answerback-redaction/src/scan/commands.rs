//! Finds passwords on command lines.

use super::super::SecretKind;
use super::super::value::{is_stand_in, reads_like_a_password};
use super::{AHEAD, LONGEST_LINE, SecretScanner, count_of, is_blank};

impl SecretScanner<'_> {
    /// Marks the password after a short option: `-u user:password`, `-pPASSWORD`, and `-p PASSWORD` of programs that
    /// accept it.
    pub(super) fn option(&mut self, start: usize, end: usize) -> bool {
        let word = &self.text[start..end];
        if matches!(word, "-u" | "--user" | "--proxy-user" | "-U" | "--basic") {
            return self.user_and_password(end);
        }
        let letter = self.bytes.get(start + 1).copied().unwrap_or_default();
        if !matches!(letter, b'p' | b'P' | b'a' | b'w') {
            return false;
        }
        if word.len() > 2 {
            if letter != b'p' || word.starts_with("-pass") {
                return false;
            }
            let stop = self.end_of_run(start + 2).min(self.text.floor_char_boundary(start + AHEAD));
            let value = self.text[start + 2..stop].trim_end_matches([',', ';', ')']);
            self.steps.take(value.len());
            let is_port = value.bytes().all(|byte| byte.is_ascii_digit());
            let is_password = !value.contains(['/', ':'])
                && !is_port
                && (is_strong(value) && reads_like_a_password(value)
                    || !is_stand_in(value, SecretKind::Password)
                        && self.program_takes(start, b'p'));
            if is_password {
                self.mark(start + 2, start + 2 + value.len(), SecretKind::Password);
            }
            return is_password;
        }
        if end - start == 2 && self.program_takes(start, letter) {
            let Some((from, to)) = self.argument(end) else { return false };
            let value = &self.text[from..to];
            if !is_stand_in(value, SecretKind::Password) && !value.starts_with('-') {
                self.mark(from, to, SecretKind::Password);
                return true;
            }
        }
        false
    }

    /// Marks the password in `net user ada PASSWORD /add`, `ConvertTo-SecureString "PASSWORD"` and
    /// `NetworkCredential("ada", "PASSWORD")`.
    pub(super) fn windows_password(&mut self, start: usize, end: usize) {
        let found = match &self.text[start..end] {
            "user" => self.argument_of_net_user(start, end),
            "ConvertTo-SecureString" => {
                let option = " -String";
                let has_option = self.text[end..].starts_with(option);
                let after = if has_option { end + option.len() } else { end };
                let found = self.argument(after);
                found.filter(|(from, _)| matches!(self.bytes[from - 1], b'"' | b'\''))
            }
            word if word.ends_with("NetworkCredential") => self.second_argument(end),
            _ => None,
        };
        if let Some((from, to)) = found
            && !is_stand_in(&self.text[from..to], SecretKind::Password)
        {
            self.mark(from, to, SecretKind::Password);
        }
    }

    fn argument_of_net_user(&mut self, start: usize, end: usize) -> Option<(usize, usize)> {
        let before = self.before(start);
        if !before.ends_with("net ") && !before.ends_with("net.exe ") {
            return None;
        }
        let name = self.argument(end)?;
        let (from, to) = self.argument(name.1)?;
        let value = &self.text[from..to];
        let creates = self.argument(to).is_some_and(|(from, to)| &self.text[from..to] == "/add");
        let is_password = !value.starts_with(['/', '*']) && (creates || is_strong(value));
        is_password.then_some((from, to))
    }

    /// Returns the range of the second of two quoted arguments in parentheses.
    fn second_argument(&mut self, end: usize) -> Option<(usize, usize)> {
        let near = &self.bytes[end..self.bytes.len().min(end + LONGEST_LINE)];
        self.steps.take(near.len().min(AHEAD));
        let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'');
        let mut quotes = near.iter().take(AHEAD).enumerate().filter(|(_, byte)| is_quote(byte));
        let mut next = || quotes.next().map(|(at, _)| at);
        let (first, close, from, to) = (next()?, next()?, next()?, next()?);
        let between =
            near[close + 1..from].iter().filter(|byte| !is_blank(**byte) && **byte != b'\\');
        (near[..first].iter().all(|byte| matches!(byte, b'(' | b' ' | b'\\'))
            && between.eq([&b',']))
        .then(|| {
            let backslashes =
                near[from + 1..to].iter().rev().take_while(|byte| **byte == b'\\').count();
            (end + from + 1, end + to - backslashes)
        })
    }

    /// Returns the kind of a secret that follows an id, as in a token of Asana: `1/1200000000000000:0123…`.
    pub(super) fn kind_after_id(&mut self, start: usize, end: usize) -> Option<SecretKind> {
        const LENGTH: usize = 32;
        let is_hex = |word: &[u8]| word.iter().all(u8::is_ascii_hexdigit);
        if end - start != LENGTH
            || start == 0
            || self.bytes[start - 1] != b':'
            || !is_hex(&self.bytes[start..end])
        {
            return None;
        }
        let before = self.before(start).strip_suffix(':')?;
        let id = before.trim_end_matches(|character: char| character.is_ascii_digit());
        let is_id = before.len() - id.len() >= 10;
        (is_id && (id.ends_with("1/") || id.ends_with("2/") || id.ends_with("0/")))
            .then_some(SecretKind::Token)
    }

    /// Marks the password in an argument `user:password`.
    pub(super) fn user_and_password(&mut self, end: usize) -> bool {
        let Some((from, to)) = self.argument(end) else { return false };
        let argument = &self.text[from..to];
        let Some((user, password)) = argument.split_once(':') else { return false };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if user.is_empty()
            || user.contains('/')
            || password.is_empty()
            || is_number(password)
            || is_stand_in(password, SecretKind::Password)
        {
            return false;
        }
        self.mark(from + user.len() + 1, to, SecretKind::Password);
        true
    }

    /// Returns the range of the next argument of a command, without its quotes. In a list, it is the next element.
    pub(super) fn argument(&mut self, end: usize) -> Option<(usize, usize)> {
        let near = &self.bytes[end..self.bytes.len().min(end + 12)];
        let closing = count_of(near, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
        let comma = usize::from(closing > 0 && near.get(closing) == Some(&b','));
        if closing > 0 && comma == 0 {
            return None;
        }
        let blanks = count_of(&near[closing + comma..], |byte| matches!(byte, b' ' | b'='));
        if blanks + comma == 0 {
            return None;
        }
        let mut from = closing + comma + blanks;
        from += count_of(&near[from..], |byte| byte == b'\\');
        let quote = near.get(from).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        let from = end + from + usize::from(quote.is_some());
        let to = match quote {
            Some(quote) => {
                let near = &self.bytes[from..self.bytes.len().min(from + LONGEST_LINE)];
                self.steps.take(near.len().min(AHEAD));
                from + near.iter().position(|byte| *byte == quote || *byte == b'\\')?
            }
            None => self.end_of_run(from),
        };
        (from < to && to - from <= LONGEST_LINE).then_some((from, to))
    }

    /// True if the program on this command line takes a password with an option of this letter.
    pub(super) fn program_takes(&mut self, option: usize, letter: u8) -> bool {
        let from = self.text.ceil_char_boundary(option.saturating_sub(AHEAD));
        self.steps.take(option - from);
        let before = &self.text[from..option];
        let command = before.rsplit(['\n', ';', '|', '&', '(']).next().unwrap_or_default();
        let mut words = command.split([' ', '"', '\'', ',', '/', '[']);
        let has =
            |program: &str| command.split([' ', '"', '\'', '/', '[']).any(|word| word == program);
        words.any(|word| match word {
            "mysql" | "mysqldump" | "mysqladmin" | "mariadb" | "mariadb-dump" | "7z" => {
                letter == b'p' && !command.is_empty() && self.bytes.get(option + 2) != Some(&b' ')
            }
            "sshpass" | "mongo" | "mongosh" | "mongodump" | "twine" | "rabbitmqadmin" => {
                letter == b'p'
            }
            "docker" | "podman" | "helm" | "oc" | "skopeo" | "nerdctl" | "az" | "buildah" => {
                letter == b'p' && has("login")
            }
            "redis-cli" => letter == b'a',
            "ldapsearch" | "ldapmodify" | "ldapadd" | "ldapdelete" | "ldapwhoami" => letter == b'w',
            "unzip" | "zip" | "mosquitto_pub" | "mosquitto_sub" | "sqlcmd" | "bcp" => {
                letter == b'P'
            }
            _ => false,
        })
    }
}

/// True for a value that is hardly ordinary text: a digit together with letters of both cases, or with a symbol.
fn is_strong(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    value.len() >= 8
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
            || value.bytes().any(|byte| b"!@#$%^&*+".contains(&byte)))
}
