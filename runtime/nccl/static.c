/* nccl/static.c - a program with NCCL linked into itself never calls us, so nothing here would ever
 * tell. With --pcie-ipc=verbose its symbol table is read at the start; without, nothing is opened:
 * the library is in every process of a job.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/nccl/say.h"

#define SIGN "ncclAllReduce" /* defined, not asked for: of whatever binding */

/* Does symbol table @table of the file image[bytes] define it? Offsets are the file's word: each is
 * compared with its length. */
static bool defines(const unsigned char *image, size_t bytes, const Elf64_Shdr *table,
                    const Elf64_Shdr *strings)
{
    if (table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset ||
        strings->sh_offset > bytes || strings->sh_size > bytes - strings->sh_offset ||
        table->sh_offset % _Alignof(Elf64_Sym))
        return false;
    const Elf64_Sym *s = (const void *)(image + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof(*s); i++)
        if (s[i].st_shndx != SHN_UNDEF && strings->sh_size >= sizeof(SIGN) &&
            s[i].st_name <= strings->sh_size - sizeof(SIGN) &&
            !memcmp(image + strings->sh_offset + s[i].st_name, SIGN, sizeof(SIGN)))
            return true;
    return false;
}

static bool any_table_defines(const unsigned char *image, size_t bytes)
{
    const Elf64_Ehdr *head = (const void *)image;

    if (bytes < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(Elf64_Shdr) ||
        head->e_shoff > bytes || head->e_shoff % _Alignof(Elf64_Shdr) ||
        head->e_shnum > (bytes - head->e_shoff) / sizeof(Elf64_Shdr))
        return false;
    const Elf64_Shdr *section = (const void *)(image + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++)
        if ((section[i].sh_type == SHT_SYMTAB || section[i].sh_type == SHT_DYNSYM) &&
            section[i].sh_link < head->e_shnum &&
            defines(image, bytes, &section[i], &section[section[i].sh_link]))
            return true;
    return false;
}

static bool is_linked_into_program(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    void *image = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    bool yes = image != MAP_FAILED && any_table_defines(image, (size_t)bytes);

    if (image != MAP_FAILED)
        munmap(image, (size_t)bytes);
    if (fd >= 0)
        close(fd);
    return yes;
}

__attribute__((constructor)) static void look(void)
{
    if (pipc__is_verbose() && is_linked_into_program())
        pipc__say(
            "this program has NCCL linked into it, where pcie-ipc cannot take its place; link "
            "libnccl.so.2 instead of libnccl_static.a");
}
