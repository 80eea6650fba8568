/*
 * Small programs with and without races: one function each, run by name. `./cases --list` prints them: name, and the variable that is raced on, or "-" where there is no race.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
	const char *name, *object;
	void (*run)(void);
};
extern const struct test_case cases[];

int main(int argc, char **argv)
{
	for (const struct test_case *c = cases; c->name; c++) {
		if (argc > 1 && !strcmp(argv[1], "--list"))
			printf("%s %s\n", c->name, c->object);
		else if (argc > 1 && !strcmp(argv[1], c->name))
			c->run();
	}
	return 0;
}

/* Two threads that run these, and are awaited. */
static inline void both(void *(*a)(void *), void *(*b)(void *))
{
	pthread_t t[2];
	pthread_create(&t[0], NULL, a, (void *)0);
	pthread_create(&t[1], NULL, b, (void *)1);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

enum { TURNS = 50 };

#define RACY(name, object)                                                                                                                 \
	{                                                                                                                                  \
#name, #object, name                                                                                                       \
	}
#define OBJECT(name, object)                                                                                                               \
	{                                                                                                                                  \
#name, object, name                                                                                                        \
	}
#define FREE(name)                                                                                                                         \
	{                                                                                                                                  \
#name, "-", name                                                                                                           \
	}
