#!/usr/bin/env python3
"""torch_jobs.py JOB: a PyTorch job of one rank a GPU that knows nothing of this library; hook-pytorch runs it with and
without the hook.

train       DDP training of a small transformer in fp32. Rank 0 prints a digest of all losses and weights, bit for bit,
            which all ranks must have, and the median time of a step. --sleep SECONDS: rank 1 does nothing for so long in mid-training
graphs      all_reduce in torch.cuda.graph, replayed with other data, beside eager calls
memory      all_reduce of tensors in expandable segments, symmetric memory and pools that NCCL registers
groups      new_group, split_group, destroy_process_group; two groups on two streams, AllGather on one with AllReduce on
            the other, a graph on one with eager calls on the other
killed      rank 1 kills itself between two calls; rank 0 prints when it was told

Ranks are told by torchrun's variables or Slurm's. A job that saw a wrong value prints it and exits with 1.
"""
import argparse
import hashlib
import os
import signal
import statistics
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn


def setting(name, slurm, default):
    return int(os.environ.get(name, os.environ.get(slurm, default)))


RANK, SIZE, LOCAL = setting("RANK", "SLURM_PROCID", 0), setting("WORLD_SIZE", "SLURM_NTASKS", 1), \
    setting("LOCAL_RANK", "SLURM_LOCALID", 0)
wrong = 0


def say(text):
    if RANK == 0:
        print(text, flush=True)


def reduced(n, call, dtype=torch.float32):
    """What all_reduce makes of mine(): integers small enough to be exact in any type."""
    base = (torch.arange(n, device="cuda") + call) % 8
    return (base * SIZE + SIZE * (SIZE - 1) // 2).to(dtype)


def mine(n, call, dtype=torch.float32):
    return ((torch.arange(n, device="cuda") + call) % 8 + RANK).to(dtype)


def check(what, got, want):
    global wrong
    bad = int((got != want).sum())
    if bad:
        wrong += bad
        print(f"rank {RANK}: {what}: {bad} of {got.numel()} elements are wrong", flush=True)


# ---- train ----------------------------------------------------------------------------------------------------------

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, words=1024, width=512, layers=6, heads=8):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))


def train(options):
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = nn.parallel.DistributedDataParallel(Model().cuda(), device_ids=[torch.cuda.current_device()])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    data = torch.Generator().manual_seed(100 + RANK)
    losses, times = [], []
    for step in range(options.steps):
        if step == options.steps // 2 and RANK == 1 and options.sleep:
            time.sleep(options.sleep)
        words = torch.randint(1024, (8, 129), generator=data).cuda()
        torch.cuda.synchronize()
        start = time.perf_counter()
        loss = nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean)
    digest = hashlib.sha256(torch.stack(losses).cpu().numpy().tobytes())
    for p in model.parameters():
        digest.update(p.detach().cpu().numpy().tobytes())
    every = [None] * SIZE
    dist.all_gather_object(every, digest.hexdigest())
    for rank, theirs in enumerate(every):
        check(f"digest of rank {rank}", torch.tensor([theirs == every[0]]), torch.tensor([True]))
    say(f"digest {digest.hexdigest()} steps {options.steps} loss {losses[0]:.6f} to {losses[-1]:.6f}")
    say(f"step_ms {statistics.median(times[10:]) * 1e3:.3f}")


# ---- graphs ---------------------------------------------------------------------------------------------------------

def warm_up(n, group=None):
    for _ in range(4):
        dist.all_reduce(torch.zeros(n, device="cuda"), group=group)
    torch.cuda.synchronize()


def graphs(options):
    for n in (256, 65536, 1 << 20, 4 << 20):
        warm_up(n)
        x, graph = torch.zeros(n, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            dist.all_reduce(x)
            dist.all_reduce(x)
        for call in range(20):
            x.copy_(mine(n, call))
            graph.replay()
            check(f"graph of {n}, replay {call}", x, reduced(n, call) * SIZE)
            y = mine(n, call + 1)
            dist.all_reduce(y)
            check(f"eager call of {n} after replay {call}", y, reduced(n, call + 1))


# ---- memory ---------------------------------------------------------------------------------------------------------

def reduces(what, make):
    for n in (1, 1000, 65536, (1 << 20) + 3, 8 << 20):
        warm_up(n)
        for call in range(5):
            x = make(n)
            x.copy_(mine(n, call))
            dist.all_reduce(x)
            check(f"{what}, {n}, call {call}", x, reduced(n, call))
    say(f"{what}: done")


def memory(options):
    reduces("plain memory", lambda n: torch.empty(n, device="cuda"))
    torch._C._accelerator_setAllocatorSettings("expandable_segments:True")
    torch.cuda.empty_cache()
    reduces("expandable segments", lambda n: torch.empty(n, device="cuda"))
    torch._C._accelerator_setAllocatorSettings("expandable_segments:False")
    torch.cuda.empty_cache()
    import torch.distributed._symmetric_memory as symmetric
    try:
        symmetric.empty(1, device="cuda")
    except RuntimeError as why:
        say(f"symmetric memory: not here: {str(why).splitlines()[0]}")
    else:
        reduces("symmetric memory", lambda n: symmetric.empty(n, device="cuda"))
    backend = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cuda"))
    try:
        allocator = backend.mem_allocator
    except RuntimeError as why:  # under MPS
        say(f"pools of NCCL: not here: {str(why).splitlines()[0]}")
        return
    for symm in (False, True):
        pool = torch.cuda.MemPool(allocator)
        with torch.cuda.use_mem_pool(pool):
            whole = torch.empty(16 << 20, device="cuda")
        backend.register_mem_pool(pool, symm=symm)
        reduces(f"pool of NCCL, registered{' as window' if symm else ''}", lambda n: whole[:n])
        backend.deregister_mem_pool(pool)


# ---- groups ---------------------------------------------------------------------------------------------------------

def both_streams(what, first, second, calls=30):
    """first(call) and second(call) on streams of their own, one after the other and at once."""
    streams = torch.cuda.Stream(), torch.cuda.Stream()
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
    ends = []
    for call in range(calls):
        for stream, work in zip(streams, (first, second)):
            with torch.cuda.stream(stream):
                ends.append(work(call))
    torch.cuda.synchronize()
    for text, got, want in ends:
        check(f"{what}: {text}", got, want)
    say(f"{what}: done")


def reducer(n, group):
    def work(call):
        x = mine(n, call)
        dist.all_reduce(x, group=group)
        return f"all_reduce of {n}, call {call}", x, reduced(n, call)
    return work


def gatherer(n, group):
    def work(call):
        x = torch.full((n,), float(RANK * 100 + call), device="cuda")
        out = torch.empty(n * SIZE, device="cuda")
        dist.all_gather_into_tensor(out, x, group=group)
        return f"all_gather of {n}, call {call}", out, torch.arange(SIZE, device="cuda").repeat_interleave(n) * 100.0 + call
    return work


def replayer(n, group):
    warm_up(n, group)
    x, graph = torch.zeros(n, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_reduce(x, group=group)

    def work(call):
        x.copy_(mine(n, call))
        graph.replay()
        return f"graph of {n}, replay {call}", x.clone(), reduced(n, call)
    return work


def groups(options):
    everybody = list(range(SIZE))
    a, b = dist.new_group(everybody), dist.new_group(everybody)
    warm_up(1000, a)
    warm_up(1 << 20, b)
    both_streams("two groups", reducer(1000, a), reducer(1 << 20, b))
    both_streams("two groups of one size", reducer(1 << 18, a), reducer(1 << 18, b))
    both_streams("AllGather beside AllReduce", gatherer(1 << 16, a), reducer(1 << 18, b))
    both_streams("AllGather and AllReduce of one group", gatherer(1 << 16, a), reducer(1 << 18, a))
    both_streams("a graph beside eager calls", replayer(1 << 16, a), reducer(1 << 18, b))
    dist.destroy_process_group(a)
    both_streams("after destroy_process_group", reducer(1000, b), reducer(1 << 20, None))
    many = [dist.new_group(everybody) for _ in range(10)]
    for group in many:
        warm_up(1 << 18, group)
    for one, group in enumerate(many):
        text, got, want = reducer(1 << 20, group)(one)
        check(f"group {one} of ten: {text}", got, want)
    for group in many:
        dist.destroy_process_group(group)
    say("ten groups: done")
    part = dist.split_group(split_ranks=[everybody])
    warm_up(1000, part)
    both_streams("split_group", reducer(1000, part), reducer(1 << 20, None))
    alone = dist.split_group(split_ranks=[[rank] for rank in everybody])
    x = mine(1000, 1)
    dist.all_reduce(x, group=alone)
    check("a group of one", x, mine(1000, 1))
    dist.destroy_process_group(part)


# ---- killed ---------------------------------------------------------------------------------------------------------

def killed(options):
    x = torch.ones(options.count, device="cuda")
    for call in range(50):
        dist.all_reduce(x)
        torch.cuda.synchronize()
    if RANK == 1:
        print(f"killed {time.time():.3f}", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            dist.all_reduce(x)
            torch.cuda.synchronize()
    except Exception as what:  # whatever PyTorch makes of it
        print(f"told {time.time():.3f} {type(what).__name__}: {str(what).splitlines()[0]}", flush=True)
        raise


def main():
    jobs = {f.__name__: f for f in (train, graphs, memory, groups, killed)}
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=jobs)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--sleep", type=float, default=0)
    parser.add_argument("--count", type=int, default=1 << 18, help="elements of a call, for killed")
    parser.add_argument("--timeout", type=float, default=600, help="seconds until PyTorch gives a call up")
    options = parser.parse_args()
    device = LOCAL % torch.cuda.device_count()
    if device != LOCAL:  # NCCL refuses two ranks of one host on a GPU: each is a host of its own to it
        os.environ["NCCL_HOSTID"] = "rank%d" % RANK
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", rank=RANK, world_size=SIZE, timeout=timedelta(seconds=options.timeout),
                            device_id=torch.device("cuda", device))
    jobs[options.job](options)
    torch.cuda.synchronize()
    total = torch.tensor([wrong], device="cuda")
    dist.all_reduce(total)
    say(f"{options.job}: {int(total)} wrong")
    dist.destroy_process_group()
    sys.exit(1 if int(total) else 0)


if __name__ == "__main__":
    main()
