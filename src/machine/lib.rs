//! An emulator of AMD GPU instructions: it executes what clang writes for a kernel, and shows every step.
//!
//! The input is assembly (`clang++ -S` with `-gline-tables-only` for source lines) for one of [`ARCHITECTURES`].
//! [`Program::parse`] decodes it once. A [`Machine`] executes a [`Launch`] workgroup
//! by workgroup and wave by wave; waves take turns at barriers. Registers, EXEC, VCC, LDS, scratch and the counters of
//! `s_waitcnt` are modelled. Memory is a set of buffers with checked bounds. A [`Fault`] ends the launch and names the
//! instruction, its source line and a thread: an access outside a buffer, a register that is used before a wait for its
//! load, a barrier that some threads do not reach, or a kernel that does not end. A [`Mistake`] is kept and ends nothing:
//! a race, a read of memory that was never written, a value taken from a lane that takes no part. [`Checks`] says what a
//! launch is checked for.
//!
//! An [`Observer`] gets every executed instruction. [`Summary`] counts them by instruction, source line and group.
//! [`History`] keeps the steps of one workgroup and goes forward and back through them.
//!
//! The emulator has no clock. It does not model cycles, stalls or speed, and the counts do not imply them.
//!
//! ```
//! use tinyllama_machine::{Argument, History, Launch, Machine, Memory, Program, Summary};
//!
//! // What clang 19 makes of `out[threadIdx.x] = threadIdx.x`, shortened.
//! let assembly = r#"
//!     .amdgcn_target "amdgcn-amd-amdhsa--gfx1100"
//! numbers:
//!     s_load_b64 s[0:1], s[0:1], 0x0
//!     v_lshlrev_b32_e32 v1, 2, v0
//!     s_waitcnt lgkmcnt(0)
//!     global_store_b32 v1, v0, s[0:1]
//!     s_endpgm
//!     .amdhsa_kernel numbers
//!         .amdhsa_user_sgpr_kernarg_segment_ptr 1
//!         .amdhsa_user_sgpr_count 15
//!         .amdhsa_system_sgpr_workgroup_id_x 1
//!     .end_amdhsa_kernel
//!     .amdgpu_metadata
//! ---
//! amdhsa.kernels:
//!   - .args:
//!       - .offset:         0
//!         .size:           8
//!         .value_kind:     global_buffer
//!     .kernarg_segment_size: 8
//!     .name:           numbers
//!     .wavefront_size: 32
//! ...
//!     .end_amdgpu_metadata
//! "#;
//! let program = Program::parse(assembly)?;
//!
//! let mut memory = Memory::new();
//! let out = memory.add_words("out", &[0; 32]);
//! let mut machine = Machine::new(&program, memory);
//! let launch = Launch::new("numbers", [1, 1, 1], [32, 1, 1], vec![Argument::Buffer(out)]);
//!
//! let mut seen = (Summary::default(), History::new([0, 0, 0]));
//! machine.run(&launch, &mut seen)?;
//! assert!(machine.memory.buffer(out).words().eq(0..32));
//!
//! let (summary, mut history) = seen;
//! assert_eq!(summary.total(), 5);
//! // Back to before the shift: v1 is not written yet.
//! history.seek(1);
//! assert_ne!(history.waves()[0].vector(1)[3], 12);
//! history.forward();
//! assert_eq!(history.waves()[0].vector(1)[3], 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod core;
mod decode;
mod error;
mod float;
mod history;
mod instruction;
mod lds;
mod machine;
mod memory;
mod mistake;
mod observe;
mod operand;
mod order;
mod parse;
mod program;
mod shadow;
mod summary;
mod table;
mod wave;

pub use error::{ExecutionError, Fault, LaunchError, ParseError};
pub use history::{History, Record};
pub use instruction::{Group, Instruction, Space};
pub use lds::{Lds, LocalArray};
pub use machine::{Argument, BUDGET, Launch, Machine};
pub use memory::{Buffer, BufferId, Memory};
pub use mistake::{Mistake, MistakeKind, Place};
pub use observe::{Access, AccessFigures, Observer, Step, bank_rivals};
pub use operand::{EXEC, Kind, M0, Operand, VCC};
pub use order::Checks;
pub use program::{ARCHITECTURES, Kernel, Location, Parameter, Program};
pub use shadow::UseKind;
pub use summary::{Count, Summary};
pub use table::MatrixPart;
pub use wave::{Status, UNWRITTEN, Wave};
