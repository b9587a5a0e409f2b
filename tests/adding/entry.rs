    Format {
        name: "toy",
        reads: "stacks of a profiler that nobody uses",
        events: "`samples`",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::toy::is_header_line)],
        seeds: &["toy/three.toy"],
        ..of_stacks(Records(cg_stacks::toy::parse))
    },
