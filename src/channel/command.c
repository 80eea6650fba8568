#include "channel/command.h"
#include "base/channel.h"
#include "base/set_id.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SHELL    "/bin/sh"
#define AS_IT_IS 0xffffffff /* for personality(2) */

/* As much of a file as the kernel looks at for a `#!` line, and how many of them may lead to another. */
enum { LINE_BYTES = 255 /* of the 256 that the kernel looks at it needs the last for itself */, MAX_SCRIPTS = 4 };

static int __attribute__((format(printf, 3, 4))) refuse(struct tw_command *p, int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(p->why, sizeof p->why, format, args);
	va_end(args);
	return status;
}

/* ---- finding the file ---- */

static int is_runnable(const char *path)
{
	struct stat st;
	if (stat(path, &st))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		errno = EACCES;
		return 0;
	}
	return !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS);
}

/*
 * Searches each directory of PATH. Like a shell, continues after a file that may not be run, and remembers it; files
 * in unsearchable directories are not found.
 */
static int search_path(const char *name, char *found, struct tw_command *p)
{
	const char *path = getenv("PATH");
	char candidate[PATH_MAX * 2];
	found[0] = 0;
	for (const char *dir = path ? path : "/bin:/usr/bin"; dir;) {
		const char *colon = strchrnul(dir, ':');
		snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)(colon - dir), dir, colon > dir ? "/" : "", name);
		if (is_runnable(candidate)) {
			strcpy(found, candidate);
			return 0;
		}
		if (errno == EACCES && !found[0] && !faccessat(AT_FDCWD, candidate, F_OK, AT_EACCESS))
			strcpy(found, candidate);
		dir = *colon ? colon + 1 : NULL;
	}
	if (found[0])
		return 0;
	return refuse(p, TW_COMMAND_MISSING, "%s: command not found", name);
}

static int find_file(const char *name, char *found, struct tw_command *p)
{
	if (!name[0])
		return refuse(p, TW_COMMAND_MISSING, "the command's name is empty");
	if (!strchr(name, '/'))
		return search_path(name, found, p);
	if (strlen(name) >= PATH_MAX)
		return refuse(p, TW_COMMAND_MISSING, "the command's name is too long");
	strcpy(found, name);
	return 0;
}

/* ---- what the kernel would refuse, and what we must ---- */

static int check_permissions(const char *path, struct tw_command *p)
{
	struct stat st;
	if (stat(path, &st)) {
		int missing = errno == ENOENT || errno == ENOTDIR;
		return refuse(p, missing ? TW_COMMAND_MISSING : TW_COMMAND_CANNOT, "%s: %s", path,
		              missing ? "no such file" : strerror(errno));
	}
	if (S_ISDIR(st.st_mode))
		return refuse(p, TW_COMMAND_CANNOT, "%s is a directory, not a program", path);
	if (!S_ISREG(st.st_mode))
		return refuse(p, TW_COMMAND_CANNOT, "%s is not a regular file, so it cannot be run", path);
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return refuse(p, TW_COMMAND_CANNOT, "%s is not executable: %s", path, strerror(errno));
	return 0;
}

/* A traced program runs with its tracer's rights, so it would not run as it does natively. */
static int check_privileges(const char *path, struct tw_command *p)
{
	struct stat st;
	if (stat(path, &st))
		return refuse(p, TW_COMMAND_CANNOT, "%s: %s", path, strerror(errno));
	const char *what = tw_set_id_changes(st.st_mode, st.st_uid, st.st_gid, geteuid(), getegid(), (unsigned)personality(AS_IT_IS));
	if (what)
		return refuse(p, TW_COMMAND_CANNOT,
		              "%s is a %s program; it is refused because it would run with other privileges or another personality(2)",
		              path, what);
	if (getxattr(path, "security.capability", NULL, 0) > 0)
		return refuse(p, TW_COMMAND_CANNOT, "%s has file capabilities; it is refused because it would run without them", path);
	return 0;
}

static const char *machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
	    {EM_386, "i386"},    {EM_AARCH64, "AArch64"}, {EM_ARM, "ARM"},        {EM_RISCV, "RISC-V"},        {EM_PPC64, "PowerPC 64"},
	    {EM_PPC, "PowerPC"}, {EM_S390, "S/390"},      {EM_MIPS, "MIPS"},      {EM_SPARCV9, "SPARC"},       {EM_IA_64, "IA-64"},
	    {EM_68K, "m68k"},    {EM_ALPHA, "Alpha"},     {EM_PARISC, "PA-RISC"}, {EM_LOONGARCH, "LoongArch"},
	};
	static _Thread_local char number[32];
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].machine == machine)
			return names[i].name;
	snprintf(number, sizeof number, "machine %u", machine);
	return number;
}

/* A segment of a program that cannot be moved. */
static bool wants_place_of_engine(const Elf64_Ehdr *h, const Elf64_Phdr *ph)
{
	return h->e_type == ET_EXEC && ph->p_type == PT_LOAD && ph->p_vaddr < TW_ENGINE_PLACE_END &&
	       ph->p_vaddr + ph->p_memsz > TW_ENGINE_PLACE;
}

/* Is its loader there? */
static int check_segments(int fd, const Elf64_Ehdr *h, const char *path, struct tw_command *p)
{
	for (unsigned i = 0; i < h->e_phnum && h->e_phentsize == sizeof(Elf64_Phdr); i++) {
		Elf64_Phdr ph;
		char loader[PATH_MAX];
		if (pread(fd, &ph, sizeof ph, (off_t)(h->e_phoff + i * sizeof ph)) != sizeof ph)
			return refuse(p, TW_COMMAND_CANNOT, "%s is a truncated ELF file", path);
		p->wants_place_of_engine |= wants_place_of_engine(h, &ph);
		if (ph.p_type != PT_INTERP)
			continue;
		size_t n = ph.p_filesz < sizeof loader ? ph.p_filesz : sizeof loader - 1;
		ssize_t got = pread(fd, loader, n, (off_t)ph.p_offset);
		if (got <= 0)
			return refuse(p, TW_COMMAND_CANNOT, "%s is a truncated ELF file", path);
		loader[got] = 0;
		if (access(loader, F_OK))
			return refuse(p, TW_COMMAND_MISSING, "%s needs the loader %s, which is not there", path, loader);
	}
	return 0;
}

static int check_elf(int fd, const uint8_t *head, size_t n, const char *path, struct tw_command *p)
{
	Elf64_Ehdr h = {0};
	memcpy(&h, head, n < sizeof h ? n : sizeof h);
	if (n < EI_NIDENT + 4)
		return refuse(p, TW_COMMAND_CANNOT, "%s is a truncated ELF file", path);
	unsigned machine = h.e_ident[EI_DATA] == ELFDATA2MSB ? (unsigned)(h.e_machine >> 8 | (h.e_machine & 0xff) << 8) : h.e_machine;
	if (machine != EM_X86_64 && machine != EM_386)
		return refuse(p, TW_COMMAND_CANNOT, "%s is a program for %s, not for x86-64", path, machine_name(machine));
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || machine == EM_386)
		return refuse(p, TW_COMMAND_CANNOT, "%s is a 32-bit program; Trackway records 64-bit programs", path);
	if (n < sizeof h)
		return refuse(p, TW_COMMAND_CANNOT, "%s is a truncated ELF file", path);
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return refuse(p, TW_COMMAND_CANNOT, "%s is an ELF file, but not a program", path);
	return check_segments(fd, &h, path, p);
}

/* ---- scripts ---- */

/* Result of look_at for a file that the kernel cannot run (ENOEXEC). */
enum { UNKNOWN_FILE = -2 };

/* Puts `first`, the optional `second` and `path` in place of argv[0]. */
static int prepend(struct tw_command *p, const char *first, const char *second, const char *path)
{
	int extra = *second ? 2 : 1, n = 0;
	char **argv = calloc((size_t)(p->argc + extra) + 1, sizeof *argv);
	char *texts[3] = {strdup(first), *second ? strdup(second) : NULL, strdup(path)};
	if (!argv || !texts[0] || (*second && !texts[1]) || !texts[2]) {
		for (int i = 0; i < 3; i++)
			free(texts[i]);
		free(argv);
		return refuse(p, TW_COMMAND_CANNOT, "there is not enough memory");
	}
	for (int i = 0; i < 3; i++)
		if (texts[i])
			argv[n++] = texts[i];
	memcpy(argv + n, p->argv + 1, (size_t)p->argc * sizeof *argv);
	free(p->argv[0]);
	free(p->argv);
	p->argv = argv;
	p->argc += extra;
	return 0;
}

/* `line` is what follows `#!`. Its first word becomes the next file, the rest is one argument. */
static int take_script(char *line, const char *path, char *next, struct tw_command *p)
{
	line[strcspn(line, "\n")] = 0;
	line += strspn(line, " \t");
	size_t n = strlen(line);
	while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		line[--n] = 0;
	if (!n)
		return UNKNOWN_FILE;
	size_t word = strcspn(line, " \t");
	char *rest = line + word + strspn(line + word, " \t");
	line[word] = 0;
	strcpy(next, line);
	return prepend(p, line, rest, path);
}

/*
 * Examines one file. 0: it is the ELF file; -1: it was a script, continue with `next`; UNKNOWN_FILE; otherwise the
 * status to refuse with.
 */
static int look_at(const char *path, char *next, struct tw_command *p)
{
	char head[LINE_BYTES + 1] = {0};
	int status = check_permissions(path, p);
	if (status)
		return status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, LINE_BYTES, 0);
	if (n < 0)
		status = refuse(p, TW_COMMAND_CANNOT, "%s cannot be read, so it cannot be recorded: %s", path, strerror(errno));
	else if (n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		status = check_elf(fd, (const uint8_t *)head, (size_t)n, path, p);
	else if (n >= 2 && head[0] == '#' && head[1] == '!')
		status = -1;
	else
		status = UNKNOWN_FILE;
	if (fd >= 0)
		close(fd);
	if (!status)
		status = check_privileges(path, p);
	if (status != -1)
		return status;
	status = take_script(head + 2, path, next, p);
	return status ? status : -1;
}

/* ---- all of it ---- */

static int copy_argv(int argc, char **argv, struct tw_command *p)
{
	p->argv = calloc((size_t)argc + 1, sizeof *p->argv);
	for (; p->argv && p->argc < argc; p->argc++) {
		p->argv[p->argc] = strdup(argv[p->argc]);
		if (!p->argv[p->argc])
			break;
	}
	return p->argc == argc ? 0 : refuse(p, TW_COMMAND_CANNOT, "there is not enough memory");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Goes from scripts to their interpreters, beginning with `path`, which then is the ELF file. 0, UNKNOWN_FILE or the status to refuse with. */
static int follow_scripts(char *path, struct tw_command *p)
{
	char next[LINE_BYTES + 1];
	int status = -1;
	for (int i = 0; i <= MAX_SCRIPTS && status == -1; i++) {
		status = look_at(path, next, p);
		if (status == -1)
			strcpy(path, next);
	}
	if (status == -1)
		return refuse(p, TW_COMMAND_CANNOT, "%s is a script whose interpreters are scripts, more than %d deep", path, MAX_SCRIPTS);
	return status;
}

/* As execvp does for a file that the kernel cannot run: the shell runs `script`, with the given arguments. */
static int leave_to_shell(int argc, char **argv, const char *script, char *path, struct tw_command *p)
{
	tw_command_free(p);
	int status = copy_argv(argc, argv, p);
	if (!status)
		status = prepend(p, SHELL, "", script);
	strcpy(path, SHELL);
	return status ? status : follow_scripts(path, p);
}

int tw_command_resolve(int argc, char **argv, struct tw_command *p)
{
	char file[PATH_MAX * 2], path[PATH_MAX * 2];
	memset(p, 0, sizeof *p);
	int status = copy_argv(argc, argv, p);
	if (!status)
		status = find_file(argv[0], file, p);
	if (status)
		return status;
	strcpy(path, file);
	const char *name = file;
	status = follow_scripts(path, p);
	if (status == UNKNOWN_FILE) {
		name = SHELL;
		status = leave_to_shell(argc, argv, file, path, p);
	}
	if (status)
		return status == UNKNOWN_FILE ? refuse(p, TW_COMMAND_CANNOT, SHELL " is no program") : status;
	p->path = strdup(path);
	p->name = strdup(base_name(name));
	return p->path && p->name ? 0 : refuse(p, TW_COMMAND_CANNOT, "there is not enough memory");
}

void tw_command_free(struct tw_command *p)
{
	for (int i = 0; i < p->argc; i++)
		free(p->argv[i]);
	free(p->argv);
	free(p->path);
	free(p->name);
	memset(p, 0, sizeof *p);
}
