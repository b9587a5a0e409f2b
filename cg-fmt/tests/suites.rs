//! Reports on several benchmarks and on histories. The figures were computed by hand.

use crate::behaviour::cg_fmt;

/// A section for a benchmark: its totals, and one function with the whole difference.
fn section(bench: &str, old: i64, new: i64) -> String {
    let status = if old == new { "same" } else { "changed" };
    let delta = new - old;
    format!(
        "{{\"type\":\"run\",\"stream\":1,\"runs\":[\"old/{bench}.out\",\"new/{bench}.out\"],\"events\":[\"Ir\"],\"total\":{{\"Ir\":[{old},{new}]}},\"labels\":{{\"bench\":\"{bench}\"}},\"rows\":{{\"{status}\":1}}}}\n\
         {{\"type\":\"diff\",\"fn\":\"f\",\"bench\":\"{bench}\",\"of\":\"fn\",\"status\":\"{status}\",\"cost\":{{\"Ir\":[{old},{new}]}},\"delta\":{{\"Ir\":{delta}}}}}\n\
         {{\"type\":\"end\",\"records\":1}}\n"
    )
}

/// Three benchmarks whose changes cancel.
fn suite() -> String {
    section("a", 200, 100) + &section("b", 100, 200) + &section("c", 50, 50)
}

#[test]
fn changes_of_benchmarks_do_not_cancel() {
    let headline = "2 of 3 benchmarks changed; worst: b +100.00%, best: a -50.00%";
    for format in ["table", "markdown", "html"] {
        let shown = cg_fmt(&["-f", format], &suite()).stdout;
        assert!(shown.contains(headline), "{format}: {shown}");
        assert!(!shown.contains("unchanged at"), "{format}: {shown}");
    }
    let table = cg_fmt(&["--columns", "bench,Ir.old,Ir.new,fn"], &suite()).stdout;
    for row in [
        "350     350  SUM OF ALL BENCHMARKS",
        "a         200     100  f",
        "b         100     200  f",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
    let unchanged = section("a", 5, 5) + &section("b", 6, 6);
    let shown = cg_fmt(&[], &unchanged).stdout;
    assert!(shown.contains("2 benchmarks unchanged"), "{shown}");
    // A new figure has no percentage.
    let new = section("a", 0, 5) + &section("b", 4, 5);
    let shown = cg_fmt(&[], &new).stdout;
    assert!(shown.contains("changed; worst: a +5 Ir\n"), "{shown}");
}

#[test]
fn programs_get_the_rows_of_each_benchmark_and_its_totals() {
    let csv = cg_fmt(
        &["-f", "csv", "--columns", "bench,Ir.old,Ir.new,fn"],
        &suite(),
    );
    assert_eq!(
        csv.stdout,
        "bench,Ir.old,Ir.new,fn\na,200,100,f\nb,100,200,f\nc,50,50,f\n"
    );
    let totals = cg_fmt(
        &[
            "--group-by",
            "bench",
            "-f",
            "csv",
            "--columns",
            "bench,Ir.old,Ir.new,status",
        ],
        &suite(),
    );
    assert_eq!(
        totals.stdout,
        "bench,Ir.old,Ir.new,status\na,200,100,changed\nb,100,200,changed\nc,50,50,same\n"
    );
    // A section for each benchmark, which can be read again.
    let json = cg_fmt(&["-f", "json"], &suite()).stdout;
    assert_eq!(json.matches("\"type\":\"run\"").count(), 3, "{json}");
    let again = cg_fmt(&[], &json).stdout;
    assert_eq!(again, cg_fmt(&[], &suite()).stdout);
    let refused = cg_fmt(
        &["--group-by", "bench"],
        "{\"type\":\"fn\",\"fn\":\"f\",\"cost\":{\"Ir\":1}}\n",
    );
    assert_eq!(refused.status, Some(2));
}

/// A section with one cause, whose function is in a cycle of two functions.
fn section_with_a_cause(bench: &str, old: i64, new: i64) -> String {
    let delta = new - old;
    let cycles = format!(
        ",\"cycles\":[{{\"cycle\":1,\"fn\":\"walk_{bench}\",\"members\":2,\"delta\":{{\"Ir\":{delta}}}}}]"
    );
    let cause = format!(
        "{{\"type\":\"cause\",\"fn\":\"f\",\"bench\":\"{bench}\",\"cycle\":1,\"delta\":{{\"Ir\":{delta}}},\"details\":[{{\"kind\":\"own\",\"delta\":{{\"Ir\":{delta}}}}}]}}\n"
    );
    let section = section(bench, old, new).replace("\"records\":1", "\"records\":2");
    let section = section.replacen("}}\n", &format!("}}{cycles}}}\n"), 1);
    section.replacen(
        "{\"type\":\"diff\"",
        &format!("{cause}{{\"type\":\"diff\""),
        1,
    )
}

#[test]
fn causes_belong_to_their_benchmark() {
    let suite = section_with_a_cause("a", 200, 150) + &section_with_a_cause("b", 1_000, 1_600);
    let table = cg_fmt(&["--type", "cause"], &suite).stdout;
    let lines: Vec<Vec<&str>> = (table.lines())
        .map(|line| line.split_whitespace().collect())
        .filter(|words: &Vec<&str>| words.contains(&"f") || words.contains(&"SUM"))
        .collect();
    // The greatest cause is first, and its share is that of its own benchmark: 600 of 1,000 and 50 of 200.
    let expected = [
        "+550 (+45.83%) SUM OF ALL BENCHMARKS",
        "b +600 (+60.00%) f [cycle of 2: walk_b]",
        "a -50 (-25.00%) f [cycle of 2: walk_a]",
    ];
    let expected: Vec<Vec<&str>> = (expected.iter())
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines, expected, "{table}");
    assert!(
        table.contains("b: cycle of 2: walk_b and 1 more, +600 Ir together"),
        "{table}"
    );
    let columns = "bench,Ir.delta,Ir.delta%total,fn,kind";
    let csv = cg_fmt(
        &["--type", "cause", "-f", "csv", "--columns", columns],
        &suite,
    );
    assert_eq!(
        csv.stdout,
        format!("{columns}\na,-50,,f,own\nb,600,,f,own\n")
    );
    // Each section has its own causes.
    for (args, records) in [
        (&["-f", "json"][..], 2),
        (&["-f", "json", "--type", "cause"], 1),
    ] {
        let json = cg_fmt(args, &suite).stdout;
        let sections: Vec<&str> = json.split_inclusive("\"type\":\"end\"").collect();
        for (section, bench) in sections.iter().zip(["a", "b"]) {
            let own = format!("\"bench\":\"{bench}\"");
            // The label of the run, and each record.
            assert_eq!(section.matches(&own).count(), records + 1, "{json}");
            assert_eq!(section.matches("\"bench\"").count(), records + 1, "{json}");
        }
        assert_eq!(cg_fmt(&["--type", "cause"], &json).stdout, table);
    }
    let page = cg_fmt(&["-f", "html"], &suite).stdout;
    assert!(page.contains("+600 Ir: f of b [cycle of 2: walk_b"));
}

#[test]
fn share_of_a_total_is_a_share_of_its_benchmark() {
    let columns = "bench,fn,Ir.delta%total";
    let csv = cg_fmt(&["-f", "csv", "--columns", columns], &suite()).stdout;
    assert_eq!(
        csv,
        format!("{columns}\na,f,-50.00\nb,f,100.00\nc,f,0.00\n")
    );
}

#[test]
fn benchmarks_with_only_totals_are_rows() {
    let totals = |bench: &str, old: u32, new: u32, is_noise: bool| {
        format!(
            "{{\"type\":\"run\",\"stream\":1,\"runs\":[\"old\",\"new\"],\"events\":[\"ns\"],\"total\":{{\"ns\":[{old},{new}]}},\"labels\":{{\"bench\":\"{bench}\"}},\"is_noise\":{is_noise}}}\n{{\"type\":\"end\",\"records\":0}}\n"
        )
    };
    let stream = totals("a", 100, 108, true) + &totals("b", 100, 150, false);
    let shown = cg_fmt(&[], &stream).stdout;
    assert!(
        shown.contains("1 of 2 benchmarks changed; worst: b +50.00%"),
        "{shown}"
    );
    let csv = cg_fmt(&["-f", "csv", "--columns", "bench,ns.old,ns.new"], &stream);
    assert_eq!(csv.stdout, "bench,ns.old,ns.new\na,100,108\nb,100,150\n");
}

#[test]
fn history_lists_the_largest_steps_first() {
    let step = |name: &str, at: &str, old: i64, new: i64| {
        let delta = new - old;
        format!(
            "{{\"type\":\"step\",\"fn\":\"{name}\",\"event\":\"Ir\",\"at\":\"{at}\",\"before\":\"v1\",\"old\":{old},\"new\":{new},\"delta\":{delta}}}\n"
        )
    };
    let run = "{\"type\":\"run\",\"stream\":1,\"runs\":[\"v1\",\"v2\",\"v3\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":[30,40,20]},\"history\":true}\n";
    let series = "{\"type\":\"series\",\"fn\":\"f\",\"event\":\"Ir\",\"values\":[10,20,0]}\n";
    let end = "{\"type\":\"end\",\"records\":3}\n";
    let stream = [
        run,
        &step("g", "v2", 10, 20),
        &step("f", "v3", 20, 0),
        series,
        end,
    ]
    .concat();
    let csv = cg_fmt(&["-f", "csv"], &stream);
    assert_eq!(
        csv.stdout,
        "at,event,old,new,delta,%,fn,file,obj\nv3,Ir,20,0,-20,-100.00,f,,\nv2,Ir,10,20,10,100.00,g,,\n"
    );
    let table = cg_fmt(&[], &stream).stdout;
    for words in ["v1 to v3 (3 files)", "2 steps, the largest first", "▅█▁"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let json = cg_fmt(&["-f", "json"], &stream).stdout;
    assert_eq!(cg_fmt(&[], &json).stdout, table);
    let none = cg_fmt(
        &["-f", "csv"],
        &[run, "{\"type\":\"end\",\"records\":0}\n"].concat(),
    );
    assert_eq!(none.stdout, "at,event,old,new,delta,%,fn,file,obj\n");
    assert_eq!(none.status, Some(0));
}

#[test]
fn threshold_of_a_table_names_the_filter() {
    let stream = "{\"type\":\"run\",\"stream\":1,\"events\":[\"Ir\"],\"total\":{\"Ir\":1}}\n{\"type\":\"fn\",\"fn\":\"f\",\"cost\":{\"Ir\":1}}\n{\"type\":\"end\",\"records\":1}\n";
    for format in ["table", "csv", "markdown"] {
        let refused = cg_fmt(&["--threshold", "50", "-f", format], stream);
        assert_eq!(refused.status, Some(2), "{format}");
        assert!(
            refused.stderr.contains("cg-filter --threshold"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn the_benchmarks_that_changed_most_come_first() {
    let many: String = (0..30)
        .map(|number| section(&format!("b{number}"), 1_000, 1_000 + number * 7 % 30))
        .collect();
    // The remainder of 7 · 17 by 30 is 29, and that of 7 · 4 is 28.
    let order = |shown: &str| {
        let at = |bench: &str| shown.find(&format!("\n{bench} ")).unwrap();
        at("b17") < at("b4") && at("b4") < at("b21")
    };
    let shown = cg_fmt(&[], &many).stdout;
    assert!(order(&shown), "{shown}");
    assert!(shown.contains("10 more benchmarks not shown (--top all)"));
    let all = cg_fmt(&["-n", "all"], &many).stdout;
    assert!(order(&all) && !all.contains("not shown"), "{all}");
    let two = cg_fmt(&["-n", "2"], &many).stdout;
    assert!(two.contains("28 more benchmarks not shown"), "{two}");
    // Benchmarks that got faster count, too.
    let faster = section("a", 100, 99) + &section("b", 100, 50) + &section("c", 100, 130);
    let shown = cg_fmt(&["-n", "1"], &faster).stdout;
    let first = shown.lines().find(|line| line.contains("(-50.00%)"));
    assert!(first.is_some_and(|line| line.starts_with("b ")), "{shown}");
}

#[test]
fn notes_that_differ_only_in_numbers_are_one_note() {
    let with_note = |bench: &str, note: &str| {
        let notes = format!("\"notes\":[\"{note}\"],\"labels\"");
        section(bench, 1, 2).replace("\"labels\"", &notes)
    };
    let suite = with_note("a", "not shown: 7 rows (+1,5 Ir)")
        + &with_note("b", "not shown: 1 row (-3 Ir)")
        + &with_note("c", "not shown: 9 rows (0 Ir)")
        + &with_note("d", "something else");
    let shown = cg_fmt(&[], &suite).stdout;
    let notes: Vec<&str> = shown.lines().rev().take(2).collect();
    assert_eq!(
        notes,
        [
            "something else",
            "not shown: 7 rows (+1,5 Ir) (2 more comparisons have such a note)"
        ]
    );
}
