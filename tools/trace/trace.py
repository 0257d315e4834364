#!/usr/bin/env python3
"""Draws a trace (--trace of an einsumc program) as one SVG timeline, and sums up every rank.

A rank is a band: a row for every thread, then thin rows of what it sends and receives. The pale
stripes across a band are where its thread 0 waits. Point at anything to see what it is.

A line for every rank says how long its thread 0 computed and waited, how long transfers were under
way, and how much of that was hidden: thread 0 neither waited then nor was in an exchange.
"""

import argparse
import math
import re
import sys
from pathlib import Path

from read_trace import LATEST, Failure, clip_ranks, read_trace, select_ranks, time_range
from summary import Summary
from timeline import Drawing


def ranks_of(text):
    """`0-3,7` as a set."""
    result = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise argparse.ArgumentTypeError(f"expected ranks as in 0-3,7, not '{text}'")
        result.update(range(first, last + 1))
    return result


def milliseconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= LATEST:
        raise argparse.ArgumentTypeError(f"expected a time in ms, not '{text}'")
    return value


def pixels(text):
    if not re.fullmatch(r"\d{3,5}", text) or int(text) < 500:
        raise argparse.ArgumentTypeError(f"expected 500 to 99999 pixels, not '{text}'")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="einsumc-trace",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("trace", metavar="TRACE.json")
    parser.add_argument("-o", dest="output", metavar="FILE", help="default: TRACE.svg")
    parser.add_argument("--width", type=pixels, default=1400, help="in pixels; default: 1400")
    parser.add_argument("--from", dest="begin", type=milliseconds, metavar="MS")
    parser.add_argument("--to", dest="end", type=milliseconds, metavar="MS")
    parser.add_argument("--ranks", type=ranks_of, help="such as 0-3,7; default: all")
    arguments = parser.parse_args()
    if arguments.begin is not None and arguments.end is not None:
        if arguments.begin >= arguments.end:
            parser.error("--from must be before --to")
    if arguments.output is None:
        arguments.output = arguments.trace.removesuffix(".json") + ".svg"
    if Path(arguments.output) == Path(arguments.trace):
        parser.error("the drawing would overwrite the trace: name another file with -o")
    return arguments


def write(file, text):
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None


def run(arguments):
    trace = select_ranks(read_trace(arguments.trace), arguments.ranks)
    begin, end = time_range(trace, arguments.begin, arguments.end)
    clip_ranks(trace, begin, end)
    summaries = {rank.number: Summary(rank) for rank in trace.ranks}
    write(arguments.output, Drawing(trace, summaries, begin, end, arguments.width).draw())
    sys.stdout.reconfigure(errors="replace")  # Names are anyone's.
    for rank in trace.ranks:
        print(summaries[rank.number].line(rank, end - begin))


def main():
    try:
        run(parse_arguments())
    except Failure as failure:
        sys.exit(f"einsumc-trace: {failure}")


if __name__ == "__main__":
    main()
