# sqlite_load.sh DIRECTORY SYNCHRONOUS ROWS URI: commits rows one by one, and tells the drive past the file system how many.
{
    echo "pragma journal_mode=wal; pragma synchronous=$2; create table t(i integer primary key, x text);"
    for i in $(seq "$3"); do
        echo "insert into t values($i, printf('%1500d', $i));"
        echo ".shell qemu-io -f raw -c 'write -q -f -P $i 7M 512' '$4'"
    done
} | sqlite3 "$1/db" >/dev/null
