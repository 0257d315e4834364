"""trace.py TRACE.json RANKS THREADS NODE...: the file shows what every rank and thread did.

Every rank has a name, every thread too; every node, by the name of its result, is there once a
rank; spans of a thread lie within each other or apart, transfers of a row apart; all but nodes lie
in the time of theirs. What ranks send, others receive. Prints what there is.
"""

import json
import sys
from collections import Counter, defaultdict

PARTS = {"pack", "kernel", "reduce", "exchange", "wait"}
PEERS = {"send": "send to", "receive": "receive from"}


def nanoseconds(microseconds):
    return round(1000 * microseconds)


class Span:
    def __init__(self, event):
        self.kind = event["cat"]
        self.node = event["args"]["node"]
        self.begin = nanoseconds(event["ts"])
        self.end = self.begin + nanoseconds(event["dur"])
        self.peer, self.bytes = event["args"].get("peer"), event["args"].get("bytes")
        if event["ts"] < 0 or event["dur"] < 0:
            sys.exit(f"negative time: {event}")
        if self.kind in PEERS:
            is_good = event["name"] == f"{PEERS[self.kind]} {self.peer}"
        elif self.kind == "step":
            is_good = event["name"].startswith("step ")
        else:
            is_good = self.kind == "node" or (self.kind in PARTS and event["name"] == self.kind)
        if not is_good:
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
        if span.kind == "wait" and (not around or around[-1].kind not in ("exchange", "node")):
            sys.exit(f"waits while it computes: {span}")
        around.append(span)


def check_transfers(lanes, rows):
    """The rows of sends and receives: in each nothing overlaps, and both sides agree."""
    messages = {"send": Counter(), "receive": Counter()}
    for row, name in rows.items():
        for before, span in zip([None, *lanes[row]], lanes[row]):
            if not name.startswith(span.kind + "s"):
                sys.exit(f"in the row {name}: {span}")
            if before and span.begin < before.end:
                sys.exit(f"overlap: {before}, {span}")
            ends = (row[0], span.peer) if span.kind == "send" else (span.peer, row[0])
            messages[span.kind][ends, span.bytes, span.node] += 1
    if messages["send"] != messages["receive"]:
        sys.exit(f"not all that is sent is received: {messages}")


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
    transfer_rows = {
        row: name
        for row, name in names.items()
        if row not in wanted and name.startswith(("sends", "receives"))
    }
    if names != wanted | transfer_rows or not set(lanes) <= set(names):
        sys.exit(f"the names are {names}")
    check_transfers(lanes, transfer_rows)
    for rank in range(ranks):
        whole = {span.node: span for span in lanes[rank, 0] if span.kind == "node"}
        found = [span.node for span in lanes[rank, 0] if span.kind == "node"]
        if found != nodes:
            sys.exit(f"the nodes of rank {rank} are {found}")
        for thread in range(threads):
            check_nesting(lanes[rank, thread])
        for (_, row), spans in ((key, lanes[key]) for key in lanes if key[0] == rank):
            for span in spans:
                if span.kind == "node" and row > 0:
                    sys.exit(f"on thread {row}: {span}")
                if not whole[span.node].contains(span):
                    sys.exit(f"outside of {whole[span.node]}: {span}")
    if min(span.begin for spans in lanes.values() for span in spans) != 0:
        sys.exit("nothing happens at 0")
    kinds = {(span.kind, names[row]) for row, spans in lanes.items() for span in spans}
    for kind, row in sorted(kinds):
        print(kind, "on", row)


main()
