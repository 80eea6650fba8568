# A disk that fills while a program is recorded: recording stops while there is room for what has run, so next to nothing of that is lost. With a spool and without one.
# Who is not root mounts a file system in a namespace of his own, where that is allowed.
[ "$(id -u)" = 0 ] || ! unshare -rm true 2>/dev/null || exec unshare -rm bash "$0"
. "$(dirname "$0")/../lib.sh"
cc_program chases -O1 <<'END_C'
#include <stdint.h>
#include <unistd.h>
enum { N = 1 << 16, EACH = 20000 };
static uint32_t next[N];
int main(void)
{
	uint32_t x = 1, at = 0;
	for (uint32_t i = 0; i < N; i++)
		next[i] = i;
	for (uint32_t i = N - 1; i > 0; i--) { /* one cycle of all */
		x = x * 1664525 + 1013904223;
		uint32_t k = (uint32_t)((uint64_t)x * i >> 32), was = next[i];
		next[i] = next[k];
		next[k] = was;
	}
	for (int line = 0; line < 400; line++) { /* of 160 kB as a program writes them, of which 20 are stored */
		for (int i = 0; i < EACH; i++)
			at = next[at];
		if (write(1, "line\n", 5) != 5)
			return 1;
	}
	return at == N;
}
END_C
mkdir small
mount -t tmpfs -o size=6m tmpfs small 2>/dev/null || skip 'no small file system can be mounted here'
CLEANUP+=("umount '$TMP/small'")
mkfifo err
exec 9<>err

lines() { wc -l <out; }

# Standard error takes nothing more, so that who says that recording has stopped waits, and with it, soon, the program:
# what it had written by then is in the recording, but for the eight buffers of a megabyte that it has filled meanwhile.
filled() {
	rm -rf small/*
	timeout 1 cat /dev/zero >&9
	"$TW" record -o small/r.tw "$@" -- ./chases >out 2>err </dev/null &
	local recorder=$! before=-1
	until [ "$(lines)" -gt 5 ] && [ "$(lines)" = "$before" ]; do
		before=$(lines)
		sleep 1 # if that is too short fewer lines are asked for
	done
	cat err >said &
	local reader=$!
	wait $recorder || fail "$*: status $?"
	for _ in $(seq 100); do
		grep -qa 'instructions.*stored in' said && break
		sleep 0.1
	done
	kill $reader
	wait $reader 2>/dev/null
	[ "$(lines)" = 400 ] || fail "$*: the program wrote $(lines) lines"
	"$TW" dump --raw small/r.tw 2>dump.err >raw || fail "$*: dump: $(cat dump.err)"
	stored=$(grep -c '^  event syscall 1 1 ' raw)
	"$TW" info small/r.tw | grep -q '^state *incomplete: no space is left' || fail "$*: $("$TW" info small/r.tw)"
	[ "$stored" -ge $((before - 60)) ] && [ "$stored" -gt 0 ] || fail "$*: of $before lines that were written before it stopped $stored are in the recording"
	[ "$stored" -lt 400 ] || fail "$*: all is there: the disk did not fill"
	said=$(tr -d '\0' <said | sed -n 's/.*; in it are \([0-9]*\) instructions.*/\1/p')
	[ "$said" = "$(info_value instructions small/r.tw)" ] || fail "$*: said $said instructions, info $(info_value instructions small/r.tw)"
	"$TW" check small/r.tw >check.out 2>&1
	grep -q ': good' check.out || fail "$*: check: $(cat check.out)"
}
filled --spool=0
mount -o remount,size=7m small || fail 'no other size' # the spool needs room of its own
filled --spool=64M
