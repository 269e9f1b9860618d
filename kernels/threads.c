/* SPDX-License-Identifier: MIT
 *
 * Threads for the length of one call: a shared counter that each thread draws the next piece from.
 */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* Past this many threads no memory gets faster, and the array of them stays on the stack. */
enum { MAX_THREADS = 256 };

/* The quota of a cgroup in whole processors, rounded up; 0 if there is none. */
static unsigned quota_of(const char *quota_path, const char *period_path) {
    double quota = 0, period = 0;
    FILE *file = fopen(quota_path, "re");
    if (!file)
        return 0;
    int numbers = fscanf(file, "%lf %lf", &quota, &period);
    fclose(file);
    if (numbers == 1 && period_path && (file = fopen(period_path, "re"))) { /* version 1 has two files */
        numbers += fscanf(file, "%lf", &period);
        fclose(file);
    }
    return numbers == 2 && quota > 0 && period > 0 ? (unsigned)((quota + period - 1) / period) : 0;
}

static unsigned cgroup_quota(void) {
    unsigned quota = quota_of("/sys/fs/cgroup/cpu.max", NULL);
    return quota ? quota
                 : quota_of("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
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
    unsigned quota = cgroup_quota();
    return quota && quota < allowed ? quota : allowed;
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
    unsigned started = 0;
    while (started + 1 < threads && started + 1 < n && started < MAX_THREADS &&
           !pthread_create(&helpers[started], NULL, draw, &job))
        started++;
    draw(&job);
    while (started)
        pthread_join(helpers[--started], NULL);
}
