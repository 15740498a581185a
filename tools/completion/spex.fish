# SPDX-License-Identifier: MIT
# Completion of spex for fish. What is completed comes from `spex complete`; files come besides.
complete -c spex -a '(spex complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
