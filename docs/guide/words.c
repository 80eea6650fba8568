/* words FILE [THREADS]: the words of a text that are used most. The program of docs/guide.md. */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, MOST_THREADS = 8, MOST_TEXT = 1 << 26 };

struct word {
	struct word *next;
	unsigned count;
	char text[];
};

struct part {
	const char *from, *to;
	struct word *table[BUCKETS];
};

static char *text;
static size_t length, n_words;
static struct word **sorted;

static unsigned hash(const char *s, size_t n)
{
	unsigned h = 0;
	while (n--)
		h += (unsigned char)*s++;
	return h % BUCKETS;
}

static struct word *find(struct word **bucket, const char *s, size_t n)
{
	struct word *w = *bucket;
	while (w && (strncmp(w->text, s, n) != 0 || w->text[n]))
		w = w->next;
	return w;
}

static void add(struct word **table, const char *s, size_t n, unsigned count)
{
	struct word **bucket = &table[hash(s, n)];
	struct word *w = find(bucket, s, n);
	if (!w) {
		w = calloc(1, sizeof *w + n + 1);
		memcpy(w->text, s, n);
		w->next = *bucket;
		*bucket = w;
	}
	w->count += count;
}

static void *count_words(void *arg)
{
	struct part *p = arg;
	for (const char *s = p->from, *end; s < p->to; s = end) {
		while (s < p->to && !isalpha((unsigned char)*s))
			s++;
		for (end = s; end < p->to && isalpha((unsigned char)*end); end++)
			;
		if (end > s)
			add(p->table, s, (size_t)(end - s), 1);
	}
	return NULL;
}

static void sort(struct word **from, struct word **to)
{
	if (to - from < 2)
		return;
	struct word **last = from;
	for (struct word **w = from + 1; w < to; w++)
		if ((*w)->count > (*from)->count) {
			struct word *other = *++last;
			*last = *w;
			*w = other;
		}
	struct word *pivot = *from;
	*from = *last;
	*last = pivot;
	sort(from, last);
	sort(last + 1, to);
}

static void list_words(struct word **table)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct word *w = table[i]; w; w = w->next)
			n_words++;
	sorted = calloc(n_words, sizeof *sorted);
	size_t n = 0;
	for (int i = 0; i < BUCKETS; i++)
		for (struct word *w = table[i]; w; w = w->next)
			sorted[n++] = w;
	sort(sorted, sorted + n_words);
}

static void read_text(const char *file)
{
	FILE *f = fopen(file, "r");
	if (!f) {
		perror(file);
		exit(1);
	}
	text = malloc(MOST_TEXT);
	length = fread(text, 1, MOST_TEXT, f);
	fclose(f);
}

/* The first place from `s` on that is not within a word. */
static const char *word_end(const char *s)
{
	while (s < text + length && isalpha((unsigned char)*s))
		s++;
	return s;
}

int main(int argc, char **argv)
{
	static struct part parts[MOST_THREADS];
	pthread_t threads[MOST_THREADS];
	read_text(argv[1]);
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	for (size_t i = 0; i < n; i++) {
		parts[i].from = i ? parts[i - 1].to : text;
		parts[i].to = word_end(text + length * (i + 1) / n);
		if (i)
			pthread_create(&threads[i], NULL, count_words, &parts[i]);
	}
	count_words(&parts[0]);
	for (size_t i = 1; i < n; i++) {
		pthread_join(threads[i], NULL);
		for (int b = 0; b < BUCKETS; b++)
			for (struct word *w = parts[i].table[b]; w; w = w->next)
				add(parts[0].table, w->text, strlen(w->text), w->count);
	}
	list_words(parts[0].table);
	printf("%zu words; most often: %s, %u times\n", n_words, sorted[0]->text, sorted[0]->count);
	return 0;
}
