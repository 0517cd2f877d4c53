/* prolog/stress/main.c - pcie-ipc-stress */
#include "prolog/stress/stress.h"

int main(int argc, char **argv)
{
    return stress_tool(argc, argv);
}
