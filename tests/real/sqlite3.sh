# sqlite3 builds and queries a table in memory.
. "$(dirname "$0")/../lib.sh"
need_command sqlite3
cat >script.sql <<END
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT, v REAL);
WITH RECURSIVE c(i, x) AS (SELECT 1, 1 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) & 2147483647 FROM c WHERE i < $(full 500000 3000))
	INSERT INTO t SELECT i, x % 100, 'name' || (x % 977), x / 7.0 FROM c;
CREATE INDEX k ON t(k, name);
SELECT k, count(*), round(avg(v), 3), min(name) FROM t GROUP BY k ORDER BY 2 DESC, 1 LIMIT 5;
SELECT count(*) FROM t a JOIN t b ON a.k = b.k AND a.name < b.name WHERE a.id < 50;
UPDATE t SET v = v * 2 WHERE k BETWEEN 10 AND 20;
SELECT round(sum(v)), group_concat(DISTINCT name) FROM t WHERE id % 997 = 1;
DELETE FROM t WHERE name LIKE '%7%';
SELECT count(*), total(length(name)) FROM t;
PRAGMA integrity_check;
END
STDIN=script.sql
whole sqlite3 -batch :memory:
