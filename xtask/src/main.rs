#[cfg_attr(
    not(test),
    expect(dead_code, reason = "drawn by the task that makes the README's picture")
)]
mod picture;

fn main() {}
