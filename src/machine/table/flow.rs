//! Branches, calls, waits, barriers, and hints.

use super::Entry;
use crate::core::{Core, Outcome, unsupported};
use crate::error::Fault;
use crate::instruction::{Instruction, Run};
use crate::operand::Kind;
use crate::program::{CODE_ADDRESS, address_of};
use crate::wave::{Lane, Status, Wave};

/// Hints to the scheduler and to caches, which change no value.
const HINTS: &str = "s_nop s_delay_alu s_clause s_sleep s_setprio s_set_inst_prefetch_distance s_inst_prefetch \
                     s_sendmsg s_icache_inv s_dcache_inv s_dcache_wb s_waitcnt_depctr s_waitcnt_expcnt s_wakeup \
                     s_setreg_imm32_b32 s_setreg_b32 s_code_end buffer_gl0_inv buffer_gl1_inv buffer_wbinvl1 \
                     buffer_wbinvl1_vol buffer_wbl2 buffer_inv buffer_invl2";

pub(super) fn find(name: &str) -> Option<Entry> {
    if HINTS.split_whitespace().any(|hint| hint == name) {
        let mut entry = Entry::new(|_, _| Ok(()), 0, 0);
        entry.ignores_operands = true;
        return Some(entry);
    }
    let (run, destinations, operands): (Run, u8, usize) = match name {
        "s_branch" => (|c, i| jump(c, i, |_| true), 0, 1),
        "s_cbranch_scc0" => (|c, i| jump(c, i, |wave| !wave.scc), 0, 1),
        "s_cbranch_scc1" => (|c, i| jump(c, i, |wave| wave.scc), 0, 1),
        "s_cbranch_vccz" => (|c, i| jump(c, i, |wave| wave.vcc() == 0), 0, 1),
        "s_cbranch_vccnz" => (|c, i| jump(c, i, |wave| wave.vcc() != 0), 0, 1),
        "s_cbranch_execz" => (|c, i| jump(c, i, |wave| wave.exec() == 0), 0, 1),
        "s_cbranch_execnz" => (|c, i| jump(c, i, |wave| wave.exec() != 0), 0, 1),
        "s_getpc_b64" => (|c, i| put(c, i, |c| address_of(c.wave.pc)), 1, 1),
        "s_setpc_b64" => (call, 0, 1),
        "s_swappc_b64" => (call, 1, 2),
        "s_endpgm" => (|c, _| set_status(c, Status::Ended), 0, 0),
        "s_barrier" => (|c, _| set_status(c, Status::AtBarrier), 0, 0),
        "s_trap" => (|_, _| unsupported("the kernel traps".into()), 0, 0),
        "s_waitcnt" | "s_waitcnt_vscnt" | "s_waitcnt_vmcnt" | "s_waitcnt_lgkmcnt" => (wait, 0, 0),
        // The emulator has no clock. The number of instructions executed so far stands for the time.
        "s_memtime" | "s_memrealtime" => (|c, i| put(c, i, |c| c.steps), 1, 1),
        "s_getreg_b32" => (
            |c, i| put(c, i, |c| i.extra[0] * (c.steps as u32 & 0xf_ffff)),
            1,
            1,
        ),
        _ => return None,
    };
    Some(Entry::new(run, destinations, operands))
}

fn put<T: Lane>(c: &mut Core<'_>, i: &Instruction, value: impl Fn(&Core<'_>) -> T) -> Outcome {
    value(c).set(c.wave, &i.operands[0]);
    Ok(())
}

fn set_status(c: &mut Core<'_>, status: Status) -> Outcome {
    c.wave.status = status;
    Ok(())
}

fn jump(c: &mut Core<'_>, i: &Instruction, is_taken: impl Fn(&Wave) -> bool) -> Outcome {
    let mut labels = i
        .operands
        .iter()
        .filter(|operand| operand.kind == Kind::Label);
    let Some(target) = labels.next() else {
        return Err(Box::new(Fault::BadJump(0)));
    };
    if is_taken(c.wave) {
        c.wave.pc = target.value as u32;
    }
    Ok(())
}

/// Goes to the address in the last operand. The first one gets the address to return to, if there are two.
fn call(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let address = i
        .operands
        .last()
        .map_or(0, |operand| c.wave.scalar64(operand));
    if i.destinations > 0 {
        address_of(c.wave.pc).set(c.wave, &i.operands[0]);
    }
    let offset = address.wrapping_sub(CODE_ADDRESS);
    let index = usize::try_from(offset / 8).unwrap_or(usize::MAX);
    if !offset.is_multiple_of(8) || index >= c.program.instructions.len() {
        return Err(Box::new(Fault::BadJump(address)));
    }
    c.wave.pc = index as u32;
    Ok(())
}

fn wait(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let [vector, lds, store, _] = i.extra;
    c.wave.wait(vector, lds, store, c.waited);
    Ok(())
}
