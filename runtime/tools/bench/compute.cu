/* tools/bench/compute.cu - arithmetic without memory, to run beside calls (--overlap)
 *
 * A block is BLOCK threads of 8 chains of FMAs, 1024 in all: 2048 flop a thread, 524288 a block. A
 * wave is as many blocks as the GPU holds at once: 2048 threads on each SM of an H200 keep its 128
 * FMA units busy for 16384 clocks, about 10 us. So a block of another kernel that waits for a place
 * finds one soon, as it would beside a matrix product.
 */
#define BLOCK 256
#define CHAINS 8
#define STEPS 128

extern "C" __global__ void __launch_bounds__(BLOCK) pipc__bench_compute(float *never, float a)
{
    float x[CHAINS], sum = 0;

    for (int k = 0; k < CHAINS; k++)
        x[k] = (float)(threadIdx.x + k);
    for (int i = 0; i < STEPS; i++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++)
            x[k] = fmaf(x[k], a, a);
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    if (sum == -1) /* it is not, but the compiler can't know */
        *never = sum;
}
