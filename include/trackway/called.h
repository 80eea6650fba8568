/*
 * Functions whose calls are recorded with their arguments and results (record --calls), as CALL and RETURN events. A
 * CALL event identifies its function by number: the index in TW_CALLED, or, from TW_NCALLED on, in the list of names
 * given by the user. Numbers are part of the format: new names are added at the end.
 *
 * Names are those of symbol tables; C++ operators have their mangled names. Several names may have one kind, which
 * says what they do.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TRACKWAY_CALLED_H
#define TRACKWAY_CALLED_H

enum tw_called_kind {
	TW_CALLED_OTHER, /* named by the user */
	/* memory */
	TW_CALLED_MALLOC,         /* (bytes) */
	TW_CALLED_CALLOC,         /* (n, bytes) */
	TW_CALLED_REALLOC,        /* (block, bytes) */
	TW_CALLED_REALLOCARRAY,   /* (block, n, bytes) */
	TW_CALLED_MEMALIGN,       /* (alignment, bytes) */
	TW_CALLED_POSIX_MEMALIGN, /* (where, alignment, bytes) */
	TW_CALLED_NEW_ALIGNED,    /* (bytes, alignment) */
	TW_CALLED_FREE,           /* (block) */
	TW_CALLED_USABLE,         /* (block): returns the usable size */
	/* threads */
	TW_CALLED_CREATE, /* (where its id is stored, ...) */
	TW_CALLED_JOIN,   /* (id) */
	TW_CALLED_TRY_JOIN,
	/* locks: (lock) */
	TW_CALLED_LOCK,
	TW_CALLED_TRY_LOCK, /* 0: taken */
	TW_CALLED_UNLOCK,
	TW_CALLED_LOCK_SHARED,
	TW_CALLED_TRY_LOCK_SHARED,
	TW_CALLED_RWLOCK, /* for writing */
	TW_CALLED_TRY_RWLOCK,
	TW_CALLED_RWUNLOCK,
	TW_CALLED_INIT_LOCK,
	TW_CALLED_DESTROY_LOCK,
	/* objects to wait for: (object) */
	TW_CALLED_COND_WAIT, /* (condition, lock) */
	TW_CALLED_SIGNAL,
	TW_CALLED_BARRIER_INIT,
	TW_CALLED_BARRIER_WAIT,
	TW_CALLED_SEM_INIT,
	TW_CALLED_SEM_WAIT,
	TW_CALLED_TRY_SEM_WAIT,
	TW_CALLED_SEM_POST,
	TW_CALLED_ONCE,          /* (control, function) */
	TW_CALLED_GUARD_ACQUIRE, /* (guard): not 0: the caller must initialize */
	TW_CALLED_GUARD_RELEASE,
	/* OpenMP, as in gcc's libgomp */
	TW_CALLED_PARALLEL,     /* (function, ...) */
	TW_CALLED_TEAM_BARRIER, /* of the threads of a parallel region */
	TW_CALLED_CRITICAL,     /* the unnamed critical section */
	TW_CALLED_CRITICAL_END,
	TW_CALLED_OMP_LOCK,      /* (lock); no result */
	TW_CALLED_OMP_TEST_LOCK, /* (lock): not 0: taken */
	TW_CALLED_ORDERED,
	TW_CALLED_ORDERED_END,
	TW_CALLED_COPY_START, /* not 0: takes what another thread has provided */
	TW_CALLED_COPY_END,
	TW_CALLED_TASK,      /* (function, data, copy, bytes, alignment, if, flags, ...) */
	TW_CALLED_TASK_WAIT, /* waits for the tasks that this one created */
	TW_CALLED_TASK_GROUP_END,
	TW_CALLED_DOACROSS_POST,
	TW_CALLED_DOACROSS_WAIT,
	/* data between threads: (descriptor, ...); a negative result: nothing was transferred */
	TW_CALLED_GIVE_DATA,
	TW_CALLED_TAKE_DATA,
	TW_CALLED_SEND_SIGNAL, /* (to whom, signal) */
	/* OpenMP */
	TW_CALLED_TASKLOOP, /* (function, data, copy, bytes, alignment, flags, ...): creates tasks, and waits for them unless told not to */
	TW_CALLED_TASK_REDUCTION, /* a task asks for its thread's part of a reduction */
	/* data between a buffer and a place in a file: (descriptor, ...) */
	TW_CALLED_WRITE_AT,
	TW_CALLED_READ_AT,
	TW_CALLED_TARGET,       /* (device, function, ..., flags, dependences): a region for a device; the host runs it if there is none */
	TW_CALLED_TASK_FULFILL, /* (event): a detached task is not complete before this */
	TW_NCALLED_KINDS
};

#define TW_CALLED_MEMORY(X)                                                                                                                \
	X("malloc", MALLOC)                                                                                                                \
	X("valloc", MALLOC)                                                                                                                \
	X("pvalloc", MALLOC)                                                                                                               \
	X("_Znwm", MALLOC)                                                                                                                 \
	X("_Znam", MALLOC)                                                                                                                 \
	X("_ZnwmRKSt9nothrow_t", MALLOC)                                                                                                   \
	X("_ZnamRKSt9nothrow_t", MALLOC)                                                                                                   \
	X("calloc", CALLOC)                                                                                                                \
	X("realloc", REALLOC)                                                                                                              \
	X("reallocarray", REALLOCARRAY)                                                                                                    \
	X("memalign", MEMALIGN)                                                                                                            \
	X("aligned_alloc", MEMALIGN)                                                                                                       \
	X("posix_memalign", POSIX_MEMALIGN)                                                                                                \
	X("_ZnwmSt11align_val_t", NEW_ALIGNED)                                                                                             \
	X("_ZnamSt11align_val_t", NEW_ALIGNED)                                                                                             \
	X("_ZnwmSt11align_val_tRKSt9nothrow_t", NEW_ALIGNED)                                                                               \
	X("_ZnamSt11align_val_tRKSt9nothrow_t", NEW_ALIGNED)                                                                               \
	X("free", FREE)                                                                                                                    \
	X("cfree", FREE)                                                                                                                   \
	X("_ZdlPv", FREE)                                                                                                                  \
	X("_ZdaPv", FREE)                                                                                                                  \
	X("_ZdlPvm", FREE)                                                                                                                 \
	X("_ZdaPvm", FREE)                                                                                                                 \
	X("_ZdlPvSt11align_val_t", FREE)                                                                                                   \
	X("_ZdaPvSt11align_val_t", FREE)                                                                                                   \
	X("_ZdlPvmSt11align_val_t", FREE)                                                                                                  \
	X("_ZdaPvmSt11align_val_t", FREE)                                                                                                  \
	X("_ZdlPvRKSt9nothrow_t", FREE)                                                                                                    \
	X("_ZdaPvRKSt9nothrow_t", FREE)                                                                                                    \
	X("malloc_usable_size", USABLE)

#define TW_CALLED_THREADS(X)                                                                                                               \
	X("pthread_create", CREATE)                                                                                                        \
	X("thrd_create", CREATE)                                                                                                           \
	X("pthread_join", JOIN)                                                                                                            \
	X("pthread_timedjoin_np", TRY_JOIN)                                                                                                \
	X("pthread_clockjoin_np", TRY_JOIN)                                                                                                \
	X("pthread_tryjoin_np", TRY_JOIN)                                                                                                  \
	X("thrd_join", JOIN)                                                                                                               \
	X("pthread_mutex_init", INIT_LOCK)                                                                                                 \
	X("pthread_mutex_destroy", DESTROY_LOCK)                                                                                           \
	X("pthread_mutex_lock", LOCK)                                                                                                      \
	X("pthread_mutex_trylock", TRY_LOCK)                                                                                               \
	X("pthread_mutex_timedlock", TRY_LOCK)                                                                                             \
	X("pthread_mutex_clocklock", TRY_LOCK)                                                                                             \
	X("pthread_mutex_unlock", UNLOCK)                                                                                                  \
	X("mtx_init", INIT_LOCK)                                                                                                           \
	X("mtx_destroy", DESTROY_LOCK)                                                                                                     \
	X("mtx_lock", LOCK)                                                                                                                \
	X("mtx_trylock", TRY_LOCK)                                                                                                         \
	X("mtx_timedlock", TRY_LOCK)                                                                                                       \
	X("mtx_unlock", UNLOCK)                                                                                                            \
	X("pthread_spin_init", INIT_LOCK)                                                                                                  \
	X("pthread_spin_destroy", DESTROY_LOCK)                                                                                            \
	X("pthread_spin_lock", LOCK)                                                                                                       \
	X("pthread_spin_trylock", TRY_LOCK)                                                                                                \
	X("pthread_spin_unlock", UNLOCK)                                                                                                   \
	X("pthread_rwlock_init", INIT_LOCK)                                                                                                \
	X("pthread_rwlock_destroy", DESTROY_LOCK)                                                                                          \
	X("pthread_rwlock_rdlock", LOCK_SHARED)                                                                                            \
	X("pthread_rwlock_tryrdlock", TRY_LOCK_SHARED)                                                                                     \
	X("pthread_rwlock_timedrdlock", TRY_LOCK_SHARED)                                                                                   \
	X("pthread_rwlock_clockrdlock", TRY_LOCK_SHARED)                                                                                   \
	X("pthread_rwlock_wrlock", RWLOCK)                                                                                                 \
	X("pthread_rwlock_trywrlock", TRY_RWLOCK)                                                                                          \
	X("pthread_rwlock_timedwrlock", TRY_RWLOCK)                                                                                        \
	X("pthread_rwlock_clockwrlock", TRY_RWLOCK)                                                                                        \
	X("pthread_rwlock_unlock", RWUNLOCK)                                                                                               \
	X("pthread_cond_wait", COND_WAIT)                                                                                                  \
	X("pthread_cond_timedwait", COND_WAIT)                                                                                             \
	X("pthread_cond_clockwait", COND_WAIT)                                                                                             \
	X("cnd_wait", COND_WAIT)                                                                                                           \
	X("cnd_timedwait", COND_WAIT)                                                                                                      \
	X("pthread_cond_signal", SIGNAL)                                                                                                   \
	X("pthread_cond_broadcast", SIGNAL)                                                                                                \
	X("cnd_signal", SIGNAL)                                                                                                            \
	X("cnd_broadcast", SIGNAL)                                                                                                         \
	X("pthread_barrier_init", BARRIER_INIT)                                                                                            \
	X("pthread_barrier_wait", BARRIER_WAIT)                                                                                            \
	X("sem_init", SEM_INIT)                                                                                                            \
	X("sem_wait", SEM_WAIT)                                                                                                            \
	X("sem_trywait", TRY_SEM_WAIT)                                                                                                     \
	X("sem_timedwait", TRY_SEM_WAIT)                                                                                                   \
	X("sem_clockwait", TRY_SEM_WAIT)                                                                                                   \
	X("sem_post", SEM_POST)                                                                                                            \
	X("pthread_once", ONCE)                                                                                                            \
	X("call_once", ONCE)                                                                                                               \
	X("__cxa_guard_acquire", GUARD_ACQUIRE)                                                                                            \
	X("__cxa_guard_release", GUARD_RELEASE)

#define TW_CALLED_OPENMP(X)                                                                                                                \
	X("GOMP_parallel", PARALLEL)                                                                                                       \
	X("GOMP_parallel_reductions", PARALLEL)                                                                                            \
	X("GOMP_parallel_sections", PARALLEL)                                                                                              \
	X("GOMP_parallel_loop_static", PARALLEL)                                                                                           \
	X("GOMP_parallel_loop_dynamic", PARALLEL)                                                                                          \
	X("GOMP_parallel_loop_guided", PARALLEL)                                                                                           \
	X("GOMP_parallel_loop_runtime", PARALLEL)                                                                                          \
	X("GOMP_parallel_loop_nonmonotonic_dynamic", PARALLEL)                                                                             \
	X("GOMP_parallel_loop_nonmonotonic_guided", PARALLEL)                                                                              \
	X("GOMP_parallel_loop_nonmonotonic_runtime", PARALLEL)                                                                             \
	X("GOMP_parallel_loop_maybe_nonmonotonic_runtime", PARALLEL)                                                                       \
	X("GOMP_teams_reg", PARALLEL)                                                                                                      \
	X("GOMP_barrier", TEAM_BARRIER)                                                                                                    \
	X("GOMP_barrier_cancel", TEAM_BARRIER)                                                                                             \
	X("GOMP_loop_end", TEAM_BARRIER)                                                                                                   \
	X("GOMP_loop_end_cancel", TEAM_BARRIER)                                                                                            \
	X("GOMP_sections_end", TEAM_BARRIER)                                                                                               \
	X("GOMP_sections_end_cancel", TEAM_BARRIER)                                                                                        \
	X("GOMP_workshare_task_reduction_unregister", TEAM_BARRIER)                                                                        \
	X("GOMP_critical_start", CRITICAL)                                                                                                 \
	X("GOMP_critical_end", CRITICAL_END)                                                                                               \
	X("GOMP_atomic_start", CRITICAL)                                                                                                   \
	X("GOMP_atomic_end", CRITICAL_END)                                                                                                 \
	X("GOMP_critical_name_start", OMP_LOCK)                                                                                            \
	X("GOMP_critical_name_end", UNLOCK)                                                                                                \
	X("omp_init_lock", INIT_LOCK)                                                                                                      \
	X("omp_destroy_lock", DESTROY_LOCK)                                                                                                \
	X("omp_set_lock", OMP_LOCK)                                                                                                        \
	X("omp_unset_lock", UNLOCK)                                                                                                        \
	X("omp_test_lock", OMP_TEST_LOCK)                                                                                                  \
	X("omp_set_nest_lock", OMP_LOCK)                                                                                                   \
	X("omp_unset_nest_lock", UNLOCK)                                                                                                   \
	X("omp_test_nest_lock", OMP_TEST_LOCK)                                                                                             \
	X("GOMP_ordered_start", ORDERED)                                                                                                   \
	X("GOMP_ordered_end", ORDERED_END)                                                                                                 \
	X("GOMP_single_copy_start", COPY_START)                                                                                            \
	X("GOMP_single_copy_end", COPY_END)                                                                                                \
	X("GOMP_task", TASK)                                                                                                               \
	X("GOMP_taskloop", TASKLOOP)                                                                                                       \
	X("GOMP_taskloop_ull", TASKLOOP)                                                                                                   \
	X("GOMP_taskwait", TASK_WAIT)                                                                                                      \
	X("GOMP_taskwait_depend", TASK_WAIT)                                                                                               \
	X("GOMP_taskgroup_end", TASK_GROUP_END)                                                                                            \
	X("GOMP_doacross_post", DOACROSS_POST)                                                                                             \
	X("GOMP_doacross_wait", DOACROSS_WAIT)                                                                                             \
	X("GOMP_doacross_ull_post", DOACROSS_POST)                                                                                         \
	X("GOMP_doacross_ull_wait", DOACROSS_WAIT)

#define TW_CALLED_DATA(X)                                                                                                                  \
	X("write", GIVE_DATA)                                                                                                              \
	X("writev", GIVE_DATA)                                                                                                             \
	X("send", GIVE_DATA)                                                                                                               \
	X("sendto", GIVE_DATA)                                                                                                             \
	X("sendmsg", GIVE_DATA)                                                                                                            \
	X("sendmmsg", GIVE_DATA)                                                                                                           \
	X("connect", GIVE_DATA)                                                                                                            \
	X("shutdown", GIVE_DATA)                                                                                                           \
	X("close", GIVE_DATA)                                                                                                              \
	X("read", TAKE_DATA)                                                                                                               \
	X("readv", TAKE_DATA)                                                                                                              \
	X("recv", TAKE_DATA)                                                                                                               \
	X("recvfrom", TAKE_DATA)                                                                                                           \
	X("recvmsg", TAKE_DATA)                                                                                                            \
	X("recvmmsg", TAKE_DATA)                                                                                                           \
	X("accept", TAKE_DATA)                                                                                                             \
	X("accept4", TAKE_DATA)                                                                                                            \
	X("kill", SEND_SIGNAL)                                                                                                             \
	X("sigqueue", SEND_SIGNAL)                                                                                                         \
	X("pthread_kill", SEND_SIGNAL)                                                                                                     \
	X("pthread_sigqueue", SEND_SIGNAL)                                                                                                 \
	X("GOMP_task_reduction_remap", TASK_REDUCTION)

#define TW_CALLED_PLACES(X)                                                                                                                \
	X("pwrite", WRITE_AT)                                                                                                              \
	X("pwrite64", WRITE_AT)                                                                                                            \
	X("pwritev", WRITE_AT)                                                                                                             \
	X("pwritev64", WRITE_AT)                                                                                                           \
	X("pwritev2", WRITE_AT)                                                                                                            \
	X("pwritev64v2", WRITE_AT)                                                                                                         \
	X("pread", READ_AT)                                                                                                                \
	X("pread64", READ_AT)                                                                                                              \
	X("preadv", READ_AT)                                                                                                               \
	X("preadv64", READ_AT)                                                                                                             \
	X("preadv2", READ_AT)                                                                                                              \
	X("preadv64v2", READ_AT)                                                                                                           \
	X("eventfd_write", GIVE_DATA)                                                                                                      \
	X("eventfd_read", TAKE_DATA)                                                                                                       \
	X("GOMP_target_ext", TARGET)

#define TW_CALLED_DETACHED(X) X("omp_fulfill_event", TASK_FULFILL)

#define TW_CALLED(X)                                                                                                                       \
	TW_CALLED_MEMORY(X) TW_CALLED_THREADS(X) TW_CALLED_OPENMP(X) TW_CALLED_DATA(X) TW_CALLED_PLACES(X) TW_CALLED_DETACHED(X)

#define TW_CALLED_ONE(name, kind) +1
enum {
	TW_NCALLED = 0 TW_CALLED(TW_CALLED_ONE),
	TW_NCALLED_WITHOUT_DETACHED = TW_NCALLED - (0 TW_CALLED_DETACHED(TW_CALLED_ONE)),
	TW_NCALLED_WITHOUT_PLACES = TW_NCALLED_WITHOUT_DETACHED - (0 TW_CALLED_PLACES(TW_CALLED_ONE)),
	TW_NCALLED_WITHOUT_DATA = TW_NCALLED_WITHOUT_PLACES - (0 TW_CALLED_DATA(TW_CALLED_ONE))
};

/* The `calls` entry of a recording's header starts with this; the names given by the user follow, each after a comma. */
#define TW_CALLS_KNOWN "known+++"

/*
 * The number of the first function given by the user. Recordings whose header says `known` lack the functions that
 * transfer data, those with `known+` lack TW_CALLED_PLACES, and those with `known++` lack TW_CALLED_DETACHED.
 */
static inline unsigned tw_called_named_from(const char *calls)
{
	static const unsigned known[] = {TW_NCALLED_WITHOUT_DATA, TW_NCALLED_WITHOUT_PLACES, TW_NCALLED_WITHOUT_DETACHED, TW_NCALLED};
	const char *more = calls + (calls[0] ? sizeof "known" - 1 : 0);
	unsigned n = 0;
	while (n < 3 && more[n] == '+')
		n++;
	return known[n];
}

/*
 * Some functions take a list in memory. After struct tw_called, their events hold the list as it was at the call, in
 * 64-bit words; of a longer list its first words. Recordings have this from `known++` on.
 */
enum tw_called_list {
	TW_CALLED_LIST_NONE,
	TW_CALLED_LIST_PIECES,  /* pieces of a buffer: address and bytes of each; args[1]: address of the list, args[2]: its length */
	TW_CALLED_LIST_MESSAGE, /* the same, for the struct msghdr at args[1] */
	TW_CALLED_LIST_TASK,    /* dependences of a task, in libgomp's format, at args[7], if flags args[6] say so */
	TW_CALLED_LIST_DEPENDS, /* the same at args[0] */
	TW_CALLED_LIST_TARGET,  /* the same at args[7], if that is not 0 */
};

enum { TW_CALLED_LIST_WORDS = 128 };
enum { TW_CALLED_TASK_DEPENDS = 8, TW_CALLED_TASK_DETACHED = 1 << 13 }; /* in a task's flags */

#define TW_CALLED_LISTS(X)                                                                                                                 \
	X("writev", PIECES)                                                                                                                \
	X("readv", PIECES)                                                                                                                 \
	X("pwritev", PIECES)                                                                                                               \
	X("pwritev64", PIECES)                                                                                                             \
	X("pwritev2", PIECES)                                                                                                              \
	X("pwritev64v2", PIECES)                                                                                                           \
	X("preadv", PIECES)                                                                                                                \
	X("preadv64", PIECES)                                                                                                              \
	X("preadv2", PIECES)                                                                                                               \
	X("preadv64v2", PIECES)                                                                                                            \
	X("sendmsg", MESSAGE)                                                                                                              \
	X("recvmsg", MESSAGE)                                                                                                              \
	X("GOMP_task", TASK)                                                                                                               \
	X("GOMP_target_ext", TARGET)                                                                                                       \
	X("GOMP_taskwait_depend", DEPENDS)

/*
 * Number of words of a dependence list, given its first two: the total, and how many of them are written (0: another
 * number comes first, and four after it).
 */
static inline unsigned long tw_called_depends(const unsigned long *list)
{
	return list[0] ? list[0] + 2 : list[1] + 5;
}

#endif
