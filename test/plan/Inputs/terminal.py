"""terminal.py COMMAND...: the command writes colours to a terminal, and to nothing else."""

import os
import pty
import subprocess
import sys


def on_terminal(command):
    """What the command writes to stderr when that is a terminal."""
    controller, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(command, stderr=terminal, env=environment)
    os.close(terminal)
    written = b""
    try:
        while part := os.read(controller, 4096):
            written += part
    except OSError:
        pass  # Nobody has the terminal any more.
    if process.wait() != 0:
        sys.exit("the command failed")
    return written


def main():
    command = sys.argv[1:]
    coloured = on_terminal(command)
    plain = subprocess.run(command, stderr=subprocess.PIPE, check=True).stderr
    if b"\x1b[" not in coloured:
        sys.exit("no colour on a terminal")
    if b"\x1b" in plain or b"total:" not in plain:
        sys.exit("colour, or nothing, where there is no terminal")


if __name__ == "__main__":
    main()
