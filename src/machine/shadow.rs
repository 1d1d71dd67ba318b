//! The last uses of every word of an array, which show races and reads of what was never written.

use std::collections::HashMap;

use crate::order::{HOST, Order, Use};

/// What a thread does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseKind {
    Read,
    Write,
    Atomic,
}

impl UseKind {
    /// Returns the word for what a thread does, such as `reads`.
    pub fn verb(self) -> &'static str {
        match self {
            UseKind::Read => "reads",
            UseKind::Write => "writes",
            UseKind::Atomic => "updates",
        }
    }
}

/// What is wrong with a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    Unwritten,
    /// Nothing orders it and the other use, which was a write or a read.
    Race {
        other: Use,
        wrote: bool,
    },
}

/// The last uses of a word, or of one byte of it.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    writer: Use,
    /// The last reader, and another one before it. A reader of another wave is kept rather than one of the same wave.
    readers: [Use; 2],
    /// True if the bytes of the word were used one by one.
    is_split: bool,
}

impl Cell {
    fn touch(&mut self, kind: UseKind, now: &Use, order: &Order) -> Option<Clash> {
        let clash = self.clash(kind, now, order);
        match kind {
            UseKind::Read => self.read(now, order),
            _ => self.writer = *now,
        }
        clash
    }

    fn clash(&self, kind: UseKind, now: &Use, order: &Order) -> Option<Clash> {
        let is_unordered = |one: &Use| {
            let both_atomic = one.is_atomic && now.is_atomic;
            one.epoch > HOST && !both_atomic && order.is_unordered(one, now)
        };
        if self.writer.epoch == 0 && kind != UseKind::Write {
            return Some(Clash::Unwritten);
        }
        if is_unordered(&self.writer) {
            return Some(Clash::Race {
                other: self.writer,
                wrote: true,
            });
        }
        let readers = self.readers.iter().filter(|_| kind != UseKind::Read);
        let mut readers = readers.filter(|one| is_unordered(one));
        // A reader of another wave says more than one of the same.
        let first = *readers.next()?;
        let is_far = |one: &Use| order.wave_of(one) != order.wave_of(now);
        let other = match readers.next() {
            Some(second) if !is_far(&first) && is_far(second) => *second,
            _ => first,
        };
        Some(Clash::Race {
            other,
            wrote: false,
        })
    }

    fn read(&mut self, now: &Use, order: &Order) {
        let is_own = |one: &Use| order.is_of_workgroup(one) && one.thread == now.thread;
        let is_near =
            |one: &Use| order.is_of_workgroup(one) && order.wave_of(one) == order.wave_of(now);
        let [last, before] = self.readers;
        let kept = match (is_own(&last), is_near(&last)) {
            (true, _) => before,
            (false, true) if before.epoch > 0 && !is_near(&before) => before,
            _ => last,
        };
        self.readers = [*now, kept];
    }
}

/// One array's shadow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    cells: Vec<Cell>,
    /// The cells of the four bytes of split words.
    split: HashMap<usize, [Cell; 4]>,
}

impl Shadow {
    /// Creates the shadow of an array that the host filled, or that was never written.
    pub fn new(bytes: usize, is_written: bool) -> Shadow {
        let mut cell = Cell::default();
        cell.writer.epoch = if is_written { HOST } else { 0 };
        Shadow {
            cells: vec![cell; bytes.div_ceil(4)],
            split: HashMap::new(),
        }
    }

    /// Notes a use of `bytes` bytes from `at` on. Returns the first byte with a clash.
    #[inline]
    pub fn touch(
        &mut self,
        at: usize,
        bytes: usize,
        kind: UseKind,
        now: &Use,
        order: &Order,
    ) -> Option<(usize, Clash)> {
        let mut first = None;
        let end = at + bytes;
        for word in at / 4..end.div_ceil(4) {
            let Some(cell) = self.cells.get_mut(word) else {
                break;
            };
            let start = word * 4;
            if !cell.is_split && at <= start && start + 4 <= end {
                let clash = cell.touch(kind, now, order);
                first = first.or(clash.map(|clash| (start, clash)));
                continue;
            }
            cell.is_split = true;
            let whole = *cell;
            let cells = self.split.entry(word).or_insert([whole; 4]);
            for byte in at.max(start)..end.min(start + 4) {
                let clash = cells[byte - start].touch(kind, now, order);
                first = first.or(clash.map(|clash| (byte, clash)));
            }
        }
        first
    }

    /// Returns the instruction that wrote a word last. `None` if no kernel did.
    pub fn writer(&self, word: usize) -> Option<u32> {
        let cell = self.cells.get(word)?;
        let split = self.split.get(&word).filter(|_| cell.is_split);
        let cells = split.map_or(std::slice::from_ref(cell), |cells| cells);
        let last = cells.iter().max_by_key(|cell| cell.writer.epoch)?;
        (last.writer.epoch > HOST).then_some(last.writer.pc)
    }

    pub fn is_written(&self, word: usize) -> bool {
        let is_written = |cell: &Cell| cell.writer.epoch > 0;
        match self.split.get(&word) {
            Some(cells) => cells.iter().any(is_written),
            None => self.cells.get(word).is_some_and(is_written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Checks;

    fn order() -> Order {
        let mut order = Order::new(64);
        order.begin_launch(Checks::Threads);
        order.begin_workgroup();
        order
    }

    fn by(order: &Order, thread: u16) -> Use {
        Use {
            epoch: order.epoch,
            thread,
            meeting: 0,
            is_atomic: false,
            pc: u32::from(thread),
        }
    }

    fn race(clash: Option<(usize, Clash)>) -> Option<(u32, bool)> {
        match clash {
            Some((_, Clash::Race { other, wrote })) => Some((other.pc, wrote)),
            _ => None,
        }
    }

    #[test]
    fn a_barrier_orders_a_workgroup_and_nothing_orders_two() {
        use UseKind::{Atomic, Read, Write};
        let mut order = order();
        let mut shadow = Shadow::new(16, true);
        let mut touch = |order: &Order, at, kind, thread| {
            let is_atomic = kind == Atomic;
            let now = Use {
                is_atomic,
                ..by(order, thread)
            };
            race(shadow.touch(at, 4, kind, &now, order))
        };
        assert_eq!(touch(&order, 0, Write, 3), None);
        assert_eq!(touch(&order, 0, Read, 3), None);
        assert_eq!(touch(&order, 0, Read, 70), Some((3, true)));
        order.pass_barrier();
        assert_eq!(touch(&order, 0, Read, 70), None);
        assert_eq!(touch(&order, 0, Write, 3), Some((70, false)));
        // Two readers are remembered, so that the one that writes cannot hide the other.
        assert_eq!(touch(&order, 4, Read, 1), None);
        assert_eq!(touch(&order, 4, Read, 2), None);
        assert_eq!(touch(&order, 4, Write, 2), Some((1, false)));
        // A reader of another wave stays although others of the own wave came later.
        assert_eq!(touch(&order, 8, Read, 100), None);
        for thread in 1..9 {
            assert_eq!(touch(&order, 8, Read, thread), None);
        }
        let met = |thread| Use {
            meeting: 1,
            ..by(&order, thread)
        };
        let late = shadow.touch(8, 4, Write, &met(1), &order);
        assert_eq!(race(late), Some((100, false)));
        let mut touch = |order: &Order, at, kind, thread| {
            let is_atomic = kind == Atomic;
            let now = Use {
                is_atomic,
                ..by(order, thread)
            };
            race(shadow.touch(at, 4, kind, &now, order))
        };
        assert_eq!(touch(&order, 12, Atomic, 1), None);
        assert_eq!(touch(&order, 12, Atomic, 200), None);
        assert_eq!(touch(&order, 12, Read, 1), Some((200, true)));
        order.pass_barrier();
        assert_eq!(touch(&order, 12, Write, 5), None);
        order.begin_workgroup();
        assert_eq!(touch(&order, 12, Read, 5), Some((5, true)));
        order.begin_launch(Checks::Threads);
        order.begin_workgroup();
        assert_eq!(touch(&order, 12, Read, 9), None);
    }

    #[test]
    fn bytes_of_a_word_are_kept_apart() {
        use UseKind::{Read, Write};
        let order = order();
        let mut shadow = Shadow::new(8, false);
        for byte in 0..4 {
            let now = by(&order, byte as u16);
            assert_eq!(shadow.touch(byte, 1, Write, &now, &order), None);
        }
        assert!(shadow.is_written(0) && !shadow.is_written(1));
        let clash = shadow.touch(1, 2, Write, &by(&order, 2), &order);
        assert!(matches!(clash, Some((1, Clash::Race { wrote: true, .. }))));
        let unwritten = shadow.touch(2, 4, Read, &by(&order, 3), &order);
        assert!(unwritten.is_some_and(|(byte, _)| byte == 2));
        let unwritten = shadow.touch(4, 4, Read, &by(&order, 3), &order);
        assert_eq!(unwritten, Some((4, Clash::Unwritten)));
    }

    #[test]
    fn a_fence_and_an_atomic_operation_order_two_workgroups() {
        use UseKind::{Read, Write};
        let mut order = order();
        let mut shadow = Shadow::new(8, true);
        let (first, second) = (by(&order, 7), by(&order, 9));
        shadow.touch(0, 4, Write, &first, &order);
        order.pass_barrier();
        shadow.touch(4, 4, Write, &by(&order, 9), &order);
        // Thread 0 releases what its workgroup did before the barrier, and not what thread 9 did since.
        order.release(0x100, 0, order.epoch);
        order.begin_workgroup();
        order.acquire(0x100, 3);
        let mut read =
            |order: &Order, at, thread| race(shadow.touch(at, 4, Read, &by(order, thread), order));
        assert_eq!(read(&order, 0, 3), None);
        assert_eq!(read(&order, 0, 4), Some((first.pc, true)));
        order.pass_barrier();
        assert_eq!(read(&order, 0, 4), None);
        assert_eq!(read(&order, 4, 4), Some((second.pc, true)));
    }
}
