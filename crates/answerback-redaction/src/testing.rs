//! Counts the steps of searches, for tests that bound the cost of a search or of what calls it.

thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds the steps of one search to the total of this thread.
pub(crate) fn note_steps(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

/// Returns the number of steps of all searches in some work.
pub fn steps_of(work: impl FnOnce()) -> usize {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}

/// Returns pieces of text that the search handles specially: symbols, brackets, escapes and the beginnings of
/// secrets.
pub fn pieces() -> Vec<String> {
    let known = [
        "$",
        "$2b$",
        "$argon2",
        "$6$",
        "=",
        "==",
        ":",
        "://",
        "a://",
        "a://b:",
        "a://b:c",
        "a://@",
        "@",
        "@a",
        "%3A%2F%2F",
        "a%3A%2F%2Fb%3A",
        "%40",
        "?",
        "&",
        "#",
        "/",
        "//",
        ".",
        ",",
        ";",
        "|",
        "\\",
        "\\\\",
        "\"",
        "\\\"",
        "'",
        "\\'",
        "\\\\\\\"",
        "`",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "<",
        ">",
        "</",
        "*",
        "-",
        "--",
        "-----BEGIN ",
        "-----BEGIN a-----",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "-----END a-----",
        "-p",
        "-p ",
        "-u ",
        "-u a:",
        "--user ",
        "--password ",
        "--password\",\"",
        "net user ",
        "net user a ",
        "ConvertTo-SecureString ",
        "ConvertTo-SecureString '",
        "NetworkCredential(",
        "NetworkCredential('a','",
        "1/1200000000000000:",
        "pwd",
        "pwd=",
        "pwd=$",
        "pwd=\"$",
        "pwd='$",
        "pwd=\\\"$",
        "\"pwd\":",
        "\"pwd\":[",
        "\"pwd\":{",
        "\"pin\":[]",
        "{\"pin\":",
        ",pin:",
        "password ",
        "password is ",
        "password: ",
        "password: a",
        "password = ",
        "password,",
        "password,a\n",
        "a,b\n",
        "|password|\n",
        "(password)",
        "(a,password) values (",
        "(password) values ('a'),('b'),",
        "'a',",
        "token ",
        "token=",
        "api key ",
        "key ",
        "key=",
        "auth=",
        "Unseal Key 1: ",
        "login a password ",
        "identified by '",
        " by '",
        "Bearer ",
        "Basic ",
        "Basic aaaa",
        "Authorization: ",
        "Cookie: ",
        "set('password','",
        "('token', '",
        "\"name\":\"pwd\",",
        "\"name\":\"pwd\",\"value\":",
        "\"value\":\"a\",",
        "name: password\n",
        "<password>",
        "<password>$",
        "arn:",
        "thin:",
        "thin:a/b@",
        "h:5432:d:u:",
        "*:*:*:a:",
        ":a",
        "mysql ",
        "docker login ",
        "sha256-",
        "md5=",
        "h1:",
        ";base64,",
        "/9j/",
        "iVBORw0KGgoAAAANSUhEUg",
        "AAAAAAAAAAAAAAAAAAAAAAAA\n",
        "ssh-rsa AAAAB3NzaC1yc2E",
        "https://hooks.slack.com/services/",
        "https://api.telegram.org/bot1:",
        "[redacted",
        "[redacted: token]",
        "Zk3vN8qLw2Tx9RbY5sJm7cPd4HfGa1Ue",
        "0123456789abcdef",
        "abc",
        "A1",
        "é",
        "\u{200b}",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\\n",
    ];
    crate::token_formats::prefixes().chain(known).map(str::to_owned).collect()
}

/// Checks that four times as many repetitions of a unit take at most five times as many steps.
///
/// # Errors
///
/// Returns the numbers of steps if they grow faster.
pub fn grows_linearly(unit: &str, search: impl Fn(&str)) -> Result<(), String> {
    const BYTES: usize = 2 << 10;
    let times = BYTES / unit.len().max(1) + 1;
    let (once, often) = (unit.repeat(times), unit.repeat(4 * times));
    let (small, large) = (steps_of(|| search(&once)), steps_of(|| search(&often)));
    // The constant cost of any text does not count.
    if large <= 5 * (small + 64) {
        Ok(())
    } else {
        Err(format!("{unit:?}: {small} steps, then {large}"))
    }
}
