# postgres.sh DIRECTORY, a ready check of crash points: PostgreSQL starts on its data directory, which replays its log, and no table
# and no index of any database is damaged (amcheck).
[ -e "$1/PG_VERSION" ] || exit 0
PATH=$PATH:$(echo /usr/lib/postgresql/"$(cat "$1/PG_VERSION")"/bin)
command -v pg_ctl pg_amcheck >/dev/null || { echo "pg_ctl and pg_amcheck are not installed"; exit 127; }
# It does not run as root.
as() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid="$(stat -c %u "$data")" --regid="$(stat -c %g "$data")" --clear-groups "$@"
    else
        "$@"
    fi
}
data=$(cd "$1" && pwd) && sockets=$(mktemp -d) && chmod 777 "$sockets" || exit 126
trap 'as pg_ctl -D "$data" -m immediate stop >/dev/null 2>&1; rm -rf "$sockets"' EXIT
rm -f "$data/postmaster.pid"
as pg_ctl -D "$data" -w -t 60 -l "$sockets/log" -o "-k $sockets -c listen_addresses=" start >"$sockets/said" 2>&1 ||
    { echo "PostgreSQL does not start: $(tail -n 5 "$sockets/said" "$sockets/log" 2>&1)"; exit 1; }
as pg_amcheck -h "$sockets" -U "${PGUSER:-postgres}" --all --install-missing --heapallindexed >"$sockets/said" 2>&1 ||
    { echo "amcheck: $(cat "$sockets/said")"; exit 1; }
