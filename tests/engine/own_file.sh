# A program's own file through /proc: by absolute and relative paths, with every way of resolving them, in every call that takes one.
. "$(dirname "$0")/../lib.sh"
cc_program own -D_GNU_SOURCE <<'EOF'
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static ino_t own;

static void say(const char *what, long result, int fd)
{
	struct stat st = {0};
	if (result < 0)
		printf(" %s:%s", what, strerrorname_np(errno));
	else if (fd < 0)
		printf(" %s:%ld", what, result);
	else
		printf(" %s:%s", what, fstat(fd, &st) ? "?" : st.st_ino == own ? "own" : S_ISLNK(st.st_mode) ? "link" : "OTHER");
	if (fd >= 0)
		close(fd);
}

static void open2(int dir, const char *path, unsigned long resolve, unsigned long flags)
{
	struct open_how how = {.flags = flags, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
	printf("\n  %lx %lx", resolve, flags);
	say("openat2", fd, fd);
}

static void stat_and_read(int dir, const char *path)
{
	struct stat st;
	struct statx sx;
	char link[4096] = "";
	int r = fstatat(dir, path, &st, 0);
	say("fstatat", r < 0 ? r : st.st_ino == own, -1);
	r = fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW);
	say("nofollow", r < 0 ? r : S_ISLNK(st.st_mode), -1);
	r = statx(dir, path, 0, STATX_INO, &sx);
	say("statx", r < 0 ? r : sx.stx_ino == own, -1);
	say("faccessat", faccessat(dir, path, X_OK, 0), -1);
	say("faccessat2", syscall(SYS_faccessat2, dir, path, X_OK, AT_SYMLINK_NOFOLLOW), -1);
	const ssize_t n = readlinkat(dir, path, link, sizeof link - 1);
	printf(" readlinkat:%zd %s", n, n > 0 ? link : "");
}

static void try(int dir, const char *path)
{
	static const unsigned long resolve[] = {
	    0, RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_NO_XDEV | RESOLVE_IN_ROOT, 1ul << 40};
	printf("%s %s", dir < 0 ? "-" : "dir", path);
	for (unsigned k = 0; k < sizeof resolve / sizeof *resolve; k++) {
		open2(dir, path, resolve[k], O_RDONLY);
		open2(dir, path, resolve[k], O_PATH | O_NOFOLLOW);
	}
	open2(dir, path, 0, O_RDONLY | O_NOFOLLOW);
	struct open_how how = {0};
	printf("\n ");
	say("short", syscall(SYS_openat2, dir, path, &how, 4ul), -1);
	say("nowhere", syscall(SYS_openat2, dir, path, (void *)8, sizeof how), -1);
	int fd = openat(dir, path, O_RDONLY);
	say("openat", fd, fd);
	stat_and_read(dir, path);
	printf("\n");
}

static void absolute(const char *path)
{
	char buf[4096];
	struct statfs f, expected;
	statfs("/proc/self/fd/3", &expected);
	int r = statfs(path, &f);
	printf("%s", path);
	say("statfs", r < 0 ? r : f.f_type == expected.f_type, -1);
	say("getxattr", getxattr(path, "user.x", buf, sizeof buf), -1);
	say("listxattr", listxattr(path, buf, sizeof buf), -1);
	say("access", access(path, X_OK), -1);
	printf("\n");
}

/* What makes something of the file: as runc binds itself to a name before it executes that. */
static void make(const char *path)
{
	struct stat st;
	const int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, 0);
	say("open_tree", tree, tree);
	mode_t mode = 0711;
	long r = linkat(AT_FDCWD, path, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW);
	say("linkat", r < 0 ? r : stat("linked", &st) || st.st_ino == own, -1);
	say("unlink", unlink("linked"), -1);
	r = chmod(path, mode);
	say("chmod", r < 0 ? r : fstat(3, &st) || (st.st_mode & 0777) == mode, -1);
	mode = 0751;
	r = fchmodat(AT_FDCWD, path, mode, 0);
	say("fchmodat", r < 0 ? r : fstat(3, &st) || (st.st_mode & 0777) == mode, -1);
	r = mount(path, "bound", NULL, MS_BIND, NULL);
	say("mount", r < 0 ? r : stat("bound", &st) || st.st_ino == own, -1);
	printf("\n");
}

int main(int argc, char **argv)
{
	static const char *const whole[] = {"/proc/self/exe", "/proc/thread-self/exe", "/proc//self/./exe", "/proc/./self//exe", "/proc/self/exe/", "/proc/self/cwd",
	    "/proc/self/root", "/proc/self/fd/3", "/proc/self/maps", "/proc/self/status", "/proc/self/fdinfo/3"};
	struct stat st;
	const int file = open(argv[0], O_RDONLY);
	fstat(file, &st);
	own = st.st_ino;
	const int directory = open(".", O_PATH);
	for (unsigned k = 0; k < sizeof whole / sizeof *whole; k++) {
		try(AT_FDCWD, whole[k]);
		absolute(whole[k]);
	}
	const int proc = open("/proc", O_PATH), self = open("/proc/self", O_PATH), task = open("/proc/thread-self", O_RDONLY | O_DIRECTORY);
	try(proc, "self/exe");
	try(proc, "./self/exe");
	try(self, "exe");
	try(self, "./exe");
	try(task, "exe");
	try(self, "fd/3");
	try(self, "no/exe");
	if (!chdir("/proc/self"))
		try(AT_FDCWD, "exe");
	if (argc > 1 && !fchdir(directory))
		make("/proc/self/exe");
	return argc > 5;
}
EOF
: >bound
namespace=()
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null && namespace=(unshare -m)
cp "$(type -P true)" exe # not every `exe` is in /proc
for f in none dep; do
	RECORD_OPTIONS=(-f "$f")
	same_as_native "${namespace[@]}" ./own makes
	same_as_native sh -c 'test -x exe && cd /proc/self && readlink exe && cd "$OLDPWD" && ./exe && stat -c %s ./exe exe'
done
