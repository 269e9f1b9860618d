/* SPDX-License-Identifier: MIT
 *
 * The command, explained on the terminal.
 */
#include "help.h"

#include <tiletranspose/tt.h>

#include "formats/format.h"

static const char beginning[] =
    "imgtranspose turns images by exact moves of their pixels and keeps all else.\n"
    "\n"
    "  imgtranspose OPERATION... -o FILE | -d DIR | --in-place [OPTIONS] INPUT...\n"
    "\n"
    "  imgtranspose -o out.png scan.png               rows become columns\n"
    "  imgtranspose --rotate 90 -r -d turned scans    a folder with all below it\n"
    "  imgtranspose --auto-orient --in-place *.jpg    upright by their tags\n"
    "\n"
    "  A B  as it is,       A C                 C A                D C\n"
    "  C D  --auto-orient   B D  --transpose    D B  --rotate 90   B A  --rotate 180\n"
    "\n"
    "  B A  --flip          D B                 B D  --rotate      C D  --flip\n"
    "  D C  horizontal      C A  --transverse   A C  270           A B  vertical\n"
    "\n";

static const char ten_options[] =
    "  -o, --output FILE    for one input        -p, --preserve   times, attributes\n"
    "  -d, --directory DIR  the same names here  -j, --jobs N     files at a time\n"
    "      --in-place       replace, verified    -n, --dry-run    print the plan\n"
    "  -r, --recursive      folders as inputs    -v, --verbose    what was done\n"
    "      --overwrite      existing outputs         --report FILE  JSON lines\n"
    "\n"
    "All options: --help-all. Whatever else: man imgtranspose.\n";

static const char all_options[] =
    "Operations compose from left to right; rotations are clockwise. The picture is\n"
    "turned as it is seen: its orientation tag is applied first and becomes 1.\n"
    "      --transpose, --transverse\n"
    "      --rotate ANGLE       90 or right, 180, 270 or left\n"
    "      --flip WAY           horizontal or vertical\n"
    "      --auto-orient        what the tag says, and no more\n"
    "      --stored             turn the stored pixels and leave the tag\n"
    "Inputs: files, and - for the standard input\n"
    "  -r, --recursive          folders stand for all pictures below them\n"
    "      --include GLOB       of these, only what has such a name (repeatable)\n"
    "      --exclude GLOB       and nothing that has such a one (repeatable)\n"
    "      --files-from FILE    a list of inputs, a line each; - is stdin\n"
    "  -0, --null               its names end in NUL bytes\n"
    "      --tasks FILE         a list of turns, a line of JSON each; - is stdin\n"
    "      --shard I/N          the I-th of N parts of the inputs, from 0\n"
    "Outputs (-d and --in-place need a named operation):\n"
    "  -o, --output FILE        for one input; - is stdout. Alone: --transpose\n"
    "      --format NAME        what stdout is to be\n"
    "  -d, --directory DIR      the inputs' names and folders, in this one\n"
    "      --overwrite          replace outputs that exist\n"
    "      --skip-existing      or leave them as they are\n"
    "  -p, --preserve           times, owner, mode and attributes as the input's\n"
    "      --sync               a file is done when the disk has it, as in place\n"
    "      --in-place           replace each input by its synced and verified turn\n"
    "      --backup SUFFIX      originals keep a second name with this behind it\n"
    "      --part-links         replace a file that has several hard links, too\n"
    "      --no-verify          do not decode and compare before replacing\n"
    "Formats:\n"
    "      --jpeg WAY           lossless (or fail), trim, reencode, or the tag alone\n"
    "      --png-level N        0 to 9: as small as libpng makes it at this level\n"
    "      --png-filter NAME    none, sub, up, average, paeth or adaptive\n"
    "      --geo WAY            refuse what is tied to maps, or rewrite the ties\n"
    "      --raw WxHxBYTES      inputs and outputs are bare rows of pixels\n"
    "      --strip              drop all that is not needed to show the picture\n"
    "Limits:\n"
    "  -j, --jobs N             at most N files at once; else as many as cores\n"
    "      --threads N          at most N threads; else all that are allowed\n"
    "      --memory-limit SIZE  for the pictures of all files at once, as 2G\n"
    "      --max-pixels N       refuse what is larger, as 500M\n"
    "      --backend NAME       what moves the pixels; see -v --version\n"
    "      --device N           which GPU, from 0, with --backend cuda; else all\n"
    "Running:\n"
    "  -n, --dry-run            print the plan and do nothing\n"
    "      --fail-fast          begin no other file once one failed\n"
    "      --report FILE        append a line of JSON for each file; - is stdout\n"
    "      --checksum           with SHA-256 of input and output\n"
    "      --resume FILE        leave out what is done by this report; go on with it\n"
    "      --progress WHEN      auto (on a terminal), always or never\n"
    "  -q, --quiet              errors only\n"
    "  -v, --verbose            what was done to each file, how, and how fast\n"
    "Speed of this machine, without inputs:\n"
    "      --benchmark[=full]   turns beside copies: 20 seconds, or minutes for all;\n"
    "                           with --threads, --backend NAME,..., --report\n"
    "  -h, --help, --help-all, --version\n"
    "\n"
    "Status: 0 all done, 1 some files failed and the rest are done, 2 usage,\n"
    "3 no input, 4 no such device, 130 or 143 stopped by a signal. Ctrl-C once ends\n"
    "the files in hand, twice gives them up.\n";

void help_print(void) {
    g_print("%s%s", beginning, ten_options);
}

void help_print_all(void) {
    g_print("%s%s", beginning, all_options);
}

void help_print_version(gboolean verbose) {
    g_print("imgtranspose %s\n", tt_version());
    if (!verbose)
        return;
    g_print("formats:");
    const Format *format, *last = NULL;
    for (gsize i = 0; (format = format_at(i)); last = format, i++)
        if (format->description && (!last || format->description != last->description))
            g_print("%s %s", last ? "," : "", format->description());
    g_print("\nbackends:");
    for (gsize i = 0; tt_backend_name(i); i++)
        g_print("%s %s%s", i ? "," : "", tt_backend_name(i),
                tt_backend_check(tt_backend_name(i)) ? " (not on this machine)" : "");
    g_print("\n");
    char about[200];
    int gpus = 0;
    while (!tt_device_describe(gpus, about, sizeof(about)))
        g_print("GPU %d: %s\n", gpus++, about);
    if (!gpus)
        g_print("GPU: %s\n", tt_last_error());
}
