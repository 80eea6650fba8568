# Recordings packed anew: the same trace in fewer bytes, and back; in their place or beside; what is damaged stays as it is; nothing is lost where it fails.
# timeout: 240
. "$(dirname "$0")/../lib.sh"

cc_program prog <<'END_C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int all[600];
static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
static void *other(void *arg)
{
	return (char *)arg + 1;
}
int main(void)
{
	unsigned x = 42;
	pthread_t t;
	pthread_create(&t, NULL, other, NULL);
	pthread_join(t, NULL);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 600; i++)
			all[i] = (int)((x = x * 1103515245 + 12345) >> 9);
		qsort(all, 600, sizeof *all, by_number);
	}
	printf("%d\n", all[7]);
	return 0;
}
END_C
recorded ./prog
mv recording.tw fast.tw
said() { "$TW" info "$1" | grep -vE '^(tags|values|events|code|all|per reference) '; } # all but the bytes stored
stored() { "$TW" info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["stored_bytes"])'; }
trace() { "$TW" dump "$1" | md5sum; }
FAST=$(trace fast.tw)

# beside it
"$TW" pack -o small.tw fast.tw >pack.out || fail "pack -o: $(cat pack.out)"
"$TW" check small.tw >check.out 2>&1 || fail "check: $(cat check.out)"
[ "$(trace small.tw)" = "$FAST" ] || fail "another trace"
diff <(said fast.tw) <(said small.tw) || fail "info says something else"
[ "$(stored small.tw)" -lt "$(stored fast.tw)" ] || fail "it is not smaller: $(stored small.tw), before $(stored fast.tw)"
grep -qx "small.tw: $(stored small.tw) bytes stored, $(stored fast.tw) before" pack.out || fail "pack says $(cat pack.out)"
cmp <("$TW" report --functions -n 0 fast.tw) <("$TW" report --functions -n 0 small.tw) || fail "another report"

# in its place, with what bundle has put there; an index of before does not count
cp -r fast.tw place.tw
mkdir place.tw/sources && echo here >place.tw/sources/file
"$TW" pack place.tw >/dev/null || fail "pack in place"
[ "$(cat place.tw/sources/file)" = here ] || fail "sources are gone"
[ "$(stored place.tw)" = "$(stored small.tw)" ] || fail "another size in place"
[ "$(trace place.tw)" = "$FAST" ] || fail "another trace in place"
find . -name '*.packing*' | grep -q . && fail "it leaves something"

# and back
"$TW" pack --fast place.tw >/dev/null || fail "pack --fast"
"$TW" check place.tw >/dev/null 2>&1 || fail "check after --fast"
[ "$(trace place.tw)" = "$FAST" ] || fail "another trace after --fast"
[ "$(stored place.tw)" -gt "$(stored small.tw)" ] || fail "--fast is not larger"

# damage stays damage, and the rest is whole
cp -r fast.tw hurt.tw
printf 'xxxx' | dd of=hurt.tw/thread-0000 bs=1 seek=1000 conv=notrunc status=none
"$TW" check hurt.tw >before.out 2>&1 && fail "check does not see the damage"
"$TW" pack -o again.tw hurt.tw >/dev/null || fail "pack of a damaged one"
"$TW" check again.tw >after.out 2>&1 && fail "the damage is gone"
[ "$(grep -c damaged after.out)" = "$(grep -c damaged before.out)" ] || fail "other damage: $(cat after.out)"

# what fails changes nothing
touch place.tw/mine
one_sentence "$TW" pack place.tw
says 'something else in it'
rm place.tw/mine
[ "$(trace place.tw)" = "$FAST" ] || fail "a pack that was refused changed something"
one_sentence "$TW" pack -o prog fast.tw
one_sentence "$TW" pack nowhere.tw
"$TW" pack -o fast.tw fast.tw 2>/dev/null
[ $? = 2 ] || fail "-o of itself is not refused"
(
	flock 9
	one_sentence "$TW" pack fast.tw
	says 'is being written'
) 9<fast.tw || exit 1
[ "$(trace fast.tw)" = "$FAST" ] || fail "one that is being written was changed"

# at once
RECORD_OPTIONS+=(--small)
recorded ./prog
unset 'RECORD_OPTIONS[-1]'
"$TW" check recording.tw >/dev/null 2>&1 || fail "check after record --small"
[ "$(stored recording.tw)" -lt "$(stored fast.tw)" ] || fail "--small is not smaller"
"$TW" record --small --sink=count -o c.tw ./prog 2>/dev/null
[ $? = 125 ] || fail "--small --sink=count: not refused"
