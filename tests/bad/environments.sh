# Surroundings that lack something: processes of others out of sight, no /dev/shm, nothing that can be written but one directory, no /proc, 1 MB of data. A program runs
# there as it does natively, or one sentence says what is missing.
. "$(dirname "$0")/../lib.sh"
cc_program family <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int status = 0;
	char *p = malloc(100000);
	for (int i = 0; i < 100000; i++)
		p[i] = (char)i;
	if (!fork())
		_exit(p[77]);
	wait(&status);
	return printf("%x\n", status) > 0 ? 3 : 4;
}
END
$CC -static -o alone family.c 2>/dev/null || cp family alone
mkdir empty writable
chmod 755 . empty
chmod 777 writable
BEGIN=() # before each command: who makes it
MOUNTS=(unshare -m)
"${MOUNTS[@]}" true 2>/dev/null || MOUNTS=(unshare -rm)

# $HERE/there SETUP CMD...: in a space of mounts of its own, after SETUP. can WHAT SETUP: SETUP can be done here.
HERE=$PWD
cat >there <<-END
	#!/bin/bash
	exec ${MOUNTS[*]} bash -c "\$1"' && exec "\$@"' bash "\${@:2}"
END
chmod 755 there
can() {
	"${MOUNTS[@]}" bash -c "$2" 2>/dev/null && return
	untested "$1"
	return 1
}
# as_there SETUP: what is recorded, whatever the options, looks as it does natively
as_there() {
	local setup=$1
	native "$HERE/there" "$setup" "${BEGIN[@]}" "$PWD/family"
	[ "$NATIVE_STATUS" = 3 ] || fail "$setup: natively: $NATIVE_STATUS $(cat native.err)"
	for options in "-f none" "-f dep" --sink=count --verify "--order -f dep06"; do
		read -ra RECORD_OPTIONS <<<"$options"
		rm -rf writable/r.tw
		run recorded.out recorded.err "$HERE/there" "$setup" "${BEGIN[@]}" "$TW" record -q -o "$PWD/writable/r.tw" "${RECORD_OPTIONS[@]}" -- "$PWD/family"
		RECORDED_STATUS=$?
		compare_runs "$setup: $options"
	done
	RECORD_OPTIONS=(-f dep)
	"$HERE/there" "$setup" "${BEGIN[@]}" "$TW" record -q -o "$PWD/writable/r.tw" -- "$PWD/family" >/dev/null
	"$HERE/there" "$setup" "${BEGIN[@]}" "$TW" check "$PWD/writable/r.tw" >/dev/null || fail "$setup: check"
}

HIDE='mount -t proc -o hidepid=2 proc /proc'
if [ "$(id -u)" = 0 ] && can "/proc with hidepid=2" "$HIDE"; then
	NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	if "${NOBODY[@]}" test -x "${TW%/*}/trackway-engine" -a -x "$PWD/family" 2>/dev/null; then
		BEGIN=("${NOBODY[@]}" env XDG_CACHE_HOME="$PWD/writable")
		as_there "$HIDE"
		BEGIN=()
	else
		untested "/proc with hidepid=2, by another user"
	fi
fi
SHUT="mount --bind $PWD/empty /dev/shm && mount -o remount,bind,ro /dev/shm"
if [[ $PWD == /dev/shm/* ]]; then
	untested "no /dev/shm: this test is in it"
elif can "no /dev/shm" "$SHUT"; then
	as_there "$SHUT"
fi

# The directory one is in, and one's home.
ONLY_READ="mount --bind $PWD/empty $PWD/empty && mount -o remount,bind,ro $PWD/empty && cd $PWD/empty && export HOME=\$PWD XDG_CACHE_HOME=\$PWD"
if can "a home that cannot be written" "$ONLY_READ"; then
	as_there "$ONLY_READ"
	one_sentence "$HERE/there" "$ONLY_READ" "$TW" record true
	says "the directory cannot be made: Read-only"
fi

# Without /proc: recordings can be read, and a recorded program may go where there is none.
COVERED="mount --bind $PWD/empty /proc"
recorded ./family
check_good
if can "no /proc" "$COVERED"; then
	one_sentence "$HERE/there" "$COVERED" "$TW" record -o no.tw true
	says "needs /proc"
	one_sentence "$HERE/there" "$COVERED" "$TW" cc $CC -o no family.c
	says "needs /proc"
	for command in "report" "info" "check" "dump --syscalls" "analyze mix"; do
		read -ra words <<<"$command"
		"$HERE/there" "$COVERED" "$TW" "${words[@]}" recording.tw >with.out 2>&1 || fail "$command without /proc: $(cat with.out)"
	done
	ROOM="cp alone empty/alone"
	can "chroot" "$ROOM && chroot empty /alone >/dev/null; [ \$? = 3 ]" && {
		cp alone empty/alone
		native "$HERE/there" true chroot empty /alone
		for options in "-f none" "-f dep" --verify; do
			read -ra RECORD_OPTIONS <<<"$options"
			run recorded.out recorded.err "$HERE/there" true "$TW" record -q -o room.tw "${RECORD_OPTIONS[@]}" chroot empty /alone
			RECORDED_STATUS=$?
			compare_runs "chroot: $options"
			rm -rf room.tw
		done
	}
fi

# 1 MB of data; files of 100 KB: the sentence names the limit that there is.
asan || {
	one_sentence bash -c 'ulimit -f 100 && exec "$@"' bash "$TW" record -o no.tw ./family
	says "needs shared memory of .*ulimit -f\)$"
	one_sentence bash -c 'ulimit -d 1000 && exec "$@"' bash "$TW" record -o no.tw ./family
	says "needs .* memory in addition to .*ulimit -v, -d\)$"
	[ ! -e no.tw ] || fail "a recording was begun"
}
