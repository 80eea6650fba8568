# As long as a program with a budget runs, the recorder makes way for it: what empties buffers has a low priority, and what encodes the lowest. What is left at the end is encoded as usual, and all of it.
. "$(dirname "$0")/../lib.sh"
cc_program busy <<'END2'
#include <stdio.h>
#include <string.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>
static unsigned char seen[64];
/* The nice values of the recorder's threads. */
static void look(void)
{
	char path[320], line[1024], *p;
	int nice;
	sprintf(path, "/proc/%d/task", getppid());
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		sprintf(path, "/proc/%d/task/%s/stat", getppid(), e->d_name);
		FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (f && fgets(line, sizeof line, f) && (p = strrchr(line, ')')) &&
		    sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %d", &nice) == 1 && nice >= 0 && nice < 20)
			seen[nice] = 1;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
}
static unsigned table[1 << 16];
static unsigned turn(unsigned sum)
{
	for (int i = 0; i < 1 << 17; i++)
		sum = sum * 5 + table[sum >> 16]++;
	look();
	return sum;
}
/* A thread sets its priority when it first runs, which takes a while on a busy machine: with an argument, until one has the lowest, for half a minute. */
int main(int argc, char **argv)
{
	unsigned sum = 1;
	(void)argv;
	for (int i = 0; i < (argc > 2 ? 600 : 40); i++)
		sum = turn(sum);
	const time_t end = time(NULL) + 30;
	for (unsigned more = sum; argc > 1 && !seen[19] && time(NULL) < end;)
		more = turn(more);
	for (int i = 0; i < 20; i++)
		if (seen[i])
			fprintf(stderr, "nice %d\n", i);
	printf("%u\n", sum);
	return 0;
}
END2
[ "$(nice)" = 0 ] || { echo "not tested here: priorities, since the tests have a low one"; exit 0; }
./busy >native 2>/dev/null
record() { "$TW" record -q "$@" >out 2>err && cmp -s out native || fail "record $*: $(cat out err)"; }

record -o plain.tw ./busy
grep -q '^nice 0$' err || fail "priorities were not seen: $(cat err)"
grep -qx 'nice 1[09]' err && fail "without a budget: $(cat err)"

for period in 50ms 1s; do
	record --budget=40% --period=$period -o with.tw ./busy until
	grep -qx 'nice 10' err || fail "what empties buffers does not make way: $(cat err)"
	grep -qx 'nice 19' err || fail "what encodes does not make way: $(cat err)"
	"$TW" check with.tw >said 2>&1 || fail "$(cat said)"
	rm -r with.tw
done
# On one processor the recorder takes from the program what it computes meanwhile, and that is charged.
one=$(sed -n 's/^Cpus_allowed_list:\s*\([0-9]*\).*/\1/p' /proc/self/status)
if [ -r /proc/self/task/$$/schedstat ]; then
	for _ in 1 2 3; do # where others want the processor, too, the recorder may not have come to look
		taskset -c "$one" "$TW" record -q --budget=40% --period=100ms -o one.tw ./busy until long >out 2>err || fail "on one processor: $(cat out err)"
		"$TW" info --json one.tw >one.json
		grep -q '"displaced_ns": *[1-9]' one.json && break
		rm -r one.tw
	done
	grep -q '"displaced_ns": *[1-9]' one.json || fail "what the recorder took is not charged: $(grep -A20 '"budget"' one.json)"
fi
# Without a spool and with a ring there is another end.
record --budget=40% --spool=0 -o direct.tw ./busy
"$TW" check direct.tw >said 2>&1 || fail "$(cat said)"
record --budget=40% --ring=20M -o ring.tw ./busy
"$TW" check ring.tw >said 2>&1 || fail "$(cat said)"
exit 0
