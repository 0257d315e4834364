"""peers.py DTYPE THREADS REPEAT PEERS < CASE.json: median seconds of the peers, as one JSON object.

A case is what `einsumc --emit=json` prints; its nodes are evaluated one after the other. `numpy`
and `torch` are their einsum; `gemm` is NumPy's matmul, thus its BLAS, on matrices of the M, N and K
of each contraction, with neither permutation nor packing counted.
"""

import json
import math
import statistics
import string
import sys
import time

import numpy as np

ROUNDS_AT_MOST = 20.0  # seconds a peer


def evaluate(case, einsum, inputs):
    values = dict(inputs)
    for node in case["nodes"]:
        if "equation" not in node:
            continue
        left, right = node["equation"].replace(" ", "").split("=")
        terms = [[d for d in factor[factor.index("[") + 1:-1].split(",") if d]
                 for factor in (*right.split("*"), left)]
        # A letter for each dim of the node; einsum strings know no longer names.
        dims = dict.fromkeys(d for term in terms for d in term)
        letters = dict(zip(dims, string.ascii_letters))
        terms = ["".join(letters[d] for d in term) for term in terms]
        values[node["name"]] = einsum(",".join(terms[:-1]) + "->" + terms[-1],
                                      *(values[operand] for operand in node["operands"]))
    return values


def numpy_peer(case, inputs, _threads):
    def einsum(*args):  # a view is no result yet
        return np.ascontiguousarray(np.einsum(*args, optimize=True))
    return lambda: evaluate(case, einsum, inputs)


def torch_peer(case, inputs, threads):
    import torch
    torch.set_num_threads(threads)
    tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
    return lambda: evaluate(case, lambda *args: torch.einsum(*args).contiguous(), tensors)


def gemm_peer(case, inputs, _threads):
    dtype = next(iter(inputs.values())).dtype
    dims = {node["name"]: set(node["dims"]) for node in case["nodes"]}
    products = []
    for node in case["nodes"]:
        if len(node.get("operands", [])) != 2:
            continue
        a, b = (dims[operand] for operand in node["operands"])
        c = dims[node["name"]]
        size = {key: math.prod(case["dims"][d] for d in group) for key, group in
                {"c": a & b & c, "m": a & c - b, "n": b & c - a, "k": a & b - c}.items()}
        products.append((np.ones((size["c"], size["m"], size["k"]), dtype),
                         np.ones((size["c"], size["k"], size["n"]), dtype)))
    if not products:
        raise ValueError("no contraction")
    return lambda: [np.matmul(left, right) for left, right in products]


PEERS = {"numpy": numpy_peer, "torch": torch_peer, "gemm": gemm_peer}


def main():
    dtype, threads, repeat, wanted = sys.argv[1:]
    case = json.load(sys.stdin)
    generator = np.random.default_rng(1)
    inputs = {node["name"]: generator.random([case["dims"][d] for d in node["dims"]],
                                             np.float32 if dtype == "f32" else np.float64)
              for node in case["nodes"] if "equation" not in node}
    seconds = {}
    for peer in wanted.split(","):
        try:
            action = PEERS[peer](case, inputs, int(threads))
            action()
        except (ImportError, ValueError, RuntimeError, MemoryError):
            continue
        times = []
        while len(times) < int(repeat) and sum(times) < ROUNDS_AT_MOST:
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
        seconds[peer] = statistics.median(times)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
