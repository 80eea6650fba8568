/* Minimum-cost flow by successive shortest paths with potentials (Dijkstra with a heap), on a network made by a rule. mcf NODES */
#include <stdio.h>
#include <stdlib.h>

struct arc {
	int to, next, room, cost;
};
static struct arc *arcs;
static int *first, n_arcs, n;
static long *potential, *distance;
static int *by, *heap, *at, in_heap;

static void add(int from, int to, int room, int cost)
{
	arcs[n_arcs] = (struct arc){to, first[from], room, cost};
	first[from] = n_arcs++;
	arcs[n_arcs] = (struct arc){from, first[to], 0, -cost};
	first[to] = n_arcs++;
}

static void put(int k, int node)
{
	heap[k] = node;
	at[node] = k;
}

static void up(int k)
{
	const int node = heap[k];
	for (; k && distance[heap[(k - 1) / 2]] > distance[node]; k = (k - 1) / 2)
		put(k, heap[(k - 1) / 2]);
	put(k, node);
}

static int pop(void)
{
	const int top = heap[0], node = heap[--in_heap];
	int k = 0;
	at[top] = -1;
	for (int c; (c = 2 * k + 1) < in_heap; k = c) {
		c += c + 1 < in_heap && distance[heap[c + 1]] < distance[heap[c]];
		if (distance[heap[c]] >= distance[node])
			break;
		put(k, heap[c]);
	}
	if (in_heap)
		put(k, node);
	return top;
}

static int shortest(int from, int to)
{
	for (int i = 0; i < n; i++) {
		distance[i] = 1L << 60;
		at[i] = -1;
	}
	distance[from] = 0;
	in_heap = 0;
	put(in_heap++, from);
	while (in_heap) {
		const int u = pop();
		for (int a = first[u]; a >= 0; a = arcs[a].next) {
			const long d = distance[u] + arcs[a].cost + potential[u] - potential[arcs[a].to];
			if (!arcs[a].room || d >= distance[arcs[a].to])
				continue;
			distance[arcs[a].to] = d;
			by[arcs[a].to] = a;
			if (at[arcs[a].to] < 0)
				put(in_heap++, arcs[a].to);
			up(at[arcs[a].to]);
		}
	}
	return distance[to] < 1L << 60;
}

int main(int argc, char **argv)
{
	n = argc > 1 ? atoi(argv[1]) : 500;
	unsigned seed = 1;
	long cost = 0, flow = 0;
	arcs = malloc(sizeof *arcs * (size_t)n * 20);
	first = malloc(sizeof *first * (size_t)n);
	potential = calloc((size_t)n, sizeof *potential);
	distance = malloc(sizeof *distance * (size_t)n);
	by = malloc(sizeof *by * (size_t)n);
	heap = malloc(sizeof *heap * (size_t)n);
	at = malloc(sizeof *at * (size_t)n);
	for (int i = 0; i < n; i++)
		first[i] = -1;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 8; k++) {
			seed = seed * 1103515245 + 12345;
			add(i, (int)(seed / 65536 % (unsigned)n), (int)(seed / 256 % 9) + 1, (int)(seed / 4096 % 100) + 1);
		}
	while (flow < 60 && shortest(0, n - 1)) {
		int room = 1 << 30;
		for (int i = 0; i < n; i++)
			potential[i] += distance[i] < 1L << 60 ? distance[i] : 0;
		for (int i = n - 1; i; i = arcs[by[i] ^ 1].to)
			room = arcs[by[i]].room < room ? arcs[by[i]].room : room;
		for (int i = n - 1; i; i = arcs[by[i] ^ 1].to) {
			arcs[by[i]].room -= room;
			arcs[by[i] ^ 1].room += room;
			cost += (long)room * arcs[by[i]].cost;
		}
		flow += room;
	}
	printf("%ld %ld\n", flow, cost);
	return 0;
}
