# Limits of the program: memory, file descriptors, processes, many threads. It sees and meets its own, not the engine's.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
# Memory: limits that the program sets itself, that it was started with, and that it reads.
cat >memory.sh <<'END'
ulimit -Sv; ulimit -Hv
ulimit -v 400000; ulimit -v; ulimit -d
/bin/ls -d /
ulimit -d 100000; ulimit -d
python3 -c '
try:
    big = bytearray(500 << 20)
except MemoryError:
    print("no memory")
small = bytearray(30 << 20)
print(len(small))'
END
need_command python3
limits_on_memory() {
	(
		ulimit -S -v 1000000
		same_as_native bash memory.sh
	) || exit 1
	check_good
	(
		ulimit -v 1000000
		same_as_native true # who cannot raise it: tight_limits.sh
	) || exit 1
}
# What the engine leaves of its own share is not the program's: of a limit of 2 GB it gets what it gets natively, here and in the program it executes.
cc_program takes_all <<'END'
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const struct rlimit limit = {2ul << 30, 2ul << 30};
	int mb = 0;
	setrlimit(RLIMIT_AS, &limit);
	while (mb < 100000 && mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
		mb++;
	printf("%s\n", mb < 1900 ? "less" : mb <= 2048 ? "about 2 GB" : "more");
	fflush(stdout);
	if (argc == 1)
		execl(argv[0], argv[0], "again", (char *)0);
	return 0;
}
END
asan || {
	limits_on_memory # the sanitizer wants terabytes
	for options in '-f none' '-f dep' --sink=count; do
		read -ra RECORD_OPTIONS <<<"$options"
		same_as_native ./takes_all
	done
	# What runs natively has the program's own limits: a child that is not followed, and what is executed with less memory than the engine needs.
	RECORD_OPTIONS=(--follow=none)
	same_as_native bash -c 'ulimit -v 500000; sh -c "ulimit -v"; exec /nowhere; ulimit -v' 2>/dev/null
	RECORD_OPTIONS=()
	same_as_native sh -c 'ulimit -v 1000; exec /bin/ls -d / 2>/dev/null'
	read -ra RECORD_OPTIONS <<<"${TW_RECORD_OPTIONS:-}"
}
(
	ulimit -f 300
	one_sentence "$TW" record -q -o limited.tw true
	says 'ulimit -f'
) || exit 1
# What reads a recording needs no files; what it writes to one ends where it may.
"$TW" record -q -o small.tw ls >/dev/null || fail "record ls"
(
	ulimit -f 100
	check_good small.tw
	"$TW" report small.tw >report.out || fail "report under ulimit -f"
	one_sentence "$TW" dump -o dump.out small.tw
	says 'File too large'
) || exit 1

# Descriptors: all of them in use, none of them closed; then all of them closed.
cc_program files -D_GNU_SOURCE <<'END'
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct rlimit l = {20, 20};
	char open_now[64] = "", *again[] = {argv[0], "again", NULL};
	if (argc > 1)
		return 9;
	for (int fd = 0; fd < 60; fd++) /* whoever keeps a descriptor is seen here */
		open_now[fd] = fcntl(fd, F_GETFD) < 0 ? '.' : 'x';
	puts(open_now);
	setrlimit(RLIMIT_NOFILE, &l);
	int n = 0;
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		n++;
	printf("%d more, then %d\n", n, errno == EMFILE);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, "\xb8\x2a\0\0\0\xc3", 6);
	printf("code %d\n", ((int (*)(void))p)());
	fflush(stdout);
	int s;
	pid_t child = fork();
	if (!child) {
		execv("/proc/self/exe", again);
		_exit(1);
	}
	waitpid(child, &s, 0);
	printf("executed %d\n", WEXITSTATUS(s));
	fflush(stdout);
	close_range(3, ~0u, 0);
	printf("one is free: %d\n", open("/dev/null", O_RDONLY));
	fflush(stdout);
	dup2(1, 19);
	close_range(0, 18, 0);
	closefrom(20);
	dprintf(19, "still here\n");
	return 0;
}
END
whole ./files
(
	ulimit -n 14
	same_as_native ./files
) || exit 1
# With fewer the recorder cannot open all its files, and says so; the program runs to its end, and the recorder sees that it has.
(
	ulimit -n 12
	native ./files
	timeout 60 "$TW" record -q -o few.tw -- ./files >out 2>err </dev/null
	[ $? = 0 ] || fail "with 12 descriptors: $(cat err)"
	tail -n +2 native.out >expected
	tail -n +2 out | cmp -s - expected || fail "with 12 descriptors the program says something else: $(cat out)" # the first line tells which are open
	[ ! -s err ] || grep -q 'recording stopped.*Too many open files' err || fail "with 12 descriptors: $(cat err)"
) || exit 1

# A thousand threads at once, each with something to record.
cc_program thousand -D_GNU_SOURCE -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_barrier_t all;
static void *run(void *arg)
{
	volatile long sum = 0;
	pthread_barrier_wait(&all);
	for (long i = 0; i < 200; i++)
		sum += i + (long)arg;
	pthread_barrier_wait(&all);
	return (void *)sum;
}
int main(int argc, char **argv)
{
	long n = atol(argv[argc - 1]), sum = 0;
	pthread_t *t = calloc(n, sizeof *t);
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	pthread_barrier_init(&all, NULL, n);
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], &a, run, (void *)i)) {
			printf("thread %ld cannot be made\n", i);
			return 1;
		}
	for (long i = 0; i < n; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("%ld\n", sum);
	return 0;
}
END
same_as_native ./thousand 1000
check_good
[ "$(info_value threads)" = 1001 ] || fail "$(info_value threads) of 1001 threads were recorded"
verify_clean ./thousand 100
# As many that count for themselves, each with a buffer of its own, and a limit on data that natively lets them be (the sanitizer's memory counts as that too).
(
	asan || ulimit -S -d 200000
	RECORD_OPTIONS+=(--sink=count)
	same_as_native ./thousand 1000
	[ "$(info_value threads)" = 1001 ] || fail "$(info_value threads) of 1001 threads were counted"
) || exit 1

# More than can be recorded at once: the program has them all the same, and the recording says what it lacks.
native ./thousand 1700
for options in '-f dep' '--sink=count'; do
	left_out "$options" '-f dep' && continue
	run recorded.out recorded.err "$TW" record -q -o recording.tw $options ./thousand 1700
	RECORDED_STATUS=$?
	cmp -s native.out recorded.out && [ $RECORDED_STATUS = 0 ] || fail "1700 threads, $options: status $RECORDED_STATUS, $(cat recorded.out recorded.err)"
	grep -q 'incomplete: more than 1536 threads at once' recorded.err || fail "1700 threads, $options: $(cat recorded.err)"
done

# Far more: what is not recorded takes few of the mappings that the kernel allows a process (65,530; a thread takes two natively).
if ! left_out 9000 9000 && native ./thousand 9000 && [ "$NATIVE_STATUS" = 0 ]; then
	run recorded.out recorded.err "$TW" record -q --sink=count -o recording.tw ./thousand 9000
	cmp -s native.out recorded.out || fail "9000 threads: $(cat recorded.out recorded.err)"
fi

# The kernel allows no more mappings: threads cannot be made then, or are not recorded, and those that have been made go on.
cc_program mappings -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { PAGE = 4096, PAGES = 200000, THREADS = 1000 };
static pthread_mutex_t full = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *arg)
{
	volatile char work[100];
	for (int i = 0; i < 100; i++)
		work[i] = (char)i;
	pthread_mutex_lock(&full);
	pthread_mutex_unlock(&full);
	return (void *)(long)(work[7] == 7);
}
int main(int argc, char **argv)
{
	long left = atol(argv[1]), n = 0, made = 0, good = 0;
	static pthread_t t[THREADS];
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	char *at = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	while (n < PAGES && !mprotect(at + n * PAGE, PAGE, PROT_READ)) /* every other page: a mapping each */
		n += 2;
	munmap(at, (size_t)left * PAGE);
	pthread_mutex_lock(&full);
	while (made < THREADS && !pthread_create(&t[made], &a, run, NULL))
		made++;
	munmap(at + left * PAGE, (size_t)(PAGES - left) * PAGE);
	pthread_mutex_unlock(&full);
	for (long i = 0; i < made; i++) {
		void *r;
		pthread_join(t[i], &r);
		good += (long)r;
	}
	puts(made && made == good ? "all that were made have ended well" : "threads are missing");
	return argc == 0;
}
END
for left in 101 103 105; do
	native ./mappings $left
	for options in '-f none' '-f dep' '--sink=count'; do
		left_out "$options $left" '-f none 103' '-f none 105' '--sink=count 101' '--sink=count 103' && continue
		run recorded.out recorded.err "$TW" record -q -o recording.tw $options ./mappings $left
		RECORDED_STATUS=$?
		cmp -s native.out recorded.out && [ $RECORDED_STATUS = 0 ] || fail "no more mappings, $options, $left: status $RECORDED_STATUS, $(cat recorded.out recorded.err)"
		[ "$options" = '-f none' ] || "$TW" check recording.tw >check.out 2>&1 || grep -q incomplete check.out || fail "no more mappings, $options, $left: $(cat check.out)"
	done
done

# Processes: natively at the limit, and so recorded. Root has none, so another user is needed.
cc_program forks <<'END'
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	struct rlimit l = {0, 0};
	setrlimit(RLIMIT_NPROC, &l);
	pid_t p = fork();
	if (!p)
		_exit(0);
	printf("%d %d\n", p, p < 0 && errno == EAGAIN);
	return 0;
}
END
as_nobody=(setpriv --reuid 65534 --clear-groups)
if [ "$(id -u)" != 0 ]; then
	same_as_native ./forks
elif chmod -R a+rX "$TMP" "$BUILD" 2>/dev/null && mkdir -m 777 open && "${as_nobody[@]}" test -x "$TW" -a -x ./forks 2>/dev/null; then
	(
		cd open && cp ../forks . || exit 1
		native "${as_nobody[@]}" ./forks
		run recorded.out recorded.err "${as_nobody[@]}" "$TW" record -q -o recording.tw ./forks
		RECORDED_STATUS=$?
		compare_runs 'record at the limit of processes'
		grep -q '^-1 1$' native.out || fail "no limit was met: $(cat native.out)"
	) || exit 1
else
	untested "a limit of processes: root cannot become nobody here"
fi

# A recording with more threads than a process may have files open.
"$TW" record -q -o many.tw -- bash -c 'for i in {1..20}; do /bin/true; done' || fail "record many"
(
	ulimit -n 12
	check_good many.tw
	"$TW" info many.tw >/dev/null || fail "info of many threads"
) || exit 1

# A limit on the size of files: the recording ends there, says so, and what is whole of it can be read. Where there is nothing, check does not call it good.
(
	ulimit -S -f 4000
	rm -rf recording.tw
	"$TW" record -o recording.tw "${RECORD_OPTIONS[@]}" -- gzip -9 -n -c "$(command -v perl)" 2>size.err >/dev/null
)
if grep -q 'recording stopped' size.err; then
	grep -q 'File too large' size.err || fail "a limit on the size of files: $(cat size.err)"
	kept=$(sed -n 's/.*; in it are \([0-9]*\) instructions.*/\1/p' size.err)
	[ "$kept" = "$(info_value instructions)" ] || fail "of a limit on the size of files record and info say different things"
	"$TW" check recording.tw >check.out 2>&1
	[ "$kept" != 0 ] || grep -q 'nothing is in it' check.out || fail "check calls a recording good in which there is nothing"
fi
