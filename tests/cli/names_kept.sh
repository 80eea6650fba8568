# Names of files are kept from one recording to the next: found once, and found again only where a file has changed or what was kept of it is damaged. A recording has the same names either way.
. "$(dirname "$0")/../lib.sh"
need_command objcopy strip
KEPT=$XDG_CACHE_HOME/trackway/translations

cat >prog.c <<'END_C'
#include <stdio.h>
static __attribute__((noinline)) int first(int n)
{
	return n * 3;
}
static __attribute__((noinline)) int second(int n)
{
	return n * 5;
}
int main(int argc, char **argv)
{
	printf("%d\n", argc > 1 ? second(argc) : first(argc));
	return argv[argc] != NULL;
}
END_C
gcc -O1 -g -o prog prog.c || fail "prog.c does not compile"
cp prog apart && objcopy --only-keep-debug apart apart.debug && strip apart && objcopy --add-gnu-debuglink=apart.debug apart || fail "apart"
sleep 4.2 # so old that they are taken to be as they will stay

kept_of() { grep -lF "$PWD/$1" "$KEPT"/*.names 2>/dev/null | head -n 1; } # the file of what is kept of a program
names() { "$TW" report --functions -n 0 recording.tw; }
of_prog() { names | grep -o '[^ ]* prog\.c:[0-9]*' | sort; } # without counts

recorded ./prog
FILE=$(kept_of prog)
[ -n "$FILE" ] || fail "no names are kept: $(ls "$KEPT")"
[ "$(stat -c %a "$FILE")" = 600 ] || fail "others may read them"
names | grep -q 'first prog.c:' || fail "names the first time: $(names)"
of_prog >first.names

# used: nothing is found again, and the recording has the same
INODE=$(stat -c %i "$FILE")
touch -a -d '2001-01-01' "$FILE"
recorded ./prog
[ "$(stat -c %i "$FILE")" = "$INODE" ] || fail "names are found again though they are kept"
[ "$(stat -c %X "$FILE")" -gt 1000000000 ] || fail "what is kept is not used"
of_prog | cmp first.names - || fail "names that were kept are others"
"$TW" kept | grep -qE " names +$PWD/prog$" || fail "kept does not list them: $("$TW" kept)"

# code that did not run before
recorded ./prog more
names | grep -q 'second prog.c:' || fail "names of other code: $(names)"
names | grep -q 'first prog.c:' && fail "names of code that did not run"

# damaged in any part, or not the user's alone: found again, and kept anew
hurt() { # hurt WHAT
	local inode
	inode=$(stat -c %i "$FILE")
	recorded ./prog
	of_prog | cmp first.names - || fail "$1: other names"
	[ "$(stat -c %i "$FILE")" != "$inode" ] || fail "$1: used"
}
SIZE=$(stat -c %s "$FILE")
for at in 1 200 3000 $((SIZE - 100)) $((SIZE - 9)); do
	printf '\377' | dd of="$FILE" bs=1 seek="$at" conv=notrunc status=none && hurt "a wrong byte at $at"
done
truncate -s 1000 "$FILE" && hurt "cut off"
chmod g+w "$FILE" && hurt "open to others"

# another file of that path
sed 's/first/third/g' prog.c >other.c && gcc -O1 -g -o prog other.c && sleep 4.2
recorded ./prog
names | grep -q 'third other.c:' || fail "names of a file that was there before: $(names)"

# a separate debug file that goes and comes back
recorded ./apart
names | grep -q 'first prog.c:' || fail "names of a debug file: $(names)"
mv apart.debug gone
recorded ./apart
names | grep -q 'first prog.c:' && fail "names of a debug file that is gone"
recorded ./apart
mv gone apart.debug
recorded ./apart
names | grep -q 'first prog.c:' || fail "names of a debug file that came back: $(names)"

# removed
"$TW" kept --empty | grep -qE 'and the names of [1-9][0-9]* files? from' || fail "kept --empty does not tell of names"
[ -z "$(find "$KEPT" -name '*.names')" ] || fail "kept --empty leaves names"
RECORD_OPTIONS+=(--keep=none)
recorded ./prog
[ -z "$(find "$KEPT" -name '*.names')" ] || fail "--keep=none keeps names"
