/* SPDX-License-Identifier: MIT
 *
 * The main program where there is no libFuzzer: runs the target on each file of the folders that are named,
 * on every beginning of the small ones, and on copies of each with some bytes changed, the same in every run.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "../random.h"
#include "fuzz.h"

enum { CHANGED_COPIES = 20, SMALL = 300 };

/* For targets that change inputs in their own way, which is not done here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) {
    (void)data, (void)most;
    return size;
}

static void run_all_of(const uint8_t *data, size_t size) {
    uint64_t random = size;
    uint8_t *copy = malloc(size);
    LLVMFuzzerTestOneInput(data, size);
    for (size_t end = 0; size <= SMALL && end < size; end++) {
        uint8_t *exact = malloc(end); /* so that a sanitizer sees each byte behind it */
        if (end)
            memcpy(exact, data, end);
        LLVMFuzzerTestOneInput(exact, end);
        free(exact);
    }
    for (int i = 0; size && i < CHANGED_COPIES; i++) {
        memcpy(copy, data, size);
        for (size_t n = 1 + random_below(&random, 4); n; n--)
            copy[random_below(&random, size)] = (uint8_t)random_bits(&random);
        LLVMFuzzerTestOneInput(copy, size);
    }
    free(copy);
}

static void run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info)) {
        perror(path);
        exit(1);
    }
    uint8_t *data = malloc((size_t)info.st_size);
    size_t size = fread(data, 1, (size_t)info.st_size, file);
    fclose(file);
    run_all_of(data, size);
    free(data);
}

int main(int argc, char **argv) {
    size_t files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] != '.')
                run_file(path), files++;
        }
        closedir(folder);
    }
    printf("%zu files, and what they become when cut or changed\n", files);
    return files ? 0 : 1;
}
