/* What recognisers of speech do: features scored by mixtures of Gaussians, and the best path through states by Viterbi with a beam. speech FRAMES */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATES = 400, MIX = 4, DIM = 24 };
static float mean[STATES][MIX][DIM], inverse[STATES][MIX][DIM], score[2][STATES];
static short came[STATES];

static float random_part(void)
{
	static unsigned seed = 5;
	seed = seed * 1103515245 + 12345;
	return (float)(seed / 65536 % 1000) / 1000;
}

static float likelihood(int s, const float *x)
{
	float best = -1e30f;
	for (int m = 0; m < MIX; m++) {
		float sum = 0;
		for (int d = 0; d < DIM; d++) {
			const float e = x[d] - mean[s][m][d];
			sum -= e * e * inverse[s][m][d];
		}
		if (sum > best)
			best = sum + logf(1 + expf(best - sum));
		else
			best += logf(1 + expf(sum - best));
	}
	return best;
}

int main(int argc, char **argv)
{
	const int frames = argc > 1 ? atoi(argv[1]) : 100;
	long active = 0;
	for (int s = 0; s < STATES; s++)
		for (int m = 0; m < MIX; m++)
			for (int d = 0; d < DIM; d++) {
				mean[s][m][d] = random_part();
				inverse[s][m][d] = 1 + random_part();
			}
	for (int s = 1; s < STATES; s++)
		score[0][s] = -1e20f;
	for (int t = 0; t < frames; t++) {
		float *now = score[t % 2], *next = score[(t + 1) % 2], x[DIM], best = -1e30f;
		for (int d = 0; d < DIM; d++)
			x[d] = random_part();
		for (int s = 0; s < STATES; s++)
			best = now[s] > best ? now[s] : best;
		for (int s = 0; s < STATES; s++) {
			const int from = s && now[s - 1] > now[s] ? s - 1 : s;
			came[s] = (short)from;
			next[s] = now[from] - best;
			if (next[s] < -60) {
				next[s] = -1e20f;
				continue;
			}
			next[s] += likelihood(s, x);
			active++;
		}
	}
	printf("%ld %d\n", active, came[STATES / 2]);
	return 0;
}
