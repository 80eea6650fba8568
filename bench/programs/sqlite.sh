# SQLite: its speed test, with --verify, in memory and on a file; the same as one file and from the shell.
. "$(dirname "$0")/lib.sh"
need tclsh
CC_OPTIONS=--large
PACKAGE=sqlite3
build() { ./configure --disable-tcl && make -j2 sqlite3 speedtest1; }
own_tests() {
	local set
	rm -f test.db*
	./speedtest1 --verify --journal wal --size 5 test.db | sed 's/ *[0-9]*\.[0-9]*s$//'
	for set in cte orm rtree fp trigger; do ./speedtest1 --verify --size 3 --testset $set | sed 's/ *[0-9]*\.[0-9]*s$//'; done
	printf 'create table t(a, b);\nwith recursive c(i) as (select 1 union all select i + 1 from c where i < 20000) insert into t select i %% 17, i from c;\nselect a, sum(b), count(*) from t group by a;\n' | ./sqlite3
	./sqlite3 test.db 'pragma integrity_check; select count(*) from sqlite_schema'
}
WORK=(./speedtest1 --size 8)
compare "$@"
