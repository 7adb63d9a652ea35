#!/bin/sh
# Starts `tl` where none is on PATH: the one that this plugin fetched from npm or PyPI before.
#
#   launch.sh hook HOST EVENT   never waits for the network and never fails: without a program no tool is blocked
#   launch.sh mcp               fetches the program first, if need be
#
# Outside a Throughline project nothing is fetched and nothing is said. THROUGHLINE_FETCH=off turns fetching off.
version={{VERSION}}
store=${CLAUDE_PLUGIN_DATA:-${XDG_CACHE_HOME:-$HOME/.cache}/throughline/plugin}/$version
log=$store/fetch.log

find_program() {
    command -v tl && return
    for program in "$store"/node_modules/throughline-*/bin/tl "$store"/python/bin/tl; do
        [ -x "$program" ] && echo "$program" && return
    done
    return 1
}

is_in_project() {
    directory=${CLAUDE_PROJECT_DIR:-$PWD}
    while [ -n "$directory" ]; do
        [ -d "$directory/.throughline" ] && return
        [ "$directory" = / ] && return 1
        directory=$(dirname "$directory")
    done
    return 1
}

# The directory of the fetched program, not the project's: no file of a repository decides what is installed.
fetch() {
    [ "${THROUGHLINE_FETCH-}" != off ] || return 1
    mkdir -p "$store" && cd "$store" || return 1
    # Of two sessions one fetches. A lock of a process that was killed is taken over.
    find "$store/lock" -maxdepth 0 -mmin +10 -exec rmdir {} \; 2>/dev/null
    mkdir "$store/lock" 2>/dev/null || return 0
    {
        { command -v npm && npm install --prefix "$store" --no-audit --no-fund "throughline@$version"; } ||
            { command -v uv && uv pip install --target "$store/python" "throughline-cli==$version"; } ||
            { command -v python3 && python3 -m pip install --target "$store/python" "throughline-cli==$version"; }
    } >"$log" 2>&1 </dev/null
    rmdir "$store/lock"
}

# A message for the agent and the person. Paths are the user's own, and contain nothing that JSON would escape.
say() {
    printf '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"%s"},"systemMessage":"%s"}' "$1" "$1"
}

announce() {
    by_hand='`npm install --global throughline` (or `cargo install throughline`)'
    if [ "${THROUGHLINE_FETCH-}" = off ] || ! { command -v npm || command -v uv || command -v python3; } >/dev/null 2>&1; then
        say "Throughline: \`tl\` was not found on this machine, so the gates of this project are off. Next: $by_hand."
    elif [ -e "$log" ] && [ ! -d "$store/lock" ]; then
        say "Throughline: \`tl\` could not be fetched (see $log), so the gates of this project are off. Next: $by_hand."
    else
        say "Throughline: \`tl\` $version is being fetched into $store; the gates of this project are off until it is there."
    fi
}

if program=$(find_program); then
    case $1 in
        hook) exec "$program" hook "$2" ;;
        *) exec "$program" "$@" ;;
    esac
fi
is_in_project || exit 0
case $1 in
    hook)
        if [ "$3" = SessionStart ]; then
            announce
            (fetch &) >/dev/null 2>&1
        fi
        exit 0
        ;;
    *)
        fetch >&2
        if program=$(find_program); then
            exec "$program" "$@"
        fi
        echo "tl was not found and could not be fetched: npm install --global throughline" >&2
        exit 1
        ;;
esac
