# A python3 script: integers, dictionaries, strings, classes, exceptions, modules in C.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command python3
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
cat >script.py <<'END'
import sys, re, json, zlib, math, struct
n = int(sys.argv[1])
class Node:
    def __init__(self, v): self.v, self.l, self.r = v, None, None
    def add(self, v):
        side = 'l' if v < self.v else 'r'
        c = getattr(self, side)
        if c is None: setattr(self, side, Node(v))
        else: c.add(v)
    def depth(self): return 1 + max(c.depth() if c else 0 for c in (self.l, self.r))
x, root, words = 1, Node(500), {}
for i in range(n):
    x = (x * 1103515245 + 12345) & 0x7fffffff
    root.add(x >> 8)
    w = '%x' % (x >> 20)
    words[w] = words.get(w, 0) + 1
print(root.depth(), len(words), max(words.items(), key=lambda p: (p[1], p[0])))
text = json.dumps(words, sort_keys=True)
print(len(re.findall(r'"[0-9a-f]*a[0-9a-f]*": \d+', text)), zlib.crc32(text.encode()), len(zlib.compress(text.encode(), 9)))
print(math.factorial(200) % 1000003, 3 ** 500 % (10 ** 20), sum(struct.unpack('<100H', bytes(range(200)))))
try: [][1]
except IndexError as e: print(e)
print(sorted((hash(str(i)) & 1023 for i in range(20)))[:5])
END
whole python3 -S script.py "$(full 200000 1500)"
