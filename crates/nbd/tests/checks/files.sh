# files.sh IMAGE, a check of crash points: the file system replays its journal and is clean, and every file of which
# fsync said that it is durable is there, and whole (load: files_load.sh).
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cp --sparse=always "$1" "$work/image" && cd "$work" || exit 2
e2fsck -fp image >said 2>&1 || [ $? = 1 ] || { cat said; exit 1; }
# Past the file system lies how many those are.
last=$(od -An -tu1 -j 7340032 -N 1 image | tr -d ' ')
for n in $(seq "$last"); do
    debugfs -R "dump /f$n f$n" image >/dev/null 2>&1
    yes "$n" | head -c 3000 | cmp -s - "f$n" || { echo "file $n of $last is not there, or not whole"; exit 1; }
done
