/* A computed goto and a switch, one of whose ways throws, for tests of trackway cc: both work on the program's own `sum`. */
__attribute__((noinline)) static int run(const unsigned char *code)
{
	static const void *const table[] = {&&stop, &&more, &&less, &&twice, &&never};
	int x = 1;
	goto *table[*code++];
more:
	x += 3;
	goto *table[*code++];
less:
	x--;
	goto *table[*code++];
twice:
	x *= 2;
	goto *table[*code++];
never:
	x ^= 77;
	goto *table[*code++];
stop:
	return x;
}
__attribute__((noinline)) static int choose(int n)
{
	switch (n) {
	case 0:
		return sum * 3;
	case 1:
		sum += 5;
		return 7;
	case 2:
		return sum ^ n;
	case 3:
		sum--;
		return 1;
	case 4:
		return sum << 1;
	case 5:
		return sum % 11;
	case 6:
		throw n;
	case 7:
		sum += 9;
		return 3;
	default:
		return n;
	}
}
