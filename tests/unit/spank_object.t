#!/bin/bash
# spank_object.t - the plugin's first object links libc only and exports what Slurm looks for
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

first=$PIPC_BUILDDIR/.libs/spank_pcie_ipc.so second=$PIPC_BUILDDIR/.libs/pcie_ipc_bind.so
[ -e "$first" ] || skip_all 'built without Slurm'
type readelf >/dev/null 2>&1 || skip_all 'no readelf'

needed() {
    readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs
}

exported() {
    readelf --wide --dyn-syms "$1" | awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") { print $8 }' | sort | xargs
}

case $(needed "$first") in
*asan* | *ubsan* | *tsan*) skip 'the first object links libc only' 'a sanitizer build' ;;
*) is 'the first object links libc only: srun on a login node loads it' "$(needed "$first")" libc.so.6 ;;
esac
is 'it exports the entry points and the data of SPANK_PLUGIN only' "$(exported "$first")" \
    'plugin_name plugin_type plugin_version slurm_spank_exit slurm_spank_init slurm_spank_init_post_opt slurm_spank_local_user_init slurm_spank_task_init slurm_spank_user_init spank_plugin_version'
is 'the second object exports one symbol' "$(exported "$second")" pipc_spank_ops
unlike 'neither links CUDA, NVML, PMIx or Slurm' "$(needed "$first") $(needed "$second")" 'cuda|nvidia|pmix|slurm'
done_testing
