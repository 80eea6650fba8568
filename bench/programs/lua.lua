-- Goes through Lua's libraries, errors, coroutines and collector, and prints what it finds: the same in every run.
local function out(...) print(...) end
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
out("fib", fib(22))
local t, x = {}, 1
for i = 1, 5000 do x = (x * 1103515245 + 12345) & 0x7fffffff; t[i] = x end
table.sort(t); out("sort", t[1], t[2500], t[5000])
table.sort(t, function(a, b) return a > b end); out("sort", t[1], t[5000])
out("concat", #table.concat(t, ","), table.unpack({1, 2, 3}, 2))
out(select(2, pcall(function() error({code = 7}) end)).code)
out(select("#", pcall(error)), pcall(string.rep))
out(xpcall(function() local a = nil; return a.b end, function(m) return "handled: " .. m end))
out(pcall(function() return 1 < "2" end))
out(pcall(string.format, "%d", "3.5"))
local co = coroutine.wrap(function(a) for i = 1, 5 do a = coroutine.yield(a * i) end error("end of it") end)
out(co(1), co(2), co(3), co(4), co(5)); out(pcall(co, 6)); out(pcall(co))
local weak = setmetatable({}, {__mode = "k"})
for i = 1, 100 do weak[{}] = i end
collectgarbage(); out("weak", next(weak))
local finalised = 0
for i = 1, 50 do setmetatable({}, {__gc = function() finalised = finalised + 1 end}) end
collectgarbage(); collectgarbage("generational"); collectgarbage("incremental"); out("finalised", finalised)
out(string.format("%q %5.2f %x %s %10s|%-5d|%g %a", "a\nb\0c", math.pi, 255, true, "right", 42, 1e300, 0.5))
out(("hello world from Lua"):gsub("(%w+) (%w+)", "%2 %1"), ("key = value"):match("^(%w+)%s*=%s*(%w+)$"), ("x"):rep(3, ","), ("abc"):byte(1, -1))
for k, v in string.gmatch("a=1, b=2", "(%w+)=(%w+)") do out(k, v) end
out(string.pack("<i4z", 7, "zz"):byte(1, -1)); out(string.unpack("<i4z", string.pack("<i4z", -7, "q")))
out(utf8.char(228, 8364, 0x10ffff), utf8.len("äöü"), utf8.codepoint("€", 1))
out(math.tointeger(3.0), 7 // 2, -7 // 2, 7 % -3, 2 ^ 10, 1 << 62, ~0, 5 // 0.0, -5 % math.huge, math.ult(1, -1), math.fmod(-5, 3))
local mt = {__add = function(a, b) return a.v + b.v end, __index = function(_, k) return k .. "!" end, __call = function(_, n) return n * 2 end,
	__eq = function() return true end, __lt = function() return false end, __close = function() out("closed") end, __concat = function() return "cat" end, __len = function() return 99 end}
local a, b = setmetatable({v = 1}, mt), setmetatable({v = 2}, mt)
do local c <close> = a; out(a + b, a.none, a(21), a == b, a < b, a .. b, #a) end
local s = {}
for i = 1, 200 do s[#s + 1] = "local v" .. i .. " = " .. i end
out(load("local r = 0 for i = 1, 100 do r = r + i end return r")(), load("syntax error here"), #string.dump(load("return 1")) > 10)
out(pcall(load(table.concat(s, "\n")))); s[201] = "local one = 0"
goto skip
out("never")
::skip::
for i = 10, 1, -3 do for j = 1, 2 do if j == 2 then goto continue end out(i, j) ::continue:: end end
out(os.time({year = 2020, month = 1, day = 1, hour = 12}), os.date("!%Y-%m-%d", 86400), os.getenv("no such variable"), tostring(nil), tonumber("0x1p4"), tonumber("z", 36))
local deep = 0
local function recurse() deep = deep + 1 return 1 + recurse() end
out(pcall(recurse) == false and deep > 1000)
out(debug.traceback("trace", 1):match("^trace"), debug.getinfo(1, "l").currentline, select(2, debug.getlocal(1, 1)) ~= nil)
local counted = 0
debug.sethook(function() counted = counted + 1 end, "", 1000); for i = 1, 100000 do end debug.sethook(); out("hooks", counted > 50)
