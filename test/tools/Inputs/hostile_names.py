"""hostile_names.py TOOLCHAIN.json SCRATCH-DIRECTORY SOURCE.ein

File names that would break out of comments, string literals, make rules and shells: einsumc takes
them all, its output compiles, and nothing named in them is executed.
"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir))
from toolchain import Failure, Toolchain  # noqa: E402

NAMES = [
    "with blanks",
    "quote'\"quote",
    "line\nbreak",
    "line\r\n#error broken out\n",
    "back\\slash\\",
    "\\\n#error continued",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned;",
    "*.ein",
    "comment *",
    "folder *" + os.sep + "#error out of a comment" + os.sep + "*" + os.sep + "name",
    "??" + os.sep + "\n#error trigraph",
    'end)--" ; #error raw)"',
    "%s%n%d",
    "-o",
    "--help",
    "\u00e4\u00f6\u00fc \u202eltr",
    b"not utf-8 \xff\xfe".decode(errors="surrogateescape"),
    "\x1b[31mred",
    "a:b=c#d$e",
]


def files_in(directory):
    return {os.path.relpath(os.path.join(folder, file), directory)
            for folder, _, files in os.walk(directory) for file in files}


def check(toolchain, directory, source, name):
    """Everything is in one directory, where a command in the name would leave `pwned`."""
    os.makedirs(os.path.join(directory, os.path.dirname(name)))
    os.chdir(directory)
    shutil.copy(source, name + ".ein")
    # What starts with a dash is an option, for einsumc as for everyone.
    argument = f"./{name}.ein" if name.startswith("-") else f"{name}.ein"
    toolchain.emit([argument, "-MF", name + ".d"], name + ".cpp")
    toolchain.compile(f"./{name}.cpp", "prog")
    toolchain.launch("./prog", 1, ["--output", f"C={name}.npy", "--stats", f"./{name}.json"])
    toolchain.launch("./prog", 1, ["--describe"])
    expected = {name + suffix for suffix in (".ein", ".cpp", ".d", ".npy", ".json")} | {"prog"}
    if files_in(directory) != expected:
        raise Failure(f"files are {sorted(files_in(directory))}, expected {sorted(expected)}")


def main():
    toolchain_file, scratch, source = map(os.path.abspath, sys.argv[1:])
    toolchain = Toolchain(toolchain_file)
    shutil.rmtree(scratch, ignore_errors=True)
    failures = 0
    for number, name in enumerate(NAMES):
        try:
            check(toolchain, os.path.join(scratch, str(number)), source, name)
        except Failure as failure:
            failures += 1
            print(f"{name!a}: {failure}".encode(errors="backslashreplace").decode())
    sys.exit(1 if failures else 0)


main()
