# top: functions, blocks, lines, and a function's code on a terminal; a recording that is still being written is followed; without a terminal it says so.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
cc_program loop -O1 -g <<'END'
#include <stdio.h>
#include <unistd.h>
static volatile int table[64];
__attribute__((noinline)) void busy_function(int n)
{
	for (int i = 0; i < n; i++)
		table[i & 63] += i; /* the busy line */
}
__attribute__((noinline)) void later_function(int n)
{
	for (int i = 0; i < n; i++)
		table[i & 7] ^= i;
}
/* Loads addresses from a cycle of all: each is recorded, so that buffers are filled and handed over. */
static volatile unsigned next[1 << 16];
__attribute__((noinline)) void chasing_function(unsigned n)
{
	unsigned at = 0;
	for (unsigned i = 0; i < 1 << 16; i++)
		next[i] = (i * 5 + 1) & 0xffff;
	while (n--)
		at = next[at];
}
int main(int argc, char **argv)
{
	char c;
	busy_function(300000);
	if (argc > 1)
		chasing_function(500000);
	if (argc > 1 && read(0, &c, 1) == 1)
		later_function(4000000);
	printf("%d\n", table[7]);
	return argv == NULL;
}
END
recorded ./loop
run out err "$TW" top recording.tw && fail "without a terminal"
grep -q 'not a terminal' err || fail "what is said: $(cat err)"
run out err "$TW" top nothing.tw && fail "no recording"
grep -q 'nothing.tw' err || fail "what is said: $(cat err)"
need_command tmux
export TMUX_TMPDIR=$TMP # its own place may be another user's
tmux() { command tmux -L "tw$$" -f /dev/null "$@"; }
CLEANUP=('tmux kill-server 2>/dev/null' "${CLEANUP[@]}")

# until PATTERN: waits until the screen has it
until_shown() {
	for _ in $(seq 1200); do
		tmux capture-pane -p >screen 2>/dev/null
		grep -qE "$1" screen && return 0
		sleep 0.1
	done
	fail "'$1' is not shown: $(cat screen)"
}

# keys KEYS PATTERN
keys() {
	tmux send-keys "$1"
	until_shown "$2"
}

tmux new-session -d -x 100 -y 24 "$TW top recording.tw; echo status \$?; sleep 1000" || skip "tmux cannot start here: $(tmux new-session -d true 2>&1)"
until_shown '% .* busy_function  .* loop'
keys Enter 'loop.c:7 .* /\* the busy line \*/'
grep -qE '% +300k .* [0-9a-f]{8,} +add' screen || fail "the instruction is not shown: $(cat screen)"
keys BSpace '% .* busy_function  .* loop'
keys b 'busy_function\+0x[0-9a-f]+ loop.c:[0-9]+, ends CB'
keys l '% .* loop.c:7 .* /\* the busy line \*/'
keys Enter 'loop.c:7 .* the busy line'
keys Escape '^ +all +insns +reads +writes +line'
keys f 'self +insns .* module'
keys G '([0-9]+) of \1 *$'
keys g ' 1 of [0-9]+ *$'
tmux send-keys / busy Enter
until_shown ' 1 of 1 *$'
keys '?' 'Enter or right'
keys x '% .* busy_function'
keys q 'status 0'
tmux kill-server

# A recording that is still being written.
mkfifo go
"$TW" record -q -o growing.tw -- ./loop wait <go >out 2>err &
recorder=$!
exec 7>go
for _ in $(seq 600); do
	[ -s growing.tw/thread-0000 ] && "$TW" report --self growing.tw 2>/dev/null | grep -q chasing_function && break
	sleep 0.1
done
tmux new-session -d -x 100 -y 24 "$TW top growing.tw; echo status \$?; sleep 1000"
until_shown 'still recording'
until_shown 'chasing_function'
echo x >&7
exec 7>&-
wait $recorder || fail "the program: $(cat err)"
until_shown '% .* later_function'
grep -q 'still recording' screen && until_shown '^ growing.tw: [0-9,]* instructions  '
keys q 'status 0'
exit 0
