#include "names/members.h"
#include "names/symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct tw_members {
	pthread_mutex_t lock;
	struct tw_symbols *symbols;
	struct tw_types **types; /* by file; NULL: not read yet, or there was no memory */
};

struct tw_members *tw_members_new(const struct tw_recording *r)
{
	struct tw_members *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	p->symbols = tw_symbols_new(r);
	p->types = p->symbols ? calloc(tw_symbols_places(p->symbols)->files.n + 1, sizeof(struct tw_types *)) : NULL;
	if (p->types)
		return p;
	tw_members_free(p);
	return NULL;
}

void tw_members_free(struct tw_members *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->types && i < tw_symbols_places(p->symbols)->files.n; i++)
		tw_types_free(p->types[i]);
	free(p->types);
	tw_symbols_free(p->symbols);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* NULL: nothing is known of the file. */
static const struct tw_types *types_of(struct tw_members *p, size_t file)
{
	uint64_t bias;
	if (p->types[file])
		return p->types[file];
	Dwfl_Module *module = tw_symbols_dwfl(p->symbols, tw_symbols_file(p->symbols, file), &bias);
	p->types[file] = module ? tw_types_new(module, bias) : NULL;
	return p->types[file];
}

uint64_t tw_members_name(struct tw_members *p, size_t file, struct tw_typed variable, uint64_t offset, char *text, size_t size)
{
	if (!p)
		return tw_types_name(NULL, variable, offset, text, size);
	pthread_mutex_lock(&p->lock);
	const uint64_t bytes = tw_types_name(types_of(p, file), variable, offset, text, size);
	pthread_mutex_unlock(&p->lock);
	return bytes;
}

int tw_members_find(struct tw_members *p, size_t file, struct tw_typed variable, const char *path, struct tw_type_part *out, char *why,
                    size_t size)
{
	if (!p)
		return tw_types_find(NULL, variable, path, out, why, size);
	pthread_mutex_lock(&p->lock);
	const struct tw_types *types = types_of(p, file);
	const int found = tw_types_find(types, variable, path, out, why, size);
	const char *trouble = types ? NULL : tw_symbols_trouble(p->symbols, tw_symbols_file(p->symbols, file));
	if (trouble)
		snprintf(why, size, "%s", trouble);
	pthread_mutex_unlock(&p->lock);
	return found;
}
