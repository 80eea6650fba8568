# Completion of trackway for fish. What there is to complete is read from the help of the command, so it is that of the version installed.

function __trackway_words # the words before the one that is completed
    commandline -opc
end

function __trackway_commands
    trackway --help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)$' '$1\t$2'
end

function __trackway_options # the options of the command, with the first line of what its help says of each
    set -l words (__trackway_words)
    trackway $words[2] --help 2>/dev/null | string replace -rf '^ +(-[-a-zA-Z][-a-z]*)[^ ]*(?:, --[a-z-]+)?(?: [A-Z]+)? *(.*)$' '$1\t$2'
    test "$words[2]" = analyze; and set -q words[3]; and trackway analyze $words[3] --help 2>/dev/null | string replace -rf '^ +(--[-a-z]*)[^ ]*(?: [A-Z]+)? *(.*)$' '$1\t$2'
end

function __trackway_in # is this the command?
    set -l words (__trackway_words)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end

complete -c trackway -n 'test (count (__trackway_words)) = 1' -f -a '(__trackway_commands)'
complete -c trackway -n 'test (count (__trackway_words)) -gt 1; and string match -q -- "-*" (commandline -ct)' -f -a '(__trackway_options)'
complete -c trackway -n '__trackway_in analyze; and test (count (__trackway_words)) = 2' -a '(trackway analyze --list 2>/dev/null | string replace -r " +" \t)'
complete -c trackway -n '__trackway_in import; and test (count (__trackway_words)) = 2' -f -a lackey
complete -c trackway -n '__trackway_in record cc; and test (count (__trackway_words)) = 2' -a '(__fish_complete_command)'
complete -c trackway -n '__trackway_in help; and test (count (__trackway_words)) = 2' -f -a '(__trackway_commands)'
