/* tests/unit/plan_broken.c - staged plans with one fault each, and the checker's words for it
 *
 * The right plans are those of plan_staged.h; they have stages, slots that are used again within a
 * round, host slots, and several chunks an owner. Faults of plans without stages are in plan.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"
#include "tests/unit/plan_staged.h"

static pipc__op_t *op_of(pipc__plan_t *p, int rank, int stage, pipc__op_kind_t kind, int nth)
{
    pipc__op_t *op = find_op(p, rank, stage, kind, nth);

    assert_non_null(op);
    return op;
}

static void drop(pipc__plan_t *p, int rank, int stage, pipc__op_kind_t kind, int nth)
{
    remove_op(p, rank, stage, op_of(p, rank, stage, kind, nth));
}

/* Move step @from of a program to @to; those between move up or down. */
static void move_step(pipc__plan_t *p, int rank, int stage, int from, int to)
{
    pipc__op_t *ops = p->program[rank][stage].ops, moved = ops[from];

    for (; from < to; from++)
        ops[from] = ops[from + 1];
    for (; from > to; from--)
        ops[from] = ops[from - 1];
    ops[to] = moved;
}

/* --- order: waits, signals, joins ------------------------------------------------------------- */

static void no_wait_for_a_push(pipc__plan_t *p)
{
    drop(p, 1, 1, PIPC__WAIT, 0);
}
static void no_wait_for_the_sum_of_the_owner(pipc__plan_t *p)
{
    drop(p, 0, 3, PIPC__WAIT, 0);
}
static void no_wait_for_the_own_sum(pipc__plan_t *p)
{
    drop(p, 1, 2, PIPC__WAIT, 1);
}
static void no_wait_before_reuse(pipc__plan_t *p)
{
    drop(p, 1, 0, PIPC__WAIT, 0);
}
static void no_join(pipc__plan_t *p)
{
    drop(p, 1, 0, PIPC__WAIT, 0);
}
static void no_join_anywhere(pipc__plan_t *p)
{
    for (int r = 0; r < p->nranks; r++)
        remove_op(p, r, 0, &p->program[r][0].ops[p->program[r][0].nops - 1]);
}
static void no_signal(pipc__plan_t *p)
{
    drop(p, 0, 0, PIPC__SIGNAL, 0);
}
static void no_local_signal(pipc__plan_t *p)
{
    drop(p, 1, 1, PIPC__SIGNAL, 1); /* the first one tells rank 0 that its slot is read */
}
static void signal_before_push(pipc__plan_t *p)
{
    move_step(p, 0, 0, 1, 0);
}
static void read_told_before_it_is_read(pipc__plan_t *p)
{
    move_step(p, 0, 1, 2, 1);
}
static void sum_told_before_it_is_done(pipc__plan_t *p)
{
    move_step(p, 0, 1, 3, 1);
}
static void own_stage(pipc__plan_t *p)
{
    /* The stage that sums waits for its own sum. */
    pipc__program_t *to = &p->program[1][1];

    to->ops[to->nops++] = *op_of(p, 1, 2, PIPC__WAIT, 0);
}
static void other_memory(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__WAIT, 0)->dst.place = PIPC__HOST;
}
static void device_flag_where_host_is_right(pipc__plan_t *p)
{
    op_of(p, 0, 0, PIPC__SIGNAL, 0)->dst.place = PIPC__SLOT;
}
static void no_memory(pipc__plan_t *p)
{
    op_of(p, 1, 2, PIPC__SIGNAL, 0)->dst.place = PIPC__INPUT;
}
static void other_peer(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__WAIT, 0)->peer = 0; /* the first wait is for rank 2 */
}
static void two_signals(pipc__plan_t *p)
{
    op_of(p, 2, 0, PIPC__SIGNAL, 1)->flag = op_of(p, 1, 0, PIPC__SIGNAL, 0)->flag;
    op_of(p, 2, 0, PIPC__SIGNAL, 1)->peer = op_of(p, 1, 0, PIPC__SIGNAL, 0)->peer;
}
static void join_at_the_beginning(pipc__plan_t *p)
{
    /* Stage 0 waits for the round's end before the round has begun. */
    for (int r = 0; r < p->nranks; r++)
        move_step(p, r, 0, p->program[r][0].nops - 1, 0);
}
static void spread_waits_for_its_receiver(pipc__plan_t *p)
{
    /* On every rank, stage 1 tells stage 2 of the sum only after stage 3 has ended. */
    for (int r = 0; r < p->nranks; r++) {
        pipc__program_t *from = &p->program[r][0], *sum = &p->program[r][1];
        sum->ops[sum->nops++] = from->ops[--from->nops];
        move_step(p, r, 1, sum->nops - 1, 1);
    }
}
static void reuse_waits_for_its_own_push(pipc__plan_t *p)
{
    /* Rank 1 pushes piece 0 only when the owner has read it. */
    move_step(p, 1, 0, 2, 0);
}

/* --- places ----------------------------------------------------------------------------------- */

static void pushes_another_chunk(pipc__plan_t *p)
{
    op_of(p, 1, 0, PIPC__COPY, 0)->chunk = 1; /* rank 0 sums chunk 0 */
}
static void sums_another_chunk(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 0)->chunk++;
}
static void receives_another_chunk(pipc__plan_t *p)
{
    op_of(p, 1, 3, PIPC__COPY, 0)->chunk++;
}
static void pushes_to_another_slot(pipc__plan_t *p)
{
    op_of(p, 2, 0, PIPC__COPY, 0)->dst.slot = 1; /* rank 1's, of rank 0 */
}
static void pushes_to_an_unread_slot(pipc__plan_t *p)
{
    op_of(p, 1, 0, PIPC__COPY, 0)->dst.slot = 0;
}
static void pushes_to_another_rank(pipc__plan_t *p)
{
    op_of(p, 2, 0, PIPC__COPY, 0)->dst.rank = 1;
}
static void two_pieces_in_one_slot(pipc__plan_t *p)
{
    op_of(p, 0, 2, PIPC__COPY, 1)->dst.slot = op_of(p, 0, 2, PIPC__COPY, 0)->dst.slot;
    op_of(p, 1, 3, PIPC__COPY, 1)->src[0].slot = op_of(p, 1, 3, PIPC__COPY, 0)->src[0].slot;
}
static void reads_a_foreign_slot(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 0)->src[0].rank = 0;
}
static void reads_a_foreign_host_slot(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 0)->src[0].rank = 0;
}
static void device_slot_where_host_is_read(pipc__plan_t *p)
{
    op_of(p, 0, 0, PIPC__COPY, 0)->dst.place = PIPC__SLOT;
}
static void host_slot_where_device_is_read(pipc__plan_t *p)
{
    op_of(p, 0, 0, PIPC__COPY, 0)->dst.place = PIPC__HOST;
}
static void host_slot_out_of_range(pipc__plan_t *p)
{
    op_of(p, 0, 0, PIPC__COPY, 0)->dst.slot = (uint16_t)p->nslots;
}
static void no_place(pipc__plan_t *p)
{
    op_of(p, 0, 0, PIPC__COPY, 0)->dst.place = PIPC__HOST + 1;
}
static void output_before_the_push_has_read(pipc__plan_t *p)
{
    /* In place: stage 2 sends its sum round, and puts it into a foreign chunk that stage 0 pushes.
     */
    pipc__op_t *copy = op_of(p, 1, 2, PIPC__COPY, 0);

    p->program[1][2].ops[p->program[1][2].nops++] = *copy;
    copy->chunk = op_of(p, 1, 0, PIPC__COPY, 0)->chunk;
    copy->src[0] = (pipc__ref_t){PIPC__INPUT, 1, 0};
    copy->dst = (pipc__ref_t){PIPC__OUTPUT, 1, 0};
    move_step(p, 1, 2, 1, 0);
}
static void two_stages_write_one_chunk(pipc__plan_t *p)
{
    p->program[1][2].ops[p->program[1][2].nops] = *op_of(p, 1, 3, PIPC__WAIT, 0);
    p->program[1][2].ops[p->program[1][2].nops + 1] = *op_of(p, 1, 3, PIPC__COPY, 0);
    p->program[1][2].nops += 2;
}

/* --- values ----------------------------------------------------------------------------------- */

static void contribution_twice(pipc__plan_t *p)
{
    pipc__op_t *sum = op_of(p, 1, 1, PIPC__REDUCE, 0);

    sum->src[2] = sum->src[0];
}
static void contribution_missing(pipc__plan_t *p)
{
    pipc__op_t *sum = op_of(p, 1, 1, PIPC__REDUCE, 0);

    sum->nsrc = 2;
    sum->pre = 3;
}
static void contribution_missing_without_post(pipc__plan_t *p)
{
    contribution_missing(p);
    op_of(p, 1, 1, PIPC__REDUCE, 0)->post = 0;
}
static void no_pre(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 1)->pre = 5;
}
static void no_post(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 1)->post = 0;
}
static void sum_of_sums(pipc__plan_t *p)
{
    pipc__op_t *copy = op_of(p, 1, 3, PIPC__COPY, 0);

    copy->kind = PIPC__REDUCE;
    copy->nsrc = 2;
    copy->src[1] = (pipc__ref_t){PIPC__INPUT, 1, 0};
    copy->pre = 2;
}
static void own_input_instead_of_sum(pipc__plan_t *p)
{
    op_of(p, 1, 2, PIPC__COPY, 0)->src[0].place = PIPC__INPUT;
}
static void no_output(pipc__plan_t *p)
{
    drop(p, 1, 1, PIPC__REDUCE, 1);
}
static void no_receive(pipc__plan_t *p)
{
    drop(p, 0, 3, PIPC__COPY, 1);
}
static void no_own_copy(pipc__plan_t *p)
{
    drop(p, 1, 0, PIPC__COPY, 1); /* all-gather: the copy from the own input to the own output */
}
static void gathers_a_foreign_chunk(pipc__plan_t *p)
{
    op_of(p, 1, 0, PIPC__COPY, 0)->chunk = 0;
}
static void keeps_a_foreign_chunk(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 0)->chunk = 0;
}
static void gathers_a_sum(pipc__plan_t *p)
{
    pipc__op_t *copy = op_of(p, 1, 1, PIPC__COPY, 0);

    copy->kind = PIPC__REDUCE;
    copy->nsrc = 2;
    copy->src[1] = copy->src[0];
    copy->pre = 3;
}

/* --- structure -------------------------------------------------------------------------------- */

static void too_many_stages(pipc__plan_t *p)
{
    p->nstages = PIPC__STAGES_MAX + 1;
}
static void a_stage_too_few(pipc__plan_t *p)
{
    p->nstages--;
}
static void odd_chunks(pipc__plan_t *p)
{
    p->nchunks++;
}
static void no_collective(pipc__plan_t *p)
{
    p->collective = (pipc__collective_t)7;
}
static void no_op(pipc__plan_t *p)
{
    p->program[1][1].ops[2].kind = 9;
}
static void no_sources(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 0)->nsrc = 0;
}
static void too_many_sources(pipc__plan_t *p)
{
    op_of(p, 1, 1, PIPC__REDUCE, 0)->nsrc = PIPC__RANKS_MAX + 1;
}
static void no_peer(pipc__plan_t *p)
{
    op_of(p, 1, 0, PIPC__SIGNAL, 0)->peer = 3;
}
static void no_flag(pipc__plan_t *p)
{
    op_of(p, 1, 0, PIPC__SIGNAL, 0)->flag = (uint16_t)p->nflags;
}

enum { BOTH, APART, IN_PLACE }; /* how the calls' buffers lie where the fault shows like this */
enum { AR = PIPC__ALLREDUCE, RS = PIPC__REDUCE_SCATTER, AG = PIPC__ALLGATHER };
static const struct fault {
    const char *name;
    int collective, nranks, pieces;
    bool host;
    int buffers;
    void (*inject)(pipc__plan_t *p);
    const char *place, *words; /* both are in the error */
} faults[] = {

    {"a wait for a push taken out", AR, 3, 2, false, BOTH, no_wait_for_a_push,
     "rank 1, stage 1, step 1", "reads a place that nothing was written to yet in this call"},
    {"a wait for the owner's sum taken out", AR, 3, 2, false, BOTH,
     no_wait_for_the_sum_of_the_owner, "rank 0, stage 3, step 0",
     "reads a place that nothing was written to yet in this call"},
    {"a wait for the own sum taken out", AR, 3, 2, false, APART, no_wait_for_the_own_sum,
     "rank 1, stage 2, step 5", "reads a place that nothing was written to yet in this call"},
    {"a wait for the own sum taken out", AR, 3, 2, false, IN_PLACE, no_wait_for_the_own_sum,
     "rank 2, stage 3, step 5",
     "writes a place while rank 2, stage 0 may still read it (reused too early)"},
    {"a slot used again too early", AR, 2, 2, false, BOTH, no_wait_before_reuse,
     "rank 0, stage 1, step 1", "reads a place while rank 1, stage 0 may still write it"},
    {"a slot used again too early", RS, 2, 3, false, BOTH, no_wait_before_reuse,
     "rank 0, stage 1, step 1", "reads a place while rank 1, stage 0 may still write it"},
    {"a host slot used again too early", AR, 2, 2, true, BOTH, no_wait_before_reuse,
     "rank 0, stage 1, step 1", "reads a place while rank 1, stage 0 may still write it"},
    {"no join on one rank", AR, 3, 1, false, BOTH, no_join, "rank 2, stage 1, step 2",
     "reads a place while rank 1, stage 0 may still write it"},
    {"no join on one rank", RS, 2, 1, false, BOTH, no_join, "rank 0, stage 1, step 1",
     "reads a place while rank 1, stage 0 may still write it"},
    {"no join", AR, 2, 1, false, BOTH, no_join_anywhere, "rank 1, stage 1, step 1",
     "reads a place while rank 0, stage 0 may still write it"},
    {"no join", AG, 2, 1, false, BOTH, no_join_anywhere, "rank 1, stage 1, step 1",
     "reads a place while rank 0, stage 0 may still write it"},
    {"no join", AR, 3, 2, false, BOTH, no_join_anywhere, "rank 1, stage 2, step 1",
     "writes a place while rank 2, stage 3 may still read it (reused too early)"},
    {"no signal", AR, 3, 2, false, BOTH, no_signal, "rank 1, stage 1, step 1",
     "waits for a flag that nobody signals"},
    {"no local signal", AR, 2, 2, false, BOTH, no_local_signal, "rank 1, stage 2, step 0",
     "waits for a flag that nobody signals"},
    {"a signal before its push", AR, 3, 2, false, BOTH, signal_before_push,
     "rank 1, stage 1, step 2", "reads a place while rank 0, stage 0 may still write it"},
    {"a signal before its push, host", RS, 2, 2, true, BOTH, signal_before_push,
     "rank 1, stage 1, step 1", "reads a place while rank 0, stage 0 may still write it"},
    {"a slot told read too early", AR, 2, 2, false, BOTH, read_told_before_it_is_read,
     "rank 1, stage 0, step 3",
     "writes a place while rank 0, stage 1 may still read it (reused too early)"},
    {"a sum told too early", AR, 2, 2, false, BOTH, sum_told_before_it_is_done,
     "rank 0, stage 2, step 1", "reads a place while rank 0, stage 1 may still write it"},
    {"a stage that waits for itself", AR, 2, 2, false, BOTH, own_stage, "rank 1, stage 1, step 7",
     "waits for its own stage"},
    {"a wait in another memory", AR, 2, 2, false, BOTH, other_memory, "rank 1, stage 1, step 0",
     "waits in another memory than it is signalled in"},
    {"a signal in another memory", AR, 2, 2, true, BOTH, device_flag_where_host_is_right,
     "rank 1, stage 1, step 0", "waits in another memory than it is signalled in"},
    {"a flag in a user buffer", AR, 2, 2, false, BOTH, no_memory, "rank 1, stage 2, step 2",
     "has its flag in no memory"},
    {"a wait for another peer", AR, 3, 2, false, BOTH, other_peer, "rank 1, stage 1, step 0",
     "waits for one peer on a flag that another one signals"},
    {"two signals of one flag", AR, 3, 2, false, BOTH, two_signals, "rank 2, stage 0, step 3",
     "signals a flag that was signalled already in this round"},
    {"stage 0 waits for its round's end", AR, 2, 1, false, BOTH, join_at_the_beginning,
     "rank 0, stage 0, step 0",
     "rank 0, stage 3 would signal in its step 2, but waits in step 0 of round 0"},
    {"stages that wait for each other", AR, 2, 1, false, BOTH, spread_waits_for_its_receiver,
     "rank 0, stage 1, step 1",
     "rank 0, stage 3 would signal in its step 2, but waits in step 0 of round 0"},
    {"a push that waits for its reader", AR, 2, 2, false, BOTH, reuse_waits_for_its_own_push,
     "rank 0, stage 1, step 0",
     "rank 1, stage 0 would signal in its step 2, but waits in step 0 of round 0"},
    {"a push of another chunk", AR, 2, 2, false, BOTH, pushes_another_chunk,
     "rank 0, stage 1, step 1", "reads a place that holds chunk 1"},
    {"a sum of another chunk", AR, 3, 2, false, BOTH, sums_another_chunk, "rank 1, stage 1, step 2",
     "reads a place that holds chunk 2"},
    {"another chunk received", AR, 3, 2, false, BOTH, receives_another_chunk,
     "rank 1, stage 3, step 1", "reads a place that holds chunk 0"},
    {"a push to another's slot", AR, 3, 2, false, BOTH, pushes_to_another_slot,
     "rank 2, stage 0, step 0", "writes a place while rank 1, stage 0 may still write it"},
    {"a push to a slot that nobody reads", AR, 3, 2, false, BOTH, pushes_to_an_unread_slot,
     "rank 1, stage 0, step 0", "writes a place while rank 0, stage 0 may still write it"},
    {"a push to another rank", AR, 3, 2, false, BOTH, pushes_to_another_rank,
     "rank 0, stage 1, step 2", "reads a place that nothing was written to yet in this call"},
    {"two pieces in one slot", AR, 2, 2, false, BOTH, two_pieces_in_one_slot,
     "rank 0, stage 2, step 4",
     "writes a place while rank 1, stage 3 may still read it (reused too early)"},
    {"a foreign slot read", AR, 2, 2, false, BOTH, reads_a_foreign_slot, "rank 1, stage 1, step 1",
     "reads another rank's slot"},
    {"a foreign host slot read", AR, 2, 2, true, BOTH, reads_a_foreign_host_slot,
     "rank 1, stage 1, step 1", "reads another rank's slot"},
    {"a device slot written, the host slot read", AR, 2, 2, true, BOTH,
     device_slot_where_host_is_read, "rank 1, stage 1, step 1",
     "reads a place that nothing was written to yet in this call"},
    {"a host slot written, the device slot read", AR, 2, 2, false, BOTH,
     host_slot_where_device_is_read, "rank 1, stage 1, step 1",
     "reads a place that nothing was written to yet in this call"},
    {"a host slot out of range", AR, 2, 2, true, BOTH, host_slot_out_of_range,
     "rank 0, stage 0, step 0", "names a slot that does not exist"},
    {"no such place", AR, 2, 2, false, BOTH, no_place, "rank 0, stage 0, step 0",
     "names a place that does not exist"},
    {"an output written before the push has read it", AR, 2, 2, false, APART,
     output_before_the_push_has_read, "rank 0, stage 3, step 1",
     "reads a place that nothing was written to yet in this call"},
    {"an output written before the push has read it", AR, 2, 2, false, IN_PLACE,
     output_before_the_push_has_read, "rank 1, stage 2, step 0",
     "writes a place while rank 1, stage 0 may still read it (reused too early)"},
    {"two stages write one chunk", AR, 3, 2, false, BOTH, two_stages_write_one_chunk,
     "rank 1, stage 2, step 11", "writes a place while rank 1, stage 3 may still write it"},
    {"a contribution twice", AR, 3, 2, false, BOTH, contribution_twice, "rank 1, stage 1, step 2",
     "adds a contribution that is in the result already: rank 0's"},
    {"a contribution missing", RS, 3, 2, false, BOTH, contribution_missing,
     "rank 1, stage 1, step 2",
     "applies the post-op to a result that lacks a contribution: rank 2's"},
    {"a contribution missing, no post-op", RS, 3, 2, false, BOTH, contribution_missing_without_post,
     "rank 1, chunk 2", "output lacks a contribution"},
    {"no pre-op", AR, 3, 2, false, BOTH, no_pre, "rank 1, stage 1, step 8",
     "takes in a contribution without pre-op"},
    {"no post-op", RS, 3, 2, false, BOTH, no_post, "rank 1, chunk 3", "output lacks the post-op"},
    {"a sum of sums", AR, 3, 2, false, BOTH, sum_of_sums, "rank 1, stage 3, step 1",
     "reduces what has had its post-op already"},
    {"an input sent round instead of a sum", AR, 3, 2, false, APART, own_input_instead_of_sum,
     "rank 2, chunk 2", "output lacks a contribution"},
    {"an output missing", RS, 2, 2, false, APART, no_output, "rank 1, chunk 3",
     "output was never written"},
    {"an output missing", RS, 2, 2, false, IN_PLACE, no_output, "rank 1, chunk 3",
     "output lacks a contribution"},
    {"an output missing", AR, 3, 2, false, APART, no_receive, "rank 0, chunk 2",
     "output was never written"},
    {"an output missing", AR, 3, 2, false, IN_PLACE, no_receive, "rank 0, chunk 2",
     "output lacks a contribution"},
    {"an output missing", AG, 2, 2, false, APART, no_own_copy, "rank 1, chunk 2",
     "output was never written"},
    {"a foreign input gathered", AG, 2, 2, false, BOTH, gathers_a_foreign_chunk,
     "rank 1, stage 0, step 0", "reads a chunk of its input that another rank owns"},
    {"a foreign chunk kept", RS, 2, 2, false, BOTH, keeps_a_foreign_chunk,
     "rank 1, stage 1, step 1", "touches a chunk of its output that another rank owns"},
    {"a sum gathered", AG, 2, 2, false, BOTH, gathers_a_sum, "rank 1, stage 1, step 1",
     "adds a contribution that is in the result already: rank 0's"},
    {"too many stages", AR, 2, 2, false, BOTH, too_many_stages, "plan staged",
     "number of stages out of range"},
    {"a program in no stage", AR, 2, 2, false, BOTH, a_stage_too_few, "plan staged",
     "a program of a rank or stage that does not exist"},
    {"chunks that can't be shared out", RS, 2, 2, false, BOTH, odd_chunks, "plan staged",
     "number of chunks is no multiple of the number of ranks"},
    {"no collective", AR, 2, 2, false, BOTH, no_collective, "plan staged", "no such collective"},
    {"no op", AR, 3, 2, false, BOTH, no_op, "rank 1, stage 1, step 2", "is no operation"},
    {"no sources", AR, 3, 2, false, BOTH, no_sources, "rank 1, stage 1, step 2",
     "has a wrong number of sources"},
    {"too many sources", AR, 3, 2, false, BOTH, too_many_sources, "rank 1, stage 1, step 2",
     "has a wrong number of sources"},
    {"no such peer", AR, 3, 2, false, BOTH, no_peer, "rank 1, stage 0, step 1",
     "signals or waits for a rank that is no peer"},
    {"no such flag", AR, 3, 2, false, BOTH, no_flag, "rank 1, stage 0, step 1",
     "names a flag that does not exist"},

};

static void check_fault(const struct fault *f, bool in_place)
{
    pipc__plan_t *right =
        staged_plan((pipc__collective_t)f->collective, f->nranks, f->pieces, f->host);
    pipc__plan_t *p = clone_plan(right);
    pipc__check_call_t calls[3];
    pipc__error_t err = {PIPC_OK, ""};

    for (int i = 0; i < 3; i++)
        calls[i] = (pipc__check_call_t){right, 3, 2, in_place};
    if (pipc__plan_check(calls, 3, PIPC__BUFFERS, &err))
        fail_msg("%s: the right plan is refused: %s", f->name, err.text);
    f->inject(p);
    for (int i = 0; i < 3; i++)
        calls[i].plan = p;
    pipc_status_t st = pipc__plan_check(calls, 3, PIPC__BUFFERS, &err);
    if (st != PIPC_ERR_INVALID || !strstr(err.text, f->place) || !strstr(err.text, f->words))
        fail_msg("%s, in place %d: said \"%s\"", f->name, in_place, st ? err.text : "right");
    pipc__plan_free(right);
    pipc__plan_free(p);
}

static void every_fault_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        for (int in_place = 0; in_place < 2; in_place++)
            if (faults[i].buffers != (in_place ? APART : IN_PLACE))
                check_fault(&faults[i], in_place);
}

/* --- negative control of the waits: none may be taken out ----------------------------------------
 */

/* A wait is needed when no three calls are right without it, be they cut alike or not. */
static bool right(const pipc__plan_t *p)
{
    pipc__check_call_t calls[3] = {{p, 3, 2, true}, {p, 1, 1, true}, {p, 2, 2, true}};

    return !pipc__plan_check(calls, 3, PIPC__BUFFERS, NULL);
}

/* How many of the waits the checker can spare; the plan is as it was. */
static int spare_waits(pipc__plan_t *p, int *waits)
{
    int spare = 0;

    *waits = 0;
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            for (int i = 0; find_op(p, r, s, PIPC__WAIT, i); i++, (*waits)++) {
                pipc__op_t *op = find_op(p, r, s, PIPC__WAIT, i), wait = *op;
                size_t behind = (size_t)(p->program[r][s].ops + p->program[r][s].nops - (op + 1));
                remove_op(p, r, s, op);
                spare += right(p);
                memmove(op + 1, op, behind * sizeof(*op));
                *op = wait;
                p->program[r][s].nops++;
            }
    return spare;
}

static void every_wait_is_needed(pipc__plan_t *p)
{
    int waits, spare = spare_waits(p, &waits);

    assert_true(right(p));
    if (spare)
        fail_msg("plan %s of %d ranks can spare %d of %d waits", p->name, p->nranks, spare, waits);
    pipc__plan_free(p);
}

static void every_wait_of_the_staged_plans_is_needed(void **state)
{
    (void)state;
    for (int collective = 0; collective < 3; collective++)
        for (int n = 2; n <= 3; n++)
            for (int pieces = 1; pieces <= 3; pieces++)
                for (int host = 0; host < 2; host++)
                    every_wait_is_needed(
                        staged_plan((pipc__collective_t)collective, n, pieces, host));
}

static void every_wait_of_the_direct_plans_and_the_ring_is_needed(void **state)
{
    (void)state;
    for (int kind = 0; kind < PIPC__PLAN_KINDS_PLAIN; kind++)
        for (int n = 2; n <= 8; n++) {
            pipc__plan_t *p;
            assert_int_equal(pipc__plan_make(&p, (pipc__plan_kind_t)kind, n, NULL), PIPC_OK);
            every_wait_is_needed(p);
        }
}

/* A join of stages, or a wait for a push that came before the one that was waited for, may follow
 * from other waits; most must not. (The permuted plan waits to keep a pace, not asked here.) */
static void most_waits_of_the_island_plan_are_needed(void **state)
{
    static const char *const groups[] = {"000", "0011", "0001", "00111"}; /* of ranks 0, 1, ... */

    (void)state;
    for (int i = 0; i < 4 * 3; i++) {
        const char *group = groups[i / 3];
        pipc__shape_t shape;
        pipc__plan_t *p;
        int waits;
        pipc__shape_flat(&shape, (int)strlen(group));
        shape.nlevels = i / 3 > 0;
        for (int r = 0; group[r]; r++)
            shape.group[0][r] = (uint8_t)(group[r] - '0');
        assert_int_equal(
            pipc__plan_make_for(&p, PIPC__ISLAND, (pipc__collective_t)(i % 3), &shape, NULL),
            PIPC_OK);
        assert_true(right(p));
        int spare = spare_waits(p, &waits);
        if (spare * 4 >= waits)
            fail_msg("island plan for %s can spare %d of %d waits", group, spare, waits);
        pipc__plan_free(p);
    }
}

/* --- between calls ---------------------------------------------------------------------------- */

static void refused(const pipc__check_call_t *calls, int ncalls, int buffers, const char *words)
{
    pipc__error_t err = {PIPC_OK, ""};

    assert_int_equal(pipc__plan_check(calls, ncalls, buffers, &err), PIPC_ERR_INVALID);
    if (!strstr(err.text, words))
        fail_msg("said \"%s\"", err.text);
}

/* Also where the one meets in host memory and the other in device memory, and lanes differ. */
static void any_staged_plan_may_follow_any_other(void **state)
{
    pipc__plan_t *p[6];
    pipc__error_t err;

    (void)state;
    for (int i = 0; i < 6; i++)
        p[i] = staged_plan((pipc__collective_t)(i / 2), 3, 2, i % 2);
    for (int i = 0; i < 6 * 6 * 6; i++) {
        pipc__check_call_t calls[3] = {
            {p[i / 36], 1, 2, false}, {p[i / 6 % 6], 2, 1, true}, {p[i % 6], 3, 2, i % 2}};
        if (pipc__plan_check(calls, 3, PIPC__BUFFERS, &err))
            fail_msg("%d, %d, %d: %s", i / 36, i / 6 % 6, i % 6, err.text);
    }
    for (int i = 0; i < 6; i++)
        pipc__plan_free(p[i]);
}

static void calls_that_overlap_are_refused(void **state)
{
    pipc__plan_t *reduce = staged_plan(PIPC__ALLREDUCE, 2, 2, false);
    pipc__plan_t *gather = staged_plan(PIPC__ALLGATHER, 2, 2, false);
    pipc__plan_t *host = staged_plan(PIPC__ALLREDUCE, 2, 2, true);
    pipc__plan_t *one_shot, *ring;

    (void)state;
    /* One area: the gather's first push may meet the last receive of the call before. */
    pipc__check_call_t calls[2] = {{reduce, 1, 2, false}, {gather, 1, 1, false}};
    assert_int_equal(pipc__plan_check(calls, 2, 2, NULL), PIPC_OK);
    refused(calls, 2, 1, "call 1, round 0, rank 0, stage 0, step 0");
    refused(calls, 2, 1, "rank 1, stage 3 in an earlier call may still use");
    /* But not where the one meets in host memory, the other in device memory. */
    calls[0].plan = host;
    assert_int_equal(pipc__plan_check(calls, 2, 1, NULL), PIPC_OK);

    /* One set of flags: rank 2 hears of rank 1's new round on a flag of rank 0's old one. */
    assert_int_equal(pipc__plan_make(&one_shot, PIPC__ONE_SHOT, 3, NULL), PIPC_OK);
    assert_int_equal(pipc__plan_make(&ring, PIPC__RING, 3, NULL), PIPC_OK);
    pipc__check_call_t two[2] = {{one_shot, 1, 1, false}, {ring, 1, 1, false}};
    assert_int_equal(pipc__plan_check(two, 2, 2, NULL), PIPC_OK);
    for (int r = 0; r < 3; r++) /* a ring in the host's slots is clear of the one-shot's slots */
        for (int i = 0; i < ring->program[r][0].nops; i++) {
            pipc__op_t *op = &ring->program[r][0].ops[i];
            for (int s = 0; s < op->nsrc; s++)
                if (op->src[s].place == PIPC__SLOT)
                    op->src[s].place = PIPC__HOST;
            if (op->nsrc && op->dst.place == PIPC__SLOT)
                op->dst.place = PIPC__HOST;
        }
    assert_int_equal(pipc__plan_check(two, 2, 2, NULL), PIPC_OK);
    refused(two, 2, 1, "signals a flag to which the signal of rank 0 in an earlier call may still");
    pipc__plan_free(reduce);
    pipc__plan_free(gather);
    pipc__plan_free(host);
    pipc__plan_free(one_shot);
    pipc__plan_free(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_refused_with_its_place),
        cmocka_unit_test(every_wait_of_the_staged_plans_is_needed),
        cmocka_unit_test(every_wait_of_the_direct_plans_and_the_ring_is_needed),
        cmocka_unit_test(most_waits_of_the_island_plan_are_needed),
        cmocka_unit_test(any_staged_plan_may_follow_any_other),
        cmocka_unit_test(calls_that_overlap_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
