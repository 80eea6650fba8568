#include "channel/command.h"
#include "base/set_id.h"
#include "unit.h"
#include "unit_directory.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const void *bytes, size_t n, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(write(fd, bytes, n) == (ssize_t)n);
	close(fd);
	CHECK(!chmod(path, mode));
}

static void write_script(const char *path, const char *text)
{
	write_file(path, text, strlen(text), 0755);
}

static void write_elf(const char *path, unsigned char class, uint16_t machine, uint16_t type, mode_t mode)
{
	Elf64_Ehdr h = {.e_type = type, .e_machine = machine};
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = class;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	write_file(path, &h, sizeof h, mode);
}

static void refused(const char *name, int status, const char *because)
{
	char *argv[] = {(char *)name, NULL};
	struct tw_command p;
	EQUAL(tw_command_resolve(1, argv, &p), status);
	CHECK(strstr(p.why, because));
	if (!strstr(p.why, because))
		fprintf(stderr, "\tfound: %s\n", p.why);
	tw_command_free(&p);
}

static void resolves(char **argv, const char *path, const char *const *expected)
{
	struct tw_command p;
	int argc = 0, n = 0;
	while (argv[argc])
		argc++;
	while (expected[n])
		n++;
	EQUAL(tw_command_resolve(argc, argv, &p), 0);
	SAME_TEXT(p.path ? p.path : p.why, path);
	EQUAL(p.argc, n);
	for (int i = 0; i < n && i < p.argc; i++)
		SAME_TEXT(p.argv[i], expected[i]);
	CHECK(!p.argv[p.argc]);
	tw_command_free(&p);
}

#define RESOLVES(path, argv, expected) resolves((char *[]){argv, NULL}, path, (const char *const[]){expected, NULL})
#define WORDS(...)                     __VA_ARGS__

static void programs(void)
{
	write_elf("good", ELFCLASS64, EM_X86_64, ET_DYN, 0755);
	RESOLVES("./good", WORDS("./good", "a", ""), WORDS("./good", "a", ""));
	setenv("PATH", "/nowhere:good:.", 1);
	RESOLVES("./good", WORDS("good", "a"), WORDS("good", "a"));
	setenv("PATH", "/nowhere::", 1);
	RESOLVES("good", WORDS("good"), WORDS("good"));
}

static void scripts(void)
{
	write_script("plain.sh", "#!./good\nrest\n");
	RESOLVES("./good", WORDS("./plain.sh", "x", "y"), WORDS("./good", "./plain.sh", "x", "y"));
	write_script("argument.sh", "#! \t./good  -a b \t\nrest\n");
	RESOLVES("./good", WORDS("./argument.sh", "x"), WORDS("./good", "-a b", "./argument.sh", "x"));
	write_script("nested.sh", "#!./argument.sh -n");
	RESOLVES("./good", WORDS("./nested.sh", "x"), WORDS("./good", "-a b", "./argument.sh", "-n", "./nested.sh", "x"));
	write_script("loop.sh", "#!./loop.sh\n");
	refused("./loop.sh", TW_COMMAND_CANNOT, "more than 4 deep");
	write_script("missing.sh", "#!./no-such\n");
	refused("./missing.sh", TW_COMMAND_MISSING, "./no-such: no such file");
}

/* What the kernel does not know how to run. */
static void left_to_shell(void)
{
	write_script("text", "just text\n");
	resolves((char *[]){"./text", "x", NULL}, "/bin/sh", (const char *const[]){"/bin/sh", "./text", "x", NULL});
	setenv("PATH", "/nowhere:.", 1);
	resolves((char *[]){"text", NULL}, "/bin/sh", (const char *const[]){"/bin/sh", "./text", NULL});
	write_file("empty", "", 0, 0755);
	resolves((char *[]){"./empty", NULL}, "/bin/sh", (const char *const[]){"/bin/sh", "./empty", NULL});
	write_script("none.sh", "#! \n");
	resolves((char *[]){"./none.sh", NULL}, "/bin/sh", (const char *const[]){"/bin/sh", "./none.sh", NULL});
	write_script("of-text.sh", "#!./text -a\n");
	resolves((char *[]){"./of-text.sh", "x", NULL}, "/bin/sh", (const char *const[]){"/bin/sh", "./of-text.sh", "x", NULL});
}

static void unsearchable_directory(void)
{
	const uid_t user = geteuid();
	mkdir("closed", 0700);
	write_script("closed/hidden", "#!/bin/sh\n");
	chmod("closed", 0);
	setenv("PATH", "closed:/nowhere", 1);
	if (!user && seteuid(65534))
		return;
	refused("hidden", TW_COMMAND_MISSING, "command not found");
	refused("closed/hidden", TW_COMMAND_CANNOT, "Permission denied");
	CHECK(!seteuid(user));
	chmod("closed", 0700);
}

static void refusals(void)
{
	setenv("PATH", "/nowhere:.", 1);
	refused("no-such", TW_COMMAND_MISSING, "command not found");
	refused("./no-such", TW_COMMAND_MISSING, "no such file");
	refused("", TW_COMMAND_MISSING, "empty");
	refused("/tmp", TW_COMMAND_CANNOT, "is a directory");
	refused("/dev/null", TW_COMMAND_CANNOT, "not a regular file");
	write_elf("no-x", ELFCLASS64, EM_X86_64, ET_DYN, 0644);
	refused("./no-x", TW_COMMAND_CANNOT, "not executable");
	refused("no-x", TW_COMMAND_CANNOT, "not executable");
	write_elf("i386", ELFCLASS32, EM_386, ET_EXEC, 0755);
	refused("./i386", TW_COMMAND_CANNOT, "32-bit");
	write_elf("x32", ELFCLASS32, EM_X86_64, ET_EXEC, 0755);
	refused("./x32", TW_COMMAND_CANNOT, "32-bit");
	write_elf("arm", ELFCLASS64, EM_AARCH64, ET_EXEC, 0755);
	refused("./arm", TW_COMMAND_CANNOT, "a program for AArch64, not for x86-64");
	write_elf("object", ELFCLASS64, EM_X86_64, ET_REL, 0755);
	refused("./object", TW_COMMAND_CANNOT, "not a program");
	write_file("cut", ELFMAG "xy", 6, 0755);
	refused("./cut", TW_COMMAND_CANNOT, "truncated");
}

static int changes(unsigned mode, unsigned owner, unsigned group, unsigned personality, const char *what)
{
	const char *is = tw_set_id_changes(mode, owner, group, 5, 6, personality);
	return is ? what && !strcmp(is, what) : !what;
}

static void set_id(void)
{
	CHECK(changes(0755, 1, 1, 0, NULL));
	CHECK(changes(04755, 1, 6, 0, "set-uid"));
	CHECK(changes(04755, 5, 1, 0, NULL));
	CHECK(changes(02755, 5, 1, 0, "set-gid"));
	CHECK(changes(02745, 5, 1, 0, NULL)); /* that meant mandatory locking */
	CHECK(changes(02755, 1, 6, 0, NULL));
	CHECK(changes(06755, 5, 6, 0, NULL));
	CHECK(changes(06755, 5, 1, 0, "set-gid"));
	CHECK(changes(04755, 5, 6, ADDR_NO_RANDOMIZE, "set-uid"));
	CHECK(changes(0755, 5, 6, ADDR_NO_RANDOMIZE, NULL));
	write_elf("own", ELFCLASS64, EM_X86_64, ET_DYN, 0755);
	CHECK(!chown("own", geteuid(), getegid()) && !chmod("own", 06755));
	RESOLVES("./own", WORDS("./own"), WORDS("./own"));
}

int main(void)
{
	char place[PATH_MAX];
	unit_enter_directory(place);
	programs();
	scripts();
	left_to_shell();
	unsearchable_directory();
	refusals();
	set_id();
	unit_leave_directory(place);
	return UNIT_END();
}
