"""groups.py GROUPS.json NONE.json: how a plan with groups of ranks takes less time than one without."""

import json
import sys

groups, none = (json.load(open(file)) for file in sys.argv[1:])
nodes = [node for node in groups["nodes"] if "schedule" in node]
together = sum(node["predicted_seconds"] for node in nodes)
seconds = {node["name"]: node["predicted_seconds"] for node in nodes}
chain = seconds["A1"] + seconds["A2"] + seconds["AB"] + seconds["Y"]
assert groups["predicted_seconds"] < 0.6 * together, (groups["predicted_seconds"], together)
assert groups["predicted_seconds"] > 0.99 * chain, (groups["predicted_seconds"], chain)
assert groups["predicted_seconds"] < 0.9 * none["predicted_seconds"], none["predicted_seconds"]
alone = sum(node["predicted_seconds"] for node in none["nodes"] if "schedule" in node)
assert abs(none["predicted_seconds"] / alone - 1) < 1e-9, (none["predicted_seconds"], alone)
