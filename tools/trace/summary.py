"""How long the ranks of a trace compute and wait, and how much of their transfers they hide."""

from read_trace import COMPUTE


def union(spans):
    """Disjoint intervals, by begin, that cover what the spans cover."""
    result = []
    for begin, end in sorted((span.begin, span.end) for span in spans):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([begin, end])
    return result


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def common_length(some, others):
    """How long two sequences of disjoint intervals overlap."""
    total, i, j = 0.0, 0, 0
    while i < len(some) and j < len(others):
        total += max(0.0, min(some[i][1], others[j][1]) - max(some[i][0], others[j][0]))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return total


class Summary:
    """Of one rank, in ms of thread 0 and of transfers."""

    def __init__(self, rank):
        first = rank.threads[0].spans if rank.threads else []
        transfers = union(s for rows in rank.transfers.values() for row in rows for s in row.spans)
        busy_with_messages = union(s for s in first if s.kind in ("wait", "exchange"))
        self.compute = length(union(s for s in first if s.kind in COMPUTE))
        self.wait = length(union(s for s in first if s.kind == "wait"))
        self.transfer = length(transfers)
        self.hidden = self.transfer - common_length(transfers, busy_with_messages)

    def hidden_share(self):
        return f"{percent(self.hidden, self.transfer)} hidden" if self.transfer > 0 else ""

    def line(self, rank, duration):
        parts = [
            f"compute {self.compute:.3f} ms ({percent(self.compute, duration)})",
            f"wait {self.wait:.3f} ms ({percent(self.wait, duration)})",
            f"transfers {self.transfer:.3f} ms" + (", " if self.transfer > 0 else ""),
        ]
        return f"{rank.name}: {', '.join(parts)}{self.hidden_share()}"


def percent(part, whole):
    return f"{100 * part / whole:.0f} %"
