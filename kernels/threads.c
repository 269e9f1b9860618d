/* SPDX-License-Identifier: MIT
 *
 * Threads for the length of one call: a shared counter that each thread draws the next piece from.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cgroup.h"

/* Past this many threads no memory gets faster, and the array of them stays on the stack. */
enum { MAX_THREADS = 256 };

/* Tiles are staged on the stack, of which some C libraries give threads less. */
enum { STACK_BYTES = 512 * 1024 };

/* A numbers' file of a group: how many of two were read. */
static int read_numbers(const char *folder, const char *name, double *first, double *second) {
    FILE *file = tt_cgroup_open(folder, name);
    int numbers = file ? fscanf(file, "%lf %lf", first, second) : 0;
    if (file)
        fclose(file);
    return numbers;
}

/* Lowers *allowed to the group's quota in whole processors, rounded up. */
static void lower_to_quota(const char *folder, int version, void *allowed) {
    double quota = 0, period = 0, unused;
    bool known = version == 2 ? read_numbers(folder, "cpu.max", &quota, &period) == 2
                              : read_numbers(folder, "cpu.cfs_quota_us", &quota, &unused) == 1 &&
                                    read_numbers(folder, "cpu.cfs_period_us", &period, &unused) == 1;
    double processors = known && quota > 0 && period > 0 ? ceil(quota / period) : 0;
    if (processors && processors < *(unsigned *)allowed)
        *(unsigned *)allowed = (unsigned)processors;
}

unsigned tt_threads_allowed(void) {
    unsigned allowed = 0;
#ifdef CPU_COUNT
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof(set), &set))
        allowed = (unsigned)CPU_COUNT(&set);
#endif
    if (!allowed) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        allowed = online > 0 ? (unsigned)online : 1;
    }
    tt_cgroup_each("cpu", lower_to_quota, &allowed);
    return allowed;
}

typedef struct {
    void (*work)(const void *arg, size_t i);
    const void *arg;
    size_t n;
    atomic_size_t next;
} Job;

static void *draw(void *data) {
    Job *job = data;
    for (size_t i; (i = atomic_fetch_add(&job->next, 1)) < job->n;)
        job->work(job->arg, i);
    return NULL;
}

void tt_parallel(void (*work)(const void *arg, size_t i), const void *arg, size_t n, unsigned threads) {
    Job job = {work, arg, n, 0};
    pthread_t helpers[MAX_THREADS];
    pthread_attr_t attributes;
    size_t stack;
    unsigned started = 0;
    pthread_attr_init(&attributes);
    if (!pthread_attr_getstacksize(&attributes, &stack) && stack < STACK_BYTES)
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (started + 1 < threads && started + 1 < n && started < MAX_THREADS &&
           !pthread_create(&helpers[started], &attributes, draw, &job))
        started++;
    pthread_attr_destroy(&attributes);
    draw(&job);
    while (started)
        pthread_join(helpers[--started], NULL);
}
