# bash running a configure script: thousands of short processes. The source is that of Debian's gzip.
. "$(dirname "$0")/lib.sh"
need bash gcc make
debian_source gzip || { printf 'SKIP %-12s the source of gzip cannot be fetched (deb-src)\n' "$APP"; exit 77; }
RESET() { rm -rf build && mkdir build; }
RUNS=1
LIMIT=${LIMIT:-900}
cat >steps.sh <<'END'
cd build && bash ../source/configure --quiet CFLAGS=-O1 >../configure.said 2>&1 && cat config.h && grep -v '^#\|[0-9]:' config.log | grep '^ac_cv' | sort | md5sum
END
batch -v bash steps.sh
finish
