/* SPDX-License-Identifier: MIT
 *
 * Turns each picture of a stream of pictures on a GPU, by a CUDA graph: up, turn, down are recorded once and
 * then started with one call a picture.
 *
 *     CUDA=/usr/local/cuda
 *     cc cuda_graph.c -I$CUDA/include -L$CUDA/lib64 -lcudart $(pkg-config --cflags --libs tiletranspose)
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiletranspose/tt.h>

enum { WIDTH = 4, HEIGHT = 3, BYTES = WIDTH * HEIGHT, NO_GPU = 77 };

static void check(cudaError_t error, const char *what) {
    if (error) {
        fprintf(stderr, "cuda_graph: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

static void check_turn(TtStatus status) {
    if (status) {
        fprintf(stderr, "cuda_graph: %s\n", tt_last_error());
        exit(1);
    }
}

/* What happens to every picture: from host to GPU, turned, and back. A turn only enqueues, so it can be
 * recorded. */
static cudaGraphExec_t record(char *picture, char *turned, void *source, void *result, cudaStream_t stream) {
    TtImage from = tt_image(source, WIDTH, WIDTH, HEIGHT, 1, 8);
    TtImage to = tt_image(result, HEIGHT, HEIGHT, WIDTH, 1, 8);
    cudaGraph_t graph;
    cudaGraphExec_t ready;

    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording");
    check(cudaMemcpyAsync(source, picture, BYTES, cudaMemcpyHostToDevice, stream), "up");
    check_turn(tt_orient_async(&from, &to, TT_ROT90, stream, NULL));
    check(cudaMemcpyAsync(turned, result, BYTES, cudaMemcpyDeviceToHost, stream), "down");
    check(cudaStreamEndCapture(stream, &graph), "the end of the recording");
    check(cudaGraphInstantiate(&ready, graph, 0), "making the graph ready");
    check(cudaGraphDestroy(graph), "giving the recording back");
    return ready;
}

int main(void) {
    static const char *const pictures[] = {"abcdefghijkl", "ABCDEFGHIJKL", "0123456789+-"};
    char *picture, *turned;
    void *source, *result;
    cudaStream_t stream;
    int gpus = 0;

    if (cudaGetDeviceCount(&gpus) || !gpus) {
        fprintf(stderr, "cuda_graph: skipped: there is no GPU here\n");
        return NO_GPU;
    }
    /* Pinned, so that the copies run by themselves. The kernels are loaded before the recording starts. */
    check(cudaMallocHost((void **)&picture, BYTES), "pinned memory");
    check(cudaMallocHost((void **)&turned, BYTES), "pinned memory");
    check(cudaMalloc(&source, BYTES), "the GPU's memory");
    check(cudaMalloc(&result, BYTES), "the GPU's memory");
    check(cudaStreamCreate(&stream), "a stream");
    check_turn(tt_device_prepare(0));

    cudaGraphExec_t graph = record(picture, turned, source, result, stream);
    for (int i = 0; i < 3; i++) {
        memcpy(picture, pictures[i], BYTES);
        check(cudaGraphLaunch(graph, stream), "the graph");
        check(cudaStreamSynchronize(stream), "the graph");
        for (int y = 0; y < WIDTH; y++)
            printf("%.3s\n", turned + y * HEIGHT);
    }

    cudaGraphExecDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(result);
    cudaFree(source);
    cudaFreeHost(turned);
    cudaFreeHost(picture);
    return 0;
}
