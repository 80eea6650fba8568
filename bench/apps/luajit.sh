# LuaJIT: code compiled while it runs, patched as traces are linked, thrown away and made again.
. "$(dirname "$0")/lib.sh"
need luajit
cat >t.lua <<'END'
local n, x, t = tonumber(arg[1]), 1, {}
local bit = require("bit")
for i = 1, n do
	x = bit.band(x * 1103515 + 12345, 0x7fffffff)
	t[i] = x
end
table.sort(t)
local function fib(k) if k < 2 then return k end return fib(k - 1) + fib(k - 2) end
local s = {}
for i = 1, n / 10 do s[i] = string.format("%x", t[i] % 977) end
print(fib(25), t[1], t[#t], #table.concat(s), select(2, table.concat(s):gsub("a%d", "")))
local ffi = require("ffi")
local a = ffi.new("double[?]", 1000)
for r = 1, n / 100 do for i = 0, 999 do a[i] = a[i] + i * r end end
print(a[999], pcall(error, "thrown"))
for r = 1, 5 do jit.flush() for i = 1, 1000 do x = (x + i * r) % 65537 end end
print(x, jit.status())
END
batch -v luajit t.lua 20000
finish
