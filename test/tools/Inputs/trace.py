"""trace.py TRACE.json RANKS THREADS NODE...: the file shows what every rank and thread did.

Every rank has a name, every thread too; every node, by the name of its result, is there once a
rank; spans of a thread lie within each other or apart; all but nodes lie in the time of theirs.
Prints what there is.
"""

import json
import sys
from collections import Counter, defaultdict

PARTS = {"pack", "kernel", "reduce", "exchange", "wait"}


def nanoseconds(microseconds):
    return round(1000 * microseconds)


class Span:
    def __init__(self, event):
        self.kind = event["cat"]
        self.node = event["args"]["node"]
        self.begin = nanoseconds(event["ts"])
        self.end = self.begin + nanoseconds(event["dur"])
        if event["ts"] < 0 or event["dur"] < 0:
            sys.exit(f"negative time: {event}")
        if self.kind != "node" and (self.kind not in PARTS or event["name"] != self.kind):
            sys.exit(f"unexpected kind: {event}")

    def contains(self, other):
        return self.begin <= other.begin and other.end <= self.end

    def __str__(self):
        return f"{self.kind} of {self.node} {self.begin}..{self.end} ns"


def check_nesting(spans):
    """Spans in the order of the file: outer ones come first."""
    around = []
    for before, span in zip([None, *spans], spans):
        if before and span.begin < before.begin:
            sys.exit(f"not in the order of time: {before}, {span}")
        while around and around[-1].end <= span.begin and not around[-1].contains(span):
            around.pop()
        if around and not around[-1].contains(span):
            sys.exit(f"partial overlap: {around[-1]}, {span}")
        if span.kind == "wait" and (not around or around[-1].kind != "exchange"):
            sys.exit(f"not in an exchange: {span}")
        around.append(span)


def main():
    file, ranks, threads, *nodes = sys.argv[1:]
    ranks, threads = int(ranks), int(threads)
    with open(file) as text:
        trace = json.load(text)
    if trace["otherData"]["ranks"] != ranks or trace["otherData"]["dropped_events"] != 0:
        sys.exit(f"otherData is {trace['otherData']}")

    names, lanes = {}, defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            lanes[event["pid"], event["tid"]].append(Span(event))
        elif event["ph"] != "M":
            sys.exit(f"unexpected: {event}")
        elif event["name"] == "process_name":
            names[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]

    wanted = {}
    for rank in range(ranks):
        wanted[rank] = names.get(rank, "")
        if not wanted[rank].startswith(f"rank {rank} ("):
            sys.exit(f"rank {rank} is called {wanted[rank]!r}")
        wanted |= {(rank, thread): f"thread {thread}" for thread in range(threads)}
    if names != wanted or not set(lanes) <= set(wanted):
        sys.exit(f"the names are {names}")
    for rank in range(ranks):
        whole = {span.node: span for span in lanes[rank, 0] if span.kind == "node"}
        found = [span.node for span in lanes[rank, 0] if span.kind == "node"]
        if found != nodes:
            sys.exit(f"the nodes of rank {rank} are {found}")
        for thread in range(threads):
            check_nesting(lanes[rank, thread])
            for span in lanes[rank, thread]:
                if span.kind == "node" and thread > 0:
                    sys.exit(f"on thread {thread}: {span}")
                if not whole[span.node].contains(span):
                    sys.exit(f"outside of {whole[span.node]}: {span}")
    if min(span.begin for spans in lanes.values() for span in spans) != 0:
        sys.exit("nothing happens at 0")
    kinds = Counter((span.kind, thread) for (_, thread), spans in lanes.items() for span in spans)
    for kind, thread in sorted(kinds):
        print(kind, "on thread", thread)


main()
