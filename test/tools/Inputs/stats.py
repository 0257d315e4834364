"""stats.py STATS.json RANKS REPEAT NODES: every documented field is there and makes sense."""

import json
import sys

RUN = {"ranks": int, "threads": int, "slices": int, "seconds": float, "predicted_seconds": float,
       "setup_seconds": float, "input_seconds": float, "slice_input_seconds": float, "flops": float,
       "gflops": float, "bytes_sent": int, "bytes_in_place": int, "messages": int,
       "wait_seconds": float, "peak_bytes": int, "predicted_peak_bytes": int, "tensor_bytes": int,
       "predicted_tensor_bytes": int, "nodes": list}
NODE = {"name": str, "algorithm": str, "grid": str, "seconds": float, "flops": float,
        "gflops": float, "bytes_sent": int, "bytes_in_place": int, "messages": int,
        "wait_seconds": float, "predicted_seconds": float, "predicted_bytes": float}


def check(values, fields):
    for name, kind in fields.items():
        value = values[name]
        if not isinstance(value, (int, float) if kind is float else kind):
            sys.exit(f"{name} is {value!r}, not of type {kind.__name__}")
        if isinstance(value, (int, float)) and value < 0:
            sys.exit(f"{name} is {value}")


def main():
    file, ranks, repeat, nodes = sys.argv[1:]
    with open(file) as text:
        stats = json.load(text)
    check(stats, RUN)
    for node in stats["nodes"]:
        check(node, NODE)
    found = [str(stats["ranks"]), str(stats["repeat"]),
             ",".join(node["name"] for node in stats["nodes"])]
    if found != [ranks, repeat, nodes]:
        sys.exit(f"ranks, repeat and nodes are {found}")
    for name in ("bytes_sent", "bytes_in_place", "messages", "flops"):
        if stats[name] != sum(node[name] for node in stats["nodes"]):
            sys.exit(f"{name} is not the sum of the nodes'")
    if not (max(node["predicted_seconds"] for node in stats["nodes"]) <= stats["predicted_seconds"]
            <= 1.000001 * sum(node["predicted_seconds"] for node in stats["nodes"])):
        sys.exit("the predicted seconds are not those of the rank that is done last")
    if not 0 < stats["tensor_bytes"] == stats["predicted_tensor_bytes"] <= stats["peak_bytes"]:
        sys.exit("the tensors' memory is not as predicted")
    if stats["peak_bytes"] != stats["predicted_peak_bytes"]:
        sys.exit("the memory is not as predicted")
    if stats["peak_bytes"] == 0 or stats["flops"] == 0:
        sys.exit("nothing was stored, or nothing computed")


main()
