# sqlite.sh DATABASE, a ready check of crash points: the database opens, which makes it whole again, and is consistent.
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed"; exit 127; }
[ -e "$1" ] || exit 0
whole=$(sqlite3 "$1" 'pragma integrity_check' 2>&1)
[ "$whole" = ok ] || { echo "$1: $whole"; exit 1; }
