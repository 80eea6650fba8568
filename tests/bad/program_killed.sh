# The program is killed with SIGKILL: the recording replays to its last executed fragment.
. "$(dirname "$0")/../lib.sh"
# Counts in memory, says so, waits for ever.
asm_program counter <<'END'
#include "program.inc"
	.globl _start
_start:	mov ecx, 50000
1:	inc dword ptr count[rip]
	dec ecx
	jnz 1b
last:	mov word ptr text[rip], 0x0a21
	mov edi, 1
	lea rsi, text[rip]
	mov edx, 2
	mov eax, SYS_write
	syscall
	mov eax, 34	/* pause */
	syscall
	ud2
	.data
text:	.word 0
count:	.long 0
	.section .expected
expected_end:
END
"$TW" record -q -o r.tw -- ./counter >out 2>err </dev/null &
collector=$!
await '!' out
child=$(pgrep -P $collector) || fail "no child of the collector"
kill -KILL $child
wait $collector
status=$?
[ $status = 137 ] || fail "record ends with status $status instead of a death by SIGKILL"
"$TW" dump --refs r.tw >refs 2>dump.err
count=$(nm counter | awk '$3 == "count" { sub(/^0*/, "", $1); print $1 }')
text=$(nm counter | awk '$3 == "text" { sub(/^0*/, "", $1); print $1 }')
[ "$(grep -c " M $count 4\$" refs)" = 50000 ] || fail "$(grep -c " M $count 4\$" refs) of 50000 counts"
[ "$(tail -n 1 refs | cut -d ' ' -f 3-)" = "W $text 2" ] || fail "the last reference is missing: $(tail -n 1 refs)"
"$TW" check r.tw >check.out 2>&1
"$TW" info r.tw >info.out || fail "info"
grep -qiE 'kill|signal 9' info.out || fail "info does not tell of the death"

# In the middle of everything, at random times. Whatever came to be recorded replays.
make_data data 3000000
for delay in 0.05 0.1 0.2 0.3; do
	rm -rf r.tw r.tw.old
	"$TW" record -q -o r.tw -- gzip -9 -n -c data >/dev/null 2>err </dev/null &
	collector=$!
	for _ in $(seq 100); do
		child=$(pgrep -P $collector) && break
		sleep 0.05
	done
	sleep $delay
	kill -KILL $child
	wait $collector
	[ -d r.tw ] || continue
	run out err "$TW" dump --refs r.tw
	[ $? -lt 128 ] || fail "dump dies after a kill at $delay s"
	run check.out check.err "$TW" check r.tw
	[ $? -lt 128 ] || fail "check dies after a kill at $delay s"
	grep -qiE 'damaged|do not fit|checksum' err check.out check.err && {
		cat err check.out check.err
		fail "killed at $delay s: the recording is damaged"
	}
done
exit 0
