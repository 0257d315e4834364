"""memory.py TOOLCHAIN.json TEST_DIRECTORY SCRATCH CASE...

Programs take the memory that their plans say, and no more than --memory allows: compiles the cases,
runs them, and compares. `same`: the schedules of SCHEDULES; `limit`: those of LIMITS.
"""

import json
import os
import re
import sys

MATRICES = ["--einsum", "ij,jk->ik", "--sizes", "600,500,700"]
CHAIN = ["--einsum", "ij,jk,kl,lm->im", "--sizes", "300,200,400,250,350"]
BATCH = ["--einsum", "bij,bjk->bik", "--sizes", "b=6,i=120,j=130,k=140"]
THREADS = '{"threads": 2}'

# Ranks, threads and arguments.
SCHEDULES = {
    "local": (2, 1, [*MATRICES, "--algorithm=*=local"]),
    "tp1d": (2, 1, [*MATRICES, "--algorithm=*=tp1d"]),
    "f64": (3, 1, [*MATRICES, "--algorithm=*=tp1d", "--dtype=f64"]),
    "ring_m": (2, 1, [*MATRICES, "--algorithm=*=ring_m"]),
    "ring_k": (3, 1, [*MATRICES, "--algorithm=*=ring_k"]),
    "reduce_k": (4, 1, [*MATRICES, "--algorithm=*=reduce_k"]),
    "cannon": (4, 1, [*MATRICES, "--algorithm=*=cannon"]),
    "one_sided": (4, 1, [*MATRICES, "--algorithm=*=one_sided"]),
    "master_worker": (3, 1, [*MATRICES, "--algorithm=*=master_worker"]),
    "batch": (3, 1, [*BATCH, "--algorithm=*=dist_c"]),
    "chain": (4, 1, CHAIN),
    "moves": (4, 1, [*CHAIN, "--algorithm=*=reduce_k", "--dim-order=declared"]),
    "slices": (2, 1, [*CHAIN, "--slice=i=3,k=4"]),
    "threads": (2, 2, [*MATRICES, "--algorithm=*=ring_n"]),
    "other threads": (2, 3, [*MATRICES, "--algorithm=*=tp1d"]),
}
LIMITS = {
    "less scratch": (2, 1, ["--einsum", "ij,jk->ik", "--sizes", "1024,1024,1024"], "8MiB"),
    "smaller parts": (4, 1, CHAIN, "500KiB"),
    "slices": (2, 1, MATRICES, "1200KiB"),
    "threads": (2, 2, MATRICES, "3MiB"),
}
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)(\w+)", text).groups()
    return int(number) * UNITS[unit]


class Checker:
    def __init__(self, toolchain, scratch):
        self.toolchain = toolchain
        self.scratch = scratch

    def path(self, name):
        return os.path.join(self.scratch, name)

    def plan(self, arguments):
        """The total of every node and what is set aside in all, as the plan says."""
        self.toolchain.run([self.toolchain.config["einsumc"], *arguments, "--emit=plan", "-o",
                            self.path("plan")])
        with open(self.path("plan")) as text:
            plan = text.read()
        again = self.toolchain.run([self.toolchain.config["einsumc"], *arguments, "--emit=plan",
                                    "--plan=" + self.path("plan"), "-o", "-"])
        if not again.endswith(plan):  # There may be a note before.
            sys.exit(f"the plan is not read as it was printed:\n{plan}")
        nodes = [[int(word) for word in line.split()[1:7]] for line in plan.splitlines()
                 if re.match(r"#( +\d+){6}  \w+", line)]
        for *parts, total in nodes:
            if sum(parts) != total:
                sys.exit(f"parts do not add up to what a node needs:\n{plan}")
        return max(node[-1] for node in nodes), int(re.search(r"in all (\d+)\n", plan)[1]), plan

    def check(self, name, ranks, threads, arguments, limit=None):
        arguments = [*arguments, f"--ranks={ranks}"]
        if name != "other threads" and threads > 1:
            with open(self.path("machine"), "w") as file:
                file.write(THREADS)
            arguments.append("--machine=" + self.path("machine"))
        if limit:
            arguments.append("--memory=" + limit)
        node, peak, plan = self.plan(arguments)
        program = self.path("program")
        self.toolchain.emit(arguments, program + ".cpp")
        self.toolchain.compile(program + ".cpp", program)
        self.toolchain.launch(program, ranks, ["--verify", "--threads", str(threads), "--stats",
                                               self.path("stats")])
        with open(self.path("stats")) as text:
            stats = json.load(text)
        measured = stats["peak_bytes"]
        if stats["predicted_peak_bytes"] != peak and name != "other threads":
            sys.exit(f"{name}: the program was told {stats['predicted_peak_bytes']}, not {peak}")
        if measured != stats["predicted_peak_bytes"]:
            sys.exit(f"{name}: took {measured}, not {stats['predicted_peak_bytes']}:\n{plan}")
        if not stats["predicted_tensor_bytes"] <= peak or node > peak:
            sys.exit(f"{name}: a part is more than all:\n{plan}")
        if limit and measured > bytes_of(limit):
            sys.exit(f"{name}: took {measured} of {limit}:\n{plan}")
        print(f"{name}: {measured} bytes, predicted {stats['predicted_peak_bytes']}")


def main():
    toolchain_file, test_directory, scratch, what = sys.argv[1:]
    sys.path.insert(0, test_directory)
    from toolchain import Failure, Toolchain
    checker = Checker(Toolchain(toolchain_file), scratch)
    try:
        for name, case in (SCHEDULES if what == "same" else LIMITS).items():
            checker.check(name, *case)
    except Failure as failure:
        sys.exit("\n".join(checker.toolchain.commands) + f"\n{failure}")


main()
