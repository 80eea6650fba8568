# Completion of trackway for bash. What there is to complete is read from the help of the command, so it is that of the version installed.

# Option words of a command: those that its help begins a line with, and those that stand behind a comma there.
_trackway_options() {
	"$1" "${@:2}" --help 2>/dev/null | sed -nE 's/^ +(-[-a-zA-Z][^ ]*(, --[^ ]+)*).*/\1/p' | grep -oE -- '--?[a-zA-Z][a-z-]*' | sort -u
}

# Values of an option, where its help has them as --option=this|that.
_trackway_values() {
	"$1" "$2" --help 2>/dev/null | sed -nE "s/^ +$3[= ]([a-zA-Z+_-]+(\|[a-zA-Z+_-]+)+).*/\1/p" | tr '|' '\n' | grep -v '^[A-Z]*$'
}

_trackway() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]:-} tool=${COMP_WORDS[0]}
	COMPREPLY=()
	[ "$previous" = = ] && previous=${COMP_WORDS[COMP_CWORD - 2]}
	if [ "$COMP_CWORD" = 1 ] || { [ "$COMP_CWORD" = 2 ] && [ "$command" = help ]; }; then
		mapfile -t COMPREPLY < <(compgen -W "$("$tool" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p') help" -- "$current")
		return
	fi
	case $command:$previous in
	record:-f | record:--format) mapfile -t COMPREPLY < <(compgen -W 'dep dep-c call none bb_pc mem_addr bb_pc+mem_addr dep06 dep06-c cf_bit' -- "$current") ;;
	report:--sort) mapfile -t COMPREPLY < <(compgen -W 'self incl refs reads writes calls name' -- "$current") ;;
	record:--with) mapfile -t COMPREPLY < <(compgen -W "$("$tool" analyze --list 2>/dev/null | cut -d' ' -f1)" -- "$current") ;;
	*:--*) mapfile -t COMPREPLY < <(compgen -W "$(_trackway_values "$tool" "$command" "$previous")" -- "${current#=}") ;;
	esac
	[ ${#COMPREPLY[@]} -gt 0 ] && return
	if [[ $current == -* ]]; then
		local subject=("$command")
		[ "$command" = analyze ] && [ "$COMP_CWORD" -gt 2 ] && subject=("$command" "${COMP_WORDS[2]}")
		mapfile -t COMPREPLY < <(compgen -W "$(_trackway_options "$tool" "${subject[@]}"; [ ${#subject[@]} = 2 ] && _trackway_options "$tool" analyze)" -- "$current")
	elif [ "$command" = analyze ] && [ "$COMP_CWORD" = 2 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$tool" analyze --list 2>/dev/null | cut -d' ' -f1)" -- "$current"; compgen -f -X '!*.so' -- "$current")
	elif [ "$command" = import ] && [ "$COMP_CWORD" = 2 ]; then
		mapfile -t COMPREPLY < <(compgen -W lackey -- "$current")
	elif [ "$command" = record ] || [ "$command" = cc ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -f -- "$current")
	else
		mapfile -t COMPREPLY < <(compgen -d -- "$current" | sed -n '/\.tw$/p'; compgen -f -- "$current")
	fi
}
complete -o filenames -o bashdefault -F _trackway trackway
