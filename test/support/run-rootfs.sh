#!/usr/bin/env bash
# Runs a program in the root file system of an image, as a container would: run-rootfs.sh ROOT DATA UID COMMAND...
# The root is read-only, DATA is the data directory, /tmp is empty; no capabilities. The network is the machine's.
set -euo pipefail
if [ -z "${IN_NAMESPACE-}" ]; then IN_NAMESPACE=1 exec unshare --mount --pid --fork --kill-child=TERM "$0" "$@"; fi
root=$1 data=$2 uid=$3
shift 3
mount --bind "$root" "$root"
mount --options remount,bind,ro "$root"
mount --bind "$data" "$root/var/lib/prepaint"
mount -t tmpfs tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cd "$root"
pivot_root . mnt
umount --lazy /mnt
unset IN_NAMESPACE
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
