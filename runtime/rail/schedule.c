/* rail/schedule.c - see schedule.h */
#include "runtime/rail/schedule.h"

#include <limits.h>

/* Chosen by tests/unit/rail_ucx --bench; see doc/architecture.md. */
#define SHORT ((size_t)64 << 10)  /* bytes up to which few steps win */
#define MANY ((size_t)256 << 10)  /* bytes of jobs that go together, up to which they do */
#define LEAST ((size_t)32 << 10)  /* bytes of a block that are worth a message of their own */
#define DEPTH 4                   /* pieces on their way that are enough to overlap */
#define STEP ((double)(64 << 10)) /* bytes that a network carries while a message is on its way */

const char *pipc__rail_algo_string(pipc__rail_algo_t algo)
{
    static const char *const names[] = {"doubling", "halving", "ring"};

    return (unsigned int)algo < PIPC__RAIL_ALGO_COUNT ? names[algo] : "?";
}

static int log2_below(int n)
{
    int l = 0;

    while (n >> (l + 1))
        l++;
    return l;
}

int pipc__rail_blocks(pipc__rail_algo_t algo, int nodes)
{
    return algo == PIPC__RAIL_DOUBLING  ? 1
           : algo == PIPC__RAIL_HALVING ? 1 << log2_below(nodes)
                                        : nodes;
}

int pipc__rail_steps(pipc__rail_algo_t algo, int nodes)
{
    int l = log2_below(nodes), fold = nodes > 1 << l ? 2 : 0;

    return algo == PIPC__RAIL_DOUBLING  ? l + fold
           : algo == PIPC__RAIL_HALVING ? 2 * l + fold
                                        : 2 * (nodes - 1);
}

static const pipc__rail_step_t nothing = {.to = -1, .from = -1};

/* The nodes from 2^l on before (in) and after the others' exchange. */
static pipc__rail_step_t fold(int blocks, int core, int nodes, int self, bool in)
{
    pipc__rail_step_t s = nothing;
    bool extra = self >= core;
    int other = extra ? self - core : self + core;

    if (other >= nodes)
        return s;
    if (extra == in)
        s.to = other, s.nsend = blocks;
    else
        s.from = other, s.nrecv = blocks, s.sum = in;
    return s;
}

static pipc__rail_step_t doubling(int self, int step)
{
    int other = self ^ 1 << step;

    return (pipc__rail_step_t){
        .to = other, .from = other, .nsend = 1, .nrecv = 1, .sum = true, .left = other < self};
}

/* Down to the own block by halves, and up again: before step i down, and after the same step up, a
 * node has the blocks that begin with its number's first i digits. */
static pipc__rail_step_t halving(int l, int self, int step)
{
    bool down = step < l;
    int length = down ? 1 << (l - 1 - step) : 1 << (step - l);
    int other = self ^ length, mine = self & ~(length - 1), its = other & ~(length - 1);

    return (pipc__rail_step_t){.to = other,
                               .from = other,
                               .send = down ? its : mine,
                               .nsend = length,
                               .recv = down ? mine : its,
                               .nrecv = length,
                               .sum = down,
                               .left = down && other < self};
}

/* Block b starts at node b + 1, goes round to b, which has the sum, and round again. */
static pipc__rail_step_t ring(int n, int self, int step)
{
    int block = (self + 2 * n - 1 - step) % n;

    return (pipc__rail_step_t){.to = (self + 1) % n,
                               .from = (self + n - 1) % n,
                               .send = block,
                               .nsend = 1,
                               .recv = (block + n - 1) % n,
                               .nrecv = 1,
                               .sum = step < n - 1,
                               .left = true};
}

pipc__rail_step_t pipc__rail_step(pipc__rail_algo_t algo, int nodes, int self, int step)
{
    int l = log2_below(nodes), core = 1 << l, blocks = pipc__rail_blocks(algo, nodes);
    bool folded = nodes > core;

    if (algo == PIPC__RAIL_RING)
        return ring(nodes, self, step);
    if (folded && (step == 0 || step == pipc__rail_steps(algo, nodes) - 1))
        return fold(blocks, core, nodes, self, step == 0);
    if (self >= core)
        return nothing;
    step -= folded;
    return algo == PIPC__RAIL_DOUBLING ? doubling(self, step) : halving(l, self, step);
}

size_t pipc__rail_part(size_t count, int parts, int i, size_t grain)
{
    size_t grains = (count + grain - 1) / grain, n = (size_t)parts, k = (size_t)i;
    size_t first = grains / n * k + (k < grains % n ? k : grains % n);

    return first * grain < count ? first * grain : count;
}

/* Bytes of a piece of which no step adds more than a segment. A half of a piece may have more than
 * half of it, by a grain for every fourth block. */
static size_t longest(pipc__rail_algo_t algo, int nodes)
{
    size_t blocks = (size_t)pipc__rail_blocks(algo, nodes);

    if (algo == PIPC__RAIL_RING)
        return blocks * (PIPC__RAIL_SEGMENT - PIPC__RAIL_GRAIN);
    if (algo == PIPC__RAIL_HALVING && !(nodes & (nodes - 1)))
        return 2 * (PIPC__RAIL_SEGMENT - PIPC__RAIL_GRAIN * (1 + blocks / 4));
    return PIPC__RAIL_SEGMENT - PIPC__RAIL_GRAIN;
}

/* As many as the segment asks for; more, down to LEAST, where they are too few to overlap. */
int pipc__rail_pieces(pipc__rail_algo_t algo, int nodes, size_t bytes)
{
    size_t whole = longest(algo, nodes);
    size_t least = (size_t)pipc__rail_blocks(algo, nodes) * LEAST;
    size_t need = bytes / whole + (bytes % whole != 0), deep = bytes / least;

    if (deep > DEPTH)
        deep = DEPTH;
    if (need < deep)
        need = deep;
    return need < 1 ? 1 : need > INT_MAX ? INT_MAX : (int)need;
}

/* What one behind the other takes: steps, and what they bring of @bytes. The node that takes in a
 * fold hears it, its part of the exchange and, as it sends it back, the whole once more. */
static double cost(pipc__rail_algo_t algo, int nodes, double bytes)
{
    int l = log2_below(nodes);
    double core = 1 << l, n = nodes, fold = n > core ? 2 : 0;
    double times = algo == PIPC__RAIL_DOUBLING  ? l + fold
                   : algo == PIPC__RAIL_HALVING ? 2 * (core - 1) / core + fold
                                                : 2 * (n - 1) / n;

    return pipc__rail_steps(algo, nodes) * STEP + times * bytes;
}

/* A power of two. Halving sends no less than doubling on two nodes, but adds half as much, which
 * many bytes are worth. */
static pipc__rail_algo_t choose_power(int nodes, size_t bytes, size_t message)
{
    bool less = cost(PIPC__RAIL_HALVING, nodes, (double)message) <=
                cost(PIPC__RAIL_DOUBLING, nodes, (double)message);

    return bytes > SHORT || message > MANY || less ? PIPC__RAIL_HALVING : PIPC__RAIL_DOUBLING;
}

/* Few nodes that are no power of two: the ring sends least and has no more steps than a fold. Many:
 * it has a thousand, and halving with a fold has twenty. */
static pipc__rail_algo_t choose_folded(int nodes, size_t bytes, size_t message)
{
    double all = (double)(message > bytes ? message : bytes);
    pipc__rail_algo_t best = PIPC__RAIL_DOUBLING;

    for (int a = 0; a < PIPC__RAIL_ALGO_COUNT; a++)
        if (cost((pipc__rail_algo_t)a, nodes, all) < cost(best, nodes, all))
            best = (pipc__rail_algo_t)a;
    return best;
}

pipc__rail_cut_t pipc__rail_cut(int nodes, size_t bytes, size_t message)
{
    bool power = !(nodes & (nodes - 1));
    pipc__rail_cut_t cut = {
        power ? choose_power(nodes, bytes, message) : choose_folded(nodes, bytes, message), 1};

    cut.pieces = pipc__rail_pieces(cut.algo, nodes, bytes);
    return cut;
}
