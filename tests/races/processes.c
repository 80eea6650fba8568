/*
 * Processes that share memory, two mappings of one file in a process, and threads of a program that makes them by clone(2) itself. Which variable it is that is raced on has no name there: the address is told.
 */
#define _GNU_SOURCE
#include "cases.h"
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct box {
	int data, other;
	atomic_int flag, looked;
	sem_t given;
	pthread_mutex_t lock;
	pthread_barrier_t barrier;
};

static struct box *make_box(void)
{
	struct box *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t of_lock;
	pthread_barrierattr_t of_barrier;
	pthread_mutexattr_init(&of_lock);
	pthread_mutexattr_setpshared(&of_lock, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&b->lock, &of_lock);
	pthread_barrierattr_init(&of_barrier);
	pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&b->barrier, &of_barrier, 2);
	sem_init(&b->given, 1, 0);
	return b;
}

/* A child that does this; the parent does that, and waits for it. */
static void apart(struct box *b, void (*child)(struct box *), void (*parent)(struct box *))
{
	const pid_t pid = fork();
	if (!pid) {
		child(b);
		_exit(0);
	}
	parent(b);
	waitpid(pid, NULL, 0);
	b->data++;
}

static void count(struct box *b)
{
	b->data++;
}
static void nothing(struct box *b)
{
	(void)b;
}
static void fork_counter(void)
{
	apart(make_box(), count, count);
}
static void fork_and_wait(void)
{
	struct box *b = make_box();
	b->data = 1;
	apart(b, count, nothing);
	apart(b, count, nothing);
}
static void fork_siblings(void)
{
	struct box *b = make_box();
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			b->data++;
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void give(struct box *b)
{
	b->data = 2;
	sem_post(&b->given);
}
static void take(struct box *b)
{
	sem_wait(&b->given);
	b->data++;
}
static void give_early(struct box *b)
{
	sem_post(&b->given);
	b->data = 2;
}
static void fork_semaphore(void)
{
	apart(make_box(), give, take);
}
static void fork_semaphore_early(void)
{
	apart(make_box(), give_early, take);
}

static void count_locked(struct box *b)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&b->lock);
		b->data++;
		pthread_mutex_unlock(&b->lock);
	}
}
static void fork_mutex(void)
{
	apart(make_box(), count_locked, count_locked);
}
static void fork_half_locked(void)
{
	apart(make_box(), count_locked, count);
}

static void before_barrier(struct box *b)
{
	b->data = 1;
	pthread_barrier_wait(&b->barrier);
	b->other = 2;
	pthread_barrier_wait(&b->barrier);
}
static void behind_barrier(struct box *b)
{
	pthread_barrier_wait(&b->barrier);
	b->data++;
	pthread_barrier_wait(&b->barrier);
	b->other++;
}
static void fork_barrier(void)
{
	apart(make_box(), before_barrier, behind_barrier);
}

static void publish(struct box *b)
{
	b->data = 5;
	atomic_store_explicit(&b->flag, 1, memory_order_release);
}
static void await(struct box *b)
{
	while (!atomic_load_explicit(&b->flag, memory_order_acquire))
		sched_yield();
	b->data++;
}
static void publish_relaxed(struct box *b)
{
	b->data = 5;
	atomic_store_explicit(&b->flag, 1, memory_order_relaxed);
}
static void await_relaxed(struct box *b)
{
	while (!atomic_load_explicit(&b->flag, memory_order_relaxed))
		sched_yield();
	b->data++;
}
static void fork_atomic(void)
{
	apart(make_box(), publish, await);
}
static void fork_atomic_back(void)
{
	apart(make_box(), await, publish);
}
static void fork_relaxed(void)
{
	apart(make_box(), publish_relaxed, await_relaxed);
}

static int ends[2];
static void write_pipe(struct box *b)
{
	b->data = 3;
	if (write(ends[1], "x", 1) != 1)
		b->other = 1;
}
static void read_pipe(struct box *b)
{
	char c;
	if (read(ends[0], &c, 1) == 1)
		b->data++;
}
static void write_pipe_late(struct box *b)
{
	if (write(ends[1], "x", 1) == 1)
		b->data = 3;
}
static void fork_pipe(void)
{
	if (!pipe(ends))
		apart(make_box(), write_pipe, read_pipe);
}
static void fork_socket(void)
{
	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		apart(make_box(), write_pipe, read_pipe);
}
static void fork_pipe_late(void)
{
	if (!pipe(ends))
		apart(make_box(), write_pipe_late, read_pipe);
}

static int locked_file;
static void count_in_file(struct box *b)
{
	for (int i = 0; i < 10; i++) {
		struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
		fcntl(locked_file, F_SETLKW, &l);
		b->data++;
		l.l_type = F_UNLCK;
		fcntl(locked_file, F_SETLKW, &l);
	}
}
static void fork_file_lock(void)
{
	locked_file = memfd_create("lock", 0);
	apart(make_box(), count_in_file, count_in_file);
}

static int sets;
static void count_by_set(struct box *b)
{
	struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
	for (int i = 0; i < 10; i++) {
		semop(sets, &down, 1);
		b->data++;
		semop(sets, &up, 1);
	}
}
static void fork_sysv(void)
{
	struct sembuf up = {0, 1, 0};
	const int id = shmget(IPC_PRIVATE, 4096, 0600);
	struct box *b = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	sets = semget(IPC_PRIVATE, 1, 0600);
	semop(sets, &up, 1);
	apart(b, count_by_set, count_by_set);
	semctl(sets, 0, IPC_RMID);
}
static int shm_id;
static void count_attached(struct box *b)
{
	struct box *again = shmat(shm_id, NULL, 0);
	again->data++;
	shmdt(again);
	(void)b;
}
static void fork_attached(void)
{
	shm_id = shmget(IPC_PRIVATE, 4096, 0600);
	struct box *b = shmat(shm_id, NULL, 0);
	apart(b, count_attached, count_attached);
	shmctl(shm_id, IPC_RMID, NULL);
}

static char file_name[64];
static struct box *open_box(void)
{
	const int fd = open(file_name, O_RDWR | O_CREAT, 0600);
	struct box *b = ftruncate(fd, 8192) ? NULL : mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return b;
}
static void count_opened(struct box *b)
{
	open_box()->data++;
	(void)b;
}
static void count_second_page(struct box *b)
{
	((struct box *)((char *)open_box() + 4096))->data++;
	(void)b;
}
static void fork_opened(void)
{
	snprintf(file_name, sizeof file_name, "box-%d", (int)getpid());
	apart(make_box(), count_opened, count_opened);
	unlink(file_name);
}
static void fork_other_page(void)
{
	snprintf(file_name, sizeof file_name, "box-%d", (int)getpid());
	apart(make_box(), count_opened, count_second_page);
	unlink(file_name);
}

static void fork_private(void)
{
	struct box *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make_box();
	apart(b, count, count);
}

static volatile sig_atomic_t told;
static struct box *of_handler;
static void on_signal(int number)
{
	of_handler->data += number;
	told = 1;
}
static void send_signal(struct box *b)
{
	b->data = 4;
	kill(getppid(), SIGUSR2);
}
static void await_signal(struct box *b)
{
	while (!told)
		sched_yield();
	b->data++;
}
static void fork_signal(void)
{
	of_handler = make_box();
	signal(SIGUSR2, on_signal);
	apart(of_handler, send_signal, await_signal);
}

static struct box *mapped[2];
static void *count_mapped(void *a)
{
	mapped[a != NULL]->data++;
	return a;
}
static void mapped_twice(void)
{
	snprintf(file_name, sizeof file_name, "box-%d", (int)getpid());
	mapped[0] = open_box();
	mapped[1] = open_box();
	unlink(file_name);
	both(count_mapped, count_mapped);
}

static int memory_file;
static struct box *map_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0);
}
static void make_memory(void)
{
	memory_file = memfd_create("box", 0);
	if (ftruncate(memory_file, 4096))
		exit(1);
}
static void memfd_twice(void)
{
	make_memory();
	mapped[0] = map_memory();
	memory_file = dup(memory_file);
	mapped[1] = map_memory();
	both(count_mapped, count_mapped);
}
static void memfd_of_one_name(void)
{
	for (int i = 0; i < 2; i++) {
		make_memory();
		mapped[i] = map_memory();
	}
	both(count_mapped, count_mapped);
}
static void *give_mapped(void *a)
{
	mapped[0]->data = 5;
	atomic_store(&mapped[0]->flag, 1);
	return a;
}
static void *take_mapped(void *a)
{
	while (!atomic_load(&mapped[1]->flag))
		sched_yield();
	mapped[1]->data++;
	return a;
}
static void memfd_handed_over(void)
{
	make_memory();
	mapped[0] = map_memory();
	mapped[1] = map_memory();
	both(give_mapped, take_mapped);
}
static void count_anew(struct box *b)
{
	map_memory()->data++;
	(void)b;
}
static void fork_memfd(void)
{
	make_memory();
	apart(make_box(), count_anew, count_anew);
}

/* ---- threads of clone(2): they have no thread-local storage of their own, and call nothing ---- */

static int given;
int cloned_data;
static atomic_int cloned_done;
static int take_given(void *unused)
{
	(void)unused;
	given++;
	atomic_store(&cloned_done, 1);
	return 0;
}
static int write_cloned(void *unused)
{
	(void)unused;
	cloned_data = 1;
	atomic_store(&cloned_done, 1);
	return 0;
}
static char cloned_stack[TURNS][1 << 13]; /* a thread that is done still has its own until it has ended */
static void make_thread(int (*run)(void *), char *stack)
{
	clone(run, stack + sizeof cloned_stack[0], CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
}
static void await_thread(void)
{
	while (!atomic_load(&cloned_done))
		sched_yield();
}
static void cloned_counter(void)
{
	for (int i = 0; i < TURNS; i++) {
		given = i;
		atomic_store(&cloned_done, 0);
		make_thread(take_given, cloned_stack[i]);
		await_thread();
	}
	printf("%d\n", given);
}
static void cloned_writers(void)
{
	make_thread(write_cloned, cloned_stack[0]);
	cloned_data = 2;
	await_thread();
}

const struct test_case cases[] = {OBJECT(fork_counter, "*"),
                                  OBJECT(fork_siblings, "*"),
                                  OBJECT(fork_semaphore_early, "*"),
                                  OBJECT(fork_half_locked, "*"),
                                  OBJECT(fork_relaxed, "*"),
                                  OBJECT(fork_pipe_late, "*"),
                                  OBJECT(fork_attached, "*"),
                                  OBJECT(fork_opened, "*"),
                                  OBJECT(mapped_twice, "*"),
                                  OBJECT(memfd_twice, "*"),
                                  OBJECT(fork_memfd, "*"),
                                  RACY(cloned_writers, cloned_data),
                                  FREE(memfd_of_one_name),
                                  FREE(memfd_handed_over),
                                  FREE(fork_and_wait),
                                  FREE(fork_semaphore),
                                  FREE(fork_mutex),
                                  FREE(fork_barrier),
                                  FREE(fork_atomic),
                                  FREE(fork_atomic_back),
                                  FREE(fork_pipe),
                                  FREE(fork_socket),
                                  FREE(fork_file_lock),
                                  FREE(fork_sysv),
                                  FREE(fork_other_page),
                                  FREE(fork_private),
                                  FREE(fork_signal),
                                  FREE(cloned_counter),
                                  {NULL, NULL, NULL}};
