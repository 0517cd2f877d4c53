/* prolog/xid.c - see xid.h; from NVIDIA's catalogue of Xid errors */
#include "prolog/xid.h"

#include <stddef.h>

static const pipc__xid_t table[] = {
    {8, PIPC__XID_PROGRAM, "a program ran too long"},
    {11, PIPC__XID_PROGRAM, "invalid push buffer of a program"},
    {13, PIPC__XID_PROGRAM, "exception of a program"},
    {25, PIPC__XID_PROGRAM, "invalid push buffer of a program"},
    {31, PIPC__XID_PROGRAM, "memory fault of a program"},
    {32, PIPC__XID_TOLD, "invalid push buffer"},
    {39, PIPC__XID_PROGRAM, "exception of a copy engine"},
    {40, PIPC__XID_PROGRAM, "exception of a copy engine"},
    {41, PIPC__XID_PROGRAM, "exception of a copy engine"},
    {43, PIPC__XID_PROGRAM, "a program was stopped"},
    {45, PIPC__XID_PROGRAM, "clean-up after a program"},
    {46, PIPC__XID_HARDWARE, "the GPU stopped"},
    {48, PIPC__XID_HARDWARE, "double bit ECC error"},
    {54, PIPC__XID_HARDWARE, "auxiliary power is not connected"},
    {61, PIPC__XID_HARDWARE, "micro-controller breakpoint"},
    {62, PIPC__XID_HARDWARE, "micro-controller halt"},
    {63, PIPC__XID_TOLD, "memory is remapped at the next reset"},
    {64, PIPC__XID_HARDWARE, "memory could not be remapped"},
    {68, PIPC__XID_PROGRAM, "exception of a video decoder"},
    {69, PIPC__XID_PROGRAM, "class error of a program"},
    {74, PIPC__XID_HARDWARE, "NVLink error"},
    {79, PIPC__XID_HARDWARE, "fallen off the bus"},
    {80, PIPC__XID_HARDWARE, "corrupted data came to the GPU"},
    {92, PIPC__XID_TOLD, "many single bit ECC errors"},
    {94, PIPC__XID_HARDWARE, "contained ECC error"},
    {95, PIPC__XID_HARDWARE, "uncontained ECC error"},
    {109, PIPC__XID_PROGRAM, "a program did not yield"},
    {110, PIPC__XID_HARDWARE, "security fault"},
    {119, PIPC__XID_HARDWARE, "GSP does not answer"},
    {120, PIPC__XID_HARDWARE, "GSP error"},
    {121, PIPC__XID_TOLD, "corrected C2C link error"},
    {122, PIPC__XID_HARDWARE, "SPI error"},
    {123, PIPC__XID_HARDWARE, "power controller error"},
    {136, PIPC__XID_HARDWARE, "link training failed"},
    {137, PIPC__XID_TOLD, "NVLink fault of a program"},
    {140, PIPC__XID_HARDWARE, "ECC error without a recovery"},
    {143, PIPC__XID_HARDWARE, "GPU did not start"},
    {144, PIPC__XID_HARDWARE, "NVLink error"},
    {145, PIPC__XID_HARDWARE, "NVLink error"},
    {146, PIPC__XID_HARDWARE, "NVLink error"},
    {147, PIPC__XID_HARDWARE, "NVLink error"},
    {148, PIPC__XID_HARDWARE, "NVLink error"},
    {149, PIPC__XID_HARDWARE, "NVLink error"},
    {150, PIPC__XID_HARDWARE, "NVLink error"},
    {154, PIPC__XID_HARDWARE, "the GPU asks for a reset or for a reboot"},
    {155, PIPC__XID_HARDWARE, "NVLink error"},
    {156, PIPC__XID_HARDWARE, "memory is retired at the next reset"},
    {158, PIPC__XID_HARDWARE, "fatal timeout of the GPU"},
    {160, PIPC__XID_TOLD, "a memory channel is retired"},
    {167, PIPC__XID_HARDWARE, "fatal timeout on PCIe"},
    {168, PIPC__XID_HARDWARE, "error in protected memory"},
    {169, PIPC__XID_HARDWARE, "micro-controller halt"},
    {171, PIPC__XID_HARDWARE, "double bit ECC error in DRAM"},
    {172, PIPC__XID_HARDWARE, "double bit ECC error in SRAM"},
};

const pipc__xid_t *pipc__xid(int number)
{
    static const pipc__xid_t unknown = {0, PIPC__XID_TOLD, "of a kind not known here"};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].number == number)
            return &table[i];
    return &unknown;
}
