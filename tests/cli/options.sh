# The options that a command takes, those of its --help and those of its man page are the same; and the man page of trackway has all commands.
. "$(dirname "$0")/../lib.sh"
shopt -s extglob

WORD='-?-[a-z][a-z0-9-]*'
# named OPTION TEXT: the text has this option, and not only one that begins or ends like it
named() { [[ $2 =~ (^|[^a-z0-9-])"$1"([^a-z0-9-]|$) ]]; }
words() { grep -oE -e "(^|[^a-z-])$WORD" | grep -oE -e "$WORD" | sort -u; }
page() { sed 's/\\-/-/g; s/\\f[A-Z]//g' "$ROOT/man/$1.1" >"$2"; }
# heads FILE: what stands above the paragraphs of a man page
heads() { awk '/^\.(TP|TQ)/ { head = 1; next } head { print; head = 0 }' "$1" | grep -E '^\.(B|I|BR|BI|RB|IB) "?-' | words; }
# taken COMMAND...: the options that it takes. It names them where it is given another.
taken() { "$TW" "$@" --nonsense x 2>&1 | sed -n 's/.* there are \(.*\); see .*/\1/p' | tr -d ' ' | tr , '\n' | sort -u; }

# compare NAME PAGE COMMAND...: NAME for what is printed, PAGE: text of its man page
compare() {
	local name=$1 text=$2 page all help option short
	page=$(<"$2")
	shift 2
	taken "$@" >taken.txt
	all=$(<taken.txt)
	[ "$(wc -l <taken.txt)" -ge 2 ] || fail "$name: does not say which options there are"
	"$TW" "$@" --help >help.txt || fail "$name --help"
	while read -r option; do
		[ "$option" = --help ] || named "$option" "$page" || echo "$name takes $option; its man page does not name it"
	done <taken.txt
	grep -oE "^ {2,6}$WORD(([,=[ ]|[A-Z])*$WORD)?" help.txt | words | sed "s/^/help /" >stated.txt
	[ "$text" != page.txt ] || heads page.txt | sed "s/^/man page /" >>stated.txt
	while read -r option; do
		[[ $'\n'$all$'\n' == *$'\n'"${option##* }"$'\n'* ]] || echo "the ${option% *} of $name has ${option##* }, which it does not take"
	done <stated.txt
	case $name in analyze*) "$TW" analyze --help >>help.txt ;; esac # what all analyzers take
	help=$(<help.txt)
	while read -r option; do # help that has -q need not have --quiet
		short=${option##*(-)}
		named "$option" "$help" || named "-${short:0:1}" "$help" || echo "$name takes $option; its help does not name it"
	done <taken.txt
}

commands=$("$TW" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 20 ] || fail "trackway --help lists: $commands"
page trackway main.txt
for c in $commands; do
	[ -f "$ROOT/man/trackway-$c.1" ] || fail "there is no man page of trackway $c"
	grep -q "^\.BR trackway-$c (1)" main.txt || echo "the man page of trackway does not list $c"
	page "trackway-$c" page.txt
	case $c in
	stop | keep) ;; # take no options
	import) compare "$c" page.txt "$c" lackey ;;
	analyze)
		cp page.txt analyze.txt
		for a in $("$TW" analyze --list | sed 's/ .*//'); do compare "analyze $a" analyze.txt analyze "$a"; done
		;;
	*) compare "$c" page.txt "$c" ;;
	esac
done >differences.txt
[ ! -s differences.txt ] || fail "$(cat differences.txt)"
"$TW" analyze diff --help | head -n 1 | grep -qxF 'Usage: trackway analyze diff [OPTION]... OLD DIR' || fail "analyze diff --help: $("$TW" analyze diff --help | head -n 1)"
