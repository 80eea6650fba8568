#include "cli/tree.h"
#include "report/printable.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <sys/wait.h>

/* Sums over the threads of one process, and its place in the tree. */
struct node {
	const struct tw_process *process;
	uint64_t threads, insns, refs;
	size_t parent; /* index; itself: none in the recording */
	int printed;
};

struct tree {
	const struct tw_recording *recording;
	struct node *node;
	size_t n;
	int counted; /* the recording has threads, and so counts of each process */
};

/* ---- the tree ---- */

/* Threads of one process with the same number are one, before and after execve. */
static int is_same_thread(const struct tw_recording *r, size_t thread, size_t process)
{
	uint32_t tid = tw_recording_thread(r, thread)->tid;
	for (size_t i = thread; i > 0; i--)
		if (tw_recording_thread(r, i - 1)->tid == tid && tw_recording_process_of(r, i - 1) == process)
			return 1;
	return 0;
}

static void add_thread(struct tree *t, size_t thread)
{
	size_t process = tw_recording_process_of(t->recording, thread);
	const struct tw_thread_info *info = tw_recording_thread(t->recording, thread);
	if (process == t->n)
		return;
	t->node[process].threads += !is_same_thread(t->recording, thread, process);
	t->node[process].insns += info->totals.insns;
	t->node[process].refs += info->totals.refs;
}

/* The process that existed when this one was created, and had its parent's number. */
static size_t find_parent(const struct tree *t, size_t child)
{
	uint32_t pid = t->node[child].process->parent_pid;
	for (size_t i = child; i > 0; i--)
		if (t->node[i - 1].process->pid == pid)
			return i - 1;
	return child;
}

/* 0: no memory. */
static int build(struct tree *t, const struct tw_recording *r)
{
	*t = (struct tree){.recording = r, .n = tw_recording_n_processes(r), .counted = tw_recording_n_threads(r) > 0};
	t->node = calloc(t->n + 1, sizeof *t->node);
	if (!t->node)
		return 0;
	for (size_t i = 0; i < t->n; i++) {
		t->node[i].process = tw_recording_process(r, i);
		t->node[i].parent = find_parent(t, i);
	}
	for (size_t i = 0; i < tw_recording_n_threads(r); i++)
		add_thread(t, i);
	return 1;
}

/* ---- text ---- */

static void format_end(const struct tw_process *p, char *to, size_t n)
{
	if (!p->ended)
		snprintf(to, n, "not known");
	else if (WIFSIGNALED(p->wait_status))
		snprintf(to, n, "signal %d", WTERMSIG(p->wait_status));
	else
		snprintf(to, n, "exit %d", WEXITSTATUS(p->wait_status));
}

static void print_process(const struct tree *t, const struct node *node, unsigned depth)
{
	const struct tw_process *p = node->process;
	char end[32];
	format_end(p, end, sizeof end);
	printf("%8u %8u ", p->pid, p->parent_pid);
	if (!t->counted || !p->followed)
		printf("%7s %16s", "-", "-");
	else
		printf("%7llu %16llu", (unsigned long long)node->threads, (unsigned long long)node->insns);
	printf("  %-10s %*s", end, (int)depth * 2, "");
	if (p->followed && p->argv[0])
		tw_print_command(stdout, p->argv);
	else
		tw_print_safe(stdout, p->followed ? p->program : "(not recorded)");
	putchar('\n');
}

/* With its children, in the order in which they were made. */
static void print_branch(struct tree *t, size_t i, unsigned depth)
{
	enum { DEEPEST = 64 };
	t->node[i].printed = 1;
	print_process(t, &t->node[i], depth);
	for (size_t k = i + 1; k < t->n; k++)
		if (t->node[k].parent == i && !t->node[k].printed)
			print_branch(t, k, depth < DEEPEST ? depth + 1 : depth);
}

void tw_tree_print(const struct tw_recording *r)
{
	struct tree t;
	if (!tw_recording_n_processes(r) || !build(&t, r))
		return;
	printf("\nprocesses\n%8s %8s %7s %16s  %-10s %s\n", "pid", "parent", "threads", "instructions", "ended", "command");
	for (size_t i = 0; i < t.n; i++)
		if (!t.node[i].printed)
			print_branch(&t, i, 0);
	free(t.node);
}

/* ---- JSON ---- */

static void json_process(struct tw_json *j, const struct tree *t, const struct node *node)
{
	const struct tw_process *p = node->process;
	tw_json_open(j, NULL, '{');
	tw_json_number(j, "pid", p->pid);
	tw_json_number(j, "parent_pid", p->parent_pid);
	tw_json_number(j, "recorded", p->followed != 0);
	tw_json_text(j, "program", p->program);
	tw_json_number(j, "programs", p->n_programs);
	tw_json_open(j, "command", '[');
	for (const char *const *word = p->argv; *word; word++)
		tw_json_text(j, NULL, *word);
	tw_json_close(j, ']');
	if (p->ended && WIFSIGNALED(p->wait_status))
		tw_json_signed(j, "signal", WTERMSIG(p->wait_status));
	else if (p->ended)
		tw_json_signed(j, "exit_status", WEXITSTATUS(p->wait_status));
	if (t->counted && p->followed) {
		tw_json_number(j, "threads", node->threads);
		tw_json_number(j, "instructions", node->insns);
		tw_json_number(j, "refs", node->refs);
	}
	tw_json_close(j, '}');
}

void tw_tree_json(struct tw_json *j, const struct tw_recording *r)
{
	struct tree t;
	tw_json_open(j, "processes", '[');
	if (build(&t, r))
		for (size_t i = 0; i < t.n; i++)
			json_process(j, &t, &t.node[i]);
	free(t.node);
	tw_json_close(j, ']');
}
