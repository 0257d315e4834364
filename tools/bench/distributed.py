#!/usr/bin/env python3
"""distributed.py [OPTION]... SET...: times programs of several ranks against their roofline.

SET is the name of a table in tools/bench/sets (distributed, predictions) or the path of one:
tab-separated lines of a name, an einsum, sizes and schedules `RANKS:ALGORITHM` divided by blanks;
`RANKS:plan` is what the planner chooses. Ranks share the machine's processors, each rank one
thread at least. The programs of a case run by turns, in as many rounds as are asked for, each
between two measurements of the machine's peak and repeated where one of them is far below the best
(up to --tries times: somebody else has the processors then); a time is the median over the rounds
of a run's median. Schedules with the same program share its runs. The columns: the fraction of
the peak measured around them, the time of the case's first schedule over this one's, what a rank
sends in a run on average, the seconds that its compute waits for messages, and what the compiler
predicted, and einsumc-sim simulates, over the time. Below the table: how well these rank the
schedules and how far they are off, and the planner's choices over the best of their cases: by the
programs' seconds, and by these and what plans are charged for reading inputs, which the planner
compares.

Needs a build with tests (build/release). Time on an otherwise idle machine.
"""

import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile

import run as bench_run


def read_set(name):
    path = name if os.path.exists(name) else os.path.join(bench_run.HERE, "sets", name + ".tsv")
    with open(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and line[0] != "#"]
    for case, einsum, sizes, schedules in rows:
        yield case, [f"--einsum={einsum}", f"--sizes={sizes}"], schedules.split()


class Schedule:
    """A case's program for one schedule, and the runs it has made."""

    def __init__(self, bench, case, arguments, name):
        ranks, self.algorithm = name.split(":", 1)
        self.bench, self.ranks = bench, int(ranks)
        self.threads = max(1, bench.options.threads // self.ranks)
        self.runs = []
        file = "".join(c if c.isalnum() else "-" for c in f"{case}-{name}")
        self.is_planned = self.algorithm == "plan"
        forced = [] if self.is_planned else [f"--algorithm=*={self.algorithm}"]
        arguments = [*arguments, f"--ranks={self.ranks}", *forced]
        self.program = bench.build(file, arguments)
        with open(self.program + ".cpp") as source:
            self.source = source.read()
        self.reading = bench.reading(arguments)
        self.simulated = bench.simulate(arguments)

    def run(self):
        """The statistics of a run."""
        options = self.bench.options
        stats = self.program + ".json"
        launcher = options.launcher.split() if options.launcher else self.bench.tools["mpiexec"]
        ranks = [str(self.ranks)] if options.launcher else ["-n", str(self.ranks)]
        self.bench.run(["env", f"OMP_NUM_THREADS={self.threads}", *launcher, *ranks, self.program,
                        f"--threads={self.threads}", f"--repeat={options.repeat}",
                        f"--stats={stats}", *options.argument],
                       subprocess.DEVNULL)  # A launcher's helpers may keep a pipe open.
        with open(stats) as file:
            return json.load(file)

    def median(self, key):
        return statistics.median(run[key] for run in self.runs)

    def result(self, case, flops, peak, first):
        seconds = self.median("seconds")
        nodes = self.runs[-1]["nodes"]
        algorithm = self.algorithm
        if self.is_planned:
            algorithm += " " + "+".join(node["algorithm"] for node in nodes)
        return {"case": case, "ranks": self.ranks, "algorithm": algorithm, "seconds": seconds,
                "gflops": flops / seconds / 1e9, "fraction": flops / seconds / peak,
                "speed": first / seconds,
                "megabytes": self.runs[-1]["bytes_sent"] / 1e6 / self.ranks,
                "wait": self.median("wait_seconds"), "reading": self.reading,
                "prediction": self.runs[-1]["predicted_seconds"] / seconds,
                "simulation": self.simulated / seconds}


def distinct(schedules):
    """Those with different programs; others share the runs of an equal one."""
    first = {}
    for schedule in schedules:
        schedule.runs = first.setdefault((schedule.ranks, schedule.source), schedule).runs
    return list(first.values())


HEADER = (f"{'':12}{'ranks':>6} {'algorithm':26}{'seconds':>10}{'GFLOPS':>9}{'peak':>7}{'first':>7}"
          f"{'MB/rank':>9}{'wait':>10}{'pred':>7}{'sim':>7}")


def line_of(result):
    return (f"{result['case']:12}{result['ranks']:>6} {result['algorithm']:26}"
            f"{result['seconds']:10.5f}{result['gflops']:9.1f}{result['fraction']:7.3f}"
            f"{result['speed']:7.2f}{result['megabytes']:9.2f}{result['wait']:10.5f}"
            f"{result['prediction']:7.2f}{result['simulation']:7.2f}")


def ranks_of(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    for rank, index in enumerate(order):
        ranks[index] = float(rank)
    return ranks


def over_best(planned, forced, seconds):
    """How many times as long as the best forced schedule the planned one takes, and which it is."""
    best = min(forced, key=seconds)
    return seconds(planned) / seconds(best), best["algorithm"]


def print_predictions(results):
    """How predictions and simulations compare with times: over all schedules, and for the
    planner's choices."""
    times = [result["seconds"] for result in results]
    for key in ("prediction", "simulation"):
        predicted = [result[key] * result["seconds"] for result in results]
        errors = [abs(result[key] - 1) for result in results]
        if len(results) > 2:
            correlation = statistics.correlation(ranks_of(times), ranks_of(predicted))
            print(f"{key} of {len(results)} schedules: rank correlation {correlation:.3f}, "
                  f"error {statistics.median(errors):.0%} in the median, {max(errors):.0%} at worst")
    for case, ranks in dict.fromkeys((r["case"], r["ranks"]) for r in results):
        alike = [r for r in results if (r["case"], r["ranks"]) == (case, ranks)]
        planned = [r for r in alike if r["algorithm"].startswith("plan ")]
        forced = [r for r in alike if r not in planned]
        if planned and forced:
            ratio, best = over_best(planned[0], forced, lambda r: r["seconds"])
            charged, best_charged = over_best(planned[0], forced,
                                              lambda r: r["seconds"] + r["reading"])
            print(f"{case:12}{ranks:>6} {planned[0]['algorithm']:26}{ratio:6.2f} times the best "
                  f"forced, {best}; with reading {charged:.2f} times {best_charged}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--cases", default="*", help="only cases whose name matches this pattern")
    parser.add_argument("--schedules", default="*", help="only schedules that match this pattern")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of all ranks together")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tries", type=int, default=5,
                        help="how often to time a round until the machine is itself")
    parser.add_argument("--machine", metavar="FILE", help="machine file for one thread")
    parser.add_argument("--launcher", metavar="CMD",
                        help="a command that takes the number of ranks and the program")
    parser.add_argument("--argument", action="append", default=[], help="for the programs")
    parser.add_argument("--build", default=os.path.join(bench_run.ROOT, "build", "release"))
    parser.add_argument("--json", metavar="FILE", help="write the results there, too")
    options = parser.parse_args()

    subprocess.run(["cmake", "--build", options.build, "--target", "einsumc-bench-roofline",
                    "einsumc", "einsumc-sim"], check=True, stdout=subprocess.DEVNULL)
    results = []
    print(HEADER)
    with tempfile.TemporaryDirectory() as scratch:
        bench = bench_run.Bench(options, scratch)
        for name in options.sets:
            for case, arguments, names in read_set(name):
                if not fnmatch.fnmatch(case, options.cases):
                    continue
                arguments = [*arguments, f"--dtype={options.dtype}"]
                flops = sum(f for f, _ in bench_run.work_of(bench.describe(arguments),
                                                            options.dtype))
                schedules = [Schedule(bench, case, arguments, schedule) for schedule in names
                             if fnmatch.fnmatch(schedule, options.schedules)]
                programs = distinct(schedules)
                peaks = []
                for _ in range(options.rounds):
                    runs, probe = bench.steadily(lambda: [s.run() for s in programs])
                    for schedule, run in zip(programs, runs):
                        schedule.runs.append(run)
                    peaks.append(probe["peak"])
                for schedule in schedules:
                    results.append(schedule.result(case, flops, statistics.median(peaks),
                                                   schedules[0].median("seconds")))
                    print(line_of(results[-1]), flush=True)
    if not results:
        sys.exit("distributed.py: no case or no schedule matches the pattern")
    peaks = [probe["peak"] / 1e9 for probe in bench.probes]
    print(f"peak: {min(peaks):.1f} to {max(peaks):.1f} GFLOPS")
    print_predictions(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"results": results, "machine": bench.probes}, file, indent=1)


if __name__ == "__main__":
    main()
