# SQLite's own speed test (test/speedtest1.c of its source) is not packaged: the same kinds of statements, through the shell, on a file.
. "$(dirname "$0")/lib.sh"
need sqlite3
RESET() { rm -f db db-*; }
{
	echo 'PRAGMA journal_mode=wal; BEGIN; CREATE TABLE z1(a INTEGER, b INTEGER, c TEXT);'
	awk 'BEGIN { srand(1); for (i = 1; i <= 800; i++) printf "INSERT INTO z1 VALUES(%d, %d, '\''%x%x'\'');\n", i, int(rand() * 1e6), int(rand() * 1e6), i }'
	echo 'COMMIT; CREATE UNIQUE INDEX i1 ON z1(a); CREATE INDEX i2 ON z1(b); CREATE INDEX i3 ON z1(c);'
	awk 'BEGIN { for (i = 0; i < 40; i++) printf "SELECT count(*), avg(b), sum(length(c)) FROM z1 WHERE b BETWEEN %d AND %d;\n", i * 4000, i * 4000 + 30000 }'
	awk 'BEGIN { for (i = 0; i < 5; i++) printf "SELECT count(*), avg(b) FROM z1 WHERE c LIKE '\''%%%x%%'\'';\n", i * 7 }'
	echo 'SELECT a, b, c FROM z1 ORDER BY c LIMIT 10; BEGIN; UPDATE z1 SET b = b * 2 WHERE a % 3 = 0; COMMIT; DELETE FROM z1 WHERE b % 7 = 1; VACUUM;'
	echo 'WITH RECURSIVE f(n, x) AS (SELECT 1, 1 UNION ALL SELECT n + 1, (x * 7) % 1009 FROM f WHERE n < 1000) SELECT sum(x) FROM f; PRAGMA integrity_check;'
} >speed.sql
batch -v sqlite3 -batch db '.read speed.sql'
finish
