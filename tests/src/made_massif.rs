//! Small, synthetic runs of Massif.

/// Writes a run with one snapshot per tree. The last snapshot is the peak, and a snapshot without a tree has 7 bytes. A tree
/// has one line per node, `bytes function:line`, indented by the node's depth. Below the root, `bytes number` means that
/// many places below Massif's threshold.
pub fn massif(trees: &[Option<&str>]) -> String {
    let mut text = "desc: (none)\ncmd: ./a\ntime_unit: i\n".to_owned();
    for (number, tree) in trees.iter().enumerate() {
        let (total, nodes) = tree.map_or((7, String::new()), nodes);
        let detail = match tree {
            None => "empty",
            Some(_) if number + 1 == trees.len() => "peak",
            Some(_) => "detailed",
        };
        let time = number * 10;
        text += &format!(
            "#-----------\nsnapshot={number}\n#-----------\ntime={time}\nmem_heap_B={total}\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree={detail}\n{nodes}"
        );
    }
    text
}

/// Returns the bytes of a tree, and its lines in Massif's format.
fn nodes(tree: &str) -> (u64, String) {
    let nodes: Vec<(usize, u64, &str)> = tree
        .lines()
        .map(|line| {
            let node = line.trim_start();
            let (bytes, what) = node.split_once(' ').unwrap();
            (line.len() - node.len(), bytes.parse().unwrap(), what)
        })
        .collect();
    let mut text = String::new();
    for (position, (depth, bytes, what)) in nodes.iter().enumerate() {
        let inside = nodes[position + 1..]
            .iter()
            .take_while(|node| node.0 > *depth);
        let children = inside.filter(|node| node.0 == depth + 1).count();
        text += &" ".repeat(*depth);
        text += &match what.split_once(':') {
            _ if *depth == 0 => format!(
                "n{children}: {bytes} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
            ),
            Some((name, line)) => format!("n{children}: {bytes} 0x1: {name} ({name}.c:{line})\n"),
            None if *what == "1" => {
                format!("n0: {bytes} in 1 place, below massif's threshold (1.00%)\n")
            }
            None => format!("n0: {bytes} in {what} places, all below massif's threshold (1.00%)\n"),
        };
    }
    (nodes[0].1, text)
}
