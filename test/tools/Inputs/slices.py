"""slices.py DIRECTORY COMMAND ARGUMENTS...: files of a program in slices.

close A.npy B.npy               the arrays are equal but for roundings
stats A.json SLICES B.json R F  A counts so many slices and the flops of node s R times as often
                                as B, and its memory is below F times that of B
inputs                          writes A.npy, f64 in Fortran order, and B.npy, f32
product Y.npy                   it is their product
trace TRACE.json                every node of every rank is there once
"""

import collections
import json
import os
import sys

import numpy as np


def check_stats(stats, slices, other, repeats, fraction):
    if stats["slices"] != slices or other["slices"] != 1:
        sys.exit(f"slices are {stats['slices']} and {other['slices']}")
    for what in ("peak_bytes", "tensor_bytes"):
        if not stats[what] < fraction * other[what]:
            sys.exit(f"{what} is {stats[what]}, without slices {other[what]}")
    if stats["tensor_bytes"] != stats["predicted_tensor_bytes"]:
        sys.exit("the tensors' memory is not as predicted")
    for node, before in zip(stats["nodes"], other["nodes"]):
        if node["flops"] != before["flops"] * (repeats if node["name"] == "s" else 1):
            sys.exit(f"{node['flops']} flops of {node['name']}, without slices {before['flops']}")
        if node["bytes_sent"] != node["predicted_bytes"]:
            sys.exit(f"{node['name']} sent {node['bytes_sent']} bytes, not as predicted")
    if not 0 < stats["slice_input_seconds"] or other["slice_input_seconds"] != 0:
        sys.exit("slice_input_seconds do not make sense")


def check_trace(events):
    nodes = collections.Counter((event["pid"], event["args"]["node"])
                                for event in events if event.get("cat") == "node")
    if sorted(nodes) != [(rank, node) for rank in range(3) for node in ("Y", "s")]:
        sys.exit(f"nodes of the trace: {sorted(nodes)}")
    if set(nodes.values()) != {1}:
        sys.exit(f"nodes are there more than once: {nodes}")


def main():
    directory, command, *arguments = sys.argv[1:]

    def path(name):
        return os.path.join(directory, name)

    def read(name):
        with open(path(name)) as text:
            return json.load(text)

    if command == "close":
        found, expected = np.load(path(arguments[0])), np.load(path(arguments[1]))
        scale = 2e-6 * np.sqrt(expected.size if expected.ndim == 0 else 1.0)
        magnitude = 8 * 1000 if expected.ndim == 0 else 8
        if found.shape != expected.shape or not np.all(abs(found - expected) <= scale * magnitude):
            sys.exit(f"they differ by {abs(found - expected).max()}")
    elif command == "stats":
        check_stats(read(arguments[0]), int(arguments[1]), read(arguments[2]),
                    int(arguments[3]), float(arguments[4]))
    elif command == "inputs":
        generator = np.random.default_rng(1)
        a = generator.integers(-9, 9, (1000, 8)).astype(np.float64)
        np.save(path("A.npy"), np.asfortranarray(a))
        np.save(path("B.npy"), generator.integers(-9, 9, (8, 1200)).astype(np.float32))
    elif command == "product":
        expected = np.load(path("A.npy")) @ np.load(path("B.npy"))
        if not np.array_equal(np.load(path(arguments[0])), expected):
            sys.exit("it is not the product")
    elif command == "trace":
        check_trace(read(arguments[0])["traceEvents"])


main()
