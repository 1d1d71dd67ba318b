#!/bin/bash
# Tests the workbench on a GPU of NVIDIA or AMD. It compiles every solution and every wrong version with nvrtc or hiprtc, times
# the solutions, and runs kernels in V4's step. For three kernels it compares ncu's counts with the access picture.
#
# usage: tests/workbench/gpu.sh PROGRAM [FOLDER]     PROGRAM: a built tinyllama-tutor; FOLDER: where results are written
set -u
program=$(realpath "${1:?usage: $0 PROGRAM [FOLDER]}")
out=${2:-workbench-gpu}
mkdir -p "$out"
cd "$out" || exit 2
export XDG_STATE_HOME=$PWD/state COLUMNS=100
failed=0
check() { # check WHAT STATUS-WANTED COMMAND...
    local what=$1 wanted=$2 status
    shift 2
    timeout 180 "$@" >last.log 2>&1
    status=$?
    if [ $status = "$wanted" ]; then echo "ok     $what"; else
        echo "FAILED $what (exit $status, not $wanted)"
        sed 's/^/       /' last.log | head -20
        failed=$((failed + 1))
    fi
}
names=$("$program" workbench list --json | python3 -c 'import json, sys; print(*[e["name"] for e in json.load(sys.stdin)])')

echo "== solutions on the GPU, starters refused"
for name in $names; do
    "$program" workbench solution "$name" >"$name.hip"
    check "$name: the solution passes" 0 "$program" workbench check "$name" --gpu --file "$name.hip"
    rm -f "starter-$name.hip"
    mkdir -p starters
    "$program" workbench start "$name" --to starters >/dev/null
    # These starters are correct but slow, correct at waves of 32 only, or have a race that may go well. The stand-in shows it.
    case "$name" in coalescing | vector-loads | swizzle | registers | double-buffer | ported-reduction | rope-in-place) continue ;; esac
    check "$name: the starter does not" 1 "$program" workbench check "$name" --gpu --file "starters/$name.hip"
done

echo "== an endless kernel is ended, and the GPU stays usable"
cat >endless.hip <<'END'
extern "C" __global__ void scale_add(const float* x, const float* y, float* out, int n, float a) {
    volatile int on = 1;
    while (on) {}
}
END
check "endless" 1 "$program" workbench check elementwise --gpu --file endless.hip
check "the GPU works afterwards" 0 "$program" workbench check elementwise --gpu --file elementwise.hip

echo "== in V4's step"
for name in rmsnorm swiglu cross-entropy adamw; do
    check "run v4 --kernel $name" 0 "$program" run v4 --config tiny --num-steps 20 --kernel "$name=$name.hip"
done
check "all four at once" 0 "$program" run v4 --config tiny --num-steps 20 \
    --kernel rmsnorm=rmsnorm.hip --kernel swiglu=swiglu.hip --kernel cross-entropy=cross-entropy.hip --kernel adamw=adamw.hip
grep -i "agrees:" last.log

echo "== times"
"$program" calibrate >calibrate.log 2>&1
for name in $names; do
    "$program" workbench bench "$name" --file "$name.hip" 2>&1 | tee "bench-$name.txt"
    "$program" workbench bench "$name" --file "$name.hip" --json >"bench-$name.json" 2>/dev/null
done

# The first launch of a check is its first case. The access picture counts the same case.
if command -v ncu >/dev/null; then
    echo "== sectors a request and bank conflicts: counted by ncu, and by the access picture at waves of 32"
    metrics=l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio,l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio
    metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
    for name in elementwise coalescing bank-conflicts; do
        echo "-- $name"
        ncu --metrics "$metrics" --kernel-name-base function --launch-count 1 \
            "$program" workbench check "$name" --gpu --file "$name.hip" 2>&1 | grep -E "__|void|conflicts|sectors" | tee "ncu-$name.txt"
        "$program" workbench check "$name" --wave 32 --json --file "$name.hip" | python3 -c '
import json, sys
for picture in json.load(sys.stdin)["check"]["pictures"][0]["pictures"]:
    where = "local" if picture["local"] else "global"
    line, access, a_request = picture["line"], picture["access"], picture["sectors"] / max(1, picture["requests"])
    conflicts = picture["passes"] - picture["groups"]
    print(f"   line {line} {access:6} {where:6} sectors/request {a_request:.2f}, conflicts {conflicts}")'
    done
fi
echo
[ $failed = 0 ] && echo "all passed" || echo "$failed failed"
[ $failed = 0 ]
