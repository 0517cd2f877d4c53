# shellcheck shell=bash
# cgroups.sh - the cgroup of one sandbox, in every hierarchy that Slurm uses
#
# Slurm makes its groups below the root of each hierarchy and names them by node.  A sandbox sees a group of its own as
# that root, so its nodes never meet those of another sandbox or of the machine's own Slurm.

# cgroups_dirs: a line "MOUNTPOINT FOLDER TYPE" per hierarchy; FOLDER is where a sandbox's group is made.
# Version 1: below the caller's own group, so that its limits stay.  Version 2: below the root, as a group with
# processes cannot hand controllers down.
cgroups_dirs() {
    awk '
        FILENAME ~ /cgroup$/ { split($0, part, ":"); own[part[2]] = substr($0, length(part[1] part[2]) + 3); next }
        { for (i = 7; $i != "-"; i++); type = $(i + 1); options = $(i + 3) }
        type == "cgroup2" { v2 = $5 }
        type == "cgroup" {
            for (names in own) {
                split(names, name, ",")
                if (names !~ /=/ && index("," options ",", "," name[1] ",") && names ~ wanted) {
                    folder = own[names]
                    if ($4 != "/" && index(folder, $4) == 1) folder = substr(folder, length($4) + 1)
                    if (folder == "/") folder = ""
                    v1 = v1 $5 " " $5 folder " cgroup\n"
                }
            }
        }
        END { if (v1 != "") printf "%s", v1; else if (v2 != "") print v2, v2, "cgroup2" }
    ' wanted='(^|,)(cpu|cpuacct|cpuset|memory|devices|freezer)(,|$)' /proc/self/cgroup /proc/self/mountinfo
}

# cgroups_enter ID PID: make the groups and put PID into them.  Prints "MOUNTPOINT GROUP TYPE" lines; hierarchies that
# do not let us are left out.
cgroups_enter() {
    local mountpoint folder type group file
    cgroups_dirs | while read -r mountpoint folder type; do
        group=$folder/$1
        mkdir -- "$group" 2>/dev/null || continue
        for file in cpuset.cpus cpuset.mems; do
            if [ "$type" = cgroup ] && [ -f "$group/$file" ]; then cat "$folder/$file" >"$group/$file"; fi
        done
        if echo "$2" >"$group/cgroup.procs"; then
            echo "$mountpoint $group $type"
        else
            rmdir -- "$group"
        fi 2>/dev/null
    done
}

# cgroups_leaf PID: version 2 hands controllers down only from a group without processes
cgroups_leaf() {
    local group type
    while read -r _ group type; do
        if [ "$type" = cgroup2 ]; then mkdir -- "$group/harness" && echo "$1" >"$group/harness/cgroup.procs"; fi
    done <<<"$PCIE_IPC_CGROUPS"
}

# cgroups_mount: in the sandbox's mount namespace, its group becomes the root of each hierarchy
cgroups_mount() {
    local mountpoint group type
    while read -r mountpoint group type; do
        [ -n "$mountpoint" ] || continue
        mount --bind -- "$group" "$mountpoint" || return
        if [ "$type" = cgroup2 ]; then cgroups_hand_down "$mountpoint"; fi
    done <<<"$PCIE_IPC_CGROUPS"
}

# cgroups_hand_down MOUNTPOINT: do what systemd does on a machine, so that Slurm 22.05 finds its place: controllers in
# a folder system.slice
cgroups_hand_down() {
    local controller folder
    mkdir -- "$1/system.slice" || return
    for folder in "$1" "$1/system.slice"; do
        for controller in $(<"$folder/cgroup.controllers"); do
            echo "+$controller" >"$folder/cgroup.subtree_control"
        done
    done
}

# cgroups_ids: the names of all sandboxes that have groups here
cgroups_ids() {
    cgroups_dirs | while read -r _ folder _; do
        find "$folder" -maxdepth 1 -name 'pcie-ipc.*' -printf '%f\n'
    done | sort -u
}

# cgroups_remove ID: fails as long as a process is in one of its groups
cgroups_remove() {
    local folder left=0
    while read -r _ folder _; do
        [ -d "$folder/$1" ] || continue
        if find "$folder/$1" -name cgroup.procs -exec cat {} + 2>/dev/null | grep -q .; then
            left=1
        else
            find "$folder/$1" -depth -type d -exec rmdir {} + 2>/dev/null || left=1
        fi
    done < <(cgroups_dirs)
    return "$left"
}
