/*
 * Memory for replay, apart from the program's: so neither the program's malloc() nor the place where a full buffer
 * interrupts the program matters. The routine itself uses the program's.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void *malloc(size_t n);
void *calloc(size_t n, size_t each);
void *realloc(void *from, size_t n);
void free(void *p);

/* Block sizes are powers of two, with the size in front. Large blocks are mappings of their own. */
enum { SMALLEST = 6, LARGEST = 17, HEAD = 64, ARENA = 1 << 20 };

struct head {
	size_t bytes; /* with the head */
	struct head *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *free_heads[LARGEST + 1];
static uint8_t *arena, *arena_end;

static void *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static unsigned class_of(size_t bytes)
{
	unsigned k = SMALLEST;
	while ((size_t)1 << k < bytes)
		k++;
	return k;
}

/* Under the lock. */
static struct head *cut(size_t bytes)
{
	if ((size_t)(arena_end - arena) < bytes) {
		arena = map(ARENA);
		arena_end = arena ? arena + ARENA : NULL;
	}
	if (!arena)
		return NULL;
	struct head *h = (struct head *)(void *)arena;
	arena += bytes;
	return h;
}

static struct head *get(unsigned k)
{
	pthread_mutex_lock(&lock);
	struct head *h = free_heads[k];
	if (h)
		free_heads[k] = h->next;
	else
		h = cut((size_t)1 << k);
	pthread_mutex_unlock(&lock);
	if (h)
		h->bytes = (size_t)1 << k;
	return h;
}

static void *allocate(size_t n)
{
	const size_t bytes = n + HEAD;
	if (bytes < n)
		return NULL;
	struct head *h = bytes > (size_t)1 << LARGEST ? map(bytes) : get(class_of(bytes));
	if (!h)
		return NULL;
	if (bytes > (size_t)1 << LARGEST)
		h->bytes = bytes;
	return (uint8_t *)h + HEAD;
}

void *malloc(size_t n)
{
	return allocate(n);
}

void free(void *p)
{
	if (!p)
		return;
	struct head *h = (struct head *)(void *)((uint8_t *)p - HEAD);
	if (h->bytes > (size_t)1 << LARGEST) {
		munmap(h, h->bytes);
		return;
	}
	const unsigned k = class_of(h->bytes);
	pthread_mutex_lock(&lock);
	h->next = free_heads[k];
	free_heads[k] = h;
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t n, size_t each)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, each, &bytes))
		return NULL;
	void *p = allocate(bytes);
	if (p && bytes + HEAD <= (size_t)1 << LARGEST)
		memset(p, 0, bytes);
	return p;
}

void *realloc(void *from, size_t n)
{
	const size_t had = from ? ((struct head *)(void *)((uint8_t *)from - HEAD))->bytes - HEAD : 0;
	if (from && n <= had)
		return from;
	void *to = allocate(n);
	if (to && from)
		memcpy(to, from, had);
	if (to)
		free(from);
	return to;
}
