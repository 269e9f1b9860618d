/* SPDX-License-Identifier: MIT
 *
 * Decodes a JPEG, turns it and encodes it again without its pixels ever leaving the GPU.
 *
 *     CUDA=/usr/local/cuda
 *     cc nvjpeg_pipeline.c -I$CUDA/include -L$CUDA/lib64 -lnvjpeg -lcudart \
 *         $(pkg-config --cflags --libs tiletranspose)
 *     ./a.out IN.jpg OUT.jpg [ORIENTATION]
 *
 * All is enqueued on one stream. What a JPEG loses by being compressed again it loses here, too: imgtranspose
 * turns JPEGs without loss.
 */
#include <cuda_runtime_api.h>
#include <nvjpeg.h>
#include <stdio.h>
#include <stdlib.h>

#include <tiletranspose/tt.h>

enum { QUALITY = 92, NO_GPU = 77 };

static void check(int error, const char *what) {
    if (error) {
        fprintf(stderr, "nvjpeg_pipeline: %s: error %d\n", what, error);
        exit(1);
    }
}

static unsigned char *read_file(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    unsigned char *data = NULL;
    long end;
    if (file && !fseek(file, 0, SEEK_END) && (end = ftell(file)) > 0 && (data = malloc((size_t)end))) {
        rewind(file);
        *size = fread(data, 1, (size_t)end, file);
        if (*size == (size_t)end) {
            fclose(file);
            return data;
        }
    }
    fprintf(stderr, "nvjpeg_pipeline: %s cannot be read\n", name);
    exit(1);
}

static void write_file(const char *name, const void *data, size_t size) {
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
        fprintf(stderr, "nvjpeg_pipeline: %s cannot be written\n", name);
        exit(1);
    }
}

/* Memory on the GPU for RGB pixels, as both libraries see it. */
static TtImage new_picture(size_t width, size_t height, nvjpegImage_t *same) {
    void *pixels;
    check(cudaMalloc(&pixels, 3 * width * height), "memory on the GPU");
    *same = (nvjpegImage_t){.channel = {pixels}, .pitch = {3 * width}};
    return tt_image(pixels, (ptrdiff_t)(3 * width), width, height, 3, 8);
}

int main(int argc, char **argv) {
    TtOrientation o = TT_ROT90;
    int gpus = 0;
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s IN.jpg OUT.jpg [ORIENTATION]\n", argv[0]);
        return 2;
    }
    if (argc == 4 && tt_orientation_parse(argv[3], &o)) {
        fprintf(stderr, "nvjpeg_pipeline: %s\n", tt_last_error());
        return 2;
    }
    if (cudaGetDeviceCount(&gpus) || !gpus) {
        fprintf(stderr, "nvjpeg_pipeline: skipped: there is no GPU here\n");
        return NO_GPU;
    }

    cudaStream_t stream;
    nvjpegHandle_t nvjpeg;
    nvjpegJpegState_t decoder;
    nvjpegEncoderState_t encoder;
    nvjpegEncoderParams_t parameters;
    check(cudaStreamCreate(&stream), "a stream");
    check(nvjpegCreateSimple(&nvjpeg), "nvJPEG");
    check(nvjpegJpegStateCreate(nvjpeg, &decoder), "the decoder");
    check(nvjpegEncoderStateCreate(nvjpeg, &encoder, stream), "the encoder");
    check(nvjpegEncoderParamsCreate(nvjpeg, &parameters, stream), "the encoder");
    check(nvjpegEncoderParamsSetQuality(parameters, QUALITY, stream), "the quality");
    check(nvjpegEncoderParamsSetSamplingFactors(parameters, NVJPEG_CSS_444, stream), "the sampling");

    size_t size;
    unsigned char *file = read_file(argv[1], &size);
    int components, widths[NVJPEG_MAX_COMPONENT], heights[NVJPEG_MAX_COMPONENT];
    nvjpegChromaSubsampling_t sampling;
    check(nvjpegGetImageInfo(nvjpeg, file, size, &components, &sampling, widths, heights), argv[1]);
    size_t width = (size_t)widths[0], height = (size_t)heights[0];

    nvjpegImage_t decoded, turned;
    TtImage from = new_picture(width, height, &decoded);
    TtImage to = tt_swaps_axes(o) ? new_picture(height, width, &turned) : new_picture(width, height, &turned);

    check(nvjpegDecode(nvjpeg, decoder, file, size, NVJPEG_OUTPUT_RGBI, &decoded, stream), argv[1]);
    if (tt_orient_async(&from, &to, o, stream, NULL)) {
        fprintf(stderr, "nvjpeg_pipeline: %s\n", tt_last_error());
        return 1;
    }
    check(nvjpegEncodeImage(nvjpeg, encoder, parameters, &turned, NVJPEG_INPUT_RGBI, (int)to.width,
                            (int)to.height, stream),
          "encoding");

    /* The stream is asked for the size, then for the bytes. */
    check(nvjpegEncodeRetrieveBitstream(nvjpeg, encoder, NULL, &size, stream), "the size");
    check(cudaStreamSynchronize(stream), "the stream");
    unsigned char *result = malloc(size);
    if (!result)
        return 1;
    check(nvjpegEncodeRetrieveBitstream(nvjpeg, encoder, result, &size, stream), "the bytes");
    check(cudaStreamSynchronize(stream), "the stream");
    write_file(argv[2], result, size);

    free(result);
    free(file);
    cudaFree(to.data);
    cudaFree(from.data);
    nvjpegEncoderParamsDestroy(parameters);
    nvjpegEncoderStateDestroy(encoder);
    nvjpegJpegStateDestroy(decoder);
    nvjpegDestroy(nvjpeg);
    cudaStreamDestroy(stream);
    return 0;
}
