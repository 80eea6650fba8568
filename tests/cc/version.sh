# Programs that another version of trackway cc has compiled: they run as they would, and it is said that they are not recorded.
. "$(dirname "$0")/../cc.sh"
need_command gcc python3
cat >a.c <<'X'
#include <stdio.h>
int main(void)
{
	puts("ran");
	return 3;
}
X
instrumented a gcc -O1 a.c
recorded ./a
compare_to_native() {
	native ./a.plain
	compare_runs "$1"
}
compare_to_native "a"
# In the file: the version of its first part.
python3 - a old <<'X'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at, version = -1, 0
while not 0 < version < 1000: # code has that number, too
    at = data.index(struct.pack("<I", 0x63635754), at + 1)
    version = struct.unpack_from("<I", data, at + 4)[0]
struct.pack_into("<I", data, at + 4, version - 1)
open(sys.argv[2], "wb").write(data)
X
chmod +x old
one_sentence "$TW" record -o old.tw ./old
says 'compiled by another version of trackway cc'
[ ! -e old.tw ] || fail "there is a recording of a program that cannot be recorded"
run recorded.out recorded.err "$TW" record -q --plain -o plain.tw ./old
RECORDED_STATUS=$?
compare_to_native "old, with --plain"
# A recorder of another version, as the program sees it.
python3 - channel <<'X'
import struct, sys
open(sys.argv[1], "wb").write(struct.pack("<QII", 0x6C656E6E61687774, 9999, 0).ljust(4096, b"\0"))
X
run recorded.out recorded.err env TRACKWAY_CHANNEL="$PWD/channel" ./a
RECORDED_STATUS=$?
compare_to_native "a, with a recorder of another version"
[ "$(od -An -tu4 -j12 -N4 channel | tr -d ' ')" = 1 ] || fail "the program does not say that it is of another version"
# And such a program, as the recorder sees it.
cat >other.py <<'X'
import mmap, os, struct
fd = os.open(os.environ["TRACKWAY_CHANNEL"].split(":")[0], os.O_RDWR)
with mmap.mmap(fd, 4096) as m:
    struct.pack_into("<I", m, 12, struct.unpack_from("<I", m, 12)[0] + 1)
X
"$TW" record --native -o other.tw python3 other.py 2>other.err || fail "the program fails"
grep -q 'another version of trackway cc has compiled are not in it: 1' other.err || {
	cat other.err
	fail "nothing is said of a program that was not recorded"
}

# Nothing was recorded, as the program has lost its environment: that is said, and not of one that was recorded.
"$TW" record --native -o none.tw env -i ./a >none.out 2>none.err
grep -q 'TRACKWAY_CHANNEL has to stay in their environment' none.err || fail "nothing is said of a program that did not find the recorder: $(cat none.err)"
"$TW" record --native -o some.tw env ./a >some.out 2>some.err
grep -q TRACKWAY_CHANNEL some.err && fail "a program that was recorded is said not to have found the recorder"
exit 0
