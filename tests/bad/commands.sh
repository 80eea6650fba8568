# Commands that cannot be recorded: one sentence each, the exit statuses of env(1), and no recording left behind.
. "$(dirname "$0")/../lib.sh"

refused() { # refused STATUS PATTERN COMMAND...
	local status=$1 pattern=$2
	shift 2
	one_sentence "$TW" record "$@"
	says "$pattern"
	run again.out again.err "$TW" record "$@"
	local found=$?
	[ $found = "$status" ] || fail "record $*: status $found instead of $status"
	! ls -d ./*.tw >/dev/null 2>&1 || fail "record $*: leaves a recording"
}

PATH=/usr/bin:/bin # a directory there that cannot be searched is another matter: unit/channel/command_test
refused 127 'not found' no-such-command
refused 127 'no such file|not found' ./no-such-file
refused 126 'directory' /etc
echo 'echo hello' >plain
refused 126 'not executable|permission' ./plain
head -c 30 /bin/true >short && chmod +x short
refused 126 'truncated' ./short
patched() { # patched FILE OFFSET BYTES: /bin/true with other bytes in it
	cp /bin/true "$1" && chmod 755 "$1" && printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
patched small 4 '\001' && printf '\003\000' | dd of=small bs=1 seek=18 conv=notrunc 2>/dev/null
refused 126 '32-bit' ./small
patched arm 18 '\267\000'
refused 126 'AArch64' ./arm
patched object 16 '\001\000'
refused 126 'not a program' ./object
cp /bin/true privileged
if [ "$(id -u)" = 0 ] && chown 65534:65534 privileged 2>/dev/null && chmod 4755 privileged; then
	refused 126 'set-uid' ./privileged
	chmod 2755 privileged
	refused 126 'set-gid' ./privileged
else
	untested "programs that are another user's and set-uid"
fi
printf '#!/no/such/interpreter\n' >script && chmod +x script
refused 127 'no/such/interpreter' ./script
one_sentence "$TW" record
says 'no command'
one_sentence "$TW" record -f nonsense true
says 'nonsense'
one_sentence "$TW" record --sink=nowhere true
says 'nowhere'
one_sentence "$TW" nonsense
says 'nonsense'
