# make -j2 of a C project from Debian source (gzip), the whole process tree recorded; what it builds is what it builds natively.
. "$(dirname "$0")/lib.sh"
need bash gcc make
debian_source gzip || { printf 'SKIP %-12s the source of gzip cannot be fetched (deb-src)\n' "$APP"; exit 77; }
mkdir configured && (cd configured && ../source/configure --quiet CFLAGS=-O2 >/dev/null 2>&1) || exit 1
RESET() { rm -rf build && cp -a configured build; }
RUNS=1
LIMIT=900
cat >steps.sh <<'END'
cd build && make -s -j2 >../make.said 2>&1; echo $?; objdump -d gzip | tail -n +4 | md5sum; echo hello | ./gzip -9n | od -c
END
batch sh steps.sh
finish
