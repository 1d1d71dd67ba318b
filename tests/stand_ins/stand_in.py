"""What the stand-ins share."""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures")
ROCM = tuple(int(part) for part in os.environ.get("STAND_IN_ROCM", "7.0").split("."))
FAILURE = os.environ.get("STAND_IN_FAILURE", "")


def fail(message, code=1):
    print(message, file=sys.stderr)
    sys.exit(code)


def split_at_dashes(words):
    """The tool's own words and the program's, or None without `--`."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def run_program(words):
    """Runs the program; its exit code is the tool's."""
    if FAILURE == "kfd":
        fail("Unable to open /dev/kfd read-write: Permission denied\nHSA_STATUS_ERROR_OUT_OF_RESOURCES")
    if FAILURE == "perfmon":
        print("Device 5998 could not be locked for profiling due to lack of permissions (capability SYS_PERFMON).", file=sys.stderr)
    try:
        code = subprocess.call(words)
    except OSError as error:
        fail(f"{words[0]}: {error}", 127)
    if code != 0:
        sys.exit(code)


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(os.path.join(FIXTURES, source), target)
    print(f"Opened result file: {target}", file=sys.stderr)
