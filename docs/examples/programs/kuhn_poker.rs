// Kuhn poker as a game for miai: chance deals, and each player sees its own card only.
// The state is the cards and the betting, such as "QKpb"; the program remembers nothing.
//
//     rustc -O kuhn_poker.rs
use std::io::{self, BufRead, Write};

const CARDS: &str = "JQK";
const ENDINGS: [&str; 5] = ["pp", "pbp", "pbb", "bp", "bb"];

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let key = format!("\"{name}\":");
    let start = line.find(&key).map_or(line.len(), |at| at + key.len());
    let rest = &line[start..];
    let end = if rest.starts_with('[') { rest.find(']') } else { rest.find([',', '}']) };
    rest[..end.unwrap_or(rest.len())].trim_matches(&['"', '['][..])
}

/// The chips that the first player wins.
fn won(cards: &str, bets: &str) -> i32 {
    if bets.ends_with("bp") {
        return if bets.len() == 2 { 1 } else { -1 };
    }
    let stake = if bets.ends_with("bb") { 2 } else { 1 };
    let rank = |n| CARDS.find(cards.as_bytes()[n] as char);
    if rank(0) > rank(1) { stake } else { -stake }
}

/// What the players observe of the transition to a state: the deal together, then every bet.
fn observations(cards: &str, bets: &str) -> String {
    if cards.len() < 2 {
        return "null,null".into();
    }
    if !bets.is_empty() {
        return r#"{"sees":"action"},{"sees":"action"}"#.into();
    }
    let dealt = |n: usize| format!(r#"{{"sees":"actor","data":{{"card":"{}"}}}}"#, &cards[n..=n]);
    format!("{},{}", dealt(0), dealt(1))
}

fn describe(id: &str, state: &str) -> String {
    let (cards, bets) = state.split_at(state.len().min(2));
    let seen = observations(cards, bets);
    let head = format!(r#"{{"type":"state","id":{id},"state":"{state}","observations":[{seen}]"#);
    if cards.len() < 2 {
        let left: Vec<usize> = (0..3).filter(|n| !cards.contains(&CARDS[*n..=*n])).collect();
        let odds = 1.0 / left.len() as f64;
        let deals: Vec<String> = left.iter().map(|n| format!("[{},{odds}]", n + 2)).collect();
        return format!(r#"{head},"player":-1,"chance":[{}]}}"#, deals.join(","));
    }
    if ENDINGS.contains(&bets) {
        let first = won(cards, bets);
        return format!(r#"{head},"player":-4,"returns":[{first},{}]}}"#, -first);
    }
    format!(r#"{head},"player":{},"legal":[0,1]}}"#, bets.len() % 2)
}

fn main() {
    for line in io::stdin().lock().lines() {
        let line = line.expect("a line of UTF-8");
        let id = field(&line, "id");
        match field(&line, "type") {
            "hello" => println!(
                r#"{{"type":"hello","protocol":1,"name":"kuhn_poker","version":1,"players":["first","second"],"actions":["pass","bet"],"chance":["J","Q","K"],"max_game_length":3,"min_utility":-2,"max_utility":2,"payoffs":true,"perfect_information":false}}"#
            ),
            "start" => println!("{}", describe(id, "")),
            "next" => {
                let action: usize = field(&line, "actions").parse().expect("one action");
                let mark = ["p", "b", "J", "Q", "K"][action];
                println!("{}", describe(id, &(field(&line, "state").to_owned() + mark)));
            }
            _ => {}
        }
        io::stdout().flush().expect("a reader");
    }
}
