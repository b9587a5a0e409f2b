//! A script as it is sent: without comments, which stand on lines of their own, without indentation and without spaces that
//! say nothing. Every line stays a line, so nothing depends on how statements end.

/// The script in short. It may have no text and no comment of several lines but those that begin a line.
pub(super) fn shortened(script: &str) -> String {
    let mut short = String::with_capacity(script.len());
    let mut is_comment = false;
    for line in script.lines().map(str::trim) {
        let begins = line.starts_with("/*");
        if !(is_comment || begins || line.is_empty() || line.starts_with("//")) {
            push_line(&mut short, line);
            short.push('\n');
        }
        is_comment = (is_comment || begins) && !line.ends_with("*/");
    }
    short
}

/// What a closing brace ends.
#[derive(PartialEq)]
enum Brace {
    Block,
    /// `${…}` in a template.
    Template,
}

fn push_line(short: &mut String, line: &str) {
    let mut braces = Vec::new();
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(open) = quote else {
            match letter {
                '"' | '\'' | '`' => quote = Some(letter),
                '{' => braces.push(Brace::Block),
                '}' if braces.pop() == Some(Brace::Template) => quote = Some('`'),
                ' ' if !is_needed(short.chars().next_back(), letters.peek().copied()) => continue,
                _ => {}
            }
            short.push(letter);
            continue;
        };
        short.push(letter);
        if letter == '\\' {
            short.extend(letters.next());
        } else if open == '`' && letter == '$' && letters.peek() == Some(&'{') {
            short.extend(letters.next());
            braces.push(Brace::Template);
            quote = None;
        } else if letter == open {
            quote = None;
        }
    }
}

/// Whether two letters would read as something else without the space between them.
fn is_needed(before: Option<char>, after: Option<char>) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    let is_sign = |letter: char| matches!(letter, '+' | '-' | '/');
    let both = |is: &dyn Fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    both(&is_word) || both(&is_sign)
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_script_loses_comments_and_spaces_and_nothing_else() {
        for (script, short) in [
            ("  const a = 1; // b\n", "const a=1;//b\n"),
            ("// a\n/** b\n * c */\n/* d */\nlet a;\n\n", "let a;\n"),
            ("a = b - -c + +d / e;", "a=b- -c+ +d/e;\n"),
            (
                "a = \"x  // \\\" y\" + ' \\' ' ;",
                "a=\"x  // \\\" y\"+' \\' ';\n",
            ),
            (
                "a = `b ${c + `d ${ { e : 1 }.e } f`}  g`;",
                "a=`b ${c+`d ${{e:1}.e} f`}  g`;\n",
            ),
            ("return a in b;", "return a in b;\n"),
        ] {
            assert_eq!(shortened(script), short, "{script}");
        }
    }
}
