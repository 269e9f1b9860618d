/* SPDX-License-Identifier: MIT
 *
 * A libcuda.so.1 without a GPU: the functions of the driver that the library uses, over host memory, and
 * kernels that run on the CPU (shim.h). What the host side does wrong is refused as the driver would: a call
 * without a context, a launch with more shared memory than allowed. What is put into a stream is not done
 * before somebody waits for it, so whoever forgets to wait gets, or gives, the wrong bytes. TT_FAKE_CUDA
 * steers it:
 *
 *     fail=N       the N-th call from now on fails with error 999
 *     copy=N       the N-th copy of rows to or from the device does
 *     none, old    no device; a driver of CUDA 10.2
 *     devices=N    so many (2 unless said)
 *     shared=N     bytes of shared memory that a block may have
 *     memory=N     kibibytes of memory that are free
 */
#include "shim.h"

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "kernels.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    UNKNOWN = 999
};

namespace {
struct Context {
    int device;
    unsigned long long id;
};
struct Function {
    ShimKernel kernel;
    unsigned shared = 48 * 1024;
};
struct Module {
    std::map<std::string, Function *> functions;
};
/* Its work in order, each piece done once and by whoever waits first. */
struct Stream {
    Context *context;
    std::mutex running, queue_lock;
    std::deque<std::function<void()>> queue;
    size_t put = 0, done = 0;

    void add(std::function<void()> work) {
        std::lock_guard<std::mutex> guard(queue_lock);
        queue.push_back(std::move(work));
        put++;
    }
    size_t end() {
        std::lock_guard<std::mutex> guard(queue_lock);
        return put;
    }
    void run_up_to(size_t end) {
        std::lock_guard<std::mutex> one_at_a_time(running);
        while (done < end) {
            std::function<void()> work;
            {
                std::lock_guard<std::mutex> guard(queue_lock);
                work = std::move(queue.front());
                queue.pop_front();
            }
            work();
            done++;
        }
    }
};
/* The work of a stream up to where it was recorded. */
struct Event {
    Stream *stream = nullptr;
    size_t end = 0;
};
struct Block {
    size_t bytes;
    Context *context;
    void *pages;
    size_t page_bytes;
};

int setting(const char *name, int otherwise) {
    const char *all = getenv("TT_FAKE_CUDA"), *at = all ? strstr(all, name) : nullptr;
    return !at ? otherwise : at[strlen(name)] == '=' ? atoi(at + strlen(name) + 1) : 1;
}

std::mutex lock;
std::mutex alive; /* held while the work of another's stream is run: that is not deleted meanwhile */
Context contexts[8] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}};
std::map<uintptr_t, Block> memory;
std::map<uintptr_t, size_t> pinned;
std::set<Event *> events;
std::set<Stream *> streams;
std::set<Module *> modules;
std::atomic<long> calls;
long fail_at = setting("fail", 0), copies, fail_at_copy = setting("copy", 0);
size_t memory_left = (size_t)setting("memory", 1 << 30) << 10;
thread_local std::vector<Context *> current;

int device_count() {
    return setting("none", 0) ? 0 : setting("devices", 2);
}

/* Counts a call; true if it is the one to fail. */
bool fails() {
    std::lock_guard<std::mutex> guard(lock);
    return ++calls == fail_at;
}

bool copy_fails() {
    std::lock_guard<std::mutex> guard(lock);
    return ++copies == fail_at_copy;
}

/* A stream of the caller's, and not one of the driver's own, whose work is done at once. */
Stream *own_stream(Stream *stream) {
    std::lock_guard<std::mutex> guard(lock);
    return streams.count(stream) ? stream : nullptr;
}

/* As all calls do that free memory. */
void finish_all() {
    std::lock_guard<std::mutex> none_goes(alive);
    std::vector<Stream *> all;
    {
        std::lock_guard<std::mutex> guard(lock);
        all.assign(streams.begin(), streams.end());
    }
    for (Stream *stream : all)
        stream->run_up_to(stream->end());
}

/* Memory that the driver copies to and from while the caller goes on. */
bool is_pinned(const void *host) {
    std::lock_guard<std::mutex> guard(lock);
    auto at = pinned.upper_bound((uintptr_t)host);
    return at != pinned.begin() && (--at, (uintptr_t)host < at->first + at->second);
}

Context *here() {
    return current.empty() ? nullptr : current.back();
}
} // namespace

#define CALL                                                                                                 \
    do {                                                                                                     \
        if (fails())                                                                                         \
            return UNKNOWN;                                                                                  \
    } while (0)

/* ---- For tests --------------------------------------------------------------------------------------- */

EXPORT void fake_fail_at(long n) {
    calls = 0;
    fail_at = n;
}
EXPORT long fake_calls() {
    return calls;
}
/* Memory, streams and pushed contexts that are still there; modules are kept. */
EXPORT long fake_left() {
    return (long)(memory.size() + streams.size() + current.size() + pinned.size() + events.size());
}
EXPORT void fake_memory_limit(size_t bytes) {
    memory_left = bytes;
}

/* ---- The driver -------------------------------------------------------------------------------------- */

EXPORT int cuInit(unsigned) {
    CALL;
    return device_count() ? OK : NO_DEVICE;
}
EXPORT int cuDriverGetVersion(int *version) {
    CALL;
    *version = setting("old", 0) ? 10020 : 12040;
    return OK;
}
EXPORT int cuGetErrorName(int, const char **name) {
    *name = "CUDA_ERROR";
    return OK;
}
EXPORT int cuGetErrorString(int error, const char **text) {
    *text = error == OUT_OF_MEMORY ? "out of memory"
            : error == UNKNOWN     ? "made to fail"
                                   : "refused by the fake driver";
    return OK;
}
EXPORT int cuDeviceGetCount(int *count) {
    CALL;
    *count = device_count();
    return OK;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
    CALL;
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_count() ? OK : INVALID_VALUE;
}
EXPORT int cuDeviceGetName(char *name, int length, int) {
    CALL;
    snprintf(name, (size_t)length, "Fake GPU");
    return OK;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
    CALL;
    *value = attribute == 75 ? 9 : attribute == 97 ? setting("shared", 227 * 1024) : 0;
    return OK;
}
EXPORT int cuDevicePrimaryCtxRetain(Context **context, int device) {
    CALL;
    *context = &contexts[device];
    return OK;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
    CALL;
    return OK;
}
EXPORT int cuCtxPushCurrent_v2(Context *context) {
    CALL;
    current.push_back(context);
    return OK;
}
EXPORT int cuCtxPopCurrent_v2(Context **context) {
    calls++;
    if (current.empty())
        return INVALID_CONTEXT;
    *context = current.back();
    current.pop_back();
    return OK;
}
EXPORT int cuCtxSetCurrent(Context *context) {
    CALL;
    current.assign(1, context);
    return OK;
}
EXPORT int cuCtxGetCurrent(Context **context) {
    *context = here();
    return OK;
}
EXPORT int cuCtxGetDevice(int *device) {
    CALL;
    if (!here())
        return INVALID_CONTEXT;
    *device = here()->device;
    return OK;
}
EXPORT int cuCtxGetId(Context *context, unsigned long long *id) {
    CALL;
    *id = context->id;
    return OK;
}
EXPORT int cuPointerGetAttributes(unsigned count, int *attributes, void **values, uint64_t pointer) {
    CALL;
    std::lock_guard<std::mutex> guard(lock);
    auto at = memory.upper_bound((uintptr_t)pointer);
    const Block *block = nullptr;
    if (at != memory.begin() && (--at, pointer < at->first + at->second.bytes))
        block = &at->second;
    auto host = pinned.upper_bound((uintptr_t)pointer);
    bool in_pinned = host != pinned.begin() && (--host, pointer < host->first + host->second);
    for (unsigned i = 0; i < count; i++)
        if (attributes[i] == 1)
            *(Context **)values[i] = block ? block->context : nullptr;
        else if (attributes[i] == 3)
            *(uint64_t *)values[i] = pointer;
        else if (attributes[i] == 11 || attributes[i] == 12) {
            if (!block && !in_pinned)
                return INVALID_VALUE;
            uintptr_t start = block ? at->first : host->first;
            *(uint64_t *)values[i] = attributes[i] == 11 ? start : block ? block->bytes : host->second;
        } else
            *(int *)values[i] =
                attributes[i] == 2 ? (block ? 2 : in_pinned) : (block ? block->context->device : -2);
    return OK;
}
EXPORT int cuModuleLoadData(Module **module, const void *) {
    CALL;
    if (!here())
        return INVALID_CONTEXT;
    *module = new Module;
    std::lock_guard<std::mutex> guard(lock);
    modules.insert(*module);
    return OK;
}
EXPORT int cuModuleUnload(Module *module) {
    calls++;
    std::lock_guard<std::mutex> guard(lock);
    for (auto &f : module->functions)
        delete f.second;
    modules.erase(module);
    delete module;
    return OK;
}
EXPORT int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    CALL;
    ShimKernel kernel = shim_kernel(name);
    if (!kernel.run)
        return NOT_FOUND;
    std::lock_guard<std::mutex> guard(lock);
    Function *&f = module->functions[name];
    if (!f)
        f = new Function{kernel};
    *function = f;
    return OK;
}
EXPORT int cuFuncSetAttribute(Function *function, int attribute, int value) {
    CALL;
    if (attribute == 9)
        return value <= 100 ? OK : INVALID_VALUE;
    if (attribute != 8 || value > 227 * 1024)
        return INVALID_VALUE;
    function->shared = (unsigned)value;
    return OK;
}
EXPORT int cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, Stream *stream, void **parameters, void **) {
    CALL;
    if (!here())
        return INVALID_CONTEXT;
    Stream *own = own_stream(stream);
    if ((uintptr_t)stream > 2 && (!own || own->context != here()))
        return INVALID_HANDLE;
    if (!gx || gx > 0x7fffffff || gy != 1 || gz != 1 || !bx || bx > 1024 || by != 1 || bz != 1 ||
        shared > function->shared)
        return INVALID_VALUE;
    auto run = function->kernel.run;
    if (!own) {
        shim_launch(run, parameters[0], gx, bx, shared);
        return OK;
    }
    const char *first = (const char *)parameters[0];
    std::vector<char> parameter(first, first + function->kernel.parameter_bytes); /* the launch copies it */
    own->add([=] { shim_launch(run, parameter.data(), gx, bx, shared); });
    return OK;
}
EXPORT int cuStreamGetCtx(Stream *stream, Context **context) {
    CALL;
    if (!own_stream(stream))
        return INVALID_HANDLE;
    *context = stream->context;
    return OK;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
    calls++;
    static thread_local int own;
    int before = own;
    own = *mode;
    *mode = before;
    return OK;
}
EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total) {
    CALL;
    *available = memory_left;
    *total = memory_left;
    return here() ? OK : INVALID_CONTEXT;
}
EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    CALL;
    if (!here())
        return INVALID_CONTEXT;
    if (bytes > memory_left)
        return OUT_OF_MEMORY;
    /* In front of and behind pages that cannot be touched; aligned to 256 bytes, or less far past the end. */
    size_t page = 4096, inside = (bytes + page - 1) / page * page;
    char *pages = (char *)mmap(nullptr, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, inside, PROT_READ | PROT_WRITE))
        return OUT_OF_MEMORY;
    void *p = pages + page + (inside - bytes) / 256 * 256;
    memset(p, 0x3c, bytes);
    *pointer = (uintptr_t)p;
    std::lock_guard<std::mutex> guard(lock);
    memory[(uintptr_t)p] = Block{bytes, here(), pages, inside + 2 * page};
    return OK;
}
EXPORT int cuMemFree_v2(uint64_t pointer) {
    calls++;
    finish_all();
    std::lock_guard<std::mutex> guard(lock);
    auto at = memory.find((uintptr_t)pointer);
    if (at == memory.end())
        return INVALID_VALUE;
    munmap(at->second.pages, at->second.page_bytes);
    memory.erase(at);
    return OK;
}
EXPORT int cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
    CALL;
    if (!here())
        return INVALID_CONTEXT;
    *pointer = malloc(bytes);
    std::lock_guard<std::mutex> guard(lock);
    pinned[(uintptr_t)*pointer] = bytes;
    return OK;
}
EXPORT int cuMemFreeHost(void *pointer) {
    calls++;
    finish_all();
    std::lock_guard<std::mutex> guard(lock);
    if (!pinned.erase((uintptr_t)pointer))
        return INVALID_VALUE;
    free(pointer);
    return OK;
}
EXPORT int cuEventCreate(Event **event, unsigned) {
    CALL;
    *event = new Event;
    std::lock_guard<std::mutex> guard(lock);
    events.insert(*event);
    return OK;
}
EXPORT int cuEventRecord(Event *event, Stream *stream) {
    CALL;
    Stream *own = own_stream(stream);
    std::lock_guard<std::mutex> guard(lock);
    if (!events.count(event) || ((uintptr_t)stream > 2 && !own))
        return INVALID_HANDLE;
    *event = own ? Event{own, own->end()} : Event{};
    return OK;
}
EXPORT int cuEventSynchronize(Event *event) {
    CALL;
    std::lock_guard<std::mutex> none_goes(alive);
    Event recorded;
    {
        std::lock_guard<std::mutex> guard(lock);
        if (!events.count(event))
            return INVALID_HANDLE;
        recorded = *event;
        if (!streams.count(recorded.stream)) /* never recorded, or its stream is gone with all its work */
            return OK;
    }
    recorded.stream->run_up_to(recorded.end);
    return OK;
}
EXPORT int cuEventDestroy_v2(Event *event) {
    calls++;
    std::lock_guard<std::mutex> guard(lock);
    if (!events.erase(event))
        return INVALID_HANDLE;
    delete event;
    return OK;
}
EXPORT int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
    CALL;
    std::lock_guard<std::mutex> guard(lock);
    *milliseconds = 1;
    return events.count(begin) && events.count(end) ? OK : INVALID_HANDLE;
}
EXPORT int cuMemcpyHtoD_v2(uint64_t device, const void *host, size_t bytes) {
    CALL;
    memcpy((void *)device, host, bytes);
    return OK;
}
EXPORT int cuMemcpyDtoH_v2(void *host, uint64_t device, size_t bytes) {
    CALL;
    memcpy(host, (const void *)device, bytes);
    return OK;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream *) {
    CALL;
    memcpy((void *)to, (const void *)from, bytes);
    return OK;
}
EXPORT int cuMemsetD8_v2(uint64_t device, unsigned char value, size_t bytes) {
    CALL;
    memset((void *)device, value, bytes);
    return OK;
}
EXPORT int cuCtxSynchronize() {
    CALL;
    finish_all();
    return OK;
}
struct Copy2D {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    uint64_t src_device;
    void *src_array;
    size_t src_pitch, dst_x, dst_y;
    int dst_type;
    void *dst_host;
    uint64_t dst_device;
    void *dst_array;
    size_t dst_pitch, width, height;
};
EXPORT int cuMemcpy2DAsync_v2(const Copy2D *wanted, Stream *stream) {
    CALL;
    if (copy_fails())
        return UNKNOWN;
    Copy2D c = *wanted;
    const char *src = c.src_type == 1 ? (const char *)c.src_host : (const char *)c.src_device;
    char *dst = c.dst_type == 1 ? (char *)c.dst_host : (char *)c.dst_device;
    if (c.src_pitch < c.width || c.dst_pitch < c.width)
        return INVALID_VALUE;
    auto copy = [=] {
        for (size_t y = 0; y < c.height; y++)
            memcpy(dst + y * c.dst_pitch, src + y * c.src_pitch, c.width);
    };
    Stream *own = own_stream(stream);
    if (!own) {
        copy();
        return OK;
    }
    own->add(copy);
    bool at_once = (c.src_type == 1 && !is_pinned(src)) || (c.dst_type == 1 && !is_pinned(dst));
    if (at_once) /* memory that may move is copied before the call returns */
        own->run_up_to(own->end());
    return OK;
}
EXPORT int cuStreamCreate(Stream **stream, unsigned) {
    CALL;
    if (!here())
        return INVALID_CONTEXT;
    *stream = new Stream;
    (*stream)->context = here();
    std::lock_guard<std::mutex> guard(lock);
    streams.insert(*stream);
    return OK;
}
EXPORT int cuStreamSynchronize(Stream *stream) {
    CALL;
    if (Stream *own = own_stream(stream))
        own->run_up_to(own->end());
    return OK;
}
EXPORT int cuStreamDestroy_v2(Stream *stream) {
    calls++;
    stream->run_up_to(stream->end());
    std::lock_guard<std::mutex> nobody_runs_it(alive);
    {
        std::lock_guard<std::mutex> guard(lock);
        streams.erase(stream);
    }
    delete stream;
    return OK;
}
