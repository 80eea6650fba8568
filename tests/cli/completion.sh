# Completion in bash, zsh and fish: commands, every option that a command's help names, values, analyzers.
. "$(dirname "$0")/../lib.sh"
export PATH=$BUILD:$PATH
mkdir some.tw

options_of() { # options_of COMMAND: all of its help
	"$TW" "$1" --help | sed -nE 's/^ +(-[-a-zA-Z][^ ]*(, --[^ ]+)*).*/\1/p' | grep -oE -- '--[a-z][a-z-]*' | sort -u
}
has() { # has WHAT FILE WORD...: each begins a line, alone or with a space behind it
	local what=$1 file=$2 lines word
	lines=$'\n'$(<"$2")$'\n'
	shift 2
	for word; do
		[[ $lines == *$'\n'"$word"[[:space:]]* ]] || {
			cat "$file"
			fail "$what does not have $word"
		}
	done
}

in_bash() { # in_bash WORD...: what completes the last word
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _trackway; printf "%s\n" "${COMPREPLY[@]}"' bash "$ROOT/completions/trackway.bash" "$@" >words
}
in_bash trackway ''
has 'bash: trackway' words record info report analyze dump check bundle sql
in_bash trackway re
has 'bash: trackway re' words record report
! grep -q dump words || fail "bash: trackway re has dump"
for c in record report dump blocks info check; do
	in_bash trackway $c --
	# shellcheck disable=SC2046
	has "bash: trackway $c --" words $(options_of $c)
done
in_bash trackway report --sort ''
has 'bash: --sort' words self incl name
in_bash trackway record --follow = ''
has 'bash: --follow=' words all none
in_bash trackway analyze ''
has 'bash: analyze' words mix footprint
in_bash trackway analyze cct --
has 'bash: analyze cct --' words --folded --thread
in_bash trackway report some
has 'bash: report some' words some.tw

if command -v fish >/dev/null; then
	in_fish() { HOME=$TMP fish --no-config -c "source $ROOT/completions/trackway.fish; complete -C '$1'" >words 2>&1; }
	in_fish 'trackway '
	has 'fish: trackway' words record report
	in_fish 'trackway report --'
	# shellcheck disable=SC2046
	has 'fish: trackway report --' words $(options_of report)
	in_fish 'trackway analyze m'
	has 'fish: analyze m' words mix
else
	untested "completion in fish, which is not here"
fi

if command -v zsh >/dev/null; then
	# The shell on a pseudo-terminal of its own (zsh/zpty), with the completions listed instead of shown. It tells when its line editor
	# waits: what is typed before is the terminal's, and what is typed while it lists makes it leave the list out.
	cat >complete.zsh <<-'END_ZSH'
		zmodload zsh/zpty zsh/zselect
		zpty z zsh -f -i
		say() { zpty -w z "$1" }
		local out= line
		say "PS1=; PROMPT_EOL_MARK=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=($1 \$fpath); autoload -Uz compinit && compinit -u -D"
		say 'zstyle ":completion:*" list-separator " "; zstyle ":completion:*" verbose no; LISTMAX=0; COLUMNS=20; LINES=200; bindkey "^I" list-choices'
		say 'compdef _trackway trackway; zle-line-init() { zle -M "READY-$((1 + 1))" }; zle -N zle-line-init'
		zpty -r z line '*READY-2*' || exit 1
		zpty -w -n z "$2"$'\t'
		# The list is there when some of it has come and then nothing for two seconds.
		local -i quiet=0 waited=0
		while ((quiet < 20 && waited++ < 400)); do
			if zpty -r -t z line; then
				out+=$line quiet=0
			else
				zselect -t 10
				[[ $out == *$'\n'*[a-z]* ]] && ((quiet++))
			fi
		done
		print -r -- $out
		zpty -d z
	END_ZSH
	in_zsh() { timeout 60 zsh -f complete.zsh "$ROOT/completions" "$1" 2>&1 | tr '\r' '\n' | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | tr -s ' ' '\n' >words; }
	in_zsh 'trackway '
	has 'zsh: trackway' words record report analyze
	in_zsh 'trackway report --'
	# shellcheck disable=SC2046
	has 'zsh: trackway report --' words $(options_of report)
	in_zsh 'trackway analyze '
	has 'zsh: trackway analyze' words mix footprint
else
	untested "completion in zsh, which is not here"
fi
exit 0
