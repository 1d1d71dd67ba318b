//! Draws how the lanes of one wavefront access memory. A row is a cache line of global memory, a column is a bank of local
//! memory.

use serde::Serialize;

use super::file::KernelFile;
use super::finding::verb;
use tinyllama_base::count;
use tinyllama_base::untrusted::plain;

/// Bytes of a cache line, and of the cells that a drawing has.
const LINE: u64 = 128;
const CELL: u64 = 4;
const BANKS: u64 = 32;

/// Largest number of rows in a drawing. Further rows are only counted.
const MOST_ROWS: usize = 8;

/// One load or store of the kernel, over all wavefronts that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AccessPicture {
    pub line: u32,
    /// `read`, `write` or `update`.
    pub access: String,
    /// Name of the array. Empty for local memory whose size the launch sets.
    pub array: String,
    pub local: bool,
    /// Bytes per lane.
    pub width: u64,
    /// Number of wavefronts that executed it. Next come the cache lines they touched, the fewest possible, and 32-byte
    /// sectors.
    pub requests: u64,
    pub lines: u64,
    pub fewest: u64,
    pub sectors: u64,
    /// Local memory: groups of lanes that are served together, their passes, and the lanes of the worst conflict.
    pub groups: u64,
    pub passes: u64,
    pub degree: u64,
    /// For the worst wavefront: offset of the lowest address in its cache line, and each lane's offset from there.
    pub first: u64,
    pub lanes: Vec<Option<u64>>,
}

/// The pictures of a case for one wave size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WavePictures {
    pub wave: u32,
    pub pictures: Vec<AccessPicture>,
}

/// The characters of a drawing.
pub(super) struct DrawingGlyphs {
    pub free: char,
    pub once: char,
    pub often: char,
}

pub(super) const UNICODE: DrawingGlyphs = DrawingGlyphs {
    free: '·',
    once: '█',
    often: '▓',
};
pub(super) const ASCII: DrawingGlyphs = DrawingGlyphs {
    free: '.',
    once: '#',
    often: '+',
};

impl AccessPicture {
    /// Formats `line 12 reads x`.
    pub fn label(&self) -> String {
        let verb = verb(&self.access);
        let array = if self.array.is_empty() {
            "local memory"
        } else {
            &self.array
        };
        format!("line {} {verb} {array}", self.line)
    }

    pub fn a_request(&self, things: u64) -> f64 {
        things as f64 / self.requests.max(1) as f64
    }

    /// Formats the verdict in one line.
    pub fn summary(&self) -> String {
        if self.local {
            return match self.degree {
                0 | 1 => "no bank conflict".into(),
                degree => format!(
                    "{degree}-way bank conflict: {} passes where {} would do",
                    self.passes, self.groups
                ),
            };
        }
        let (lines, fewest) = (self.a_request(self.lines), self.a_request(self.fewest));
        let as_good = if lines <= fewest {
            ", as few as possible".into()
        } else {
            format!(" where {} would do", count(fewest))
        };
        let noun = if lines == 1.0 { "line" } else { "lines" };
        format!("{} cache {noun} a wavefront{as_good}", count(lines))
    }

    /// Draws the whole picture in at most 80 columns.
    pub fn draw(&self, file: Option<&KernelFile>, unicode: bool) -> Vec<String> {
        let glyphs = if unicode { &UNICODE } else { &ASCII };
        let mut drawn = vec![format!("{}: {}", self.label(), self.summary())];
        let source = file
            .and_then(|file| file.line(self.line))
            .map(|text| plain(text.trim()));
        drawn.extend(
            source.map(|text| format!("    {}", tinyllama_base::table::shortened(&text, 74))),
        );
        if self.local {
            self.draw_banks(glyphs, &mut drawn);
        } else {
            self.draw_lines(glyphs, &mut drawn);
        }
        drawn
    }

    /// Returns the addresses of the bytes that lanes touch, from the start of the first cache line.
    fn touched(&self) -> impl Iterator<Item = u64> + '_ {
        self.lanes
            .iter()
            .flatten()
            .map(|offset| self.first + offset)
    }

    fn draw_lines(&self, glyphs: &DrawingGlyphs, drawn: &mut Vec<String>) {
        let mut rows: Vec<(u64, [u32; (LINE / CELL) as usize])> = vec![];
        let mut starts: Vec<u64> = self.touched().collect();
        starts.sort_unstable();
        for start in starts {
            for byte in (start..start + self.width.max(1)).step_by(CELL as usize) {
                let line = byte / LINE;
                if rows.last().is_none_or(|(last, _)| *last != line) {
                    rows.push((line, [0; (LINE / CELL) as usize]));
                }
                if let Some((_, cells)) = rows.last_mut() {
                    cells[(byte % LINE / CELL) as usize] += 1;
                }
            }
        }
        for (line, cells) in rows.iter().take(MOST_ROWS) {
            let cell = |touches: &u32| match touches {
                0 => glyphs.free,
                1 => glyphs.once,
                _ => glyphs.often,
            };
            let cells: String = cells.iter().map(cell).collect();
            drawn.push(format!("    line {:>6}  {cells}", format!("+{line}")));
        }
        if rows.len() > MOST_ROWS {
            drawn.push(format!(
                "    and {} more cache lines like these",
                rows.len() - MOST_ROWS
            ));
        }
    }

    /// Draws the group of lanes with the worst conflict among those that are served together. A row is one pass.
    fn draw_banks(&self, glyphs: &DrawingGlyphs, drawn: &mut Vec<String>) {
        let together = (BANKS * CELL / self.width.max(CELL)).max(1) as usize;
        let words_of = |group: &[Option<u64>]| {
            let mut banks: Vec<Vec<u64>> = vec![vec![]; BANKS as usize];
            for offset in group.iter().flatten() {
                let start = self.first + offset;
                for word in start / CELL..(start + self.width).div_ceil(CELL) {
                    let bank = &mut banks[(word % BANKS) as usize];
                    if !bank.contains(&word) {
                        bank.push(word);
                    }
                }
            }
            banks
        };
        let deepest = |banks: &Vec<Vec<u64>>| banks.iter().map(Vec::len).max().unwrap_or(0);
        let Some(banks) = self
            .lanes
            .chunks(together)
            .map(words_of)
            .max_by_key(deepest)
        else {
            return;
        };
        let passes = deepest(&banks);
        for pass in 0..passes.min(MOST_ROWS) {
            let cell = |bank: &Vec<u64>| {
                if bank.len() > pass {
                    glyphs.once
                } else {
                    glyphs.free
                }
            };
            let cells: String = banks.iter().map(cell).collect();
            drawn.push(format!("    pass {:>6}  {cells}", pass + 1));
        }
        if passes > MOST_ROWS {
            drawn.push(format!("    and {} more passes", passes - MOST_ROWS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(local: bool, step: u64) -> AccessPicture {
        AccessPicture {
            line: 3,
            access: "read".into(),
            array: "x".into(),
            local,
            width: 4,
            requests: 1,
            lines: 32,
            fewest: 1,
            sectors: 32,
            groups: 1,
            passes: 32,
            degree: 32,
            first: 0,
            lanes: (0..32).map(|lane| Some(lane * step)).collect(),
        }
    }

    #[test]
    fn a_picture_fits_80_columns_and_ascii() {
        for (local, step) in [(false, 4), (false, 128), (true, 4), (true, 128)] {
            for unicode in [true, false] {
                let drawn = picture(local, step).draw(None, unicode);
                for line in &drawn {
                    assert!(line.chars().count() <= 80, "{line}");
                    assert!(unicode || line.is_ascii(), "{line}");
                }
                assert!(drawn.len() >= 2, "{drawn:?}");
            }
        }
    }

    #[test]
    fn neighbours_fill_a_line_and_a_column_takes_one_each() {
        let full = picture(false, 4).draw(None, false);
        assert_eq!(full[1..], [format!("    line     +0  {}", "#".repeat(32))]);
        let spread = picture(false, 128).draw(None, false);
        assert_eq!(spread[1], format!("    line     +0  #{}", ".".repeat(31)));
        assert_eq!(spread.len(), 2 + MOST_ROWS);
        let conflict = picture(true, 128).draw(None, false);
        assert_eq!(conflict[1], format!("    pass      1  #{}", ".".repeat(31)));
    }
}
