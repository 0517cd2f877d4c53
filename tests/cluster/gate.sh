# shellcheck shell=bash
# gate.sh - nodes with captured machines, for tests of the gate; to be sourced after harness.sh
#
# gate_run_folder             before cluster_start: /run is the sandbox's own from here on
# gate_node NODE WIDTH LINE...  after it: what the prolog of this node reads is a machine with one idle GPU whose link
#                             has WIDTH of 16 lanes; the LINEs go to its pcie-ipc.conf.  May be called again.  A node
#                             begins well: what is found from then on had passed, and the breaker lets it through.
# gate_machine NODE WIDTH     the machine alone
# gate_folder NODE            where these files are
# shellcheck disable=SC2154 # the harness sets these

gate_folder() {
    echo "$test_dir/$1"
}

gate_run_folder() {
    mount --bind -- "$PCIE_IPC_RUN" /mnt && mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p -- "$PCIE_IPC_RUN" &&
        mount --move /mnt "$PCIE_IPC_RUN" && mkdir -m 755 /run/pcie-ipc && mount -t tmpfs -o mode=755 tmpfs /var/lib &&
        mkdir -m 755 /var/lib/pcie-ipc && cd -- "$test_dir" || return
}

# config_space OFFSET=BYTE...: 256 bytes
config_space() {
    local -a bytes
    local i text
    for ((i = 0; i < 256; i++)); do bytes[i]=0; done
    for i in "$@"; do bytes[${i%=*}]=$((${i#*=})); done
    printf -v text '\\x%02x' "${bytes[@]}"
    # shellcheck disable=SC2059 # the text is the format
    printf "$text"
}

# gate_device FOLDER PATH CLASS VENDOR PORT WIDTH SECONDARY: a device with a link of WIDTH lanes at Gen1, x16 Gen4
# being possible
gate_device() {
    local dir=$1/sys/devices/pci0000:00/$2
    mkdir -p -- "$dir" "$1/sys/bus/pci/devices"
    echo "0x$3" >"$dir/class"
    echo "0x$4" >"$dir/vendor"
    config_space "0=0x${4:2}" "1=0x${4:0:2}" 6=0x10 "9=0x${3:4}" "10=0x${3:2:2}" "11=0x${3:0:2}" "25=$7" \
        0x34=0x40 0x40=0x10 0x42=$(($5 << 4 | 2)) 0x4c=0x04 0x4d=0x01 0x52=$((($6 << 4 | 1) & 0xff)) 0x53=$(($6 >> 4)) >"$dir/config"
    ln -sfn "../../../devices/pci0000:00/$2" "$1/sys/bus/pci/devices/${2##*/}"
}

gate_machine() {
    local dir
    dir=$(gate_folder "$1")/machine
    gate_device "$dir" 0000:00:01.0 060400 8086 4 "$2" 1
    gate_device "$dir" 0000:00:01.0/0000:01:00.0 030200 10de 0 "$2" 0
}

gate_node() {
    local dir first=no
    dir=$(gate_folder "$1")
    [ -d "$dir" ] || first=yes
    mkdir -p -- "$dir/etc" "$dir/machine"
    printf '%s\n' '[gate]' "sysroot = $dir/machine" "${@:3}" >"$dir/etc/pcie-ipc.conf"
    if [ "$first" = yes ]; then
        on_node "$1" mount --bind "$dir/etc" "$cluster_prefix/etc/pcie-ipc" &&
            on_node "$1" mount -t tmpfs -o mode=755 tmpfs /run/pcie-ipc &&
            on_node "$1" mount -t tmpfs -o mode=755 tmpfs /var/lib/pcie-ipc || return
        gate_machine "$1" 16
        on_node "$1" "$cluster_prefix/libexec/pcie-ipc/prolog" && on_node "$1" rm /run/pcie-ipc/health.json || return
    fi
    gate_machine "$1" "$2"
}
