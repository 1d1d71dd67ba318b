"""Runs the program on the stand-in for the HIP library, each time with a separate home, and counts failures."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

TIMEOUT_SECONDS = 1500

SHAPE = "--hidden 32 --layers 1 --heads 4 --kv-heads 2 --ffn 64 --seq-len 16 --batch-size 2 --vocab 64".split()
STEPS = "--num-steps 3 --warmup 1".split()
SMALL = SHAPE + STEPS


class Gate:
    def __init__(self, program, stand_in):
        self.program = pathlib.Path(program).resolve()
        self.stand_in = pathlib.Path(stand_in).resolve()
        self.failed = 0
        self.checked = 0
        self.folder = tempfile.TemporaryDirectory(prefix="rocm-gate-")
        self.lock = threading.Lock()

    def home(self):
        """A folder to run in. Its settings give every tensor a separate allocation. In a pool, an access past the end of one
        tensor would reach the next, and the stand-in would see no mistake."""
        home = pathlib.Path(tempfile.mkdtemp(dir=self.folder.name))
        (home / "cubecl.toml").write_text('[memory]\npersistent_memory = "enforced"\n')
        return home

    def targets(self):
        """The versions and stages that the program lists in the help of `run`."""
        help = subprocess.run([self.program, "run", "--help"], capture_output=True, text=True, check=True).stdout
        return re.findall(r"^\s*- ((?:v|stage)\d+):", help, re.MULTILINE)

    def run(self, architecture, *arguments, rocm=None, kept=None, **extra):
        """Runs the program on `architecture`. The result has the calls of HIP in `.record`. With `kept` the runtime uses the
        caches of earlier runs."""
        home = kept or self.home()
        (home / "record").unlink(missing_ok=True)
        rocm = str(rocm or self.stand_in)
        environment = {
            **os.environ,
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_STATE_HOME": str(home / "state"),
            "ROCM_PATH": rocm,
            "HIP_PATH": rocm,
            "PATH": f"{self.stand_in / 'bin'}:{os.environ['PATH']}",
            "HIP_STAND_IN_ARCH": architecture,
            "HIP_STAND_IN_RECORD": str(home / "record"),
            # Tuning would run candidates only to time them, but times mean nothing on the stand-in.
            "CUBECL_AUTOTUNE_LEVEL": "minimal",
            **extra,
        }
        try:
            done = subprocess.run(
                [self.program, *arguments],
                cwd=home,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired as ended:
            done = subprocess.CompletedProcess(ended.args, 124, "", f"ended after {TIMEOUT_SECONDS} s")
        done.record = Record(home / "record")
        done.refused = [path.read_text() for path in home.glob("cache/tinyllama-tutor/refused/*")]
        if not kept:
            shutil.rmtree(home)
        return done

    def without(self, *libraries):
        """The stand-in without some of its libraries."""
        folder = self.home() / "rocm"
        (folder / "lib").mkdir(parents=True)
        for library in (self.stand_in / "lib").iterdir():
            if library.name not in libraries:
                (folder / "lib" / library.name).symlink_to(library)
        return folder

    def check(self, name, passed, detail=""):
        with self.lock:
            self.checked += 1
            self.failed += not passed
            print("ok    " if passed else "FAILED", name, flush=True)
            if not passed and detail:
                print("       " + detail.strip()[-3000:].replace("\n", "\n       "), flush=True)
        return passed


class Record:
    """The calls of a run, from the lines that the stand-in's libraries wrote."""

    def __init__(self, path):
        self.calls = {}
        self.left = {}
        self.complaints = 0
        self.graph_kernels = set()
        self.allocated = 0
        for line in path.read_text().splitlines() if path.exists() else []:
            entry = json.loads(line)
            if entry.get("call") == "hipGraphLaunch" and entry["status"] == 0:
                self.graph_kernels.add(entry["kernels"])
            if entry.get("call") == "hipMalloc" and entry["status"] == 0:
                self.allocated += entry["bytes"]
            if "summary" in entry:
                summary = entry["summary"]
                self.complaints += summary["complaints"]
                for call, count in summary["calls"].items():
                    self.calls[call] = self.calls.get(call, 0) + count
                self.left.update({key: value for key, value in summary.items() if isinstance(value, int) and key != "complaints"})


def document(done):
    """The JSON document that a run printed, or None."""
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {}


def losses(done):
    return [step["loss"] for step in document(done).get("steps", [])]


def alike(actual, expected, tolerance):
    """True if two lists of losses agree. NaN never agrees."""
    return len(actual) == len(expected) > 0 and all(abs(a - b) <= tolerance * abs(b) for a, b in zip(actual, expected))
