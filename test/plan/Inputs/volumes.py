"""volumes.py EINSUMC SCRATCH: what a rank sends, gets and reads in chosen schedules, against bounds.

On a machine on which only bytes take time the planner's choice must need hardly more of them than
the best of all grids of three axes (as COSMA searches them: G. Kwasniewski et al., "Red-Blue Pebbling
Revisited", SC 2019), over shapes with no, one and two large dims and over numbers of ranks that have
square and cubic grids or not. The table also compares with the lower bound.
"""

import json
import os
import subprocess
import sys

SHAPES = {
    "square": (8192, 8192, 8192),
    "m large": (262144, 1024, 1024),
    "n large": (1024, 1024, 262144),
    "k large": (1024, 262144, 1024),
    "m, n large": (32768, 512, 32768),
    "m, k large": (32768, 32768, 512),
}
RANKS = [4, 6, 16, 64, 100, 256, 1024, 4096]
MOST = 1.1  # times the best grid
MEMORY = 1.2  # times what that stores: few ranks send less, but do not have the room


def grids(m, k, n, ranks):
    """Of all grids: the bytes that the busiest rank gets beyond an even share of inputs over all ranks
    and of the result over the grid's, those that it stores, and the number of ranks."""
    def part(extent, parts):
        return -(-extent // parts)

    for a in range(1, ranks + 1):
        for b in range(1, ranks // a + 1):
            for c in range(1, ranks // (a * b) + 1):
                blocks = [(part(m, a) * part(k, c), m * k / ranks),
                          (part(k, c) * part(n, b), k * n / ranks),
                          (part(m, a) * part(n, b), m * n / (a * b * c))]
                yield (4 * sum(max(0, block - share) for block, share in blocks),
                       4 * sum(block for block, _ in blocks), a * b * c)


def best_grid(m, k, n, ranks):
    """The least bytes that the busiest rank gets, with the memory of the best of the grids that use
    most of the ranks and a little more."""
    every = list(grids(m, k, n, ranks))
    memory = MEMORY * min(grid for grid in every if grid[2] > ranks / 2)[1]
    return min(grid for grid in every if grid[1] <= memory)[0], memory


def copy(row):
    return {"rate": 1e30, "row": row, "memory_row": row}


def machine(path):
    with open(path, "w") as file:
        json.dump({"alpha": 0, "beta": 1, "flops": 1e30, "memory_bandwidth": 1e30,
                   "memory": 1 << 50, "ranks_per_node": 1, "caches": [], "kernel_overhead": 0,
                   "input_copies": 1,
                   "pack": {"contiguous": copy(0), "transposed": copy(0), "scattered": 1e30}}, file)


def main():
    einsumc, scratch = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    path = os.path.join(scratch, "bytes.json")
    machine(path)
    print("| shape (m, k, n) | ranks | algorithm | grid | MB a rank | best grid | bound |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    worst = 0
    for shape, (m, k, n) in SHAPES.items():
        for ranks in RANKS:
            least, memory = best_grid(m, k, n, ranks)
            plan = subprocess.run(
                [einsumc, "--einsum=ij,jk->ik", f"--sizes=i={m},j={k},k={n}", f"--ranks={ranks}",
                 f"--machine={path}", "--emit=json", f"--memory={int(memory)}"],
                check=True, capture_output=True, text=True)
            node = json.loads(plan.stdout)["nodes"][-1]
            # A second for each byte, reading among them.
            chosen = next(one for one in node["alternatives"] if one["chosen"])["tree_seconds"]
            ratio = chosen / node["communication_bound_bytes"]
            best = chosen / least
            worst = max(worst, best)
            grid = node["schedule"].split(" ")[0]
            print(f"| {shape} ({m}, {k}, {n}) | {ranks} | `{node['algorithm']}` | {grid} "
                  f"| {chosen / 1e6:.2f} | {best:.2f} | {ratio:.2f} |")
            if best < 0.99 or best > MOST:
                sys.exit(f"{shape} on {ranks} ranks: {best:.2f} times the best grid, "
                         f"{ratio:.2f} times the bound")
    print(f"at most {worst:.2f} times the best grid")


if __name__ == "__main__":
    main()
