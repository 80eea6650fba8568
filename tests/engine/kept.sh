# Translations kept from one recording to the next: a program begins with them only if everything is as it was, and runs as natively whatever is in the directory.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
KEPT=$XDG_CACHE_HOME/trackway/translations

cc_program prog <<'E'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char text[100];
	double x = 1;
	for (int i = 1; i < argc; i++)
		x = x * 1.5 + strtod(argv[i], NULL);
	snprintf(text, sizeof text, "%d %.9g %s", argc, x, strrchr(argv[0], '/'));
	puts(text);
	return argc;
}
E
sleep 4.2 # so old that it has an identity

state_of_kept() { # what there is to say why a program began with something, or did not
	cat ours.err
	"$TW" info --engine r.tw
	(cd "$KEPT" && stat -c '%n: inode %i, %s bytes, modified %y, changed %z' ./* && for seal in *.seal; do od -A n -t u8 "$seal"; done)
}

# begins WHETHER WHAT [OPTION...]: the program runs as natively; WHETHER: with (1) or without (0) translations of an earlier recording
begins() {
	local whether=$1 what=$2 status
	shift 2
	./prog 1 2 3 >native.out
	"$TW" record -f none -o r.tw "$@" -- ./prog 1 2 3 >ours.out 2>ours.err
	status=$?
	[ $status = 4 ] || fail "$what: status $status: $(cat ours.err)"
	cmp native.out ours.out || fail "$what: other output"
	if grep -q '; 1 of 1 programs' ours.err; then [ "$whether" = 1 ]; else [ "$whether" = 0 ]; fi || fail "$what: $(state_of_kept)"
	[ "$(wc -l <ours.err)" = 1 ] || fail "$what: $(cat ours.err)"
}
files() { find "$KEPT" -type f ! -name '*.names' ! -name '*.seal' | wc -l; }

begins 0 "the first time"
[ "$(files)" = 1 ] || fail "$(files) files are kept"
begins 1 "the second time"
begins 1 "the third time"
[ "$(stat -c %a "$KEPT")" = 700 ] || fail "the directory is open to others: $(stat -c %a "$KEPT")"
# what run after run has to make is too little for another file each time, and is in one as soon as it has cost as much
lacks() {
	"$TW" record -q -f none -o r.tw ./prog 0x1.8p3 nan 1e-310 >ours.out
	"$TW" info --engine r.tw | awk '/^fragments / { print $2 }'
}
LACKED=$(lacks)
{ [ "$LACKED" -gt 3 ] && [ "$LACKED" -lt 200 ]; } || fail "$LACKED fragments are made of code that did not run before"
for _ in 1 2 3 4 5; do lacks >/dev/null; done
# (where a string lies decides which way the C library goes over it, so a run may come to a few blocks more: not each)
{ [ "$(lacks)" -lt 3 ] || [ "$(lacks)" -lt 3 ] || [ "$(lacks)" -lt 3 ]; } || fail "after six runs they are made again"

FILE=$(find "$KEPT" -name '*.snapshot')
[ "$(stat -c %a "$FILE")" = 600 ] || fail "the file is open to others"

begins 0 "--keep=none" --keep=none
begins 0 "--share=0" --share=0
begins 0 "another directory" --keep=other
begins 1 "another directory again" --keep=other
mkdir elsewhere
(cd elsewhere && cp ../prog . && sleep 4.2 && for i in 1 2; do "$TW" record -f none --keep=../other ./prog 2>"err$i" >/dev/null; done)
grep -q '; 1 of 1 programs' elsewhere/err1 && fail "a copy of the program is taken for it"
grep -q '; 1 of 1 programs' elsewhere/err2 || fail "a relative directory: $(cat elsewhere/err2)"
rm -rf other elsewhere
one_sentence "$TW" record -f none --keep=nowhere/deep -o r.tw ./prog
says 'nowhere/deep: No such file'
[ ! -e nowhere ] || fail "a directory was made that nobody asked for"

# another format has others (kept_formats.sh), and formats of another form, windows and budgets have none
"$TW" record -f dep -o r.tw ./prog >/dev/null 2>ours.err
grep -q 'began with' ours.err && fail "dep begins with translations of none: $(cat ours.err)"
[ "$(files)" = 2 ] || fail "dep leaves $(files) files"
for how in "-f dep06" "-f cf_bit" "--start=main" "--budget=5%"; do
	for i in 1 2; do
		# shellcheck disable=SC2086
		"$TW" record $how -o r.tw ./prog >/dev/null 2>ours.err
	done
	grep -q 'began with' ours.err && fail "$how begins with translations: $(cat ours.err)"
	[ "$(files)" = 2 ] || fail "$how leaves translations"
done
find "$KEPT" -name '*.snapshot' ! -path "$FILE" -delete

# a process of a program that has been kept before, and its brothers
cat >several.sh <<'E'
for i in 1 2 3; do ./prog $i; done
E
sh several.sh >native.out
"$TW" record -f none -o r.tw -- sh several.sh >ours.out 2>ours.err
cmp native.out ours.out || fail "several"
grep -q '; 3 of 4 programs' ours.err || fail "several: $(cat ours.err)"

# listed, and removed; a recording begins anew then
"$TW" kept >list.out || fail "kept"
grep -qE "^[-0-9]+ [0-9:]+ +[0-9.]+ +[0-9]+  none +$PWD/prog$" list.out || fail "kept lists: $(cat list.out)"
grep -qE "^$(grep -cvE " names |^used last|, names of " list.out) programs, names of [0-9]+ files?, [0-9.]+ MB in $KEPT$" list.out || fail "kept sums up: $(tail -n 1 list.out)"
"$TW" kept "$KEPT" | cmp -s - list.out || fail "kept of a directory that is named"
one_sentence "$TW" kept nowhere
says 'nowhere: No such file'
one_sentence "$TW" kept prog
says 'not a directory'
"$TW" kept --empty >list.out && grep -q 'removed the translations of [2-9] programs and the names of' list.out || fail "kept --empty: $(cat list.out)"
[ -z "$(find "$KEPT" -type f)" ] || fail "kept --empty leaves files"
begins 0 "after kept --empty"
begins 1 "after kept --empty, again"

# what is damaged: cut off, of another machine, of another kind, not a file, a link, writable by others
damaged() { # damaged WHAT: runs without it, and what is kept is whole again
	begins 0 "$1"
	begins 1 "after $1"
}
SEAL=${FILE%.snapshot}.seal
reseal() { # as if the file had been written like this
	python3 -c 'import os, struct, sys
s = os.stat(sys.argv[1])
with open(sys.argv[2], "r+b") as f:
	f.seek(8)
	f.write(struct.pack("<7Q", s.st_dev, s.st_ino, s.st_size, *divmod(s.st_mtime_ns, 10**9), *divmod(s.st_ctime_ns, 10**9)))' "$FILE" "$SEAL"
}
reseal && begins 1 "a file that is sealed as it was"
cp -p "$FILE" whole
for part in 0 1 2 3 5 8 9; do # other bytes, and the times put back
	dd if=/dev/urandom of="$FILE" bs=1 count=64 seek=$(($(stat -c %s "$FILE") * part / 10 + 700)) conv=notrunc status=none
	touch -r whole "$FILE" && damaged "a file with other bytes at its ${part}th tenth and its times put back"
	cp -p "$FILE" whole
done
python3 -c 'import mmap, sys
with open(sys.argv[1], "r+b") as f:
	m = mmap.mmap(f.fileno(), 0)
	m[len(m) // 3] ^= 255' "$FILE" && touch -r whole "$FILE" && damaged "a file that was changed where it is mapped"
cp -p "$FILE" copy && mv copy "$FILE" && damaged "a copy with the same times"
: >"$SEAL" && damaged "an empty seal"
printf 'x' | dd of="$SEAL" bs=1 seek=20 conv=notrunc status=none && damaged "a damaged seal"
rm -f "$SEAL" && damaged "no seal"
mkfifo "$SEAL.new" && mv "$SEAL.new" "$SEAL" && damaged "a pipe for a seal"
# what the seal does not tell
truncate -s 100 "$FILE" && reseal && damaged "a file without a head"
truncate -s -4096 "$FILE" && reseal && damaged "a file without its end"
: >"$FILE" && reseal && damaged "an empty file"
printf 'x' | dd of="$FILE" bs=1 seek=3 conv=notrunc status=none && reseal && damaged "a file that is none of ours"
printf 'xxxx' | dd of="$FILE" bs=1 seek=18 conv=notrunc status=none && reseal && damaged "a file of an earlier start of the machine"
printf 'xxxx' | dd of="$FILE" bs=1 seek=34 conv=notrunc status=none && reseal && damaged "a file of another processor"
printf 'xxxx' | dd of="$FILE" bs=1 seek=$(($(stat -c %s "$FILE") / 2)) conv=notrunc status=none && damaged "a file with other code in its middle"
chmod g+w "$FILE" && reseal && damaged "a file that others may write to"
mv "$FILE" real && ln -s "$PWD/real" "$FILE" && damaged "a link"
rm -f "$FILE" real && mkfifo "$FILE" && damaged "a pipe"
rm -f "$FILE" && mkdir "$FILE" && begins 0 "a directory in its place" && rmdir "$FILE"

# where nothing can be kept
one_sentence "$TW" record -f none --keep=prog -o r.tw ./prog
says "not a directory"
mkdir open && chmod 777 open
one_sentence "$TW" record -f none --keep=open -o r.tw ./prog
says "others may write"
chmod 777 "$KEPT"
begins 0 "a directory that others may write to"
chmod 700 "$KEPT"
rm -rf "$XDG_CACHE_HOME"
echo >"$XDG_CACHE_HOME"
begins 0 "no directory"
rm -f "$XDG_CACHE_HOME"
(
	unset XDG_CACHE_HOME HOME
	begins 0 "no home"
) || exit 1
(ulimit -S -f 100 && begins 0 "a limit on files") || exit 1
begins 0 "after a limit on files"
begins 1 "after that"

# many at once
rm -rf "$KEPT"
pids=()
for i in 1 2 3 4 5 6; do
	"$TW" record -q -f none -o "r$i.tw" ./prog 1 2 3 >"out$i" 2>&1 &
	pids+=($!)
done
for i in 1 2 3 4 5 6; do
	wait "${pids[i - 1]}"
	[ $? = 4 ] || fail "one of many at once"
	cmp native.out "out$i" || fail "one of many at once: output"
done
[ "$(files)" = 1 ] || fail "after many at once there are $(files) files"
begins 1 "after many at once"

# a program that changes is another
cp prog before && sed -i 's/%.9g/%.3g/' prog.c && $CC -O1 -o prog prog.c && sleep 4.2
begins 0 "a program that has changed"
begins 1 "a program that has changed, again"

# no more than the limit: what was used longest ago goes first
limit=24
touch -a -d '2 days ago' "$KEPT"/*.seal
for i in 1 2 3 4 5 6 7 8; do
	cp prog "prog$i"
done
sleep 4.2
for i in 1 2 3 4 5 6 7 8; do
	"$TW" record -q -f none --share=$limit -o r.tw "./prog$i" >/dev/null
done
now=$(du -c -B1K "$KEPT"/*.snapshot | tail -n 1 | cut -f 1)
[ "$now" -le $((limit * 1024)) ] || fail "$now kB are kept, not $limit MB"
find "$KEPT" -name '*.seal' -atime +1 | grep -q . && fail "what was used longest ago is still there"
"$TW" record -f none --share=$limit -o r.tw ./prog8 2>ours.err >/dev/null
grep -q '; 1 of 1 programs' ours.err || fail "what was kept last is not there"

# ... which is a tenth of what is free there
size_of_one=$(find "$KEPT" -name '*.snapshot' -printf '%k\n' | sort -n | tail -1)
cat >small_disk.sh <<'E'
mkdir disk && mount -t tmpfs -o size=$1k none disk || exit 99
shift
"$@" --keep="$PWD/disk/keep" ./prog8 >/dev/null 2>&1
find disk/keep -name '*.snapshot' | wc -l
E
for times in 8 15; do
	n=$(unshare -rm bash small_disk.sh $((size_of_one * times)) "$TW" record -f none -o r.tw 2>why)
	[ $? != 99 ] || { untested "a small disk: $(tail -1 why)"; break; }
	[ "$n" = $((times > 10)) ] || fail "$n files are kept where $times times as much as one is free"
	rmdir disk
done
: >"$KEPT/new.1" && touch -d '2 days ago' "$KEPT/new.1"
"$TW" record -q -f none -o r.tw ./prog1 >/dev/null
"$TW" record -q -f none -o r.tw ./before >/dev/null
[ -e "$KEPT/new.1" ] && fail "what a collector left that was killed is still there"
exit 0
