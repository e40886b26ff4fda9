#compdef haricot
# Completion of haricot for zsh. 'haricot completion zsh' prints it.

_haricot() {
	local line tab=$'\t'
	local -a values shown
	while IFS= read -r line; do
		if [[ $line == ':files' ]]; then
			_files
			return
		fi
		values+=("${line%%$tab*}")
		shown+=("${line/$tab/  -- }")
	done < <("${words[1]}" complete -- "${(@)words[2,$CURRENT]}" 2>/dev/null)
	(( ${#values} )) && compadd -l -d shown -a values
}

if [ "${funcstack[1]}" = '_haricot' ]; then
	_haricot "$@"
else
	compdef _haricot haricot
fi
