/* units WHAT N: a program of which an analyzer keeps something for each of N units of one kind. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, LINE = 64, WORD = 8 };

static long n;
static volatile char *memory;
static volatile long counter;

/* Writes the first word of each page, line or word. */
static void write_each(size_t bytes)
{
	for (long i = 0; i < n; i++)
		*(volatile long *)(memory + (size_t)i * bytes) = i;
}

static void *write_lines(void *arg)
{
	write_each(LINE);
	return arg;
}

static void *write_words(void *arg)
{
	write_each(WORD);
	return arg;
}

/* Two threads, one after the other: their accesses are ordered, and the second one's meet what the first one left. */
static void in_two(void *(*work)(void *))
{
	pthread_t t;
	for (int i = 0; i < 2; i++) {
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
}

static void keep_blocks(void)
{
	for (long i = 0; i < n; i++)
		*(void *volatile *)(memory + (size_t)i * WORD) = malloc(24);
}

static void count(void)
{
	for (long i = 0; i < n / 2; i++)
		counter++; /* a read and a write, or one modify */
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	n = argc > 2 ? atol(argv[2]) : 0;
	memory = calloc((size_t)n + 1, !strcmp(what, "pages") ? PAGE : !strcmp(what, "lines") ? LINE : WORD);
	if (!memory)
		return 1;
	if (!strcmp(what, "pages"))
		write_each(PAGE);
	else if (!strcmp(what, "lines"))
		in_two(write_lines);
	else if (!strcmp(what, "words"))
		in_two(write_words);
	else if (!strcmp(what, "blocks"))
		keep_blocks();
	else if (!strcmp(what, "accesses"))
		count();
	else
		return 2;
	return 0;
}
