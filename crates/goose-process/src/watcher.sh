# goose's watcher: ends what goose has started, once goose is gone.
#
# $1 is the run id of a goose process. Standard output is, the other way round, the reading end of a pipe of which only that
# process has the other end: its end says that goose is gone. Standard input is a pipe that is read then: "start" says that
# goose was about to start its first program, "+ GROUP" and "- GROUP" say which process groups live. If nothing was ever
# started, there is nothing to do. Otherwise everybody in those groups, everybody who carries the run id in the
# environment, and all their descendants are asked to end, and killed a second later. For any POSIX shell.

trap '' INT TERM HUP QUIT PIPE

# Names of processes are no patterns.
set -f
newline='
'
blanks=" 	$newline"

run=$1
started=no
groups=' ' # the groups that live
known=' '  # who was found last: " PID:START PID:START "

# Waits until goose is gone, and makes $groups of what it has left.
watch() {
    read -r nothing <&4 2>/dev/null
    while read -r sign group; do
        [ "$sign" = start ] && started=yes
        case $group in '' | *[!0-9]* | 0 | 1) continue ;; esac
        case "$sign$groups" in
            "+"*) groups="$groups$group " ;;
            "-"*" $group "*)
                before=${groups%%" $group "*}
                groups="$before ${groups#*" $group "}"
                ;;
        esac
    done
}

# One living process goes into $table as PID:PARENT:GROUP:START. Our own group does not.
add_row() {
    case $4 in Z* | X*) return ;; esac
    [ "$1" -gt 1 ] && [ "$3" != "$$" ] && table="$table $1:$2:$3:$5"
}

read_table() {
    table=''
    if [ -r /proc/self/stat ]; then
        # All at once: many shells read a file byte by byte, but what a command prints in blocks.
        lines=$(set +f && cat /proc/[0-9]*/stat 2>/dev/null)
        IFS=$newline
        for line in $lines; do
            IFS=$blanks
            # The name, in parentheses, may contain anything but a line's end; after it: state, parent, group, … start.
            pid=${line%% *}
            set -- ${line##*") "}
            [ $# -ge 20 ] && add_row "$pid" "$2" "$3" "$1" "${20}"
        done
        IFS=$blanks
    else
        while read -r pid parent group state; do
            [ -n "$state" ] && add_row "$pid" "$parent" "$group" "$state" 0
        done <<ROWS
$(ps -A -o pid= -o ppid= -o pgid= -o state= 2>/dev/null)
ROWS
    fi
}

# Whether this grep looks beyond a zero byte. Not every one does.
can_grep() {
    printf 'a\0b\n' 2>/dev/null | grep -qF b 2>/dev/null
}

# Whether a file of /proc has the mark. The shell itself drops zero bytes.
is_marked() {
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in *"$mark"*) return 0 ;; esac
    done 2>/dev/null <"$1"
    return 1
}

# Puts those who carry the run id into $carriers.
read_carriers() {
    mark="GOOSE_OWNED_BY=$run:"
    carriers=' '
    if [ ! -r /proc/self/environ ]; then
        while read -r pid rest; do
            case $rest in *"$mark"*) carriers="$carriers$pid " ;; esac
        done <<ROWS
$(ps -A -E -ww -o pid= -o command= 2>/dev/null)
ROWS
    elif can_grep; then
        for file in $(set +f && grep -lsF -e "$mark" /proc/[0-9]*/environ 2>/dev/null); do
            file=${file#/proc/}
            carriers="$carriers${file%/environ} "
        done
    else
        for file in $(set +f && echo /proc/[0-9]*/environ); do
            { is_marked "$file"; } 2>/dev/null || continue
            file=${file#/proc/}
            carriers="$carriers${file%/environ} "
        done
    fi
}

# Adds the process of $row to $members, once; " PID:" is how its children find it.
add_member() {
    case $members in *" $pid:$start "*) return ;; esac
    members="$members$pid:$start "
    grown=yes
}

split_row() {
    pid=${row%%:*} rest=${row#*:}
    parent=${rest%%:*} rest=${rest#*:}
    group=${rest%%:*} start=${rest#*:}
}

# Puts everybody to be ended into $known; whoever was found before still counts when his parent is gone.
search() {
    read_table
    read_carriers
    members=' '
    for row in $table; do
        split_row
        case "$groups|$carriers|$known" in
            *" $group "*"|"*"|"*) add_member ;;
            *"|"*" $pid "*"|"*) add_member ;;
            *"|"*"|"*" $pid:$start "*) add_member ;;
        esac
    done
    grown=yes
    while [ "$grown" = yes ]; do
        grown=no
        for row in $table; do
            split_row
            case $members in *" $parent:"*) add_member ;; esac
        done
    done
    known=$members
}

signal() {
    for member in $known; do
        kill -s "$1" "${member%%:*}" 2>/dev/null
    done
}

# Whether anybody of $known is still there. Much cheaper than a search.
is_anybody_left() {
    for member in $known; do
        pid=${member%%:*}
        if [ -r /proc/self/stat ]; then
            { read -r line <"/proc/$pid/stat"; } 2>/dev/null || continue
            case ${line##*") "} in Z* | X*) continue ;; esac
            return 0
        elif kill -s 0 "$pid" 2>/dev/null; then
            return 0
        fi
    done
    return 1
}

# Waits until all of $known are gone, or about a second. Not every sleep knows parts of one.
wait_for_all() {
    for round in 1 2 3 4 5; do
        is_anybody_left || return
        sleep 0.2 2>/dev/null || sleep 1
    done
}

finish() {
    [ "$started" = yes ] || return
    search
    [ "$known" = ' ' ] && return
    signal TERM
    wait_for_all
    for attempt in 1 2 3; do
        search
        [ "$known" = ' ' ] && return
        signal KILL
        wait_for_all
    done
}

# In the background, so that it is no child of goose. The input has to be named, or it would be empty.
exec 3<&0 4<&1 >/dev/null
{
    watch
    finish
} <&3 3<&- &
