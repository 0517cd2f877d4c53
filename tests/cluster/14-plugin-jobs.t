#!/bin/bash
# The option given to a whole job (sbatch, salloc), and several steps and components of one job
# shellcheck disable=SC2016 # the tests' code is for later
# shellcheck source=tests/cluster/harness.sh
. "$(dirname "$0")/harness.sh"
[ -e "$cluster_prefix/lib/slurm/spank_pcie_ipc.so" ] || skip_all 'this build has no plugin'
type -P pkg-config gcc >/dev/null || skip_all 'no compiler'

# The installed line, before that of a plugin whose name is a container plugin's; it tells what it finds in task_init.
mkdir plugstack.conf.d
cat >pyxis.c <<'END'
#include <slurm/spank.h>
SPANK_PLUGIN(pyxis, 1)
int slurm_spank_task_init(spank_t sp, int argc, char **argv)
{
    char bdf[64] = "";
    if (spank_getenv(sp, "PCIE_IPC_BDF", bdf, sizeof(bdf)) == ESPANK_SUCCESS)
        slurm_spank_log("pyxis: finds %s", bdf);
    return 0;
}
END
gcc -shared -fPIC -o pyxis.so pyxis.c || skip_all 'a SPANK plugin cannot be compiled'
echo "required $PWD/pyxis.so" >plugstack.conf.d/pyxis.conf
sed "s|^required .*|& synthetic=2x[sw:4gpu+1nic] devdir=$run/dev rundir=$run/steps.%h|" \
    "$cluster_prefix/etc/slurm/plugstack.conf.d/pcie-ipc.conf" >plugstack.conf.d/pcie-ipc.conf
chmod -R a+rX .
cluster_start NODES=2 PLUGSTACK="include $PWD/plugstack.conf.d/*.conf" \
    SCHEDULER=backfill SLURM_CONF_EXTRA=$'LaunchParameters=use_interactive_step\nInteractiveStepOptions="--interactive --preserve-env sh"'

test_expect_success "the installed line has the plugin's path, and stands before pyxis'" '
    grep -qx "required $cluster_prefix/lib/slurm/spank_pcie_ipc.so .*" plugstack.conf.d/pcie-ipc.conf &&
    srun -n1 --gpus-per-node=1 --pcie-ipc true 2>err && grep -qx "pyxis: finds 0000:03:00.0" err'

# --- sbatch -----------------------------------------------------------------------------------------
cat >show <<'END'
#!/bin/sh
echo "$SLURM_LOCALID $PCIE_IPC_MINOR $PCIE_IPC_MODE"
END
chmod 755 show

# batch FILE OPTIONS LINES: a script with #SBATCH OPTIONS; its output goes to FILE
batch() {
    printf '#!/bin/sh\n#SBATCH -w n1 -n4 --gpus-per-node=8 -o %s -e %s.err %s\n%s\n' "$PWD/$1" "$PWD/$1" "$2" "$3" >script
    local id
    id=$(sbatch --parsable script 2>err) && wait_job "$id" COMPLETED
}

# shellcheck disable=SC2034 # for the tests' code
defaults=bind:switch,mem:local,nic:auto,ipc:auto,path:auto,nodes:auto,nccl:auto,tuner:auto,health:warn,report:none
test_expect_success '#SBATCH --pcie-ipc=bind:spread reaches the steps; an own option of srun wins; off undoes it' '
    batch out --pcie-ipc=bind:spread "
        env | grep -E ^PCIE_IPC_\(TASK\|WANTED\) && echo the script is not left alone
        srun ./show | sort
        srun -n1 --pcie-ipc ./show
        srun -n1 --pcie-ipc=bind:none ./show
        srun -n1 --pcie-ipc=off env | grep -E ^PCIE_IPC_\(TASK\|MODE\|WANTED\)
        srun -n1 srun --overlap -n1 ./show" &&
    grep . out | sed "s/,mem:.*//" | xargs >got'
is 'the map, and the modes' "$(cat got)" \
    '0 0 bind:spread 1 4 bind:spread 2 1 bind:spread 3 5 bind:spread 0 bind:switch 0 bind:none 0 bind:spread'
test_expect_success 'the bare option of sbatch, in a line of its own' '
    batch out "
#SBATCH --pcie-ipc" "srun ./show | sort" && test "$(xargs <out)" = "0 0 $defaults 1 1 $defaults 2 2 $defaults 3 3 $defaults"'
test_expect_success 'on the command line' '
    id=$(sbatch --parsable -w n1 -n2 --gpus-per-node=2 --pcie-ipc=bind:numa,path:host -o "$PWD/out" -e /dev/null --wrap "srun sh -c \"echo \\\$PCIE_IPC_PATH\"") &&
    wait_job "$id" COMPLETED && test "$(xargs <out)" = "host host"'
printf '#!/bin/sh\n#SBATCH --pcie-ipc=bind:moon\nsrun true\n' >script
test_expect_fail 'a wrong value in a #SBATCH line is refused at once' 'sbatch script 2>err'
like 'with the right ones' "$(cat err)" 'bind: unknown value "moon"; use one of: switch, spread, numa, none'

# --- salloc -----------------------------------------------------------------------------------------
test_expect_success 'salloc: the steps inside have the map, the shell has nothing' '
    salloc -Q -w n1 -n4 --gpus-per-node=8 --pcie-ipc=bind:spread sh -c "
        env | grep -E ^PCIE_IPC_\(TASK\|WANTED\); srun ./show | sort; srun -n1 --pcie-ipc=off ./show;
        srun -n1 --pcie-ipc ./show" >out && sed "s/,mem:.*//" out | xargs >got'
is 'the map, and the modes' "$(cat got)" '0 0 bind:spread 1 4 bind:spread 2 1 bind:spread 3 5 bind:spread 0 0 bind:switch'
test_expect_success 'nor has the shell that Slurm starts on the node, which an srun of its own brings there' '
    echo "env | grep -E ^PCIE_IPC_\(TASK\|WANTED\); echo shell; srun -n2 ./show | sort" |
        salloc -Q -w n1 -n4 --gpus-per-node=8 --pcie-ipc=bind:spread >out && cat out && test "$(sed "s/,mem:.*//" out | xargs)" = "shell 0 0 bind:spread 1 4 bind:spread"'
test_expect_fail 'a wrong value is refused at once' 'salloc -Q --pcie-ipc=bind:moon true 2>err'
like 'by salloc too' "$(cat err)" 'bind: unknown value "moon"'

# --- a step inside a bound task ------------------------------------------------------------------------
test_expect_success 'a step without the flag inside a bound task finds nothing of the outer one' '
    srun -n1 --gpus-per-node=1 --pcie-ipc srun --overlap -n1 env >out && ! grep -E "^PCIE_IPC_(TASK|WANTED|BDF|DIR|MODE)=" out'
test_expect_success 'one with it has its own marker' '
    srun -n1 --gpus-per-node=1 --pcie-ipc srun --overlap -n1 --pcie-ipc sh -c "echo \$PCIE_IPC_TASK \$SLURM_JOB_ID.\$SLURM_STEP_ID:\$PCIE_IPC_WANTED" >out &&
    read -r marker wanted <out && test "$marker" = "$wanted"'

test_expect_success 'what the user has put in place of a hint stays, the order of devices does not' '
    srun -n1 --gpus-per-node=1 --pcie-ipc sh -c "echo \$CUDA_DEVICE_ORDER; NCCL_TUNER_PLUGIN=mine srun --overlap -n1 env" >out &&
    cat out && grep -x PCI_BUS_ID out && grep -x NCCL_TUNER_PLUGIN=mine out && ! grep ^CUDA_DEVICE_ORDER out'
# shellcheck disable=SC2034 # for the tests' code
traces='^PCIE_IPC_(TASK|WANTED|BDF|DIR|MODE|HINTS)=|libpcie-ipc-nccl'
test_expect_success 'a job that a bound task hands in finds nothing of that task' '
    srun -w n1 -n1 --gpus-per-node=1 --pcie-ipc sbatch -W -Q -w n2 -o "$PWD/out" --wrap "env; echo done" &&
    grep -x done out && ! grep -E "$traces" out'
test_expect_success 'nor does the command of an salloc there' '
    srun -w n1 -n1 --gpus-per-node=1 --pcie-ipc salloc -Q -w n2 env >out && ! grep -E "$traces" out'
test_expect_success 'the --gpu-bind of a step around it is not that of the step' '
    srun -n1 --gpus-per-node=4 --gpu-bind=map_gpu:3 srun --overlap -n4 --gpus-per-node=4 --pcie-ipc=bind:map:3,2,1,0 ./show >out &&
    test "$(sort out | cut -d" " -f1,2 | xargs)" = "0 3 1 2 2 1 3 0"'

# --- several steps at once ------------------------------------------------------------------------------
# meet NAME: wait for the other step, so that both run at the same time
cat >meet <<'END'
#!/bin/sh
echo "$SLURM_LOCALID $PCIE_IPC_MINOR $(stat -c %a "$PCIE_IPC_DIR") $PCIE_IPC_DIR" >"$1.$SLURM_LOCALID"
end=$(($(date +%s) + 20))
until [ -e "$2.$SLURM_LOCALID" ]; do [ "$(date +%s)" -lt "$end" ] || exit 1; sleep 0.1; done
sleep 0.5
test -d "$PCIE_IPC_DIR"
END
chmod 755 meet
test_expect_success 'two steps at once, each with half of the GPUs and a folder of its own' '
    salloc -Q -w n1 -n4 --gpus-per-node=4 sh -c "
        srun --exact -n2 --gpus-per-node=2 --pcie-ipc ./meet a b & first=\$!
        srun --exact -n2 --gpus-per-node=2 --pcie-ipc ./meet b a && wait \$first" &&
    test "$(cat a.* b.* | cut -d" " -f2 | sort | xargs)" = "0 1 2 3" &&
    test "$(cat a.* b.* | cut -d" " -f3 | sort -u)" = 700 && test "$(cat a.* b.* | cut -d" " -f4 | sort -u | wc -l)" = 2'
rm -f a.* b.*
test_expect_success '--overlap: two steps with the same GPUs, bound alike' '
    salloc -Q -w n1 -n2 --gpus-per-node=2 --pcie-ipc sh -c "
        srun --overlap ./meet a b & first=\$!
        srun --overlap ./meet b a && wait \$first" &&
    test "$(cat a.* | cut -d" " -f2 | xargs) $(cat b.* | cut -d" " -f2 | xargs)" = "0 1 0 1" &&
    test "$(cat a.* b.* | cut -d" " -f4 | sort -u | wc -l)" = 2'
rm -f a.* b.*

# --- heterogeneous ------------------------------------------------------------------------------------
test_expect_success 'one component of a heterogeneous job is bound as a job is' '
    salloc -Q -w n1 -n2 --gpus-per-node=2 : -w n2 -n2 --gpus-per-node=2 \
        srun --het-group=1 --pcie-ipc sh -c "echo \$SLURMD_NODENAME \$PCIE_IPC_LOCAL_RANK \$PCIE_IPC_LOCAL_SIZE \$PCIE_IPC_MINOR" >out &&
    test "$(sort out | xargs)" = "n2 0 2 0 n2 1 2 1"'
test_expect_success 'each component of a heterogeneous step is bound as a step is' '
    salloc -Q -N2 -n4 --gpus-per-node=4 srun --mpi=none -w n1 -n2 --gpus-per-node=4 --pcie-ipc=ipc:off ./show : \
        -w n2 -n1 --gpus-per-node=1 --pcie-ipc=ipc:off ./show >out && cat out &&
    test "$(cut -d" " -f1,2 out | sort | xargs)" = "0 0 0 0 1 1"'
test_expect_success 'and its ranks are those of the whole step' '
    salloc -Q -N2 -n4 --gpus-per-node=4 srun --mpi=none -w n1 -n2 --gpus-per-node=4 --pcie-ipc=ipc:off,verbose true : \
        -w n2 -n1 --gpus-per-node=1 --pcie-ipc=ipc:off,verbose true 2>err && cat err &&
    grep "n2: rank 2 (local 0)" err'
test_expect_success 'no folder is left of any of these' '
    until_true 10 sh -c "test -z \"\$(ls $run/steps.n1 $run/steps.n2 | grep -v :)\""'
cluster_stop
done_testing
