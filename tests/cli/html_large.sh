# report --html of a program of 40,000 functions (100,000 with TW_FULL=1): the page is cut, says so, and every view opens within two seconds of the browser's processor time (0.2 are usual).
# timeout: 300
. "$(dirname "$0")/../lib.sh"
command -v chromedriver >/dev/null && command -v chromium >/dev/null || skip "there is no chromedriver"
thousands=$(full 100 40)
awk -v n="${thousands}000" 'BEGIN {
	print ".globl main\nmain:\n\tsub $8, %rsp"
	for (i = 0; i < n; i++) printf "\tcall function_%d\n", i
	print "\tadd $8, %rsp\n\txor %eax, %eax\n\tret"
	for (i = 0; i < n; i++) printf ".type function_%d, @function\nfunction_%d:\n\tmov $%d, %%ecx\n1:\tpush %%rcx\n\tpop %%rcx\n\tloop 1b\n\tret\n.size function_%d, .-function_%d\n", i, i, i % 7 + 1, i, i
	print ".section .note.GNU-stack,\"\",@progbits"
}' >many.S
gcc -o many many.S || fail "gcc"
"$TW" record -q -o many.tw ./many || fail "record"
"$TW" report --html many.html many.tw || fail "report --html"
[ "$(wc -c <many.html)" -lt 10000000 ] || fail "the page has $(wc -c <many.html) bytes"

cat >browse.py <<'END'
import sys
from browser import *

def spent():
    """Seconds of processor time of the page's main thread."""
    return next(m["value"] for m in devtools("Performance.getMetrics")["metrics"] if m["name"] == "ThreadTime")

try:
    open_browser()
    load("about:blank")
    devtools("Performance.enable", timeDomain="threadTicks")
    load(sys.argv[1])
    until("document.documentElement.dataset.ready === 'yes'", "the page is ready")
    took = {"open": spent()}
    for i, title in enumerate(["Summary", "Timeline", "Flame graph", "Functions", "Memory over time", "Call graph", "Basic blocks"]):
        before = spent()
        run("document.getElementById('tabs').children[arguments[0]].click()", i)
        until(f"document.querySelector('#view h2')?.textContent === '{title}'", title)
        took[title] = spent() - before
    print(took)
    assert max(took.values()) < 2, took
    go("functions")
    until(f"/{sys.argv[2]},\\d\\d\\d/.test(document.getElementById('view').textContent)", "of how many functions")
finally:
    close_browser()
END
PYTHONPATH=$ROOT/tests PYTHONDONTWRITEBYTECODE=1 timeout 200 python3 browse.py "file://$PWD/many.html" "$thousands" >browse.out 2>&1
status=$?
[ $status = 77 ] && skip "$(tail -n 1 browse.out)"
[ $status = 0 ] || fail "in the browser: $(tail -n 5 browse.out)"
