# SPDX-License-Identifier: MIT
# Completion of spex for bash. What is completed comes from `spex complete`. It is quoted, since a
# program may call its probes whatever it likes.
_spex() {
    local words word typed="${COMP_WORDS[COMP_CWORD]}"
    mapfile -t words < <(spex complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=()
    for word in "${words[@]}"; do
        if [[ $word == "$typed"* ]]; then
            COMPREPLY+=("$(printf %q "$word")")
        fi
    done
}
complete -o default -F _spex spex
