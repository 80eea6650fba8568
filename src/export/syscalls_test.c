#include "export/syscalls.h"
#include "unit.h"

#include <sys/syscall.h>

/* What a call looks like. `paths`: the names that follow it. */
static void check(struct tw_syscall call, const char *paths, uint32_t bytes, const char *expected)
{
	struct {
		struct tw_syscall call;
		char paths[64];
	} event = {.call = call};
	struct tw_text t;
	memcpy(event.paths, paths, bytes);
	tw_text_init(&t, -1);
	tw_syscall_print(&t, &event.call, (uint32_t)sizeof event.call + bytes);
	tw_text_put(&t, "", 1);
	SAME_TEXT(t.bytes, expected);
	if (strcmp(t.bytes, expected))
		fprintf(stderr, "\tfound %s\n", t.bytes);
	tw_text_free(&t);
}

int main(void)
{
	SAME_TEXT(tw_syscall_name(SYS_read), "read");
	SAME_TEXT(tw_syscall_name(SYS_openat), "openat");
	SAME_TEXT(tw_syscall_name(SYS_clone3), "clone3");
	SAME_TEXT(tw_syscall_name(TW_SYSCALL_INT80 | 4), "write");
	CHECK(!tw_syscall_name(100000) && !tw_syscall_name(TW_SYSCALL_INT80 | 100000));
	check((struct tw_syscall){.number = SYS_openat, .args = {(uint64_t)-100, 0x5000, 0x80000, 0644}, .result = 3}, "/a b\n", 6,
	      "openat(AT_FDCWD, \"/a b\\x0a\", 0x80000, 0644) = 3");
	check((struct tw_syscall){.number = SYS_rename, .args = {1, 2}, .result = -2}, "x\0y", 4, "rename(\"x\", \"y\") = -1 ENOENT");
	check((struct tw_syscall){.number = SYS_rename, .args = {0x10, 0}, .result = -14}, "", 1, "rename(\"\", NULL) = -1 EFAULT");
	check((struct tw_syscall){.number = SYS_open, .args = {0x10}, .result = 0}, "", 0, "open(0x10, 0, 0) = 0"); /* of version 6 */
	check((struct tw_syscall){.number = SYS_mmap, .args = {0, 4096, 3, 0x22, 0xffffffff, 0}, .result = 0x7f1234567000}, "", 0,
	      "mmap(0, 4096, 0x3, 0x22, -1, 0) = 0x7f1234567000");
	check((struct tw_syscall){.number = SYS_mmap, .args = {0, 4096, 3, 0x22, 0xffffffff, 0}, .result = 0x10005000}, "", 0,
	      "mmap(0, 4096, 0x3, 0x22, -1, 0) = 0x10005000");
	check((struct tw_syscall){.number = SYS_getpid, .result = 77}, "", 0, "getpid() = 77");
	check((struct tw_syscall){.number = 9999, .args = {1, 2, 3, 4, 5, 6}, .result = -38}, "", 0,
	      "syscall_9999(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -1 ENOSYS");
	return UNIT_END();
}
