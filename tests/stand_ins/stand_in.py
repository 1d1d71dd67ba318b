"""Code that the stand-ins share."""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures")
TRUTHS = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
FAILURE = os.environ.get("STAND_IN_FAILURE", "")


def version(text):
    return tuple(int(part) for part in text.split("."))


ROCM = version(os.environ.get("STAND_IN_ROCM", "7.0"))


class Refused(Exception):
    """The real tool's message and exit status."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Options:
    """The options of one tool, or of one of its programs, in a version of ROCm."""

    def __init__(self, tool, rocm, mode=None):
        with open(os.path.join(HERE, "tools", tool + ".json")) as file:
            data = json.load(file)
        self.refusal = data["refusal"]
        self.summary = data.get("summary")
        self.version = own_version(data, rocm)
        here = [option for option in data["options"] if mode is None or mode in option.get("mode", mode).split()]
        self.options = [option for option in here if self.has(option)]
        self.named = {name: option for option in self.options for name in option["names"].split()}

    def has(self, option):
        until = option.get("until")
        return self.version >= version(option["since"]) and (until is None or self.version < version(until))

    def help(self):
        """Every option that is not hidden."""
        shown = [o for o in self.options if "hidden" not in o or self.version < version(o["hidden"])]
        return "\n".join("  " + ", ".join(option["names"].split()) for option in shown)

    def has_summary(self):
        return self.summary is not None and self.version >= version(self.summary["since"])

    def parse(self, words):
        """The values of each option by its last name, with one list per occurrence."""
        taken, unknown, words = {}, [], list(words)
        while words:
            name, equals, value = words.pop(0).partition("=")
            option = self.named.get(name)
            if option is None:
                unknown.append(name + equals + value)
                continue
            values = [value] if equals else self.values(option, words)
            self.check(option, name, values)
            key = option["names"].split()[-1]
            again = "repeats" in option and self.version >= version(option["repeats"])
            taken[key] = taken.get(key, []) + [values] if again else [values]
        if unknown:
            raise Refused("error: unrecognized arguments: " + " ".join(unknown), self.refusal)
        self.check_together(taken)
        return taken

    def values(self, option, words):
        most = {"nothing": 0, "truth": 1, "optional": 1, "one": 1}.get(option["takes"], len(words))
        values = []
        while words and len(values) < most and not words[0].startswith("-"):
            values.append(words.pop(0))
        return values

    def check(self, option, name, values):
        takes, choices = option["takes"], option.get("choices")
        if takes == "truth" and values and values[0].lower() not in TRUTHS:
            raise Refused(f"Traceback (most recent call last):\nValueError: invalid truth value {values[0]} (type=str)", 1)
        if takes in ("one", "some") and not values:
            raise Refused(f"error: argument {name}: expected at least one argument", self.refusal)
        if takes == "nothing" and values:
            raise Refused(f"error: argument {name}: ignored explicit argument '{values[0]}'", self.refusal)
        for value in values if choices else []:
            if value not in choices.split():
                listed = ", ".join(repr(choice) for choice in choices.split())
                names = "/".join(option["names"].split())
                raise Refused(f"error: argument {names}: invalid choice: '{value}' (choose from {listed})", self.refusal)

    def check_together(self, taken):
        for option in self.options:
            key = option["names"].split()[-1]
            if key not in taken:
                if option.get("required"):
                    raise Refused(f"error: the following arguments are required: {key}", self.refusal)
                continue
            others = option.get("requires", "").split()
            if others and not any(other in taken for other in others):
                raise Refused(f"error: {key} requires one of {others}", self.refusal)
            for other in option.get("conflicts", "").split():
                if other in taken:
                    raise Refused(f"error: {key} conflicts with {other}", self.refusal)


def own_version(data, rocm):
    """The version that decides the options: the tool's own if it has one."""
    if "own" not in data:
        return rocm
    releases = sorted((version(release), version(own)) for release, own in data["own"].items())
    return [own for release, own in releases if release <= rocm][-1]


def fail(message, code=1):
    print(message, file=sys.stderr)
    sys.exit(code)


def parse_or_fail(name, options, words):
    try:
        return options.parse(words)
    except Refused as refused:
        fail(f"{name}: {refused}", refused.code)


def split_at_dashes(words):
    """The arguments of the tool and those of the program, or None without `--`."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def run_program(words):
    """Runs the program. Its exit code becomes the tool's."""
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
