#!/usr/bin/env python3
"""run.py [OPTION]... SET...: times emitted programs against the machine's roofline and its peers.

SET is the name of a table in tools/bench/sets (tccg, trees, gemm, bandwidth, tiny) or the path of
one: tab-separated lines of a name, an einsum (or the name of an .ein file beside the table), sizes
and an optional path. random:SEED:COUNT draws as many contractions of odd extents,
narrow:SEED:COUNT those without rows, columns or sums, unary:SEED:COUNT permutations and sums of
one tensor. The roofline of a case is the sum over its nodes of max(flops / peak, bytes / triad),
bytes being each operand and each result once; peak and triad are measured in the same run, before
and after every case. Where one of the two peaks is far below the best of the run, the processors
belong to somebody else: the case is timed again, up to --tries times. Times are medians, on one
rank. The column pred/meas is what the compiler predicts (from --machine, or the built-in machine)
over the time.

Needs a build with tests (build/release) and, for the peers, NumPy, python3-torch and
libopenblas0-pthread; a peer that is not installed is left out. Time on an otherwise idle machine.
"""

import argparse
import fnmatch
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import draw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tools", "bench")
PEERS = ["numpy", "torch", "gemm"]
STEADY = 0.85  # of the best peak
SHORT_RUN = 0.1  # seconds that the evaluations of a case should take at least


def read_set(name):
    """The cases of a table, or drawn ones, as (name, arguments of einsumc: what to evaluate)."""
    if name.startswith(draw.KINDS):
        for case, einsum, sizes in draw.read(name):
            yield case, [f"--einsum={einsum}", f"--sizes={sizes}"]
        return
    path = name if os.path.exists(name) else os.path.join(HERE, "sets", name + ".tsv")
    with open(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and line[0] != "#"]
    for row in rows:
        case, einsum, sizes, contraction_path = (row + [""] * 3)[:4]
        if einsum.endswith(".ein"):
            yield case, [os.path.join(os.path.dirname(path), einsum)]
        else:
            path_option = [f"--path={contraction_path}"] if contraction_path else []
            yield case, [f"--einsum={einsum}", f"--sizes={sizes}", *path_option]


class Bench:
    """The tools of one build tree, and a folder for what they make."""

    def __init__(self, options, scratch):
        with open(os.path.join(options.build, "test", "toolchain.json")) as file:
            self.tools = json.load(file)
        self.options = options
        self.scratch = scratch
        # Settings of a shell for other machines would slow the peers down.
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("OPENBLAS_")}
        self.environment |= {"OMP_NUM_THREADS": str(options.threads)}
        self.probes = []  # of the machine, in the order of time

    def run(self, command, stdout=subprocess.PIPE):
        return subprocess.run(command, env=self.environment, check=True, stdin=subprocess.DEVNULL,
                              stdout=stdout, text=True).stdout

    def probe(self):
        """Measures the machine's peak and triad at this moment."""
        machine = json.loads(self.run(
            [os.path.join(self.options.build, "tools", "bench", "einsumc-bench-roofline")]))
        self.probes.append({"peak": machine["peak_" + self.options.dtype],
                            "triad": machine["triad"]})

    def steadily(self, action):
        """What an action returns when the machine has its usual peak before and after it, or the
        last of many tries; and the mean of the two probes."""
        if not self.probes:
            self.probe()
        for _ in range(max(self.options.tries, 1)):
            result = action()
            self.probe()
            around = self.probes[-2:]
            best = max(probe["peak"] for probe in self.probes)
            if min(probe["peak"] for probe in around) >= STEADY * best:
                break
        return result, {key: statistics.fmean(probe[key] for probe in around) for key in around[0]}

    def describe(self, arguments):
        """Dims and nodes of a case, as `einsumc --emit=json` gives them, with tensors stored as
        declared: peers evaluate what the case says."""
        return json.loads(self.run([self.tools["einsumc"], *arguments, "--dim-order=declared",
                                    "--emit=json", "-o", "-"]))

    def compile(self, arguments, output="-"):
        machine = [f"--machine={self.options.machine}"] if self.options.machine else []
        return self.run([self.tools["einsumc"], *arguments, *machine, "-o", output])

    def reading(self, arguments):
        """The seconds that a plan is charged for reading inputs."""
        plan = json.loads(self.compile([*arguments, "--emit=json"]))
        return next((alternative["reading_seconds"] for node in plan["nodes"]
                     for alternative in node.get("alternatives", []) if alternative.get("chosen")),
                    0)  # Each says it of the whole tree.

    def simulate(self, arguments):
        """The seconds that a schedule takes as einsumc-sim has it."""
        machine = [f"--machine={self.options.machine}"] if self.options.machine else []
        return json.loads(self.run([self.tools["simulate"], *arguments, *machine,
                                    "--json"]))["seconds"]

    def build(self, case, arguments):
        """Compiles a case to a program."""
        program = os.path.join(self.scratch, case)
        self.compile(arguments, program + ".cpp")
        self.run([self.tools["mpicxx"], *self.tools["compile_flags"], *self.tools["include_flags"],
                  program + ".cpp", "-o", program, *self.tools["libraries"]])
        return program

    def time(self, program):
        """The statistics of a run with warm-up; of many evaluations if they are short."""
        stats = program + ".json"
        arguments = [f"--threads={self.options.threads}", f"--stats={stats}"]

        def run(repeat):
            self.run([program, *arguments, f"--repeat={repeat}"])
            with open(stats) as file:
                return json.load(file)

        result = run(self.options.repeat)
        enough = math.ceil(SHORT_RUN / max(result["seconds"], 1e-5))
        return run(enough) if enough > self.options.repeat else result

    def warn_of_slow_blas(self):
        """Debian's NumPy and PyTorch use whatever BLAS is installed, also a very slow one."""
        if not self.options.peers:
            return
        libraries = "import numpy.linalg; print(open('/proc/self/maps').read())"
        done = subprocess.run(["/usr/bin/python3", "-c", libraries], env=self.environment,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        blas = [line for line in done.stdout.splitlines() if "libblas" in line]
        if any("openblas" not in line for line in blas):
            print("run.py: warning: the peers have no OpenBLAS and are slow "
                  "(apt-get install libopenblas0-pthread)", file=sys.stderr)

    def peers(self, case):
        """Seconds of each peer for a described case; those that cannot run it are missing."""
        if not self.options.peers:
            return {}
        command = ["/usr/bin/python3", os.path.join(HERE, "peers.py"), self.options.dtype,
                   str(self.options.threads), str(self.options.repeat),
                   ",".join(self.options.peers)]
        done = subprocess.run(command, env=self.environment, input=json.dumps(case), text=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout) if done.returncode == 0 else {}


def work_of(case, dtype):
    """(flops, bytes) of each node of a described case: operands and result once each, of an
    operand with a dim twice only the diagonal."""
    element = 4 if dtype == "f32" else 8
    elements = {node["name"]: math.prod(case["dims"][d] for d in set(node["dims"]))
                for node in case["nodes"]}
    return [(node["flops"], element * (elements[node["name"]] +
                                       sum(elements[o] for o in node["operands"])))
            for node in case["nodes"] if "equation" in node]


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else math.nan


def print_table(results, machine):
    columns = ["seconds", "GFLOPS", "GB/s", "roofline"] + PEERS + ["/best", "pred/meas"]
    print(f"{'':14}" + "".join(f"{column:>10}" for column in columns))
    for result in results:
        print(line_of(result))
    fractions = [result["fraction"] for result in results]
    ratios = [result["ratio"] for result in results if result["ratio"]]
    predictions = [result["prediction"] for result in results]
    print(f"{'geomean':14}{'':30}{geometric_mean(fractions):10.3f}{'':30}"
          f"{geometric_mean(ratios):10.3f}{geometric_mean(predictions):10.2f}")
    errors = sorted(max(ratio, 1 / ratio) for ratio in predictions)
    print(f"predictions are off by a factor of {statistics.median(errors):.2f} in the median, "
          f"{errors[-1]:.2f} at worst")
    for key, unit in (("peak", "GFLOPS"), ("triad", "GB/s")):
        seen = [probe[key] / 1e9 for probe in machine]
        print(f"{key}: {min(seen):.1f} to {max(seen):.1f} {unit}")


def line_of(result):
    peers = "".join(f"{result['peers'][peer]:10.5f}" if peer in result["peers"] else f"{'-':>10}"
                    for peer in PEERS)
    ratio = f"{result['ratio']:10.2f}" if result["ratio"] else f"{'-':>10}"
    return (f"{result['case']:14}{result['seconds']:10.6f}{result['gflops']:10.1f}"
            f"{result['gbs']:10.1f}{result['fraction']:10.3f}{peers}{ratio}"
            f"{result['prediction']:10.2f}")


def write_plot(results, path):
    """A bar a case: its fraction of the roofline."""
    bar, gap, left, width = 14, 4, 110, 500
    height = len(results) * (bar + gap) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" '
             f'height="{height}" font-family="sans-serif" font-size="11">']
    for tick in range(0, 11, 2):
        x = left + width * tick / 10
        parts.append(f'<line x1="{x}" y1="0" x2="{x}" y2="{height - 20}" stroke="#ddd"/>'
                     f'<text x="{x}" y="{height - 6}" text-anchor="middle">{tick / 10}</text>')
    for i, result in enumerate(results):
        y = i * (bar + gap) + 4
        size = width * min(result["fraction"], 1.1)
        parts.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{result["case"]}</text>'
                     f'<rect x="{left}" y="{y}" width="{size:.1f}" height="{bar}" fill="#4878a8"/>'
                     f'<text x="{left + size + 4:.1f}" y="{y + 11}">{result["fraction"]:.2f}</text>')
    parts.append("</svg>\n")
    with open(path, "w") as file:
        file.write("\n".join(parts))


def measure(bench, case, arguments):
    options = bench.options
    described = bench.describe(arguments)
    program = bench.build(case, arguments)
    (stats, peers), probe = bench.steadily(lambda: (bench.time(program), bench.peers(described)))
    work = work_of(described, options.dtype)
    bound = sum(max(flops / probe["peak"], size / probe["triad"]) for flops, size in work)
    seconds = stats["seconds"]
    return {"case": case, "prediction": stats["predicted_seconds"] / seconds, "seconds": seconds,
            "fraction": bound / seconds,
            "gflops": sum(flops for flops, _ in work) / seconds / 1e9,
            "gbs": sum(size for _, size in work) / seconds / 1e9, "peers": peers,
            "ratio": min(peers.values()) / seconds if peers else None}


def peers_of(text):
    """The peers that a text names, joined by commas; none: no peer."""
    names = [] if text in ("", "none") else text.split(",")
    for name in names:
        if name not in PEERS:
            raise argparse.ArgumentTypeError(f"unknown peer '{name}'; known are {', '.join(PEERS)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--cases", default="*", help="only cases whose name matches this pattern")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tries", type=int, default=5,
                        help="how often to time a case until the machine is itself")
    parser.add_argument("--peers", default=",".join(PEERS), type=peers_of,
                        help="of numpy,torch,gemm (OpenBLAS products of the same M, N, K), or none")
    parser.add_argument("--machine", metavar="FILE",
                        help="machine file for as many threads, as einsumc-calibrate writes it")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    parser.add_argument("--svg", metavar="FILE", help="plot the roofline fractions there")
    options = parser.parse_args()

    subprocess.run(["cmake", "--build", options.build, "--target", "einsumc-bench-roofline",
                    "einsumc"], check=True, stdout=subprocess.DEVNULL)
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options, scratch)
        cases = [case for name in options.sets for case in read_set(name)
                 if fnmatch.fnmatch(case[0], options.cases)]
        if not cases:
            sys.exit("run.py: no case matches the pattern")
        bench.warn_of_slow_blas()
        for case, arguments in cases:
            dtype = [] if arguments[0].endswith(".ein") else [f"--dtype={options.dtype}"]
            results.append(measure(bench, case, arguments + dtype))
            print(line_of(results[-1]), file=sys.stderr, flush=True)
    print_table(results, bench.probes)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"results": results, "machine": bench.probes}, file, indent=1)
    if options.svg:
        write_plot(results, options.svg)


if __name__ == "__main__":
    main()
