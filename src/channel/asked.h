/*
 * Requests of other processes, of the same user or root, to a recorder while it records (`trackway stop`): one word,
 * through a socket in the abstract namespace whose name contains the recorder's pid. The answer is one sentence.
 */
#ifndef TW_ASKED_H
#define TW_ASKED_H

#include <stddef.h>
#include <sys/types.h>

struct tw_asked;

/* Called for each word, one at a time, in a thread that then ends: 0, or -1 if it cannot be done. `answer`: the reply. */
typedef int tw_asked_do(void *context, const char *word, char *answer, size_t size);

/* Listens until tw_asked_end. NULL: not possible, and nobody can ask. tw_asked_end, tw_asked_answer and tw_asked_fd accept NULL. */
struct tw_asked *tw_asked_begin(tw_asked_do *what, void *context);
void tw_asked_end(struct tw_asked *a);

/* Starts a thread that answers requests from now on, with all signals blocked. Once. */
void tw_asked_answer(struct tw_asked *a);

/*
 * Before that: a file descriptor that becomes readable when somebody asks; tw_asked_answer_one answers. (Starting a
 * thread takes time that a short program does not have.) -1: none.
 */
int tw_asked_fd(const struct tw_asked *a);
void tw_asked_answer_one(struct tw_asked *a);

/* Asks the recorder with this pid. 0: done; -1: it cannot; -2: nobody listens there. */
int tw_asked_of(pid_t recorder, const char *word, char *answer, size_t size);

/* The recorder of this process, or the process itself if it is a recorder. 0: it is not recorded. */
pid_t tw_asked_recorder(pid_t pid);

#endif
