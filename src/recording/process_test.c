/* Notes of processes: their order in time, pids used twice, notes that make no sense. */
#include "recording/recording.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* A note with its text, `n` bytes of it, in fresh memory. */
static struct tw_file_note *make(struct tw_file_note note, const char *text, size_t n)
{
	size_t padded = (n + 7) & ~(size_t)7;
	struct tw_file_note *p = calloc(1, sizeof note + padded);
	note.text_bytes = (uint32_t)padded;
	*p = note;
	memcpy(p + 1, text, n);
	return p;
}

static int add(struct tw_processes *p, struct tw_file_note *note)
{
	return tw_processes_note(p, note, sizeof *note + note->text_bytes);
}

static void build(struct tw_processes *p, struct tw_file_note *const *note, size_t n)
{
	for (size_t i = 0; i < n; i++)
		EQUAL(add(p, note[i]), TW_OK);
	EQUAL(tw_processes_build(p), TW_OK);
}

static void free_all(struct tw_processes *p, struct tw_file_note *const *note, size_t n)
{
	tw_processes_free(p);
	for (size_t i = 0; i < n; i++)
		free(note[i]);
}

#define NOTE(...)          make((struct tw_file_note){__VA_ARGS__}, "", 0)
#define PROGRAM(text, ...) make((struct tw_file_note){.kind = TW_NOTE_PROGRAM, __VA_ARGS__}, text, sizeof text)

static void test_family(void)
{
	struct tw_processes p = {0};
	struct tw_file_note *note[] = {
	    NOTE(.kind = TW_NOTE_END, .pid = 11, .status = 0x300, .tsc = 40), /* told before the rest */
	    PROGRAM("/bin/sh\0sh\0-c", .pid = 10, .parent_pid = 5, .n_args = 2, .tsc = 10),
	    NOTE(.kind = TW_NOTE_START, .pid = 11, .parent_pid = 10, .thread = 1, .tsc = 20),
	    PROGRAM("/bin/ls\0ls", .pid = 11, .parent_pid = 10, .thread = 2, .n_args = 1, .tsc = 30),
	    NOTE(.kind = TW_NOTE_START, .pid = 11, .parent_pid = 10, .thread = 3, .tsc = 50), /* the same pid again */
	    NOTE(.kind = TW_NOTE_UNFOLLOWED, .pid = 12, .parent_pid = 10, .tsc = 60),
	    NOTE(.kind = TW_NOTE_END, .pid = 12, .status = 9, .tsc = 70),
	};
	size_t n = sizeof note / sizeof *note;
	build(&p, note, n);
	EQUAL(p.n, 4);
	SAME_TEXT(p.process[0].program, "/bin/sh");
	SAME_TEXT(p.process[0].argv[1], "-c");
	CHECK(!p.process[0].argv[2]);
	EQUAL(p.process[0].parent_pid, 5);
	EQUAL(p.process[0].ended, 0);
	SAME_TEXT(p.process[1].program, "/bin/ls");
	EQUAL(p.process[1].wait_status, 0x300);
	SAME_TEXT(p.process[2].program, "/bin/sh"); /* its parent's */
	EQUAL(p.process[2].n_programs, 0);
	EQUAL(p.process[2].ended, 0);
	EQUAL(p.process[3].followed, 0);
	EQUAL(p.process[3].wait_status, 9);
	CHECK(tw_processes_find(&p, 11, 2) == &p.process[1]);
	CHECK(tw_processes_find(&p, 11, 3) == &p.process[2]);
	CHECK(!tw_processes_find(&p, 99, 3));
	SAME_TEXT(tw_processes_program(&p, 10, 0), "/bin/sh");
	SAME_TEXT(tw_processes_program(&p, 11, 2), "/bin/ls");
	SAME_TEXT(tw_processes_program(&p, 11, 3), "/bin/sh"); /* its parent's */
	SAME_TEXT(tw_processes_program(&p, 99, 3), "");
	struct tw_ancestor a[TW_LINEAGE];
	EQUAL(tw_processes_lineage(&p, 11, 4, a), 2); /* the second of this pid, and whom it was forked from */
	EQUAL(a[0].from, 3);
	EQUAL(a[0].to, UINT32_MAX);
	EQUAL(a[1].pid, 10);
	EQUAL(a[1].from, 0);
	EQUAL(a[1].to, 3);
	EQUAL(tw_processes_lineage(&p, 11, 1, a), 2); /* the first, until it executes */
	EQUAL(a[0].to, 2);
	EQUAL(tw_processes_lineage(&p, 11, 2, a), 1);
	EQUAL(a[0].from, 2);
	EQUAL(a[0].to, 3);
	EQUAL(tw_processes_lineage(&p, 99, 3, a), 0);
	free_all(&p, note, n);
}

/*
 * Two first processes of namespaces at a time: notes about them are distinguished by their parents, and a parent's
 * number for one is not a process number here.
 */
static void test_same_number(void)
{
	struct tw_processes p = {0};
	struct tw_file_note *note[] = {
	    PROGRAM("/bin/sh\0sh", .pid = 10, .parent_pid = 5, .n_args = 1, .tsc = 10),
	    NOTE(.kind = TW_NOTE_START, .pid = 11, .parent_pid = 10, .thread = 1, .tsc = 20),
	    NOTE(.kind = TW_NOTE_START, .pid = 12, .parent_pid = 10, .thread = 2, .tsc = 21),
	    NOTE(.kind = TW_NOTE_START, .pid = 1, .parent_pid = 11, .thread = 3, .tsc = 30),
	    NOTE(.kind = TW_NOTE_START, .pid = 1, .parent_pid = 12, .thread = 4, .tsc = 31),
	    PROGRAM("/bin/ls\0ls", .pid = 1, .parent_pid = 11, .thread = 6, .n_args = 1, .tsc = 40),
	    PROGRAM("/bin/wc\0wc", .pid = 1, .parent_pid = 12, .thread = 5, .n_args = 1, .tsc = 41),
	    NOTE(.kind = TW_NOTE_END, .pid = 1, .parent_pid = 11, .thread = 6, .status = 0x100, .tsc = 50),
	    NOTE(.kind = TW_NOTE_END, .pid = 21, .parent_pid = 11, .thread = 1, .status = 0x100, .tsc = 51),
	    NOTE(.kind = TW_NOTE_END, .pid = 1, .parent_pid = 12, .thread = 5, .status = 0x200, .tsc = 52),
	    NOTE(.kind = TW_NOTE_START, .pid = 1, .parent_pid = 10, .thread = 7, .tsc = 60), /* two of one parent */
	    NOTE(.kind = TW_NOTE_START, .pid = 1, .parent_pid = 10, .thread = 8, .tsc = 61),
	    NOTE(.kind = TW_NOTE_END, .pid = 1, .parent_pid = 10, .thread = 7, .status = 0x300, .tsc = 70),
	};
	size_t n = sizeof note / sizeof *note;
	build(&p, note, n);
	EQUAL(p.n, 7);
	SAME_TEXT(p.process[3].program, "/bin/ls");
	EQUAL(p.process[3].wait_status, 0x100);
	SAME_TEXT(p.process[4].program, "/bin/wc");
	EQUAL(p.process[4].wait_status, 0x200);
	EQUAL(p.process[5].wait_status, 0x300);
	EQUAL(p.process[6].ended, 0);
	free_all(&p, note, n);
}

static void refuse(struct tw_file_note *note, uint64_t avail)
{
	struct tw_processes p = {0};
	EQUAL(tw_processes_note(&p, note, avail), TW_ERR_DAMAGED);
	tw_processes_free(&p);
	free(note);
}

static void test_nonsense(void)
{
	refuse(NOTE(.kind = TW_NOTE_START), sizeof(struct tw_file_note) - 1);
	refuse(PROGRAM("/bin/ls\0ls", .n_args = 7), 1000); /* the padding holds six more */
	refuse(PROGRAM("/bin/ls\0ls", .n_args = UINT32_MAX), 1000);
	refuse(PROGRAM("/bin/ls\0ls", .n_args = 1), sizeof(struct tw_file_note) + 8);
	struct tw_file_note *odd = NOTE(.kind = TW_NOTE_END);
	odd->text_bytes = 4;
	refuse(odd, 1000);
	refuse(make((struct tw_file_note){.kind = TW_NOTE_PROGRAM}, "12345678", 8), 1000); /* no end */
}

int main(void)
{
	test_family();
	test_same_number();
	test_nonsense();
	return UNIT_END();
}
