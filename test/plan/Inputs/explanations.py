"""explanations.py EINSUMC: totals of --emit=json fit the nodes, no node moves less than its bound,
and no schedule is listed twice."""

import json
import subprocess
import sys

PROBLEMS = [
    ("ij,jk->ik", "4096,4096,4096", 1021),
    ("ij,jk->ik", "100,4096,17", 7),
    ("ij,jk,kl->il", "64,1000,7,333", 12),
    ("bij,bjk->bik", "3,333,64,100", 16),
    ("ab,bc,cd,de->ae", "17,64,100,5,1000", 27),
    ("aij,ajk->ik", "5,64,1000,64", 100),
]


def check(einsumc, einsum, sizes, ranks, *options):
    plan = json.loads(subprocess.run(
        [einsumc, f"--einsum={einsum}", f"--sizes={sizes}", f"--ranks={ranks}",
         "--machine=cluster-100g", "--emit=json", *options],
        check=True, capture_output=True, text=True).stdout)
    nodes = [node for node in plan["nodes"] if "equation" in node]
    where = f"{einsum} on {ranks} ranks {options}"
    if plan["predicted_bytes"] != sum(node["predicted_bytes"] for node in nodes):
        sys.exit(f"{where}: bytes of nodes do not add up")
    if not 0 <= plan["moving_share"] <= 1:
        sys.exit(f"{where}: moving_share is {plan['moving_share']}")
    # Fragments between buffers are of no node.
    inputs = plan["memory"]["inputs"]
    most = max(inputs + sum(node["memory"].values()) for node in nodes)
    if not inputs < most <= plan["predicted_peak_bytes"]:
        sys.exit(f"{where}: nodes need more than the tree")
    for node in nodes:
        chosen = next(one for one in node["alternatives"] if one["chosen"])
        if chosen["moved_bytes_per_rank"] != node["moved_bytes_per_rank"]:
            sys.exit(f"{where}: {node['name']} moves different bytes")
        if node.get("communication_ratio", 1) < 0.999:
            sys.exit(f"{where}: {node['name']} moves {node['communication_ratio']} of its bound")
        if chosen["doubt_seconds"] < 0:
            sys.exit(f"{where}: negative doubt")
        listed = [one["schedule"] for one in node["alternatives"]]
        if len(set(listed)) < len(listed):
            sys.exit(f"{where}: {node['name']} has a schedule twice: {listed}")


def main():
    for einsum, sizes, ranks in PROBLEMS:
        check(sys.argv[1], einsum, sizes, ranks)
    check(sys.argv[1], "ij,jk->ik", "4096,4096,4096", 4, "--slice=j=8")
    for algorithm in ["ring_m", "reduce_k", "tp1d", "local"]:
        for einsum, sizes in [("ij,jk->ik", "1000,1000,1000"), ("abcd,cdef->abef", "8,8,8,8,8,8")]:
            check(sys.argv[1], einsum, sizes, 4, f"--algorithm=*={algorithm}")


if __name__ == "__main__":
    main()
