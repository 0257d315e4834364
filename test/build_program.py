"""build_program.py TOOLCHAIN.json EXECUTABLE EINSUMC-ARGUMENTS...

Compiles an einsum tree to an executable, for tests that run one. The C++ is kept beside it.
"""

import sys

from toolchain import Failure, Toolchain


def main():
    toolchain_file, executable, *arguments = sys.argv[1:]
    toolchain = Toolchain(toolchain_file)
    try:
        toolchain.emit(arguments, executable + ".cpp")
        toolchain.compile(executable + ".cpp", executable)
    except Failure as failure:
        sys.exit("\n".join(toolchain.commands) + f"\n{failure}")


main()
