# sqlite.sh IMAGE, a check of crash points: the file system replays its journal, the database is whole, and it has
# every row of which the program was told that it is committed (load: sqlite_load.sh).
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cp --sparse=always "$1" "$work/image" && cd "$work" || exit 2
e2fsck -fp image >said 2>&1 || [ $? = 1 ] || { cat said; exit 1; }
for file in db db-wal db-journal; do
    debugfs -R "dump /$file $file" image >/dev/null 2>&1
    [ -s $file ] || rm -f $file
done
# Past the file system lies how many were committed.
told=$(od -An -tu1 -j 7340032 -N 1 image | tr -d ' ')
[ "$told" = 0 ] && exit 0
whole=$(sqlite3 db 'pragma integrity_check' 2>&1)
[ "$whole" = ok ] || { echo "$told rows were committed: $whole"; exit 1; }
rows=$(sqlite3 db 'select count(*) from t' 2>&1)
[ "$rows" -ge "$told" ] 2>/dev/null || { echo "$told rows were committed, the database has: $rows"; exit 1; }
