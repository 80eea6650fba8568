# mlockall: what is locked, and counts against the limit on that, is the program's memory, here and natively.
if [ "$(id -u)" = 0 ]; then # who may lock all that he likes is somebody else from here on
	build=${BUILD:-$(dirname "$0")/../../build}
	type -P setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$build/trackway-engine" -a -r "$0" || {
		echo "no other user can reach the program under test"
		exit 77
	}
	ulimit -l 8192
	exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all bash "$0"
fi
. "$(dirname "$0")/../lib.sh"
ulimit -l 8192 2>/dev/null
[ "$(ulimit -l)" = 8192 ] || skip "the limit on locked memory is $(ulimit -l) KB"
cc_program locks -D_GNU_SOURCE -static <<'EOF'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define MB (1ul << 20)
static const char *map(size_t n, void **at)
{
	*at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return *at == MAP_FAILED ? strerrorname_np(errno) : "mapped";
}
/* How much is locked, in MB. */
static long locked(void)
{
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, f))
		sscanf(line, "VmLck: %ld", &kb);
	fclose(f);
	return kb / 1024;
}
static int resident(void *at)
{
	unsigned char there = 0;
	return !mincore(at, 4096, &there) && there;
}
int main(void)
{
	static const int how[] = {MCL_CURRENT, MCL_FUTURE, MCL_CURRENT | MCL_FUTURE, MCL_CURRENT | MCL_ONFAULT, MCL_FUTURE | MCL_ONFAULT,
	    MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT, 0, MCL_ONFAULT, 64};
	void *before, *small, *large;
	for (unsigned k = 0; k < sizeof how / sizeof *how; k++) {
		int status;
		map(3 * MB, &before);
		const int r = mlockall(how[k]);
		printf("%d: %s, %ld MB", how[k], r ? strerrorname_np(errno) : "locked", locked());
		printf(", 2 MB %s", map(2 * MB, &small));
		printf(", 20 MB %s, %ld MB", map(20 * MB, &large), locked());
		printf(", there %d %d", resident(before), resident(small));
		if (!fork())
			_exit((int)locked());
		wait(&status);
		const int grown = sbrk(16 * MB) != (void *)-1;
		printf(", child %d MB, sbrk %d", WEXITSTATUS(status), grown);
		if (grown)
			sbrk(-(long)(16 * MB));
		printf(", again %s", mlockall(MCL_CURRENT) ? strerrorname_np(errno) : "locked");
		printf(", unlocked %d", munlockall());
		printf(", %ld MB\n", locked());
		munmap(before, 3 * MB);
		munmap(small, 2 * MB);
		if (large != MAP_FAILED)
			munmap(large, 20 * MB);
	}
	return 0;
}
EOF
for options in "-f none" "-f dep" "--sink=count"; do
	read -ra RECORD_OPTIONS <<<"$options"
	same_as_native ./locks
done
RECORD_OPTIONS=()
verify_clean ./locks
