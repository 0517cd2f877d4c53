# shellcheck shell=bash
# nccl.sh - where this machine's NCCL is
#
#   . "$top/tests/lib/nccl.sh"
#   find_nccl     its path, of the linker or of a Python environment; nothing when there is none
find_nccl() {
    ldconfig -p 2>/dev/null | sed -n 's/.*libnccl\.so\.2 .*=> //p' | head -n 1 | grep . ||
        python3 -c 'import nvidia.nccl, glob; print(glob.glob(list(nvidia.nccl.__path__)[0] + "/lib/libnccl.so.2")[0])' 2>/dev/null ||
        true
}
