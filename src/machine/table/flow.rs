//! Branches, calls, waits, barriers, and hints.

use super::Entry;
use crate::core::{Core, Outcome};
use crate::error::Fault;
use crate::instruction::{Instruction, Run};
use crate::operand::{Kind, M0};
use crate::program::{CODE_ADDRESS, address_of};
use crate::wave::{Lane, Status, Wave};

/// Hints to the scheduler and to caches, which change no value.
const HINTS: &str = "s_nop s_delay_alu s_clause s_sleep s_setprio s_set_inst_prefetch_distance s_inst_prefetch \
                     s_sendmsg s_sendmsg_rtn_b32 s_sethalt s_barrier_signal s_wait_alu s_wait_expcnt s_wait_samplecnt \
                     s_wait_bvhcnt s_wait_idle s_prefetch_inst s_icache_inv s_dcache_inv s_dcache_wb s_waitcnt_depctr s_waitcnt_expcnt s_wakeup \
                     s_setreg_imm32_b32 s_setreg_b32 s_code_end buffer_gl0_inv buffer_invl2";

/// What the compiler writes for fences. Those that a fence of the device needs order workgroups.
const FENCES: &str =
    "buffer_gl1_inv buffer_wbinvl1 buffer_wbinvl1_vol buffer_wbl2 buffer_inv global_inv global_wb";

pub(super) fn find(name: &str) -> Option<Entry> {
    let without_operands: [(&str, Run); 2] = [(HINTS, |_, _| Ok(())), (FENCES, fence)];
    for (names, run) in without_operands {
        if names.split_whitespace().any(|one| one == name) {
            let mut entry = Entry::new(run, 0, 0);
            entry.ignores_operands = true;
            return Some(entry);
        }
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
        // RDNA 4 has two instructions: one says that the wave has come, the other one waits.
        "s_barrier" | "s_barrier_wait" => (|c, _| set_status(c, Status::AtBarrier), 0, 0),
        "s_trap" => (trap, 0, 1),
        "s_set_gpr_idx_on" => (
            |c, i| {
                let index = c.wave.scalar(&i.operands[0]);
                c.wave.set_words(M0, u64::from(index), false);
                Ok(())
            },
            0,
            1,
        ),
        "s_set_gpr_idx_off" => (|_, _| Ok(()), 0, 0),
        "s_waitcnt"
        | "s_waitcnt_vscnt"
        | "s_waitcnt_vmcnt"
        | "s_waitcnt_lgkmcnt"
        | "s_wait_loadcnt"
        | "s_wait_dscnt"
        | "s_wait_kmcnt"
        | "s_wait_storecnt"
        | "s_wait_loadcnt_dscnt"
        | "s_wait_storecnt_dscnt" => (wait, 0, 0),
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

/// Passes a fence, if it is one of the device and not only of a workgroup.
fn fence(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    let is_narrow = i.text.contains("inv sc0") && !i.text.contains("sc1");
    let is_without_scope = i.name.starts_with("global_") && !i.text.contains("scope:");
    if !is_narrow && !is_without_scope && !i.text.contains("SCOPE_SE") {
        c.fence();
    }
    Ok(())
}

fn trap(c: &mut Core<'_>, _: &Instruction) -> Outcome {
    match c.wave.exec() {
        0 => Ok(()),
        exec => Err(Box::new(Fault::Trap {
            lane: exec.trailing_zeros() as usize,
        })),
    }
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
    let external = index.checked_sub(c.program.instructions.len());
    if let Some(name) = external.and_then(|at| c.program.externals.get(at)) {
        return Err(called(c.wave, &name.0));
    }
    if !offset.is_multiple_of(8) || index >= c.program.instructions.len() {
        return Err(Box::new(Fault::BadJump(address)));
    }
    c.wave.pc = index as u32;
    Ok(())
}

/// Reports a call of a function that the program does not have.
fn called(wave: &Wave, name: &str) -> Box<Fault> {
    let lane = wave.exec().trailing_zeros() as usize % wave.lanes;
    let arguments = [0, 1, 2, 3].map(|row| wave.vector(row).get(lane).copied().unwrap_or(0));
    Box::new(Fault::Called {
        name: name.to_owned(),
        lane,
        arguments,
    })
}

fn wait(c: &mut Core<'_>, i: &Instruction) -> Outcome {
    c.wave.wait(i.extra, c.waited);
    Ok(())
}
