//! Layered graphs: layers without cycles, an order within them with few crossings, and places close to the neighbours.
//!
//! The steps of Sugiyama's method; Sankey diagrams, flowcharts and class diagrams are drawn with it.

/// Number of times that the order of all layers is improved.
const SWEEPS: usize = 16;

/// An edge, from a node to another.
pub(super) type Edge = (usize, usize);

/// Returns the layer of each node: one more than the last of the nodes that lead to it.
///
/// # Errors
///
/// Returns the nodes of a cycle, if there is one.
pub(super) fn assign(nodes: usize, edges: &[Edge]) -> Result<Vec<usize>, Vec<usize>> {
    let mut open = vec![0; nodes];
    let mut next = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        open[to] += 1;
        next[from].push(to);
    }
    let mut layers = vec![0; nodes];
    let mut ready: Vec<usize> = (0..nodes).filter(|&node| open[node] == 0).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        for &to in &next[node] {
            layers[to] = layers[to].max(layers[node] + 1);
            open[to] -= 1;
            if open[to] == 0 {
                ready.push(to);
            }
        }
    }
    if done == nodes { Ok(layers) } else { Err(cycle(&open, edges)) }
}

/// Returns a cycle among the nodes that wait for others.
fn cycle(open: &[usize], edges: &[Edge]) -> Vec<usize> {
    // Every waiting node has a waiting one before it, so that going back ends in a cycle.
    let before =
        |node: usize| edges.iter().find(|(from, to)| *to == node && open[*from] > 0).map(|(from, _)| *from);
    let mut path: Vec<usize> = Vec::new();
    let mut node = open.iter().position(|open| *open > 0);
    while let Some(current) = node {
        if let Some(start) = path.iter().position(|known| *known == current) {
            path.drain(..start);
            break;
        }
        path.push(current);
        node = before(current);
    }
    path.reverse();
    path
}

/// Returns for each edge whether it has to be turned around, so that there are no cycles.
pub(super) fn turned(nodes: usize, edges: &[Edge]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut next = vec![Vec::new(); nodes];
    for (index, &(from, to)) in edges.iter().enumerate() {
        next[from].push((index, to));
    }
    let mut states = vec![State::New; nodes];
    let mut turned = vec![false; edges.len()];
    for start in 0..nodes {
        if states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        let mut stack = vec![(start, 0)];
        while let Some((node, position)) = stack.pop() {
            let Some(&(index, to)) = next[node].get(position) else {
                states[node] = State::Done;
                continue;
            };
            stack.push((node, position + 1));
            match states[to] {
                State::New => {
                    states[to] = State::Open;
                    stack.push((to, 0));
                }
                State::Open => turned[index] = true,
                State::Done => {}
            }
        }
    }
    turned
}

/// A graph in layers. An edge over several layers is a chain with a *bend* in each layer on its way; bends have the
/// numbers after those of the nodes.
#[derive(Debug, Clone)]
pub(super) struct Layered {
    /// Nodes and bends of each layer, in order.
    pub(super) rows: Vec<Vec<usize>>,
    /// For each edge, its nodes and bends from layer to layer.
    pub(super) chains: Vec<Vec<usize>>,
    /// Nodes and bends.
    pub(super) count: usize,
}

impl Layered {
    /// Orders nodes whose edges all lead to a later layer.
    pub(super) fn new(layers: &[usize], edges: &[Edge]) -> Self {
        let mut rows = vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)];
        for (node, layer) in layers.iter().enumerate() {
            rows[*layer].push(node);
        }
        let mut count = layers.len();
        let mut chains = Vec::new();
        for &(from, to) in edges {
            let mut chain = vec![from];
            for row in &mut rows[layers[from] + 1..layers[to]] {
                row.push(count);
                chain.push(count);
                count += 1;
            }
            chain.push(to);
            chains.push(chain);
        }
        let mut layered = Self { rows, chains, count };
        layered.reduce_crossings();
        layered
    }

    /// Returns the pairs of neighbours in adjacent layers.
    pub(super) fn steps(&self) -> impl Iterator<Item = Edge> + '_ {
        self.chains.iter().flat_map(|chain| chain.windows(2).map(|pair| (pair[0], pair[1])))
    }

    /// Moves every node to the mean place of its neighbours, layer by layer in both directions, and keeps the best
    /// order.
    fn reduce_crossings(&mut self) {
        let (mut before, mut after) = (vec![Vec::new(); self.count], vec![Vec::new(); self.count]);
        for (from, to) in self.steps() {
            after[from].push(to);
            before[to].push(from);
        }
        let mut best = (self.crossings(), self.rows.clone());
        for sweep in 0..SWEEPS {
            let is_down = sweep % 2 == 0;
            let neighbours = if is_down { &before } else { &after };
            let mut places = self.places();
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            if !is_down {
                order.reverse();
            }
            for layer in order {
                sort_by_neighbours(&mut self.rows[layer], neighbours, &places);
                place_row(&self.rows[layer], &mut places);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
            if best.0 == 0 {
                break;
            }
        }
        self.rows = best.1;
    }

    /// Returns the place of each node in its layer.
    fn places(&self) -> Vec<f64> {
        let mut places = vec![0.0; self.count];
        for row in &self.rows {
            place_row(row, &mut places);
        }
        places
    }

    /// Returns the number of pairs of steps that cross.
    pub(super) fn crossings(&self) -> usize {
        let (mut layer_of, mut place) = (vec![0; self.count], vec![0; self.count]);
        for (layer, row) in self.rows.iter().enumerate() {
            for (at, node) in row.iter().enumerate() {
                (layer_of[*node], place[*node]) = (layer, at);
            }
        }
        let mut between = vec![Vec::new(); self.rows.len()];
        for (from, to) in self.steps() {
            between[layer_of[from]].push((place[from], place[to]));
        }
        between.into_iter().map(inversions).sum()
    }
}

fn place_row(row: &[usize], places: &mut [f64]) {
    for (at, node) in row.iter().enumerate() {
        // The middle of the layer is 0, so that layers of different sizes are comparable.
        places[*node] = at as f64 - (row.len() as f64 - 1.0) / 2.0;
    }
}

fn sort_by_neighbours(row: &mut [usize], neighbours: &[Vec<usize>], places: &[f64]) {
    let mean = |node: usize| {
        let all = &neighbours[node];
        let sum: f64 = all.iter().map(|&neighbour| places[neighbour]).sum();
        if all.is_empty() { places[node] } else { sum / all.len() as f64 }
    };
    row.sort_by(|&one, &other| mean(one).total_cmp(&mean(other)));
}

/// Returns the number of crossings of lines between two layers, by a tree of sums over the places of their ends.
fn inversions(mut lines: Vec<(usize, usize)>) -> usize {
    lines.sort_unstable();
    let size = lines.iter().map(|line| line.1 + 1).max().unwrap_or(0);
    let mut tree = vec![0usize; size + 1];
    let mut found = 0;
    for (seen, (_, end)) in lines.into_iter().enumerate() {
        let (mut index, mut not_after) = (end + 1, 0);
        while index > 0 {
            not_after += tree[index];
            index &= index - 1;
        }
        found += seen - not_after;
        index = end + 1;
        while index <= size {
            tree[index] += 1;
            index += index & index.wrapping_neg();
        }
    }
    found
}

/// Places items in a row with minimum distances between their centres, as close to the wanted places as possible: the
/// exact solution, by pooling neighbours that are too close to each other. `distances` has an item less.
pub(super) fn place(wanted: &[f64], distances: &[f64]) -> Vec<f64> {
    let mut offsets = vec![0.0; wanted.len()];
    for at in 1..wanted.len() {
        offsets[at] = offsets[at - 1] + distances[at - 1];
    }
    // Sum and number of the items of each pool, whose items all move to the mean.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    let mean = |pool: (f64, usize)| pool.0 / pool.1 as f64;
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        let mut pool = (wanted - offset, 1);
        while let Some(last) = pools.last().copied().filter(|last| mean(*last) > mean(pool)) {
            pool = (pool.0 + last.0, pool.1 + last.1);
            pools.pop();
        }
        pools.push(pool);
    }
    let shifts = pools.into_iter().flat_map(|pool| std::iter::repeat_n(mean(pool), pool.1));
    shifts.zip(offsets).map(|(shift, offset)| shift + offset).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cycles_are_named() {
        assert_eq!(assign(4, &[(0, 1), (1, 2), (0, 3)]), Ok(vec![0, 1, 2, 1]));
        let cycle = assign(5, &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)]).unwrap_err();
        assert_eq!(cycle.len(), 3);
        assert_eq!(assign(1, &[(0, 0)]), Err(vec![0]));
    }

    #[test]
    fn a_twisted_ladder_is_untwisted() {
        let edges = [(0, 5), (1, 4), (2, 3), (3, 8), (4, 7), (5, 6)];
        let layered = Layered::new(&[0, 0, 0, 1, 1, 1, 2, 2, 2], &edges);
        assert_eq!(layered.crossings(), 0);
    }

    #[test]
    fn long_edges_have_bends() {
        let layered = Layered::new(&[0, 1, 2, 3], &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        assert_eq!((layered.count, &layered.chains[3][..]), (6, &[0, 4, 5, 3][..]));
    }

    proptest! {
        #[test]
        fn places_keep_their_distance(items in proptest::collection::vec((-1e3..1e3, 0.0..50.0), 1..40)) {
            let (wanted, distances): (Vec<f64>, Vec<f64>) = items.into_iter().unzip();
            let distances = &distances[1..];
            let placed = place(&wanted, distances);
            for (pair, distance) in placed.windows(2).zip(distances) {
                prop_assert!(pair[1] - pair[0] >= distance - 1e-6);
            }
            let drift: f64 = placed.iter().zip(&wanted).map(|(placed, wanted)| placed - wanted).sum();
            prop_assert!(drift.abs() < 1e-3);
        }

        #[test]
        fn any_graph_has_layers_once_cycles_are_turned(edges in proptest::collection::vec((0usize..12, 0usize..12), 0..40)) {
            let edges: Vec<Edge> = edges.into_iter().filter(|(from, to)| from != to).collect();
            let turned = turned(12, &edges);
            let edges: Vec<Edge> = edges.iter().zip(turned).map(|(&(from, to), is_turned)| if is_turned { (to, from) } else { (from, to) }).collect();
            let layers = assign(12, &edges).unwrap();
            prop_assert!(edges.iter().all(|&(from, to)| layers[from] < layers[to]));
            let unordered: usize = {
                let layered = Layered::new(&layers, &edges);
                prop_assert_eq!(layered.rows.iter().map(Vec::len).sum::<usize>(), layered.count);
                layered.crossings()
            };
            prop_assert!(unordered <= edges.len() * edges.len() * 12);
        }
    }
}
