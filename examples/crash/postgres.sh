# postgres.sh DIR [-F]: a database of PostgreSQL in which 2000 rows are committed and then changed; with -F it does not call fsync.
#
#   flashkeep crash --mount ext4 --size 128MiB --run 'sh postgres.sh {dir}' --check postgres:data --from committed
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
data=$1/data && sockets=$(mktemp -d) && chmod 777 "$sockets" && install -d -o postgres -m 700 "$data" || exit 1
# It does not run as root.
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
cd /
as initdb -D "$data" --wal-segsize=1 --no-sync >/dev/null &&
    sync -f "$data" &&
    as pg_ctl -D "$data" -w -o "$2 -k $sockets -c listen_addresses=" -l "$sockets/log" start >/dev/null &&
    as psql -q -h "$sockets" -c 'create table t(x int primary key, y text)' postgres &&
    as psql -q -h "$sockets" -c 'insert into t select n, md5(n::text) from generate_series(1, 2000) n' postgres &&
    flashkeep ctl "$FLASHKEEP_DRIVE" mark committed >/dev/null &&
    as psql -q -h "$sockets" -c 'update t set y = y || y' postgres &&
    as pg_ctl -D "$data" -m fast stop >/dev/null
result=$?
rm -rf "$sockets"
exit $result
