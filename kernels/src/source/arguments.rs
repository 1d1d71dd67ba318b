//! What a recorded launch consists of.

/// One launch: its source, its size and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name in this crate, such as `rmsnorm_forward`.
    pub kernel: String,
    /// The `extern "C"` function in `source`.
    pub entry: String,
    /// HIP or CUDA C++, complete in one text.
    pub source: String,
    /// Blocks of the grid in x, y and z.
    pub cube_count: [u32; 3],
    /// Threads of a block in x, y and z.
    pub cube_dim: [u32; 3],
    /// Dynamic shared memory (LDS) of a block.
    pub shared_memory_bytes: usize,
    /// The arguments in order.
    pub arguments: Vec<Argument>,
}

impl Launch {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.cube_dim.iter().product()
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A pointer into device memory.
    Buffer {
        /// The name given to [`Offline::buffer`](super::Offline::buffer).
        name: String,
        /// Bytes from the buffer's start.
        offset: u64,
    },
    /// Scalars and lengths.
    Info { words: Vec<u64>, by: InfoPassing },
}

/// How a kernel takes its scalars and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfoPassing {
    /// A pointer to the words in device memory.
    Pointer,
    /// The words themselves.
    Value,
}
