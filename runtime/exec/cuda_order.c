/* exec/cuda_order.c - one after the other: the calls of a communicator, which use the same staging,
 * on whatever streams they come. See cuda_exec.h for the other files.
 *
 * Outside of graphs. On one stream calls can't overlap, and nothing is done. When the stream
 * changes, the new one waits until the GPU has counted all launches so far: each kernel ends by
 * moving pipc__lane_state_t.calls on. An event behind the last launch would do as well, but it
 * would have to be recorded after every launch, though most are never waited for: once the stream
 * has changed it is too late, the old one may be destroyed by then. A driver without waits on
 * memory gets the event, and so does what follows a call of NCCL's, which counts nothing.
 *
 * In graphs. Nobody here knows when and where a graph is replayed, and its launches count as often
 * as that. So a graph waits for the event at its first call and records it behind its last one, and
 * from the first capture on calls outside of graphs do the same:
 *
 *     stream being captured    wait --> call 1 --> ... --> call 2 --> ...
 *     beside it                                             `--> record
 *
 * Which call is the last is known to nobody while they are captured. The node that records the
 * event hangs beside the stream, where nothing comes after it, and each call of the same capture
 * moves it behind itself. Recording in the stream after each call would be as right, and costs a
 * graph of 20 calls 19 events. Calls of one capture follow each other on one stream; on another
 * stream of the same capture a call is made to follow the last one.
 */
#include <string.h>

#include "runtime/exec/cuda_exec.h"

/* A number for the stream that no other stream ever has, unlike its handle, which a new stream may
 * inherit from a destroyed one, and which for the per-thread stream is the same in every thread.
 * 0 when the driver can't tell. */
static unsigned long long stream_id(const pipc__cuda_exec_t *x, CUstream stream)
{
    unsigned long long id = 0;

    /* 0 may be the number of a real stream. */
    return x->cu->StreamGetId && !x->cu->StreamGetId(stream, &id) ? id + 1 : 0;
}

pipc_status_t pipc__cuda_order_init(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    pipc__cuda_order_t *o = &x->order;
    int can = 0;
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, EventCreate, &o->last, CU_EVENT_DISABLE_TIMING);

    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, EventCreate, &o->joint, CU_EVENT_DISABLE_TIMING);
    /* A first call that is captured waits for it in the graph: an error for an event never
     * recorded. */
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, EventRecord, o->last, x->stream);
    if (!st && x->cu->StreamWaitValue64 && x->cu->StreamGetId &&
        !x->cu->DeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                                   x->device))
        o->counts = can;
    return st;
}

void pipc__cuda_order_end(pipc__cuda_exec_t *x)
{
    if (x->order.joint)
        x->cu->EventDestroy(x->order.joint);
    if (x->order.last)
        x->cu->EventDestroy(x->order.last);
    x->order.last = x->order.joint = NULL;
}

static CUresult wait_for_all(const pipc__cuda_exec_t *x, CUstream stream)
{
    return x->cu->StreamWaitValue64(stream, x->state + offsetof(pipc__lane_state_t, calls),
                                    x->order.launched, CU_STREAM_WAIT_VALUE_GEQ);
}

CUresult pipc__cuda_order_settle(pipc__cuda_exec_t *x)
{
    pipc__cuda_order_t *o = &x->order;

    if (o->recorded == o->launched)
        return CUDA_SUCCESS;
    CUresult rc = wait_for_all(x, x->stream);
    if (!rc)
        rc = x->cu->EventRecord(o->last, x->stream);
    if (!rc)
        o->recorded = o->launched;
    return rc;
}

/* --- graphs ---------------------------------------------------------------------------------- */

static bool sees_graphs(const pipc__cuda_exec_t *x)
{
    return x->cu->StreamGetCaptureInfo && x->cu->StreamUpdateCaptureDependencies &&
           x->cu->GraphAddEventRecordNode && x->cu->GraphAddDependencies &&
           x->cu->GraphRemoveDependencies;
}

/* The capture that @stream is part of, if calls of it were seen, else NULL and its number in *id.
 */
static pipc__cuda_capture_t *find_capture(pipc__cuda_exec_t *x, CUstream stream, uint64_t *id)
{
    CUstreamCaptureStatus status;

    *id = 0;
    if (!sees_graphs(x) || x->cu->StreamGetCaptureInfo(stream, &status, id, NULL, NULL, NULL))
        return NULL;
    for (int i = 0; i < PIPC__CAPTURES; i++)
        if (x->order.capture[i].record && x->order.capture[i].id == *id)
            return &x->order.capture[i];
    return NULL;
}

static CUresult before_captured(pipc__cuda_exec_t *x, CUstream stream)
{
    uint64_t id;
    pipc__cuda_capture_t *c = find_capture(x, stream, &id);
    CUresult rc = CUDA_SUCCESS;

    if (c && c->stream == stream)
        return rc;
    if (c)
        return x->cu->StreamUpdateCaptureDependencies(stream, &c->call, 1,
                                                      CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
    if (!x->order.captured)
        rc = pipc__cuda_order_settle(x);
    x->order.captured = true;
    x->order.last_stream = 0;
    return rc ? rc : x->cu->StreamWaitEvent(stream, x->order.last, CU_EVENT_WAIT_EXTERNAL);
}

/* Hang the node that records behind @call, the node of the launch just captured. */
static CUresult move_record(pipc__cuda_exec_t *x, CUgraph graph, pipc__cuda_capture_t *c,
                            CUgraphNode call)
{
    CUresult rc = CUDA_SUCCESS;

    if (!c->record)
        return x->cu->GraphAddEventRecordNode(&c->record, graph, &call, 1, x->order.last);
    rc = x->cu->GraphRemoveDependencies(graph, &c->call, &c->record, 1);
    return rc ? rc : x->cu->GraphAddDependencies(graph, &call, &c->record, 1);
}

static CUresult after_captured(pipc__cuda_exec_t *x, CUstream stream)
{
    CUstreamCaptureStatus status;
    const CUgraphNode *ahead;
    CUgraph graph;
    size_t nahead;
    uint64_t id;

    if (!sees_graphs(x))
        return x->cu->EventRecordWithFlags(x->order.last, stream, CU_EVENT_RECORD_EXTERNAL);
    pipc__cuda_capture_t *c = find_capture(x, stream, &id);
    if (!c) { /* the oldest one's graph is complete by now; else it gets a second wait and record */
        c = &x->order.capture[x->order.ncaptures++ % PIPC__CAPTURES];
        *c = (pipc__cuda_capture_t){.id = id};
    }
    CUresult rc = x->cu->StreamGetCaptureInfo(stream, &status, &id, &graph, &ahead, &nahead);
    if (!rc && nahead != 1) /* a node just captured alone is ahead of what comes */
        rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (rc)
        return rc;
    CUgraphNode call = ahead[0];
    rc = move_record(x, graph, c, call);
    c->call = call;
    c->stream = stream;
    return rc;
}

/* --- every launch ---------------------------------------------------------------------------- */

CUresult pipc__cuda_order_before(pipc__cuda_exec_t *x, CUstream stream, bool *capturing)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult rc = x->cu->StreamIsCapturing(stream, &status);
    pipc__cuda_order_t *o = &x->order;
    unsigned long long last = o->last_stream;

    *capturing = status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (!rc && status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED; /* before anything is done for it */
    if (rc)
        return rc;
    if (*capturing)
        return before_captured(x, stream);
    o->last_stream = o->captured ? 0 : stream_id(x, stream);
    if (o->last_stream && o->last_stream == last)
        return CUDA_SUCCESS;
    if (!o->counts || o->captured || o->other)
        return x->cu->StreamWaitEvent(stream, o->last, 0);
    return o->launched ? wait_for_all(x, stream) : CUDA_SUCCESS;
}

CUresult pipc__cuda_order_after(pipc__cuda_exec_t *x, CUstream stream, bool capturing)
{
    pipc__cuda_order_t *o = &x->order;

    if (capturing)
        return after_captured(x, stream);
    o->launched++;
    o->other = false;
    if (o->counts && !o->captured)
        return CUDA_SUCCESS;
    o->recorded = o->launched;
    return x->cu->EventRecord(o->last, stream);
}

/* The count stays as it is: LL takes the numbers of its calls from it, and a rank that captures a
 * graph before such a call has the same numbers as one that captures it afterwards only if neither
 * the call nor the capture moves it on. So the event stands behind this one.
 *
 * In a capture NCCL may leave several nodes ahead of what comes, and its own call must be followed,
 * too, by one of ours on another stream. A record of an event that nobody waits for is one node
 * behind all of them, and stands for the call. To record order.last there would not do: a graph
 * that records it twice leaves open which one comes last. */
CUresult pipc__cuda_order_other(pipc__cuda_exec_t *x, CUstream stream, bool capturing)
{
    pipc__cuda_order_t *o = &x->order;

    if (capturing && sees_graphs(x)) {
        CUresult rc = x->cu->EventRecordWithFlags(o->joint, stream, CU_EVENT_RECORD_EXTERNAL);
        return rc ? rc : after_captured(x, stream);
    }
    if (capturing)
        return x->cu->EventRecordWithFlags(o->last, stream, CU_EVENT_RECORD_EXTERNAL);
    o->other = true;
    o->recorded = o->launched;
    return x->cu->EventRecord(o->last, stream);
}
