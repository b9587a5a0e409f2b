//! Independent readers of callgrind profiles and disassemblies, which share no code with the tools.

use std::collections::BTreeMap;
use std::path::Path;

/// The functions of a callgrind profile by name, without levels of recursion, and the calls between them.
#[derive(Debug, Default)]
pub struct CallgrindFunctions {
    /// Self cost of the first event.
    pub cost: BTreeMap<String, i128>,
    /// Calls by caller and callee.
    pub calls: BTreeMap<(String, String), i128>,
}

impl CallgrindFunctions {
    /// Reads a profile.
    ///
    /// # Panics
    /// Panics if the file is not a callgrind profile.
    pub fn read(path: &Path) -> CallgrindFunctions {
        let text = std::fs::read_to_string(path).unwrap();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut named = |text: &str| -> String {
            let (id, name) = text.split_once(')').unwrap_or((text, ""));
            if !name.is_empty() {
                names.insert(id.to_owned(), name.trim().to_owned());
            }
            names[id].clone()
        };
        let positions = text
            .lines()
            .find_map(|line| line.strip_prefix("positions: "));
        let positions = positions.map_or(1, |positions| positions.split(' ').count());
        let mut functions = CallgrindFunctions::default();
        let (mut caller, mut callee) = (String::new(), String::new());
        let mut is_call = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                caller = named(name);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = named(name);
            } else if let Some(calls) = line.strip_prefix("calls=") {
                let calls: i128 = calls.split(' ').next().unwrap().parse().unwrap();
                *(functions.calls)
                    .entry((caller.clone(), callee.clone()))
                    .or_default() += calls;
                is_call = true;
            } else if line
                .starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
                && !std::mem::take(&mut is_call)
            {
                let count = line.split(' ').nth(positions).unwrap_or("0");
                *functions.cost.entry(caller.clone()).or_default() +=
                    count.parse::<i128>().unwrap();
            }
        }
        functions
    }

    /// Returns the total.
    pub fn total(&self) -> i128 {
        self.cost.values().sum()
    }

    /// Returns the number of calls to a function.
    pub fn calls_to(&self, name: &str) -> i128 {
        let calls = self.calls.iter().filter(|((_, callee), _)| callee == name);
        calls.map(|(_, calls)| calls).sum()
    }
}

/// The instructions of a function, from `objdump`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembly {
    /// Instructions without the results of linking: names replace addresses, and distances to data are removed.
    exact: Vec<String>,
    /// Instructions also without numbers and padding.
    shape: Vec<String>,
}

/// Compares two disassemblies. Returns the value of a diff's `code` field.
pub fn code_change(old: &Disassembly, new: &Disassembly) -> &'static str {
    if old.exact == new.exact {
        "same"
    } else if old.shape == new.shape {
        "constants"
    } else {
        "other"
    }
}

/// Parses the output of `objdump -d --no-show-raw-insn -C` into functions.
pub fn parse_disassembly(text: &str) -> BTreeMap<String, Disassembly> {
    let mut functions = BTreeMap::new();
    let mut lines: Vec<(u64, &str)> = Vec::new();
    let mut name: Option<&str> = None;
    for line in text.lines().chain([""]) {
        if let Some((_, rest)) = line.split_once(" <")
            && let Some(function) = rest.strip_suffix(">:")
        {
            name = Some(function);
        } else if line.is_empty() {
            if let Some(name) = name.take() {
                let taken = std::mem::take(&mut lines);
                functions.insert(name.to_owned(), Disassembly::new(name, &taken));
            }
        } else if let Some((address, instruction)) = line.split_once(':')
            && let Ok(address) = u64::from_str_radix(address.trim(), 16)
        {
            lines.push((address, instruction.trim()));
        }
    }
    functions
}

impl Disassembly {
    fn new(name: &str, lines: &[(u64, &str)]) -> Disassembly {
        let is_padding = |line: &str| {
            line.starts_with("nop")
                || line.contains(" nop")
                || line.starts_with("int3")
                || line.contains("xchg   %ax,%ax")
        };
        let end = lines.iter().rposition(|(_, line)| !is_padding(line));
        let lines = &lines[..end.map_or(0, |end| end + 1)];
        let place = |address: u64, with_padding: bool| {
            let before = lines.iter().take_while(|(at, _)| *at < address);
            before
                .filter(|(_, line)| with_padding || !is_padding(line))
                .count()
        };
        // `jmp 1139 <leaf+0x9>`: an offset in this function, or another function's name.
        let operands = |line: &str, with_padding: bool| -> String {
            // `lea 0xe2f(%rip),%rax # 2004 <_IO_stdin_used+0x4>`: addresses of data are not compared.
            let line = line.split('#').next().unwrap().trim_end();
            let Some((front, target)) = line.split_once(" <") else {
                return line.to_owned();
            };
            let target = target.trim_end_matches('>');
            let (words, address) = front.rsplit_once(' ').unwrap();
            let address = u64::from_str_radix(address, 16).unwrap();
            match target == name || target.starts_with(&format!("{name}+")) {
                true => format!("{words} @{}", place(address, with_padding)),
                false => format!("{words} {target}"),
            }
        };
        let without_distance = |line: String| match line.find("(%rip)") {
            Some(end) => {
                let digits = |c: char| c.is_ascii_hexdigit() || c == 'x' || c == '-';
                let start = line[..end].rfind(|c| !digits(c)).map_or(0, |at| at + 1);
                format!("{}{}", &line[..start], &line[end..])
            }
            None => line,
        };
        let exact = lines
            .iter()
            .map(|(_, line)| without_distance(operands(line, true)));
        let shape = (lines.iter().filter(|(_, line)| !is_padding(line)))
            .map(|(_, line)| without_numbers(&without_distance(operands(line, false))));
        Disassembly {
            exact: exact.collect(),
            shape: shape.collect(),
        }
    }
}

/// Removes numbers: `0x18` in `add $0x18,%rsp`. Keeps offsets in the function, registers and names.
fn without_numbers(line: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("0x") {
        let (front, number) = rest.split_at(at);
        result += front.strip_suffix('-').unwrap_or(front);
        let digits = number[2..].find(|c: char| !c.is_ascii_hexdigit());
        rest = &number[2 + digits.unwrap_or(number.len() - 2)..];
    }
    result + rest
}
