/* nccl/old_glibc.h - the oldest versions of the symbols that newer C libraries have moved.
 *
 * Since 2.34 dlopen() and its like are in libc, under that version: what is linked there would not
 * start with an older one. The old versions are still there, and with libdl.so.2 among the needed
 * libraries they are found everywhere. pthread_create(), which moved as well, is looked up at run
 * time (retire.c). tests/nccl/object.t reads what the library asks for.
 */
#ifndef PIPC_NCCL_OLD_GLIBC_H
#define PIPC_NCCL_OLD_GLIBC_H

#include <dlfcn.h>

#if defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
__asm__(".symver dladdr1,dladdr1@GLIBC_2.3.3");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver dladdr,dladdr@GLIBC_2.17");
__asm__(".symver dladdr1,dladdr1@GLIBC_2.17");
__asm__(".symver dlerror,dlerror@GLIBC_2.17");
#endif

#endif
