# mount.sh KIND IMAGE COMMAND, a ready check of crash points: a file system of this kind mounts and with that replays its journal, its
# own check finds nothing wrong then, and the command passes in its directory, for whose path {dir} is written. Exit code 126: that
# cannot be tried here.
kind=$1 command=$3
# Databases do not run as root, and must find their way to the directory.
work=$(mktemp -d) && chmod 755 "$work" && mkdir "$work/dir" || exit 126
device=
end() {
    ! mountpoint -q "$work/dir" || umount "$work/dir" || umount -l "$work/dir"
    [ -z "$device" ] || losetup -d "$device"
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM
PATH=$PATH:/usr/sbin:/sbin
case $kind in
ext4) options=defaults; check() { e2fsck -fn "$device"; } ;;
xfs) options=nouuid; check() { xfs_repair -n "$device"; } ;;
btrfs)
    options=defaults
    check() { btrfs check --readonly "$device"; }
    # The kernel tells btrfs apart by a number that all these images share: one at a time.
    exec 9>"${TMPDIR:-/tmp}/flashkeep-btrfs.lock" && flock 9 || exit 126
    ;;
*) echo "found the file system $kind; known: ext4, xfs, btrfs" && exit 126 ;;
esac
cp --sparse=always "$2" "$work/image" || exit 126
device=$(losetup -f --show "$work/image") || exit 126
mounts() { mount -t "$kind" -o "$options" "$device" "$work/dir" 2>"$work/said" || { echo "it does not mount: $(cat "$work/said")"; exit 1; }; }
unmounts() { umount "$work/dir" || exit 126; [ "$kind" != btrfs ] || btrfs device scan --forget "$device" >"$work/said" 2>&1; }
mounts && unmounts
check >"$work/said" 2>&1 || { echo "the check of the file system: $(tail -n 20 "$work/said")"; exit 1; }
mounts
sh -c "$(printf %s "$command" | sed "s|{dir}|$work/dir|g")" 9>&-
result=$?
unmounts
exit $result
