# Completion of haricot for fish. 'haricot completion fish' prints it.

function __haricot_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l program $words[1]
    for line in ($program complete -- $words[2..-1] 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path (commandline -ct)
        else
            echo -- $line
        end
    end
end

complete -c haricot -f -a '(__haricot_complete)'
