/* tests/unit/exec_rails.c - the CPU executor over several nodes: right and the same bits on all
 * ranks, for every type, operation and size, one to four nodes, of the same number of ranks or not;
 * nodes that are lost, come late, or whose ranks die
 *
 * Nodes are groups of processes with a control and an executor of their own. Built twice, as
 * exec_cpu.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/hash.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/perturb.h"
#include "runtime/plan/generate.h"
#include "tests/unit/rail_fake.h"
#include "tests/unit/ranks.h"
#include "tests/unit/values.h"

typedef struct cluster {
    int nodes, size[RAIL_FAKE_NODES]; /* ranks of each */
    size_t staging_bytes[RAIL_FAKE_NODES];
    int calls, slow;
    const size_t *counts;
    int ncounts;
    int group;                 /* ranks that stand together in a node; 0: all alike */
    int drop_stage, drop_step; /* perturbed builds: the wait to take out; -1: none */
    /* Node or rank that ends or comes late before call 2; -1: none. */
    int lost_node, lost_rank, late_node;
    rail_fake_t *net;
} cluster_t;

/* A rank of it. */
typedef struct member {
    const cluster_t *c;
    int rank, node, local, n, first; /* of the cluster; its node's: place, ranks, first rank */
    int total, least, most;
    pipc__control_t *ctl;
    pipc__exec_t *exec;
    pipc__plan_t *plan[2];
} member_t;

static void must(pipc_status_t st, const pipc__error_t *err)
{
    if (!st)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(90);
}

static member_t place(const cluster_t *c, int rank)
{
    member_t m = {.c = c, .rank = rank, .node = -1, .least = PIPC__RANKS_MAX};

    for (int i = 0; i < c->nodes; i++) {
        if (rank >= m.total && rank < m.total + c->size[i]) {
            m.node = i;
            m.first = m.total;
            m.n = c->size[i];
        }
        m.total += c->size[i];
        m.least = c->size[i] < m.least ? c->size[i] : m.least;
        m.most = c->size[i] > m.most ? c->size[i] : m.most;
    }
    m.local = rank - m.first;
    return m;
}

typedef struct card {
    pipc__segment_handle_t control;
    uint8_t memory[PIPC__HANDLE_MAX];
    int pid;
} card_t;

static void connect_node(member_t *m, const card_t *mine, ranks_t *all)
{
    card_t cards[PIPC__RANKS_MAX];
    pipc__segment_handle_t handles[PIPC__RANKS_MAX];
    uint8_t memory[PIPC__RANKS_MAX][PIPC__HANDLE_MAX];
    pipc__peer_name_t names[PIPC__RANKS_MAX];
    pipc__error_t err;

    ranks_gather(all, m->rank, mine, sizeof(*mine), cards);
    for (int r = 0; r < m->n; r++) {
        const card_t *card = &cards[m->first + r];
        handles[r] = card->control;
        memcpy(memory[r], card->memory, sizeof(memory[r]));
        names[r] = (pipc__peer_name_t){m->first + r, card->pid, ""};
        snprintf(names[r].host, sizeof(names[r].host), "node%d", m->node);
    }
    must(pipc__control_connect(m->ctl, m->local, m->n, handles, names, &err), &err);
    must(m->exec->ops->connect(m->exec, m->local, m->n, (const uint8_t(*)[PIPC__HANDLE_MAX])memory,
                               &err),
         &err);
}

static void set_rail(member_t *m)
{
    pipc__exec_rail_t rail = {
        .ops = &pipc__rail_fake, .nranks = m->total, .staging_bytes = SIZE_MAX};

    for (int l = 0; l < m->least; l++)
        if (pipc__rail_owner(m->least, m->n, l) == m->local)
            rail.rail = rail_fake_open(m->c->net, l, m->node, m->c->slow);
    for (int i = 0; i < m->c->nodes; i++)
        if (m->c->staging_bytes[i] < rail.staging_bytes)
            rail.staging_bytes = m->c->staging_bytes[i];
    m->exec->ops->set_rail(m->exec, &rail);
}

static void open_member(member_t *m, ranks_t *all)
{
    card_t mine = {.pid = getpid()};
    pipc__exec_place_t where;
    pipc__shape_t shape;
    pipc__error_t err;

    must(pipc__control_create(&m->ctl, &mine.control, &err), &err);
    must(pipc__exec_cpu.create(&m->exec, m->ctl, m->c->staging_bytes[m->node], mine.memory, &where,
                               &err),
         &err);
    connect_node(m, &mine, all);
    set_rail(m);
    pipc__shape_flat(&shape, m->n);
    shape.nrails = m->least;
    shape.most = m->most;
    shape.nlevels = m->c->group && m->c->group < m->n;
    for (int r = 0; shape.nlevels && r < m->n; r++)
        shape.group[0][r] = (uint8_t)(r / m->c->group);
    for (int k = 0; k < 2; k++) {
        must(pipc__plan_make_for(&m->plan[k], k ? PIPC__NODES_ONE : PIPC__NODES, PIPC__ALLREDUCE,
                                 &shape, &err),
             &err);
        must(m->exec->ops->prepare(m->exec, m->plan[k], &err), &err);
    }
    ranks_gather(all, m->rank, NULL, 0, NULL);
}

static void close_member(member_t *m, ranks_t *all)
{
    ranks_gather(all, m->rank, NULL, 0, NULL); /* or the others would see a rail close */
    pipc__control_leave(m->ctl);
    m->exec->ops->disconnect(m->exec);
    ranks_gather(all, m->rank, NULL, 0, NULL);
    m->exec->ops->destroy(m->exec);
    pipc__control_destroy(m->ctl);
    for (int k = 0; k < 2; k++)
        pipc__plan_free(m->plan[k]);
}

/* --- calls ------------------------------------------------------------------------------------ */

static pipc__exec_call_t make_call(const member_t *m, unsigned int i, char *send, char *recv)
{
    pipc__exec_call_t call = {
        .plan = m->plan[i % 3 == 2],
        .count = m->c->counts[i % (unsigned int)m->c->ncounts],
        .dtype = (pipc_dtype_t)(i % PIPC_DTYPE_COUNT),
        .op = (pipc_redop_t)(i / 2 % PIPC_REDOP_COUNT),
        .number = i + 1,
        .send = send + i % 5 * pipc_dtype_bytes((pipc_dtype_t)(i % PIPC_DTYPE_COUNT)),
    };

    call.recv = i % 2 ? (char *)(uintptr_t)call.send : recv + i % 3;
    test_fill((char *)(uintptr_t)call.send, call.count, call.dtype, call.op, m->rank, i);
    return call;
}

/* Is it right? *bits gets what it is. */
static bool judge(const member_t *m, const pipc__exec_call_t *call, unsigned int i, uint64_t *bits)
{
    *bits = pipc__hash(*bits, call->recv, call->count * pipc_dtype_bytes(call->dtype));
    return test_wrong(call->recv, 0, call->count, call->dtype, call->op, m->total, i, TEST_ANY) ==
           call->count;
}

/* Have all ranks the same? */
static bool is_everywhere(const member_t *m, uint64_t bits, ranks_t *all)
{
    uint64_t of[PIPC__RANKS_MAX];
    bool same = true;

    ranks_gather(all, m->rank, &bits, sizeof(bits), of);
    for (int r = 0; r < m->total; r++)
        same &= of[r] == bits;
    return same;
}

static int body(ranks_t *all, int rank, void *arg)
{
    const cluster_t *c = arg;
    member_t m = place(c, rank);
    size_t most = 0;
    uint64_t bits = PIPC__HASH_INIT;
    pipc__error_t err;
    int bad = 0;

    open_member(&m, all);
#ifdef PIPC_PERTURB
    pipc__perturb.drop_step = c->drop_step;
    pipc__perturb.drop_stage = c->drop_stage;
    pipc__perturb.max_usec = m.total > 4 ? 10 : 50;
#endif
    for (int i = 0; i < c->ncounts; i++)
        most = c->counts[i] > most ? c->counts[i] : most;
    char *send = calloc(most + 8, 8), *recv = calloc(most + 8, 8);
    for (unsigned int i = 0; i < (unsigned int)c->calls; i++) {
        pipc__exec_call_t call = make_call(&m, i, send, recv);
        must(m.exec->ops->run(m.exec, &call, &err), &err);
        if (judge(&m, &call, i, &bits))
            continue;
        if (!bad++ && c->drop_step < 0)
            fprintf(stderr, "rank %d of %d, call %u: wrong, %zu of %s\n", rank, m.total, i,
                    call.count, pipc_dtype_string(call.dtype));
    }
    if (!is_everywhere(&m, bits, all)) {
        if (c->drop_step < 0)
            fprintf(stderr, "rank %d of %d has other bits than another one\n", rank, m.total);
        bad++;
    }
    free(send);
    free(recv);
    close_member(&m, all);
    return bad != 0;
}

static const size_t counts[] = {0, 1, 2, 7, 31, 33, 257, 1000, 4097, 8193, 9973};

#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))

static int total(const cluster_t *c)
{
    int n = 0;

    for (int i = 0; i < c->nodes; i++)
        n += c->size[i];
    return n;
}

static cluster_t make_cluster(int nodes, const int *sizes)
{
    cluster_t c = {.nodes = nodes,
                   .calls = 22,
                   .slow = 3,
                   .counts = counts,
                   .ncounts = COUNTS,
                   .drop_step = -1,
                   .lost_node = -1,
                   .lost_rank = -1,
                   .late_node = -1};

    for (int i = 0; i < nodes; i++) {
        c.size[i] = sizes[i];
        c.staging_bytes[i] = (size_t)(64 + 32 * (i % 2)) << 10; /* the least counts */
    }
    return c;
}

static int run_cluster(cluster_t *c)
{
    c->net = rail_fake_new(c->nodes, (size_t)128 << 10);
    int rc = ranks_run(total(c), body, c, 60);
    rail_fake_free(c->net);
    return rc;
}

static void sums_over_nodes_are_right_and_the_same_everywhere(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= 4; nodes++)
        for (int n = 1; n <= 4; n++) {
            cluster_t c = make_cluster(nodes, (const int[]){n, n, n, n});
            if (n < 4 && nodes * n > 6)
                continue; /* many ranks are those of the largest nodes: processes take time */
            c.calls = nodes * n > 4 ? 11 : nodes * n > 1 ? 22 : 50;
            c.group = nodes == 3 ? 2 : 0;
            if (run_cluster(&c))
                fail_msg("%d nodes of %d ranks", nodes, n);
        }
}

static void nodes_need_not_be_alike(void **state)
{
    static const int sizes[][RAIL_FAKE_NODES] = {{3, 1}, {4, 2, 1}, {1, 5}, {2, 3, 4, 2}, {2, 8}};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int nodes = 0;
        while (nodes < RAIL_FAKE_NODES && sizes[i][nodes])
            nodes++;
        cluster_t c = make_cluster(nodes, sizes[i]);
        c.group = i % 2 ? 0 : 2;
        c.calls = 11;
        if (run_cluster(&c))
            fail_msg("sizes %zu", i);
    }
}

#ifndef PIPC_PERTURB

/* Slots as large as they get, and many rounds of them. */
static void large_messages_are_right(void **state)
{
    static const size_t large[] = {400001, 3, 65536, 300017};
    cluster_t c = make_cluster(2, (const int[]){1, 2});

    (void)state;
    c.staging_bytes[0] = c.staging_bytes[1] = 20 << 20;
    c.counts = large;
    c.ncounts = c.calls = 4;
    assert_int_equal(run_cluster(&c), 0);
}

/* --- times ------------------------------------------------------------------------------------ */

/* Somebody waited. Which of the ranks depends on who came last; one that did in every call had
 * nothing to wait for. */
static bool one_waited(ranks_t *all, int rank, uint64_t mine)
{
    uint64_t wait[PIPC__RANKS_MAX], sum = 0;

    ranks_gather(all, rank, &mine, sizeof(mine), wait);
    for (int r = 0; r < ranks_size(all); r++)
        sum += wait[r];
    return sum > 0;
}

/* The last rank of a node of three is on none of two rails, and rail 1 is none of nodes-one's. */
static int time_body(ranks_t *all, int rank, void *arg)
{
    member_t m = place(arg, rank);
    pipc__rail_times_t t = {0, 0, 0, 0};
    char *send = calloc(70000, 8), *recv = calloc(70000, 8);
    pipc__error_t err;

    open_member(&m, all);
    for (unsigned int i = 0; i < 8; i++) {
        pipc__exec_call_t call = make_call(&m, i, send, recv);
        m.exec->ops->time_rail(m.exec, i > 0 && i < 7 ? &t : NULL);
        call.count = 5000;
        must(m.exec->ops->run(m.exec, &call, &err), &err);
    }
    close_member(&m, all);
    free(send);
    free(recv);
    uint64_t calls = m.local == 0 ? 6 : pipc__rail_owner(m.least, m.n, 1) == m.local ? 4 : 0;
    bool times = calls ? t.busy_nsec && t.wait_nsec <= t.busy_nsec && t.busy_nsec < t.nsec
                       : !t.wait_nsec && !t.busy_nsec && !t.nsec;
    if (t.calls != calls || !times)
        fprintf(stderr, "rank %d: %lu calls, not %lu; wait %lu, busy %lu, all %lu ns\n", rank,
                t.calls, calls, t.wait_nsec, t.busy_nsec, t.nsec);
    bool waited = one_waited(all, rank, t.wait_nsec);
    return t.calls != calls || !times || !waited;
}

static void rails_tell_their_time_to_who_asks(void **state)
{
    cluster_t c = make_cluster(2, (const int[]){3, 2});

    (void)state;
    c.net = rail_fake_new(c.nodes, (size_t)128 << 10);
    assert_int_equal(ranks_run(total(&c), time_body, &c, 60), 0);
    rail_fake_free(c.net);
}

/* --- losses ----------------------------------------------------------------------------------- */

/* The call of rank @r after a loss. 0 when its text names whom. */
static int judge_loss(const member_t *m, pipc_status_t st, const pipc__error_t *err)
{
    char who[32];

    if (m->c->lost_node >= 0)
        snprintf(who, sizeof(who), "of node%d is lost", m->c->lost_node);
    else if (m->node == 0) /* where the rank died; the other nodes lose this one */
        snprintf(who, sizeof(who), "rank %d (process", m->c->lost_rank);
    else
        snprintf(who, sizeof(who), "of node0 is lost");
    if (st == PIPC_ERR_PEER_LOST && strstr(err->text, who))
        return 0;
    fprintf(stderr, "rank %d: status %d, \"%s\", not \"%s\"\n", m->rank, (int)st,
            st ? err->text : "", who);
    return 1;
}

static int loss_body(ranks_t *all, int rank, void *arg)
{
    const cluster_t *c = arg;
    member_t m = place(c, rank);
    char *send = calloc(70000, 8), *recv = calloc(70000, 8);
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = PIPC_OK;

    open_member(&m, all);
    for (unsigned int i = 0; i < 3; i++) {
        pipc__exec_call_t call = make_call(&m, i, send, recv);
        call.count = 5000;
        if (i == 2 && (m.node == c->lost_node || rank == c->lost_rank)) {
            m.exec->ops->disconnect(m.exec); /* what the network sees of a process that dies */
            _exit(9);
        }
        if (i == 2 && m.node == c->late_node)
            usleep(400000);
        st = m.exec->ops->run(m.exec, &call, &err);
    }
    /* Rests have grown with the wait of the rank that the rail of this plan is on. Not their
     * number: a busy machine makes more. */
    if (c->late_node >= 0) {
        bool burns = rank == 0 && rail_fake_longest_rest() < 5000;
        if (st || burns)
            fprintf(stderr, "rank %d: status %d, rests of %d usec\n", rank, (int)st,
                    rail_fake_longest_rest());
        return st || burns;
    }
    int bad = judge_loss(&m, st, &err);
    /* And again: a communicator that is dead stays so, and can be freed. */
    pipc__exec_call_t again = make_call(&m, 3, send, recv);
    bad |= m.exec->ops->run(m.exec, &again, &err) == PIPC_OK;
    m.exec->ops->disconnect(m.exec);
    m.exec->ops->destroy(m.exec);
    free(send);
    free(recv);
    return bad;
}

static void lose(cluster_t *c)
{
    int exits[PIPC__RANKS_MAX];

    c->net = rail_fake_new(c->nodes, (size_t)128 << 10);
    assert_int_equal(ranks_run_each(total(c), loss_body, c, 10, exits), 0);
    for (int r = 0; r < total(c); r++) {
        member_t m = place(c, r);
        assert_int_equal(exits[r], m.node == c->lost_node || r == c->lost_rank ? 9 : 0);
    }
    rail_fake_free(c->net);
}

static void a_lost_node_is_named_on_every_rank(void **state)
{
    static const int sizes[][RAIL_FAKE_NODES] = {{1, 1}, {3, 2}, {2, 4, 2}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        cluster_t c = make_cluster(i < 2 ? 2 : 3, sizes[i]);
        c.lost_node = 1;
        lose(&c);
    }
}

/* On its node by its number, elsewhere as the loss of the node. */
static void a_rank_that_dies_ends_the_call_on_all_nodes(void **state)
{
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        cluster_t c = make_cluster(2, (const int[]){3, 2});
        c.lost_rank = rank;
        lose(&c);
    }
}

static void a_late_node_is_waited_for_without_burning(void **state)
{
    cluster_t c = make_cluster(2, (const int[]){2, 2});

    (void)state;
    c.late_node = 1;
    lose(&c);
}

static void a_plan_over_nodes_needs_a_rail(void **state)
{
    pipc__control_t *ctl;
    pipc__segment_handle_t h;
    pipc__exec_place_t where;
    uint8_t handle[1][PIPC__HANDLE_MAX];
    pipc__exec_t *x;
    pipc__plan_t *plan;
    pipc__shape_t shape;
    pipc__error_t err;

    (void)state;
    pipc__shape_flat(&shape, 1);
    shape.nrails = shape.most = 1;
    assert_int_equal(pipc__control_create(&ctl, &h, &err), PIPC_OK);
    assert_int_equal(pipc__exec_cpu.create(&x, ctl, 65536, handle[0], &where, &err), PIPC_OK);
    assert_int_equal(x->ops->connect(x, 0, 1, (const uint8_t(*)[PIPC__HANDLE_MAX])handle, &err),
                     PIPC_OK);
    assert_int_equal(pipc__plan_make_for(&plan, PIPC__NODES, PIPC__ALLREDUCE, &shape, &err),
                     PIPC_OK);
    assert_int_equal(x->ops->prepare(x, plan, &err), PIPC_ERR_INTERNAL);
    assert_non_null(strstr(err.text, "has rails, and this rank is on none"));
    pipc__plan_free(plan);
    x->ops->destroy(x);
    pipc__control_destroy(ctl);
}

#else

/* Negative control: who hands down before the rail's job has ended hands on what the engine is at.
 */
static void the_wait_for_the_rail_is_needed(void **state)
{
    pipc__shape_t shape;
    pipc__plan_t *p;
    int tried = 0;

    (void)state;
    pipc__shape_flat(&shape, 2);
    shape.nrails = 1;
    shape.most = 2;
    assert_int_equal(pipc__plan_make_for(&p, PIPC__NODES, PIPC__ALLREDUCE, &shape, NULL), PIPC_OK);
    const pipc__program_t *spread = &p->program[0][2];
    for (int i = 0; i < spread->nops; i++) {
        cluster_t c = make_cluster(2, (const int[]){2, 2});
        if (spread->ops[i].kind != PIPC__WAIT || spread->ops[i].flag < PIPC__SLOTS_MAX ||
            tried == 2)
            continue;
        c.calls = 11;
        c.drop_stage = 2;
        c.drop_step = i;
        tried++;
        if (!run_cluster(&c))
            fail_msg("right without the wait in step %d", i);
    }
    assert_int_equal(tried, 2);
    pipc__plan_free(p);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef PIPC_PERTURB
        cmocka_unit_test(the_wait_for_the_rail_is_needed),
#else
        cmocka_unit_test(large_messages_are_right),
        cmocka_unit_test(rails_tell_their_time_to_who_asks),
        cmocka_unit_test(a_lost_node_is_named_on_every_rank),
        cmocka_unit_test(a_rank_that_dies_ends_the_call_on_all_nodes),
        cmocka_unit_test(a_late_node_is_waited_for_without_burning),
        cmocka_unit_test(a_plan_over_nodes_needs_a_rail),
#endif
        cmocka_unit_test(sums_over_nodes_are_right_and_the_same_everywhere),
        cmocka_unit_test(nodes_need_not_be_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
