//! Parts of a sharded model, for conversion on several machines.

use std::cmp::Reverse;

/// Part `index` of `count`. `index` counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardPart {
    pub index: usize,
    pub count: usize,
}

impl ShardPart {
    /// Parses `I/N`.
    ///
    /// # Errors
    /// The text is no such fraction, or the part does not exist.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(index, count)| {
            let (index, count) = (index.parse().ok()?, count.parse().ok()?);
            (1..=count).contains(&index).then_some(Self { index, count })
        });
        parsed.ok_or_else(|| "expected I/N with I from 1 to N".to_owned())
    }

    /// Which shards of these sizes belong to the part. The shards are given away from the largest to the smallest, each
    /// to the part with the least bytes so far. So the parts are about equal, and every machine finds the same.
    pub fn choose(self, sizes: &[u64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|&shard| (Reverse(sizes[shard]), shard));
        let mut loads = vec![0u64; self.count.min(sizes.len())];
        let mut chosen = vec![false; sizes.len()];
        for shard in order {
            let Some(part) = (0..loads.len()).min_by_key(|&part| (loads[part], part)) else { break };
            loads[part] = loads[part].saturating_add(sizes[shard].max(1));
            chosen[shard] = part + 1 == self.index;
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_is_in_one_part_and_parts_are_balanced() {
        let sizes = [5, 5, 5, 9, 1, 0, 7, 3];
        for count in 1..=10 {
            let parts: Vec<_> = (1..=count).map(|index| ShardPart { index, count }.choose(&sizes)).collect();
            for shard in 0..sizes.len() {
                assert_eq!(parts.iter().filter(|chosen| chosen[shard]).count(), 1, "{count} parts, shard {shard}");
            }
        }
        let load = |index| {
            let chosen = ShardPart { index, count: 2 }.choose(&sizes);
            sizes.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(size, _)| size).sum::<u64>()
        };
        assert_eq!([load(1), load(2)], [18, 17]);
    }
}
