#!/bin/bash
# What dump, analyze and record --with write with -o: whole, or not at all, with what was there left as it was.
. "$(dirname "$0")/../lib.sh"
cc_program p -O1 <<'C'
#include <string.h>
static char from[4096], to[4096];
int main(void) { for (int i = 0; i < 200; i++) memmove(to, from, i), from[i] = (char)i; return to[5] == 77; }
C
"$TW" record -o r.tw -- ./p 2>/dev/null || fail "record"

# is_whole WORDS...: the same into a file as to standard output
is_whole() {
	"$TW" "$@" r.tw >want 2>/dev/null && "$TW" "$@" -o got r.tw || fail "$*"
	cmp -s want got || fail "$*: another text with -o"
}
# leaves_what_was_there WORDS...: where no more than a kilobyte can be written
leaves_what_was_there() {
	echo before >file
	(ulimit -f 1 && trap '' XFSZ && exec "$TW" "$@" -o file r.tw) 2>err && fail "$*: too large a file is not noticed"
	[ "$(grep -c . err)" = 1 ] && grep -q "cannot write file: File too large" err || fail "$*: $(cat err)"
	[ "$(cat file)" = before ] || fail "$*: what was there is gone"
}
for words in "dump --refs" "dump --blocks" "dump --code" "dump --order" "analyze mix --json" "analyze cct"; do
	# shellcheck disable=SC2086
	is_whole $words
	# shellcheck disable=SC2086
	leaves_what_was_there $words
done
echo before >file
"$TW" dump --refs -o file r.tw --thread 77 2>/dev/null && fail "a thread that is not there"
[ "$(cat file)" = before ] || fail "dump: refused, and what was there is gone"
"$TW" analyze mix --thread=77 -o file r.tw 2>/dev/null && fail "a thread that is not there"
[ "$(cat file)" = before ] || fail "analyze: refused, and what was there is gone"
for command in "dump --refs" "analyze mix"; do
	# shellcheck disable=SC2086
	"$TW" $command -o /dev/full r.tw 2>err && fail "$command: a full device"
	grep -q "cannot write /dev/full: No space left on device" err || fail "$command: $(cat err)"
	ln -sf linked link && echo old >linked
	# shellcheck disable=SC2086
	"$TW" $command -o link r.tw && [ -L link ] && [ "$(head -c 3 linked)" != old ] || fail "$command: through a link"
done

echo before >file
"$TW" record --with mix,output=file -o both.tw -- ./p >out 2>&1 || fail "record --with: $(cat out)"
"$TW" analyze mix both.tw >want || fail "analyze mix"
cmp -s file want || fail "record --with: another text: $(diff file want)"

# A command that is killed leaves nothing either, where files without names can be made.
cat >files.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
int main(void) { return open(".", O_TMPFILE | O_WRONLY, 0600) < 0; }
C
$CC files.c -o files || fail "the compiler"
if ./files; then
	"$TW" dump --refs -o killed r.tw &
	kill -9 $!
	wait $! 2>/dev/null
	[ -e killed ] && [ ! -s killed ] && fail "half of it is there"
else
	untested "no files without names here"
fi
ls ./*.new >/dev/null 2>&1 && fail "files are left over: $(ls)"
exit 0
