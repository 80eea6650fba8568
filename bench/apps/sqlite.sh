# SQLite's own speed test, test/speedtest1.c of its source: on a file, in WAL mode, and without journal in memory. What it prints is compared but for the times.
. "$(dirname "$0")/lib.sh"
need gcc
printf '#include <sqlite3.h>\n' | gcc -E - >/dev/null 2>&1 || { printf 'SKIP %-12s no sqlite3.h here (tools/setup apps)\n' "$APP"; exit 77; }
debian_source sqlite3 || { printf 'SKIP %-12s the source of sqlite3 cannot be fetched (deb-src)\n' "$APP"; exit 77; }
gcc -O2 -DSQLITE_ENABLE_RTREE -o speedtest1 source/test/speedtest1.c -lsqlite3 || exit 1
RESET() { rm -f db db-*; }
SIZE=${SIZE:-3} # 100 is what its authors measure
LIMIT=600
cat >steps.sh <<END
./speedtest1 --verify --journal wal --size $SIZE db >file.said; echo \$?
./speedtest1 --verify --size $SIZE --testset cte >memory.said; echo \$?
./speedtest1 --verify --size $SIZE --testset orm >>memory.said; echo \$?
./speedtest1 --verify --size $SIZE --testset rtree >>memory.said; echo \$?
sed 's/ *[0-9]*\.[0-9]*s\$//' file.said memory.said
END
batch -v sh steps.sh
finish
