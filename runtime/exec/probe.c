/* exec/probe.c - see probe.h */
#include "runtime/exec/probe.h"

#include <string.h>

/* --- words ------------------------------------------------------------------------------------ */

static const struct words {
    const char *word, *meaning, *remedy;
} words[PIPC__PATH_STATES] = {
    [PIPC__PATH_UNTESTED] = {"untested", "was not tested", ""},
    [PIPC__PATH_GOOD] = {"good", "reaches", ""},
    [PIPC__PATH_HIDDEN] = {"hidden",
                           "that GPU is hidden from this process (device cgroup or "
                           "CUDA_VISIBLE_DEVICES)",
                           "let every rank see all GPUs of the node: --gpus-per-node instead of "
                           "--gpus-per-task"},
    [PIPC__PATH_MIG] = {"mig", "MIG instances have no peer access", ""},
    [PIPC__PATH_REFUSED] =
        {"refused", "the driver offers no peer access between the two GPUs",
         "`nvidia-smi topo -p2p w` shows why: chipset, board or virtual machine"},
    [PIPC__PATH_UNOPENED] = {"unopened",
                             "the driver offers peer access, but the memory can't be "
                             "mapped by CUDA IPC",
                             "look for containers with IPC or PID namespaces of their own, and "
                             "mappings that are used up"},
    [PIPC__PATH_WRONG] = {"wrong", "what was written did not come whole",
                          "turn off ACS redirection on the bridges between, and the IOMMU"},
    [PIPC__PATH_TIMED_OUT] = {"timed-out", "what was written did not come",
                              "turn off ACS redirection on the bridges between, and the IOMMU"},
};

static const struct words *words_of(pipc__path_state_t state)
{
    static const struct words none = {"?", "is not known", ""};

    return (unsigned int)state < PIPC__PATH_STATES ? &words[state] : &none;
}

const char *pipc__path_word(pipc__path_state_t state)
{
    return words_of(state)->word;
}

const char *pipc__path_meaning(pipc__path_state_t state)
{
    return words_of(state)->meaning;
}

const char *pipc__path_remedy(pipc__path_state_t state)
{
    return words_of(state)->remedy;
}

pipc__path_state_t pipc__path_from_word(const char *word)
{
    int s = 0;

    while (s < PIPC__PATH_STATES && strcmp(words[s].word, word) != 0)
        s++;
    return (pipc__path_state_t)s;
}

/* --- order ------------------------------------------------------------------------------------ */

/* A tournament by the circle method: with m ranks (n made even) the last one stands still and the
 * others go round it.
 *
 *     round k, m = 6:    5 -- k        k+1 -- k-1        k+2 -- k-2      all mod 5
 *
 * Each round is two steps, one a direction. */
static int even(int n)
{
    return n + n % 2;
}

int pipc__probe_steps(int n)
{
    return n < 2 ? 0 : 2 * (even(n) - 1);
}

void pipc__probe_step(int n, int step, int to[PIPC__RANKS_MAX])
{
    int m = even(n), round = step / 2;

    for (int r = 0; r < PIPC__RANKS_MAX; r++)
        to[r] = -1;
    for (int i = 0; n > 1 && i < m / 2; i++) {
        int a = i ? (round + i) % (m - 1) : m - 1;
        int b = (round - i + m - 1) % (m - 1);
        if (a >= n || b >= n) /* the one that was added: its partner rests */
            continue;
        if ((a < b) == (step % 2 == 0))
            to[a] = b;
        else
            to[b] = a;
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

pipc__path_state_t pipc__probe_judge(const pipc__probe_seen_t *seen)
{
    if (!seen->pushed || !seen->came || !seen->compared)
        return PIPC__PATH_TIMED_OUT;
    return seen->wrong ? PIPC__PATH_WRONG : PIPC__PATH_GOOD;
}

static bool is_bad(int state)
{
    return state != PIPC__PATH_UNTESTED && state != PIPC__PATH_GOOD;
}

int pipc__probe_merge(pipc__path_matrix_t m, int n, const pipc__path_matrix_t seen)
{
    int turned = 0;

    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            int s = seen[to][from];
            if (s == PIPC__PATH_UNTESTED || from == to || is_bad(m[from][to]))
                continue;
            m[from][to] = (uint8_t)(s < PIPC__PATH_STATES ? s : PIPC__PATH_TIMED_OUT);
            turned += is_bad(m[from][to]);
        }
    return turned;
}

void pipc__probe_reach(const pipc__path_matrix_t m, int n, uint16_t reach[PIPC__RANKS_MAX])
{
    for (int r = 0; r < n; r++) {
        reach[r] = (uint16_t)(1u << r);
        for (int q = 0; q < n; q++)
            if (m[r][q] == PIPC__PATH_GOOD)
                reach[r] = (uint16_t)(reach[r] | 1u << q);
    }
}

int pipc__probe_good(const pipc__path_matrix_t m, int n)
{
    int good = 0;

    for (int r = 0; r < n; r++)
        for (int q = 0; q < n; q++)
            good += r != q && m[r][q] == PIPC__PATH_GOOD;
    return good;
}

bool pipc__probe_first_bad(const pipc__path_matrix_t m, int n, int *from, int *to)
{
    for (int r = 0; r < n; r++)
        for (int q = 0; q < n; q++)
            if (r != q && m[r][q] != PIPC__PATH_GOOD) {
                *from = r;
                *to = q;
                return true;
            }
    return false;
}
