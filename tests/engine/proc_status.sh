# What a program reads in /proc of signals - its own, its threads', its recorded relatives' - in whatever way it opens and reads that, is what it would read natively.
. "$(dirname "$0")/../lib.sh"
cc_program status -D_GNU_SOURCE -pthread <<'END'
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static void handler(int s) { (void)s; }
static void block(int how, int a, int b, int c)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, a);
	sigaddset(&set, b);
	sigaddset(&set, c);
	pthread_sigmask(how, &set, NULL);
}
static void print_signals(const char *name, const char *text)
{
	printf("%s:", name);
	for (const char *p = text; (p = strstr(p, "\nS")); p++)
		if (!strncmp(p, "\nSig", 4) || !strncmp(p, "\nShdPnd", 7))
			if (strncmp(p, "\nSigQ", 5))
				printf(" %.*s", (int)strcspn(p + 1, "\n"), p + 1);
	printf("\n");
}
static void print_stat(const char *name, char *text)
{
	int n = 2;
	char *p = strrchr(text, ')') + 1;
	printf("%s:", name);
	for (p = strtok(p, " \n"); p; p = strtok(NULL, " \n"))
		if (++n >= 31 && n <= 34)
			printf(" %s", p);
	printf(" of %d fields\n", n);
}
static char text[16384];
static void all_of(int fd, size_t piece)
{
	size_t n = 0;
	ssize_t r;
	while ((r = read(fd, text + n, piece)) > 0)
		n += (size_t)r;
	text[n] = 0;
}
static void by_fd(const char *name, int fd)
{
	if (fd < 0) {
		printf("%s: %s\n", name, strerror(errno));
		return;
	}
	all_of(fd, sizeof text - 1);
	print_signals(name, text);
	/* again, from the start, in pieces */
	lseek(fd, 0, SEEK_SET);
	all_of(fd, 7);
	print_signals("in pieces", text);
	close(fd);
}
static void by_path(const char *name, const char *path)
{
	by_fd(name, open(path, O_RDONLY));
}
static void stat_of(const char *name, const char *path)
{
	int fd = open(path, O_RDONLY);
	all_of(fd, sizeof text - 1);
	print_stat(name, text);
	lseek(fd, 0, SEEK_SET);
	all_of(fd, 1);
	print_stat("byte by byte", text);
	close(fd);
}
static int passed_on(int fd)
{
	int pair[2];
	char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (sendmsg(pair[0], &m, 0) != 1 || recvmsg(pair[1], &m, 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}
static volatile pid_t other;
static int ready[2], done[2];
static void *thread(void *arg)
{
	char c;
	block(SIG_SETMASK, SIGBUS, SIGUSR2, SIGWINCH);
	other = (pid_t)syscall(SYS_gettid);
	pthread_kill(pthread_self(), SIGBUS);
	if (write(ready[1], "", 1) != 1 || read(done[0], &c, 1) != 1)
		return arg;
	return NULL;
}
static void all_ways(void)
{
	char path[64];
	by_path("self", "/proc/self/status");
	by_path("thread-self", "/proc/thread-self/status");
	snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)getpid());
	by_path("task", path);
	snprintf(path, sizeof path, "/proc/%d/status", (int)getpid());
	by_path("pid", path);
	int dir = open("/proc/self", O_RDONLY | O_DIRECTORY);
	by_fd("relative", openat(dir, "status", O_RDONLY));
	struct open_how how = {.flags = O_RDONLY};
	by_fd("openat2", (int)syscall(SYS_openat2, dir, "status", &how, sizeof how));
	int fd = open("/proc/self/status", O_RDONLY);
	by_fd("duplicate", dup(fd));
	lseek(fd, 0, SEEK_SET);
	by_fd("passed on", passed_on(fd));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	by_path("by descriptor", path);
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n] = 0;
	print_signals("pread", text);
	char *found = strstr(text, "\nSigBlk");
	char some[25] = {0};
	if (pread(fd, some, 24, found - text + 1) == 24)
		printf("some of it: %s\n", some);
	lseek(fd, 0, SEEK_SET);
	struct iovec v[2] = {{text, 4000}, {text + 4000, 4000}};
	n = readv(fd, v, 2);
	text[n > 0 ? n : 0] = 0;
	print_signals("readv", text);
	close(fd);
	close(dir);
	stat_of("stat", "/proc/self/stat");
	stat_of("thread-self/stat", "/proc/thread-self/stat");
}
int main(void)
{
	char path[160], c;
	setvbuf(stdout, NULL, _IONBF, 0);
	all_ways();
	signal(SIGSEGV, handler);
	signal(SIGTERM, handler);
	signal(SIGTRAP, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	block(SIG_BLOCK, SIGFPE, SIGSEGV, SIGUSR1);
	kill(getpid(), SIGSEGV);
	raise(SIGFPE);
	raise(SIGUSR1);
	all_ways();
	if (pipe(ready) || pipe(done))
		return 1;
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	if (read(ready[0], &c, 1) != 1)
		return 1;
	snprintf(path, sizeof path, "/proc/self/task/%d/status", other);
	by_path("another thread", path);
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)getpid(), other);
	stat_of("another thread", path);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) { /* of its parent, and its own */
		snprintf(path, sizeof path, "/proc/%d/status", (int)getppid());
		by_path("parent", path);
		snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
		stat_of("parent", path);
		by_path("child", "/proc/self/status");
		signal(SIGILL, handler);
		block(SIG_SETMASK, SIGILL, SIGILL, SIGILL);
		if (write(ready[1], "", 1) != 1 || read(done[0], &c, 1) != 1)
			return 1;
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1)
		return 1;
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	by_path("child, of its parent", path);
	snprintf(path, sizeof path, "grep -E '^(Sig[PBIC]|Shd)' /proc/%d/status; grep -E '^(Sig[PBIC]|Shd)' /proc/self/status", (int)pid);
	if (system(path))
		return 1;
	if (write(done[1], "xx", 2) != 2)
		return 1;
	wait(NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		execl("/bin/sh", "sh", "-c", "grep -E '^(Sig[PBIC]|Shd)' /proc/self/status /proc/$$/status | sed 's/[0-9]*.status//'; cat /proc/self/status | grep ^Sig[PBIC]; trap '' TRAP; cut -d' ' -f31-34 /proc/self/stat", (char *)NULL);
		_exit(1);
	}
	wait(NULL);
	return 0;
}
END
whole ./status
RECORD_OPTIONS=(-f none)
same_as_native ./status
