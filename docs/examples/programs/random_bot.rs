// Plays at random; reads the few fields that it needs without a crate.
//
//     rustc -O random_bot.rs
use std::io::{self, BufRead, Write};

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let key = format!("\"{name}\":");
    let start = line.find(&key).map_or(line.len(), |at| at + key.len());
    let rest = &line[start..];
    let end = if rest.starts_with('[') { rest.find(']') } else { rest.find([',', '}']) };
    &rest[..end.unwrap_or(rest.len())]
}

fn main() {
    let mut state: u64 = 1;
    for line in io::stdin().lock().lines() {
        let line = line.expect("a line of UTF-8");
        match field(&line, "type") {
            "\"hello\"" => println!(r#"{{"type":"hello","protocol":1,"name":"random-rust"}}"#),
            "\"new_game\"" => state = 2 * field(&line, "seed").parse().unwrap_or(0) + 1,
            "\"act\"" => {
                let legal: Vec<&str> = field(&line, "legal")[1..].split(',').collect();
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let action = legal[(state >> 16) as usize % legal.len()];
                println!(r#"{{"type":"action","id":{},"action":{action}}}"#, field(&line, "id"));
            }
            _ => {}
        }
        io::stdout().flush().expect("a reader");
    }
}
