"""harness.py TOOLCHAIN.json SCRATCH-DIRECTORY CASE.ein

Compiles, launches and checks one einsum tree on several numbers of ranks. The case says in its
comments what is right:

    # ORACLE: C = np.einsum('ik,kj->ij', A, B)   one line an output; a Python expression of the
                                                 inputs and the outputs above it, as f64 arrays;
                                                 t['class'] for names that Python reserves
    # RANKS: 1,2,5                               instead of 1,2,3,4,6,8
    # OPTIONS 2,4: --algorithm=C=tp1d            one more run on these ranks with these options
    # PLAN 3: C: [{p}] k(C=S(i) get); D: ...     one more run with the lines of a plan, {p} ranks
    # ARGUMENTS: --repeat 3                      more arguments of the program
    # SOURCE: --einsum=ij,j --sizes=i=3,j=4      einsumc reads this instead of the case's text, which
                                                 says the same as an .ein file

Programs that compute in steps run with chunks that are sent, and on two to four ranks again with
chunks in place.

The trees are tiny, so a planner that knows what messages take uses one rank: on an even number of
ranks, where a run has no options of its own, it is told that they take nothing (Inputs/eager.json).

EINSUMC_TEST_RANKS=1,3 in the environment leaves only those numbers of ranks (when a case has none
of them, its first). Inputs are small integers: as long as every sum of absolute values is exactly
representable, any order of the sums gives the same result and outputs must match bit by bit.
"""

import dataclasses
import json
import os
import re
import shlex
import shutil
import sys
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from toolchain import Failure, Toolchain  # noqa: E402

RANKS = [1, 2, 3, 4, 6, 8]
EAGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "eager.json")
DTYPES = {"f32": np.float32, "f64": np.float64}


@dataclasses.dataclass
class Variant:
    """The runs of a case with the same options of einsumc."""
    ranks: list
    options: list = dataclasses.field(default_factory=list)
    plan: str = ""


class Case:
    """What a case file says: its inputs, and in the comments its oracles and variants."""

    def __init__(self, path):
        with open(path) as file:
            text = file.read()
        self.source = shlex.split(next(iter(_comments(text, "SOURCE")), shlex.quote(path)))
        self.oracles = [line.split(" = ", 1) for line in _comments(text, "ORACLE")]
        self.arguments = shlex.split(" ".join(_comments(text, "ARGUMENTS")))
        ranks = [_numbers(line) for line in _comments(text, "RANKS")]
        self.variants = [Variant(ranks[0] if ranks else RANKS)]
        for keyword, ranks, value in re.findall(r"^# (OPTIONS|PLAN) ([\d,]+): (.*)$", text,
                                                re.MULTILINE):
            self.variants.append(Variant(_numbers(ranks), shlex.split(value)) if keyword == "OPTIONS"
                                 else Variant(_numbers(ranks), plan=value))

        code = re.sub(r"#.*", "", text)
        dtype = re.search(r"\bdtype\s+(\w+)", code)
        self.dtype = DTYPES[dtype.group(1) if dtype else "f32"]
        extents = {name: int(extent)
                   for declaration in re.findall(r"\bdim\b([^;]*);", code)
                   for name, extent in re.findall(r"(\w+)\s*=\s*(\d+)", declaration)}
        self.inputs = {}
        for name, dims in re.findall(r"\binput\s+(\w+)\s*\[([^]]*)\]", code):
            shape = [extents[dim.strip()] for dim in dims.split(",") if dim.strip()]
            seed = zlib.crc32(f"{os.path.basename(path)} {name}".encode())
            values = np.random.default_rng(seed).choice([-2, -1, 1, 2], shape)
            self.inputs[name] = np.asarray(values, dtype=self.dtype)
        if not self.oracles:
            raise Failure("the case has no ORACLE line")

    def expected(self, absolute=False):
        """The outputs by name, of the inputs or of their absolute values."""
        tensors = {name: np.abs(value.astype(np.float64)) if absolute else value.astype(np.float64)
                   for name, value in self.inputs.items()}
        for name, expression in self.oracles:
            tensors[name] = np.asarray(eval(expression, {"np": np, "t": tensors} | tensors))
        return {name: tensors[name] for name, _ in self.oracles}


def _comments(text, keyword):
    return re.findall(rf"^# {keyword}: (.*)$", text, re.MULTILINE)


def _numbers(text):
    return [int(number) for number in text.split(",")]


def check_output(name, file, expected, magnitude, dtype):
    """Compares an output file with the oracle; magnitude is the oracle of absolute values."""
    actual = np.load(file)
    if actual.dtype != dtype or actual.shape != expected.shape:
        raise Failure(f"{name} is {actual.dtype}{list(actual.shape)}, "
                      f"expected {np.dtype(dtype)}{list(expected.shape)}")
    eps = np.finfo(dtype).eps
    exact = magnitude.max(initial=0) * eps <= 1
    bound = 0 * magnitude if exact else 16 * eps * magnitude
    wrong = ~(np.abs(actual.astype(np.float64) - expected) <= bound)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Failure(f"{name}: {np.count_nonzero(wrong)} of {wrong.size} elements are wrong, the "
                      f"first at {list(index)}: {actual[index]!r}, expected {expected[index]!r}")


def check_stats(file, ranks, in_place):
    """Bytes predicted by the compiler are bytes sent, node by node, and bytes of memory."""
    with open(file) as text:
        stats = json.load(text)
    if stats["ranks"] != ranks:
        raise Failure(f"stats: ranks is {stats['ranks']}, expected {ranks}")
    for node in stats["nodes"]:
        for what, predicted in (("bytes_sent", "predicted_bytes"),
                                ("messages", "predicted_messages")):
            if node[what] != node[predicted]:
                raise Failure(f"stats: {what} of node {node['name']} ({node['algorithm']}) is "
                              f"{node[what]}, predicted were {node[predicted]}")
    for what in ("tensor_bytes", "peak_bytes"):
        if stats[what] != stats[f"predicted_{what}"]:
            raise Failure(f"stats: {what} is {stats[what]}, predicted were "
                          f"{stats[f'predicted_{what}']}")
    for what in ("bytes_sent", "bytes_in_place"):
        total = sum(node[what] for node in stats["nodes"])
        if stats[what] != total:
            raise Failure(f"stats: {what} is {stats[what]}, the nodes' sum is {total}")
    check_in_place(stats, in_place)


def places(ranks):
    """Both on some ranks: many take long on few cores."""
    return [["--in-place=none"]] + ([["--in-place=host"]] if 1 < ranks <= 4 else [])


def check_in_place(stats, in_place):
    """All ranks are on one host: something of what these algorithms move stays where it is, and
    nothing of what moves before or after a node."""
    for node in stats["nodes"]:
        bytes_in_place = node["bytes_in_place"]
        wrong = bytes_in_place > (node["bytes_sent"] if in_place == ["--in-place=host"] else 0)
        if node["algorithm"] in ("local", "dist_c"):
            wrong = wrong or bytes_in_place > 0
        if in_place == ["--in-place=host"] and node["algorithm"] in (
                "ring_m", "ring_n", "ring_k", "cannon", "summa", "rotating", "master_worker"):
            wrong = wrong or (bytes_in_place == 0 < node["bytes_sent"])
        if wrong:
            raise Failure(f"stats: of {node['bytes_sent']} bytes of node {node['name']} "
                          f"({node['algorithm']}) {bytes_in_place} are in place ({in_place})")


def run_case(toolchain, case, ranks, variant, scratch):
    """One compilation and one launch."""
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)

    def file(name):
        return os.path.join(scratch, name)

    arguments = ["--verify", "--stats", file("stats.json"), *case.arguments]
    for name, value in case.inputs.items():
        np.save(file(f"{name}.npy"), value)
        arguments += ["--input", f"{name}={file(name + '.npy')}"]
    for name, _ in case.oracles:
        arguments += ["--output", f"{name}={file(name + '.out.npy')}"]

    options = list(variant.options)
    if variant.plan:
        with open(file("plan"), "w") as plan:
            lines = variant.plan.replace("{p}", str(ranks)).split(";")
            print(f"plan ranks={ranks}", *lines, sep="\n", file=plan)
        options.append(f"--plan={file('plan')}")
    if not options and ranks % 2 == 0:
        options.append(f"--machine={EAGER}")
    toolchain.emit([*case.source, f"--ranks={ranks}", *options], file("prog.cpp"))
    toolchain.compile(file("prog.cpp"), file("prog"))
    with open(file("prog.cpp")) as program:
        steps = "ec::SteppingLoop" in program.read()
    expected, magnitude = case.expected(), case.expected(absolute=True)
    for in_place in places(ranks) if steps else [[]]:
        toolchain.launch(file("prog"), ranks, arguments + in_place)
        for name in expected:
            check_output(name, file(f"{name}.out.npy"), expected[name], magnitude[name], case.dtype)
        check_stats(file("stats.json"), ranks, in_place)
    shutil.rmtree(scratch)


def wanted_ranks(ranks):
    wanted = os.environ.get("EINSUMC_TEST_RANKS")
    if not wanted:
        return ranks
    return [number for number in ranks if number in _numbers(wanted)] or ranks[:1]


def main():
    toolchain_file, scratch, path = sys.argv[1:]
    case = Case(path)
    failures = 0
    for index, variant in enumerate(case.variants):
        for number in wanted_ranks(variant.ranks):
            toolchain = Toolchain(toolchain_file)
            directory = f"{scratch}.{number}" + (f".{index}" if index > 0 else "")
            try:
                run_case(toolchain, case, number, variant, directory)
            except Failure as failure:
                failures += 1
                print(f"FAILED on {number} ranks {' '.join(variant.options)}{variant.plan}\n"
                      f"{failure}\n"
                      f"To repeat it (files are in {directory}):",
                      *toolchain.commands, sep="\n  ")
    sys.exit(1 if failures else 0)


main()
