//! Files with flame graphs: the width of the picture, the labels and the colours.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use crate::stacks::cg_fmt;

const NAME: &str = "ns::Cache<std::pair<int, char>, ns::Hash>::put_back(std::map<int, int> const&)";

#[test]
fn pictures_are_as_wide_as_their_window() {
    for input in [
        format!("main;{NAME} 5\nmain;rest 95\n"),
        // With a section of removed stacks, and with only that section.
        "main;a 5 7\nmain;b 2 0\n".to_owned(),
        "main;a 5 0\nmain;b 2 0\n".to_owned(),
    ] {
        let picture = cg_fmt(&["-f", "flamegraph"], &input);
        assert_eq!(picture.status, Some(0), "{}", picture.stderr);
        // The picture has 1,200 pixels and scales. The script makes it as wide as the window.
        let head = picture.stdout.split_once("<style>").unwrap().0;
        assert!(head.contains(" viewBox=\"0 0 1200 "), "{head}");
        assert!(
            picture
                .stdout
                .contains("svg.setAttribute(\"width\", \"100%\")")
        );
        let widths = picture.stdout.matches("width=\"100.0000%\"").count();
        assert!(widths > 0, "{}", picture.stdout);
    }
}

#[test]
fn labels_keep_the_functions_own_name() {
    let picture = cg_fmt(
        &["-f", "flamegraph"],
        &format!("main;{NAME} 12\nmain;rest 88\n"),
    )
    .stdout;
    // 12 % of 1,200 pixels have room for 19 letters.
    assert!(picture.contains(">…::put_back(…)</text>"), "{picture}");
    // The script has the forms of the name for other widths, the longest first.
    let names = picture.split_once("<metadata id=\"names\">").unwrap().1;
    let names = names.split_once("</metadata>").unwrap().0;
    let forms: Vec<&str> = names.lines().nth(1).unwrap().split('\t').collect();
    let escaped = NAME.replace('&', "&amp;");
    let escaped = escaped.replace('<', "&lt;").replace('>', "&gt;");
    assert_eq!(forms[0], escaped);
    assert_eq!(*forms.last().unwrap(), "put_back");
}

#[test]
fn own_code_and_dependencies_differ_in_colour() {
    let stream = concat!(
        r#"{"type":"run","stream":1,"tool":"folded","events":["samples"],"total":{"samples":3}}"#,
        "\n",
        r#"{"type":"stack","fn":"parse","file":"vendor/x/parse.c","cost":{"samples":3},"stack":[{"fn":"parse","file":"vendor/x/parse.c"},{"fn":"serve","file":"src/serve.c"}]}"#,
        "\n",
        r#"{"type":"end","records":1}"#,
        "\n"
    );
    let picture = cg_fmt(&["-f", "flamegraph"], stream).stdout;
    assert!(
        picture.contains(">own code orange, dependencies yellow<"),
        "{picture}"
    );
    let green = |name: &str| -> u8 {
        let frame = picture.split_once(&format!("<title>{name} (")).unwrap().1;
        let color = frame.split_once("rgb(").unwrap().1;
        color.split(',').nth(1).unwrap().parse().unwrap()
    };
    // Orange has less green than yellow.
    assert!(green("serve") < green("parse"), "{picture}");
}

#[test]
fn a_name_with_two_owners_has_one_frame_for_each() {
    // The `main` that calls Rust's start code belongs to it; any other `main` is the program's.
    let picture = cg_fmt(
        &["-f", "flamegraph"],
        "main;std::rt::lang_start;run 5\nmain;parse 2\nmain;std::rt::lang_start;run;a 3\nmain;parse;b 1\n",
    )
    .stdout;
    assert_eq!(picture.matches("<title>main").count(), 2, "{picture}");
    let has = |text: &str| picture.contains(text);
    assert!(
        has("<title>main (8 ") && has("<title>main [own] (3 ")
            || has("<title>main (3 ") && has("<title>main [std] (8 "),
        "{picture}"
    );
}
