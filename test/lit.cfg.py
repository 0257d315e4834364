# The lit suite of everything but the unit tests. CMake says what was built (toolchain.json); the
# tests see it as substitutions, features and environment.

import json
import os
import shlex
import subprocess

import lit.formats

with open(config.toolchain_file) as file:
    toolchain = json.load(file)

config.name = "einsumc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.dirname(__file__)
config.suffixes = [".test", ".ein"]
config.excludes = ["unit", "fuzz", "Inputs", "consumer"]


def command(*words):
    return " ".join(shlex.quote(word) for word in words)


python = toolchain["python"]
test_dir = config.test_source_root
program_flags = toolchain["compile_flags"] + toolchain["include_flags"]
config.substitutions += [
    ("%check-run", command(python, f"{test_dir}/run/harness.py", config.toolchain_file) + " %t"),
    ("%build-program", command(python, f"{test_dir}/build_program.py", config.toolchain_file)),
    ("%calibrate", command(toolchain["calibrate"])),
    ("%simulate", command(toolchain["simulate"])),
    ("%einsumc", command(toolchain["einsumc"])),
    ("%python", command(python)),
    ("%not", command(f"{toolchain['llvm_tools_dir']}/not")),
    ("%mpiexec", command(*toolchain["mpiexec"])),
    ("%mpicxx", command(toolchain["mpicxx"], *program_flags)),
    # What -march=native stands for on processors with AVX10 Clang 19 itself warns of.
    ("%clang-mpicxx", command("env", f"MPICH_CXX={toolchain['clangxx']}",
                              f"OMPI_CXX={toolchain['clangxx']}", toolchain["mpicxx"],
                              *program_flags, "-Wno-invalid-feature-combination")),
    ("%libraries", command(*toolchain["libraries"])),
    ("%cxx", command(toolchain["cxx"])),
    ("%cmake", command(toolchain["cmake"])),
    ("%toolchain", command(config.toolchain_file)),
    ("%libdir", toolchain["install_libdir"]),
    ("%build-dir", command(toolchain["build_dir"])),
    ("%source-dir", command(toolchain["source_dir"])),
]

config.available_features.add(toolchain["mpi"])
for feature in ("libxsmm", "sanitize"):
    if toolchain[feature]:
        config.available_features.add(feature)
if "address" in toolchain["sanitize"]:
    config.available_features.add("asan")


def can_mount():
    """Whether this user may mount file systems, also such as lie in files (containers may not)."""
    script = """
        cd "$(mktemp -d)" && truncate --size=1M image && mkfs.ext2 -q -F image && mkdir disk &&
        unshare --mount mount -o loop image disk; status=$?
        rm -rf "$PWD"; exit $status"""
    path = os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/sbin"))
    return os.geteuid() == 0 and subprocess.run(
        ["bash", "-c", script], env=os.environ | {"PATH": path},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


if can_mount():
    config.available_features.add("mounts")
# Tests that need 10 GiB of memory.
if os.environ.get("EINSUMC_TEST_HUGE", "0") != "0":
    config.available_features.add("huge")

# UCX's hooks of memory functions and the thread sanitizer's exclude each other. Users have them, so
# all other tests do, too.
if "thread" in toolchain["sanitize"]:
    config.environment["UCX_MEM_EVENTS"] = "n"

# FileCheck, not, count, split-file: not on PATH in Debian.
config.environment["PATH"] = os.pathsep.join((toolchain["llvm_tools_dir"], os.environ["PATH"]))
for name in ("HOME", "TMPDIR", "EINSUMC_TEST_RANKS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment.update({
    # Memory that nobody wrote is NaN.
    "EINSUMC_POISON": "1",
    # libgomp's own synchronisation is not known to the thread sanitizer.
    "OMP_NUM_THREADS": "1" if "thread" in toolchain["sanitize"] else "2",
    "OMP_WAIT_POLICY": "passive",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    # hwloc's plugins (GPUs, X11) are of no use to the MPI libraries here, and leak.
    "HWLOC_PLUGINS_PATH": "/nonexistent",
    # Aborting tells a sanitizer's report from the exit status 1 that `not` expects.
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=1",
    "LSAN_OPTIONS": f"suppressions={test_dir}/lsan.supp:print_suppressions=0",
    "TSAN_OPTIONS": f"suppressions={test_dir}/tsan.supp:ignore_noninstrumented_modules=1",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
})
