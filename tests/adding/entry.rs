    Format {
        name: "toy",
        reads: "stacks in a toy format",
        events: "`samples`",
        answers: &[Stacks],
        signs: &[Sign::Line(cg_stacks::toy::is_header_line)],
        seeds: &["toy/three.toy"],
        ..default_format(Records(cg_stacks::toy::parse))
    },
