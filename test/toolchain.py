"""From an einsum tree to a running program, as the tests do it.

CMake writes toolchain.json with the compilers, flags and files of one build tree.
"""

import json
import os
import shlex
import signal
import subprocess
import tempfile


class Failure(Exception):
    """A test's expectation that did not hold, or a command that failed."""


class Toolchain:
    """The commands of one build tree. Every command that runs is kept for the reports."""

    def __init__(self, path):
        with open(path) as file:
            self.config = json.load(file)
        self.commands = []
        # Launchers of Open MPI that share this remove what another one has just found there.
        self.temporary = tempfile.TemporaryDirectory()

    def run(self, command, timeout=120, environment=None):
        """Runs a command to its end and returns its output (stdout and stderr together).

        Raises Failure when it fails or when the time is over; then its whole process group dies.
        """
        environment = environment or {}
        assignments = [f"{name}={value}" for name, value in environment.items()]
        self.commands.append(shlex.join(assignments + command))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env=os.environ | {"TMPDIR": self.temporary.name} | environment,
                                   start_new_session=True)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"no end after {timeout} s:\n{_end(process)}") from None
        if process.returncode:
            raise Failure(f"exit status {process.returncode}:\n{output}")
        return output

    def emit(self, arguments, program):
        """Compiles an einsum tree, as einsumc's arguments give it, to C++."""
        self.run([self.config["einsumc"], *arguments, "-o", program])

    def compile(self, program, executable):
        """Compiles emitted C++ with all warnings as errors, and links it."""
        config = self.config
        self.run([config["mpicxx"], *config["compile_flags"], "-I" + config["pch_dir"],
                  *config["include_flags"], program, "-o", executable, *config["libraries"]],
                 timeout=300)

    def launch(self, executable, ranks, arguments, timeout=60):
        """Runs a program on so many ranks, with two threads a rank for few ranks."""
        # The thread sanitizer does not know how libgomp synchronises a team.
        threads = "2" if ranks <= 2 and "thread" not in self.config["sanitize"] else "1"
        return self.run([*self.config["mpiexec"], "-n", str(ranks), executable, *arguments],
                        timeout, {"OMP_NUM_THREADS": threads})


def _end(process):
    """Ends a process group, politely first so that a launcher can end its ranks."""
    for what in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, what)
            return process.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    return ""
