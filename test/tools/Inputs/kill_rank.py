"""Runs a command, kills (SIGKILL) the process that writes its id to a file, and says how it ended.

Usage: kill_rank.py PIDFILE COMMAND...
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

ENOUGH = 60  # seconds


def wait_for_id(file, process):
    """The process id that a rank has written, or None when the command ended before."""
    end = time.monotonic() + ENOUGH
    while time.monotonic() < end and process.poll() is None:
        text = file.read_text() if file.exists() else ""
        if text.endswith("\n"):
            return int(text)
        time.sleep(0.05)
    return None


def main():
    file = pathlib.Path(sys.argv[1])
    process = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
    victim = wait_for_id(file, process)
    if victim is None:
        process.kill()
        sys.exit("no rank wrote its process id")
    os.kill(victim, signal.SIGKILL)
    try:
        status = process.wait(ENOUGH)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"no end {ENOUGH} s after a rank was killed")
    if status == 0:
        sys.exit("the status is 0 although a rank was killed")
    print(f"ended with status {status}")


if __name__ == "__main__":
    main()
