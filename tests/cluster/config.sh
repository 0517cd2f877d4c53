# shellcheck shell=bash
# config.sh - the options of the private cluster and the files that Slurm reads
#
# cluster_start and with-cluster take these as NAME=VALUE.  The files go to $run/etc; cluster.sh sets $run, $devices
# (the folder of the GPUs' files) and $cluster_prefix (where this build is installed).
# shellcheck disable=SC2154

declare -A cluster_default=(
    [NODES]=4            # n1, n2, ...
    [CPUS]=16            # per node, whatever the machine has
    [GPUS]=8             # per node
    [DEVICES]=fake       # fake | real (this machine's own /dev/nvidia0..., shared out to REAL_NODES) | auto (real if there are any)
    [REAL_NODES]=1       # nodes that get this machine's GPUs and cores, as many each; of fewer GPUs than nodes, all the first
    [CONSTRAIN_DEVICES]=no # yes: a task can open only its own GPUs; sets the next two to cgroup
    [TASKPLUGIN]=task/none
    [PROCTRACK]=proctrack/linuxproc
    [SCHEDULER]=builtin  # backfill: also for jobs of several components
    [MPI]=pmix           # srun's --mpi where none is given
    [PLUGSTACK]=auto     # auto: this build's plugin | none | the text of plugstack.conf
    [SYNTHETIC]=auto     # the plugin's synthetic=: auto (two switches with half of the GPUs each) | none | a topology
    [PLUGIN_ARGS]=''     # more arguments for the plugin
    [SLURM_CONF_EXTRA]='' # lines added to slurm.conf
    [ISOLATE]=none       # net: every node has a network namespace of its own, on a bridge (network.sh); then NODES <= 64
    [NET_RATE]=none      # ISOLATE=net: the rate of each node's wire, as tc has it: 500mbit
    [NET_RELAY]=none     # ISOLATE=net: a node whose cable may lose and delay what passes (net_relay)
    [DEBUG]=info         # log level of the daemons
)
declare -A cluster_option

# config_options NAME=VALUE...: check them, fill in the rest
config_options() {
    local name setting
    for name in "${!cluster_default[@]}"; do cluster_option[$name]=${cluster_default[$name]}; done
    for setting in "$@"; do
        name=${setting%%=*}
        if [[ $setting != *=* || ! -v cluster_default[$name] ]]; then
            echo "pcie-ipc: cluster: no option '$setting' (there are: ${!cluster_default[*]})" >&2
            return 64
        fi
        cluster_option[$name]=${setting#*=}
    done
    if [ "${cluster_option[CONSTRAIN_DEVICES]}" = yes ]; then
        cluster_option[TASKPLUGIN]=task/cgroup
        cluster_option[PROCTRACK]=proctrack/cgroup
    fi
    config_devices
}

# real_gpus: how many GPUs this machine has that CUDA programs can use
real_gpus() {
    local files=(/dev/nvidia[0-9]*)
    if [ -c "${files[0]}" ] && /sbin/ldconfig -p | grep -q 'libcuda\.so\.1'; then echo ${#files[@]}; else echo 0; fi
}

config_devices() {
    local gpus
    [ "${cluster_option[DEVICES]}" != fake ] || return 0
    gpus=$(real_gpus)
    if [ "$gpus" != 0 ]; then
        cluster_option[DEVICES]=real cluster_option[NODES]=${cluster_option[REAL_NODES]} cluster_option[SYNTHETIC]=none
        cluster_option[GPUS]=$((gpus < cluster_option[NODES] ? 1 : gpus / cluster_option[NODES]))
        cluster_option[CPUS]=$(($(nproc) / cluster_option[NODES]))
    elif [ "${cluster_option[DEVICES]}" = auto ]; then
        cluster_option[DEVICES]=fake
    else
        echo "pcie-ipc: cluster: DEVICES=real, but there is no /dev/nvidia0 or no libcuda.so.1" >&2
        return 69
    fi
}

# range FIRST LAST -> "3" or "0-3"
range() {
    if [ "$1" = "$2" ]; then echo "$1"; else echo "$1-$2"; fi
}

# No SrunPortRange: in it the threads of an srun with two components look for a port from the same one on, and where both
# are let on it (SO_REUSEADDR) the one that listens second never gets another ("all ports in range ... exhausted").
config_slurm() {
    local nodes=${cluster_option[NODES]} cpus=${cluster_option[CPUS]} gpus=${cluster_option[GPUS]} user=root sockets=1
    ! getent passwd slurm >/dev/null || user=slurm
    [ $((cpus % 2)) != 0 ] || sockets=2
    cat <<END
ClusterName=pcieipc
SlurmctldHost=login($(config_controller))
SlurmctldPort=16817
SlurmUser=$user
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$run/munge/socket
StateSaveLocation=$run/state
SlurmdSpoolDir=$run/spool/%n
# Several slurmd on one machine: PMIx needs a folder for each
TmpFS=$run/tmp/%n
SlurmctldPidFile=$run/state/slurmctld.pid
SlurmdPidFile=$run/spool/%n.pid
SlurmctldLogFile=$run/log/slurmctld.log
SlurmdLogFile=$run/log/%n.log
SlurmctldDebug=${cluster_option[DEBUG]}
SlurmdDebug=${cluster_option[DEBUG]}
ProctrackType=${cluster_option[PROCTRACK]}
TaskPlugin=${cluster_option[TASKPLUGIN]}
SchedulerType=sched/${cluster_option[SCHEDULER]}
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
MpiDefault=${cluster_option[MPI]}
GresTypes=gpu
ReturnToService=2
SlurmdParameters=config_overrides
PlugStackConfig=$run/etc/plugstack.conf
SlurmdTimeout=60
KillWait=3
InactiveLimit=0
Waittime=0
NodeName=n[$(range 1 "$nodes")] $(config_addresses) CPUs=$cpus Boards=1 SocketsPerBoard=$sockets CoresPerSocket=$((cpus / sockets)) ThreadsPerCore=1 RealMemory=2000 Gres=gpu:$gpus State=UNKNOWN
# A GPU brings its share of the cores, so that -N2 -n8 --gpus-per-node=4 is four ranks on each node, not 7 and 1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP$(config_share)
${cluster_option[SLURM_CONF_EXTRA]}
END
}

config_controller() {
    if net_is_apart; then echo 10.98.0.1; else echo 127.0.0.1; fi
}

config_addresses() {
    local nodes=${cluster_option[NODES]}
    if net_is_apart; then
        echo "NodeAddr=10.98.0.[$(range 11 $((10 + nodes)))] Port=17001"
    else
        echo "NodeAddr=127.0.0.1 Port=[$(range 17001 $((17000 + nodes)))]"
    fi
}

config_share() {
    local gpus=${cluster_option[GPUS]}
    if [ "$gpus" != 0 ] && [ $((cluster_option[CPUS] / gpus)) != 0 ]; then
        echo " DefCpuPerGPU=$((cluster_option[CPUS] / gpus))"
    fi
}

# config_first NUMBER: the first of this machine's GPUs that node NUMBER (from 0) has; they are for one node after the
# other, or all nodes share the first one where there are fewer than nodes
config_first() {
    local first=$((cluster_option[GPUS] * $1))
    [ -e "$devices/nvidia$first" ] || first=0
    echo $first
}

# Half of the GPUs sit with each half of the cores.
config_gres() {
    local gpus=${cluster_option[GPUS]} cpus=${cluster_option[CPUS]} half number first
    half=$((gpus / 2))
    echo AutoDetect=off
    if [ "${cluster_option[DEVICES]}" = real ]; then
        for ((number = 0; gpus && number < cluster_option[NODES]; number++)); do
            first=$(config_first $number)
            echo "NodeName=n$((number + 1)) Name=gpu File=$devices/nvidia[$(range "$first" $((first + gpus - 1)))]"
        done
    elif [ $((gpus % 2 + cpus % 2)) != 0 ]; then
        [ "$gpus" = 0 ] || echo "Name=gpu File=$devices/nvidia[$(range 0 $((gpus - 1)))]"
    elif [ "$gpus" != 0 ]; then
        echo "Name=gpu File=$devices/nvidia[$(range 0 $((half - 1)))] Cores=$(range 0 $((cpus / 2 - 1)))"
        echo "Name=gpu File=$devices/nvidia[$(range $half $((gpus - 1)))] Cores=$(range $((cpus / 2)) $((cpus - 1)))"
    fi
}

# The nodes' cores are invented: constraining tasks to them would fail on a smaller machine.  slurmd opens its cgroup
# plugin even where nothing uses it: v1 then asks for nothing, while v2 wants the whole hierarchy set up.
config_cgroup() {
    local version=v1
    if [ "$PCIE_IPC_SANDBOX" = cgroup2 ] && [[ ${cluster_option[*]} == */cgroup* ]]; then version=v2; fi
    cat <<END
CgroupPlugin=cgroup/$version
CgroupMountpoint=/sys/fs/cgroup
ConstrainDevices=${cluster_option[CONSTRAIN_DEVICES]}
ConstrainCores=no
ConstrainRAMSpace=no
END
    if [ "$version" = v2 ]; then echo IgnoreSystemd=yes; fi
}

config_synthetic() {
    local gpus=${cluster_option[GPUS]}
    case ${cluster_option[SYNTHETIC]} in
    none) ;;
    auto)
        if [ $((gpus % 2)) = 0 ]; then
            echo "synthetic=2x[sw:$((gpus / 2))gpu+1nic]"
        else
            echo "synthetic=1x[sw:${gpus}gpu+1nic]"
        fi
        ;;
    *) echo "synthetic=${cluster_option[SYNTHETIC]}" ;;
    esac
}

config_plugstack() {
    local plugin=$cluster_prefix/lib/slurm/spank_pcie_ipc.so devdir=
    [ "${cluster_option[DEVICES]}" = real ] || devdir=devdir=$devices
    case ${cluster_option[PLUGSTACK]} in
    none) ;;
    auto) [ ! -e "$plugin" ] || echo "required $plugin $(config_synthetic) $devdir ${cluster_option[PLUGIN_ARGS]}" ;;
    *) echo "${cluster_option[PLUGSTACK]}" ;;
    esac
}

# config_hidden NODE: this machine's GPUs that are another node's. Slurm numbers a node's GPUs from 0, which are the right
# ones to CUDA when it finds no others.
config_hidden() {
    local first gpu
    [ "${cluster_option[DEVICES]}" = real ] || return 0
    first=$(config_first $((${1#n} - 1)))
    for ((gpu = 0; gpu < cluster_option[GPUS] * cluster_option[NODES]; gpu++)); do
        [ $((gpu >= first && gpu < first + cluster_option[GPUS])) = 1 ] || printf '/dev/nvidia%d ' "$gpu"
    done
}

# Slurm refuses regular files as GPUs; a device node whose number nobody serves will do.
config_make_devices() {
    local gpu
    [ "${cluster_option[DEVICES]}" = fake ] || return 0
    mkdir -- "$devices" || return
    for ((gpu = 0; gpu < cluster_option[GPUS]; gpu++)); do
        mknod -m 666 "$devices/nvidia$gpu" c 195 "$gpu" || return
    done
}

config_write() {
    config_slurm >"$run/etc/slurm.conf" &&
        config_gres >"$run/etc/gres.conf" &&
        config_cgroup >"$run/etc/cgroup.conf" &&
        config_plugstack >"$run/etc/plugstack.conf"
}
