# Completion of haricot for bash. 'haricot completion bash' prints it.

_haricot() {
	local line candidates=()
	while IFS= read -r line; do
		candidates+=("${line%%$'\t'*}")
	done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	COMPREPLY=("${candidates[@]}")
	if [ ${#candidates[@]} -eq 1 ] && [ "${candidates[0]}" = ':files' ]; then
		COMPREPLY=()
		compopt -o default
	fi
}

# A colon or = within a word, as in unix:PATH, must not cut it in two.
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -F _haricot haricot
