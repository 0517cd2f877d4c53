/* pmix_fence: every rank puts its number, all meet in a fence, every rank gets every number; prints "rank R of N". */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>

int main(void)
{
    pmix_proc_t me, peer;
    pmix_value_t mine = { .type = PMIX_UINT32 }, *got;
    pmix_info_t collect;
    bool yes = true;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    PMIX_LOAD_PROCID(&peer, me.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&peer, PMIX_JOB_SIZE, NULL, 0, &got) != PMIX_SUCCESS)
        return 2;
    uint32_t ranks = got->data.uint32;

    mine.data.uint32 = 1000 + me.rank;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    if (PMIx_Put(PMIX_GLOBAL, "test.number", &mine) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS ||
        PMIx_Fence(NULL, 0, &collect, 1) != PMIX_SUCCESS)
        return 3;
    for (uint32_t r = 0; r < ranks; r++) {
        PMIX_LOAD_PROCID(&peer, me.nspace, r);
        if (PMIx_Get(&peer, "test.number", NULL, 0, &got) != PMIX_SUCCESS || got->data.uint32 != 1000 + r)
            return 4;
    }
    printf("rank %u of %u\n", me.rank, ranks);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 5;
}
