//! Branches, calls, waits, barriers, and hints.

use super::Entry;
use super::scalar::target;
use crate::core::{Core, Done};
use crate::decode::{CODE_ADDRESS, address_of};
use crate::error::Fault;
use crate::instruction::{Instruction, Run};
use crate::wave::Status;

/// Hints to the scheduler and to caches, which change no value.
const HINTS: [&str; 24] = [
    "s_nop",
    "s_delay_alu",
    "s_clause",
    "s_sleep",
    "s_setprio",
    "s_set_inst_prefetch_distance",
    "s_inst_prefetch",
    "s_sendmsg",
    "s_icache_inv",
    "s_dcache_inv",
    "s_dcache_wb",
    "s_waitcnt_depctr",
    "s_waitcnt_expcnt",
    "s_wakeup",
    "s_setreg_imm32_b32",
    "s_setreg_b32",
    "s_code_end",
    "buffer_gl0_inv",
    "buffer_gl1_inv",
    "buffer_wbinvl1",
    "buffer_wbinvl1_vol",
    "buffer_wbl2",
    "buffer_inv",
    "buffer_invl2",
];

pub(super) fn find(name: &str) -> Option<Entry> {
    macro_rules! branch {
        (|$c:ident| $taken:expr) => {
            Entry::new(
                (|$c, i| if $taken { jump($c, i) } else { Ok(()) }) as Run,
                0,
                1,
            )
        };
    }
    if HINTS.contains(&name) {
        let mut entry = Entry::new(|_, _| Ok(()), 0, 0);
        entry.ignores_operands = true;
        return Some(entry);
    }
    Some(match name {
        "s_branch" => branch!(|c| true),
        "s_cbranch_scc0" => branch!(|c| !c.wave.scc),
        "s_cbranch_scc1" => branch!(|c| c.wave.scc),
        "s_cbranch_vccz" => branch!(|c| c.wave.vcc() == 0),
        "s_cbranch_vccnz" => branch!(|c| c.wave.vcc() != 0),
        "s_cbranch_execz" => branch!(|c| c.wave.exec() == 0),
        "s_cbranch_execnz" => branch!(|c| c.wave.exec() != 0),
        "s_getpc_b64" => Entry::new(
            |c, i| {
                let next = address_of(c.wave.pc);
                c.wave.set_scalar64(&i.operands[0], next);
                Ok(())
            },
            1,
            1,
        ),
        "s_setpc_b64" => Entry::new(
            |c, i| {
                let address = c.wave.scalar64(&i.operands[0]);
                jump_to(c, address)
            },
            0,
            1,
        ),
        "s_swappc_b64" => Entry::new(
            |c, i| {
                let (address, next) = (c.wave.scalar64(&i.operands[1]), address_of(c.wave.pc));
                c.wave.set_scalar64(&i.operands[0], next);
                jump_to(c, address)
            },
            1,
            2,
        ),
        "s_endpgm" => Entry::new(
            |c, _| {
                c.wave.status = Status::Ended;
                Ok(())
            },
            0,
            0,
        ),
        "s_barrier" => Entry::new(
            |c, _| {
                c.wave.status = Status::AtBarrier;
                Ok(())
            },
            0,
            0,
        ),
        "s_trap" => Entry::new(
            |_, _| Err(Box::new(Fault::Unsupported("the kernel traps".into()))),
            0,
            0,
        ),
        "s_waitcnt" | "s_waitcnt_vscnt" | "s_waitcnt_vmcnt" | "s_waitcnt_lgkmcnt" => {
            Entry::new(wait, 0, 0)
        }
        // The emulator has no clock. The number of instructions executed so far stands for the time.
        "s_memtime" | "s_memrealtime" => Entry::new(
            |c, i| {
                let steps = c.steps;
                c.wave.set_scalar64(&i.operands[0], steps);
                Ok(())
            },
            1,
            1,
        ),
        "s_getreg_b32" => Entry::new(
            |c, i| {
                let value = if i.extra[0] == 1 {
                    c.steps as u32 & 0xf_ffff
                } else {
                    0
                };
                c.wave.set_scalar(&i.operands[0], value);
                Ok(())
            },
            1,
            1,
        ),
        _ => return None,
    })
}

fn jump(c: &mut Core<'_>, i: &Instruction) -> Done {
    match target(i) {
        Some(target) => c.wave.pc = target,
        None => return Err(Box::new(Fault::BadJump(0))),
    }
    Ok(())
}

fn jump_to(c: &mut Core<'_>, address: u64) -> Done {
    let offset = address.wrapping_sub(CODE_ADDRESS);
    let index = usize::try_from(offset / 8).unwrap_or(usize::MAX);
    if !offset.is_multiple_of(8) || index >= c.program.instructions.len() {
        return Err(Box::new(Fault::BadJump(address)));
    }
    c.wave.pc = index as u32;
    Ok(())
}

fn wait(c: &mut Core<'_>, i: &Instruction) -> Done {
    let [vector, lds, store, _] = i.extra;
    c.wave.wait(vector, lds, store, c.waited);
    Ok(())
}
