# Files of a program of which no names are kept are opened while it runs; names are the same as if they were not.
. "$(dirname "$0")/../lib.sh"
need_command objcopy strip
[ "$(nproc)" -gt 1 ] || skip "on one processor nothing is opened ahead"

# Waits, 20 s at the most, until its recorder has mapped its debug file.
cat >prog.c <<'END_C'
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static __attribute__((noinline)) int is_open(void)
{
	char path[64], line[4096];
	int found = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)getppid());
	FILE *maps = fopen(path, "r");
	while (maps && fgets(line, sizeof line, maps))
		found |= strstr(line, "/apart.debug") != NULL;
	if (maps)
		fclose(maps);
	return found;
}
int main(int argc, char **argv)
{
	const struct timespec pause = {0, 10000000};
	int open = 0;
	for (int i = 0; argc > 1 && !(open = is_open()) && i < 2000; i++)
		nanosleep(&pause, NULL);
	printf("%d\n", open);
	return argc > 2 && rename(argv[2], argv[0]);
}
END_C
gcc -O1 -g -o apart prog.c || fail "prog.c does not compile"
objcopy --redefine-sym is_open=is_there apart other || fail "other"
objcopy --only-keep-debug apart apart.debug && strip apart && objcopy --add-gnu-debuglink=apart.debug apart || fail "apart"
functions() { "$TW" report --functions -n 0 recording.tw; }

recorded ./apart wait
[ "$(cat recorded.out)" = 1 ] || fail "the debug file is not opened while the program runs"
functions | grep -q 'is_open prog.c:6' || fail "names of what was opened ahead: $(functions)"
functions | grep -q 'main prog.c:18' || fail "lines of what was opened ahead: $(functions)"

# Another file with the same code by the time that the recording ends: its names are that one's.
rm -rf "$XDG_CACHE_HOME"
recorded ./apart wait other
[ "$(cat recorded.out)" = 1 ] || fail "the debug file is not opened while the program runs"
functions | grep -q is_there || fail "names of a file that is another one now: $(functions)"
exit 0
