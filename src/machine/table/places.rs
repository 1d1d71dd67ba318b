//! The addresses of one access, and which lanes have the same ones.

/// The addresses of one access: of each lane the sum of `start` and its two words.
pub(super) struct Places<const N: usize> {
    pub start: u64,
    pub low: [u32; N],
    pub high: [u32; N],
    pub mask: u64,
}

impl<const N: usize> Places<N> {
    /// Returns the address of a lane.
    #[inline(always)]
    pub fn of(&self, lane: usize) -> u64 {
        let own = u64::from(self.low[lane]) | u64::from(self.high[lane]) << 32;
        self.start.wrapping_add(own) & self.mask
    }

    /// Returns which lanes have the same address. Rows and columns are only looked for if all lanes are in EXEC.
    #[inline(always)]
    pub fn shared(&self, is_full: bool) -> Shared {
        // Nearly all lanes of a wave have the same upper word.
        match Shared::find(&self.high, is_full) {
            Shared::All => Shared::find(&self.low, is_full),
            _ => Shared::No,
        }
    }
}

/// Which lanes read the same place. One lane of each such group reads for all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shared {
    No,
    /// All lanes.
    All,
    /// The lanes of each row of 16.
    InRows,
    /// The lanes of each column: every row of 16 reads what the first one reads.
    InColumns,
}

impl Shared {
    #[inline(always)]
    fn find<const N: usize>(words: &[u32; N], is_full: bool) -> Shared {
        let rows = words.as_chunks::<16>().0;
        let (mut in_all, mut in_rows, mut in_columns) = ([0; 16], [0; 16], [0; 16]);
        for row in rows {
            for (lane, word) in row.iter().enumerate() {
                in_all[lane] |= word ^ words[0];
                in_rows[lane] |= word ^ row[0];
                in_columns[lane] |= word ^ rows[0][lane];
            }
        }
        let is_zero =
            |differences: [u32; 16]| differences.iter().fold(0, |all, one| all | one) == 0;
        if is_zero(in_all) {
            Shared::All
        } else if is_full && is_zero(in_rows) {
            Shared::InRows
        } else if is_full && is_zero(in_columns) {
            Shared::InColumns
        } else {
            Shared::No
        }
    }

    /// Returns the lanes in EXEC that read.
    pub fn readers(self, exec: u64) -> u64 {
        match self {
            Shared::No => exec,
            Shared::All => exec & exec.wrapping_neg(),
            Shared::InRows => exec & 0x0001_0001_0001_0001,
            Shared::InColumns => exec & 0xffff,
        }
    }

    /// Puts the readers' words into all lanes of their groups.
    #[inline(always)]
    pub fn spread<const N: usize>(self, words: &mut [u32; N], reader: usize) {
        let (rows, _) = words.as_chunks_mut::<16>();
        match self {
            Shared::No => {}
            Shared::All => *words = [words[reader]; N],
            Shared::InRows => {
                for row in rows {
                    *row = [row[0]; 16];
                }
            }
            Shared::InColumns => {
                let first = rows[0];
                rows.fill(first);
            }
        }
    }
}
