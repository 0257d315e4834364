"""What a trace (--trace of an einsumc program) holds: ranks, their rows, and spans of time."""

import json
import sys
from collections import defaultdict
from typing import NamedTuple

# Of what fills rows, in the order of painting: what is within something else later.
KINDS = ("step", "exchange", "kernel", "pack", "reduce", "wait", "send", "receive")
COMPUTE = ("step", "kernel", "pack", "reduce")
TRANSFERS = ("send", "receive")

LATEST = 1e9  # ms, so that any two times can be told apart.


class Failure(Exception):
    """What the user is told before the program ends with status 1."""


class Span(NamedTuple):
    """An event, in ms."""

    kind: str
    begin: float
    end: float
    duration: float  # also when only a part of it is shown
    name: str
    node: str  # the name of the node's result; empty: none
    bytes: float  # of a transfer


class Row:
    """What one thread did, or transfers of one kind that do not overlap."""

    def __init__(self, name, spans):
        self.name = name
        self.spans = spans  # by begin
        self.blocks = {}  # by kind: what is drawn


class Rank:
    def __init__(self, number, name):
        self.number = number
        self.name = name
        self.nodes = []
        self.threads = []
        self.transfers = {kind: [] for kind in TRANSFERS}

    def rows(self):
        return self.threads + self.transfers["send"] + self.transfers["receive"]


class Trace(NamedTuple):
    about: dict  # program, dropped_events, ...
    ranks: list  # by number


def compact(record):
    """The JSON objects of complete events as (rank, row, span), as soon as each is read: a large
    trace has millions. Others as they are."""
    if record.get("ph") != "X":
        return record
    try:
        begin, duration = float(record["ts"]) / 1000, float(record["dur"]) / 1000
        args = record.get("args", {})
        span = Span(
            sys.intern(record["cat"]),
            begin,
            begin + duration,
            duration,
            sys.intern(record["name"]),
            sys.intern(args.get("node", "")),
            float(args.get("bytes", 0)),
        )
        place = (int(record["pid"]), int(record["tid"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise Failure(f"not an event of an einsumc program: {json.dumps(record)[:200]}") from None
    if not (abs(begin) <= LATEST and 0 <= duration <= LATEST):
        raise Failure(f"an event without a proper time: {json.dumps(record)[:200]}")
    return (*place, span)


def read_trace(file):
    try:
        with open(file, encoding="utf-8") as text:
            content = json.load(text, object_hook=compact)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Failure(f"{file}: not a JSON file: {error}") from None
    except Failure as failure:
        raise Failure(f"{file}: {failure}") from None
    events = content.get("traceEvents") if isinstance(content, dict) else None
    if not isinstance(events, list):
        raise Failure(f"{file}: not a trace: it has no list of traceEvents")
    about = content.get("otherData")
    trace = Trace(about if isinstance(about, dict) else {}, build_ranks(events))
    if not trace.ranks:
        raise Failure(f"{file}: a trace without events")
    return trace


def build_ranks(events):
    """The ranks with what happens on them, from the file's events."""
    names, rows = {}, defaultdict(list)
    for event in events:
        if isinstance(event, tuple):
            rank, row, span = event
            rows[rank, row].append(span)
        elif isinstance(event, dict):
            names |= name_in(event)

    ranks = {}
    for number, row in sorted(rows):
        if number not in ranks:
            ranks[number] = Rank(number, names.get((number, None), f"rank {number}"))
        add_row(ranks[number], names.get((number, row), f"thread {row}"), rows[number, row])
    return list(ranks.values())


def name_in(event):
    """If the event names a rank or one of its rows: by (rank, row or None) the name."""
    match event:
        case {"name": "process_name", "pid": int(pid), "args": {"name": str(name)}}:
            return {(pid, None): name}
        case {"name": "thread_name", "pid": int(pid), "tid": int(tid), "args": {"name": str(name)}}:
            return {(pid, tid): name}
    return {}


def add_row(rank, name, spans):
    """What kind of row it is its spans say. Threads without any are not shown."""
    rank.nodes += (span for span in spans if span.kind == "node")
    rest = sorted((span for span in spans if span.kind in KINDS), key=lambda span: span.begin)
    if rest and rest[0].kind in TRANSFERS:
        rank.transfers[rest[0].kind].append(Row(name, rest))
    elif rest or rank.nodes:
        rank.threads.append(Row(name, rest))


def select_ranks(trace, wanted):
    if wanted is None:
        return trace
    missing = sorted(wanted - {rank.number for rank in trace.ranks})
    if missing:
        raise Failure(f"the trace has no rank {missing[0]}")
    return trace._replace(ranks=[rank for rank in trace.ranks if rank.number in wanted])


def time_range(trace, begin, end):
    """The times to show: those given, else from the first event or to the last."""
    spans = [s for rank in trace.ranks for row in rank.rows() for s in row.spans]
    spans += (s for rank in trace.ranks for s in rank.nodes)
    first, last = min(s.begin for s in spans), max(s.end for s in spans)
    begin = first if begin is None else begin
    end = last if end is None else end
    if not any(s.begin <= end and s.end >= begin for s in spans):
        raise Failure(f"nothing happens then: the trace is from {first:g} to {last:g} ms")
    return begin, end if end > begin else begin + 1e-3


def clip(spans, begin, end):
    return [
        span._replace(begin=max(span.begin, begin), end=min(span.end, end))
        for span in spans
        if span.end > begin and span.begin < end
    ]


def clip_ranks(trace, begin, end):
    for rank in trace.ranks:
        rank.nodes = clip(rank.nodes, begin, end)
        for row in rank.rows():
            row.spans = clip(row.spans, begin, end)
