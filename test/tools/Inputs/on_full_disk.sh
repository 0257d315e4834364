#!/usr/bin/env bash
# on_full_disk.sh DIRECTORY KIND MIB none|filled COMMAND...
#
# Mounts an empty file system of so many MiB at DIRECTORY (tmpfs, or ext2 in a file), fills it if
# wanted, runs the command, and prints its status and the files it leaves. Only this script and its
# children see the mount, which goes when they do.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

if [[ ${ON_FULL_DISK:-} != inside ]]; then
  exec env ON_FULL_DISK=inside unshare --mount bash "$0" "$@"
fi

directory=$1 kind=$2 mib=$3 filled=$4
shift 4
case $kind in
  tmpfs) mount -t tmpfs -o "size=${mib}m" none "$directory" ;;
  ext2)
    truncate --size="${mib}M" "$directory.img"
    mkfs.ext2 -q -F "$directory.img"
    mount -o loop "$directory.img" "$directory"
    rmdir "$directory/lost+found"
    ;;
esac
[[ $filled == none ]] || dd if=/dev/zero of="$directory/.fill" bs=1M 2>/dev/null || true

status=0
timeout 100 "$@" || status=$?
files=$(ls "$directory")
echo "status $status, files: ${files:-none}"
