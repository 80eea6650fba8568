# A lua5.4 script: tables, closures, strings, coroutines (setjmp and longjmp for errors).
. "$(dirname "$0")/../lib.sh"
need_command lua5.4
cat >script.lua <<'END'
local n = tonumber(arg[1])
local x, t, s = 1, {}, {}
for i = 1, n do
	x = (x * 1103515245 + 12345) & 0x7fffffff
	t[i] = x
	s[#s + 1] = string.char(97 + x % 26)
end
table.sort(t)
print(t[1], t[#t], #table.concat(s):gsub("[aeiou]+", "-"))
local co = coroutine.wrap(function() for i = 1, n // 10 do coroutine.yield(i * 0.5) end return -1 end)
local sum = 0
while true do local v = co() if v < 0 then break end sum = sum + v end
print(sum, pcall(error, "oops", 0))
local function fib(k) if k < 2 then return k end return fib(k - 1) + fib(k - 2) end
print(fib(arg[2] | 0), math.type(1 << 40), string.format("%.10g", math.pi ^ 5))
END
whole lua5.4 script.lua "$(full 1000000 8000)" "$(full 30 14)"
