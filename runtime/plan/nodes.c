/* plan/nodes.c - over several nodes: inside the node first, then over rails, then inside again
 *
 *     node 0  {0 1 2 3}                  node 1  {4 5 6}         2 rails, chunk c over rail c mod 2
 *
 *       1 2 3 --push--> 0                  5 6 --push--> 4       stage 0
 *       0 sums         0 <=== rail 0 ===> 4         4 sums       stage 1: sum, begin the rail's job
 *       0 --push--> 1 2 3                  4 --push--> 5 6       stage 2: when the job has ended
 *       1 2 3 copy it out                  5 6 copy it out       stage 3
 *
 *     stage 0   push 0 | push 1       | push 2         | push 3
 *     stage 1          | sum 0, rail 0 .... | sum 1, rail 1 .... | sum 2, rail 2 ....
 *     stage 2                               | spread 0           | spread 1
 *     stage 3                                      | copy 0             | copy 1
 *
 * The plan is the node's own, and no larger when there are more nodes. Each node sends a rail what
 * a rail sends for an all-reduce of S / nrails: S a node and not S a rank goes over the network.
 * Inside, ranks hand on by the trees of the island plan, whose roots are the rails' owners; n ranks
 * that stand alike push to the owner.
 *
 * Rounds and chunks have to be the same on every node, whatever its ranks and how they stand, so
 * the number of chunks is made from what all nodes know: the rails, and the ranks of the largest
 * node. With p chunks an owner, the owner of such a node has p (n - 1) boxes for what comes up, and
 * a box for each chunk of another owner. More chunks overlap better, and are more to signal; PIECES
 * is enough for a rail to be busy all the time but for a round's ends.
 */
#include "runtime/plan/build.h"

#define PIECES 8

static int pieces(const pipc__shape_t *shape)
{
    int each = shape->most - 1 + shape->nrails - 1;
    int n = each ? PIPC__SLOTS_MAX / each : PIECES;

    return n < PIECES ? n : PIECES;
}

/* One rank: nothing is near, the rail is all.
 *
 *     stage 0   take 0, rail 0 | take 1, rail 1 | ...
 *     stage 1                  wait for all rails
 */
static void build_rail_alone(pipc__build_t *b)
{
    pipc__pen_t take = {b, 0, 0}, wait = {b, 0, 1};

    b->plan->nstages = 2;
    for (int c = 0; c < b->plan->nchunks; c++) {
        int railed = pipc__new_flag(b, 0);
        pipc__op_t *op = pipc__add_reduce(take, c, pipc__output(0));
        pipc__add_source(op, pipc__input(0), true);
        pipc__add_rail(take, c, pipc__output(0), railed);
        pipc__add_wait(wait, 0, railed);
    }
    pipc__add_join(b, 0);
}

static void build(pipc__build_t *b, int nrails, int nchunks)
{
    b->plan->nrails = nrails;
    b->plan->nchunks = nchunks;
    if (b->plan->nranks == 1)
        build_rail_alone(b);
    else
        pipc__build_island_over_rails(b);
}

void pipc__build_nodes(pipc__build_t *b)
{
    build(b, b->shape->nrails, b->shape->nrails * pieces(b->shape));
}

/* As few signals and jobs as can be: all that is sent goes to one owner, and by one rail. */
void pipc__build_nodes_one(pipc__build_t *b)
{
    build(b, 1, 1);
}

/* How short a message may be that is worth fewer bytes for more steps is a matter of the network,
 * which nobody here knows: this plan is for who has measured. */
void pipc__build_nodes_lean(pipc__build_t *b)
{
    pipc__build_nodes(b);
    b->plan->lean = 1;
}
