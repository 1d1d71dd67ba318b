//! The division of the blocks' matrices among the ranks of a run on several GPUs.
//!
//! Each rank updates one equal part of each block's matrices and keeps the optimizer's state of only that part ("ZeRO", Rajbhandari
//! et al., <https://arxiv.org/abs/1910.02054>). The embedding and the norms are few numbers and whole on every rank.

use std::ops::Range;

use super::layout::ParameterLayout;

/// An update reads and writes this many elements at once.
const WIDTH: usize = 4;

/// One rank's parts of the blocks' matrices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shards {
    rank: usize,
    /// Elements of all blocks' matrices, which are the same number for each block.
    matrices: Range<usize>,
    /// Elements of one block's matrices.
    block: usize,
    /// Elements of one rank's part of a block.
    part: usize,
}

impl Shards {
    /// Returns one rank's parts; `None` if a block's elements do not divide evenly, or there is only one rank.
    pub fn new(layout: &ParameterLayout, rank: usize, ranks: usize) -> Option<Shards> {
        let matrices = layout.matrices();
        let block = layout.block(0).len();
        (ranks > 1 && block > 0 && block.is_multiple_of(ranks * WIDTH)).then(|| Shards {
            rank,
            matrices,
            block,
            part: block / ranks,
        })
    }

    /// Returns this rank's part of a block's elements.
    pub fn own(&self, block: &Range<usize>) -> Range<usize> {
        let start = block.start + self.rank * self.part;
        start..start + self.part
    }

    /// Returns this rank's parts of all blocks.
    pub fn all_own(&self) -> impl Iterator<Item = Range<usize>> {
        let blocks = self.matrices.clone().step_by(self.block);
        blocks.map(|start| self.own(&(start..start + self.block)))
    }

    /// Returns the index of an own or undivided element, or of the end, in an array that leaves out the other ranks' parts.
    pub fn index(&self, element: usize) -> usize {
        let within = element.clamp(self.matrices.start, self.matrices.end) - self.matrices.start;
        let (blocks, rest) = (within / self.block, within % self.block);
        let kept = blocks * self.part + rest.saturating_sub(self.rank * self.part);
        element - within + kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    #[test]
    fn each_element_is_updated_by_one_rank_and_kept_once() {
        let mut config = Preset::Tiny.config();
        (config.vocabulary, config.hidden, config.ffn) = (37, 32, 48);
        let layout = ParameterLayout::new(&config);
        for ranks in [2, 4, 8] {
            let mut updated = vec![0u8; layout.length];
            for rank in 0..ranks {
                let shards = Shards::new(&layout, rank, ranks).unwrap();
                let matrices = layout.matrices();
                let own: Vec<usize> = shards.all_own().flatten().collect();
                own.iter().for_each(|element| updated[*element] += 1);
                let whole = (0..matrices.start)
                    .chain(own)
                    .chain(matrices.end..layout.length);
                let indices: Vec<usize> = whole.map(|element| shards.index(element)).collect();
                assert!(indices.iter().copied().eq(0..shards.index(layout.length)));
                assert_eq!(
                    indices.len(),
                    layout.length - matrices.len() + matrices.len() / ranks
                );
            }
            assert!(updated[layout.matrices()].iter().all(|count| *count == 1));
        }
    }

    #[test]
    fn blocks_that_do_not_divide_stay_whole() {
        let layout = ParameterLayout::new(&Preset::Tiny.config());
        assert_eq!(Shards::new(&layout, 0, 1), None);
        assert_eq!(Shards::new(&layout, 0, 7), None);
    }
}
