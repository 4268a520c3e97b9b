/* A small residual network through the C interface: weights from a safetensors file are packed, with their batch norms folded in;
 * the network runs without a reorder; the packed weights are saved, mapped again, and run to the same scores. An unpacked run on
 * strided tensors is the reference.
 *
 *   cc cnn.c -I../include -L$LIBRARY -lblocktensor_c -lm -o cnn && ./cnn net.safetensors net.packed
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "blocktensor.h"

#define TRY(call) do { bt_status tried = (call); if (tried != 0) return tried; } while (0)
enum { CLASSES = 10, CONVS = 3, FC = CONVS };

/* The stem, and the two convolutions of a residual block: their names in the file, what they do, and their weights. */
static struct layer { const char *conv, *norm, *post_ops; int64_t stride, padding; bt_handle weight, mean, var, gamma, beta; } layers[CONVS] = {
    {.conv = "conv1", .norm = "bn1", .post_ops = "relu", .stride = 2, .padding = 3},
    {.conv = "layer1.conv1", .norm = "layer1.bn1", .post_ops = "relu", .stride = 1, .padding = 1},
    {.conv = "layer1.conv2", .norm = "layer1.bn2", .post_ops = "residual,relu", .stride = 1, .padding = 1},
};
static bt_handle image, fc_weight, fc_bias, packed[CONVS + 1], features;

static bt_status take(bt_handle dict, const char *module, const char *part, bt_handle *out) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", module, part);
    return bt_dict_take(dict, name, out);
}

static bt_status load(const char *path) {
    bt_handle dict;
    TRY(bt_dict_load(path, &dict));
    for (struct layer *l = layers; l < layers + CONVS; l++) {
        TRY(take(dict, l->conv, "weight", &l->weight));
        TRY(take(dict, l->norm, "running_mean", &l->mean)); TRY(take(dict, l->norm, "running_var", &l->var));
        TRY(take(dict, l->norm, "weight", &l->gamma)); TRY(take(dict, l->norm, "bias", &l->beta));
    }
    TRY(take(dict, "fc", "weight", &fc_weight));
    return take(dict, "fc", "bias", &fc_bias);
}

/* Packs for descriptions: no activation exists yet. The stem reads the strided image and writes a blocked result. */
static bt_status pack(void) {
    const int64_t first[4] = {1, 3, 32, 32}, hidden[4] = {1, 16, 8, 8};
    bt_handle strided, blocked;
    TRY(bt_desc_new(BT_F32, 4, first, "contiguous", &strided));
    TRY(bt_desc_new(BT_F32, 4, hidden, "blocked", &blocked));
    for (int i = 0; i < CONVS; i++) {
        const struct layer *l = &layers[i];
        const bt_arg params[] = {bt_i("stride", l->stride), bt_i("padding", l->padding), bt_s("post_ops", l->post_ops),
                                 bt_t("norm_mean", l->mean), bt_t("norm_var", l->var), bt_t("norm_weight", l->gamma), bt_t("norm_bias", l->beta)};
        if (i == 0) TRY(bt_pack_stem(l->weight, 0, params, 7, strided, NULL, &packed[i]));
        else TRY(bt_pack_conv(l->weight, 0, params, 7, blocked, &packed[i]));
    }
    return bt_pack_linear(fc_weight, fc_bias, 1, &packed[FC]);
}

/* A layer with packed weights, or its convolution, batch norm, sum and relu as ops of their own. */
static bt_status run_layer(int i, bool use_packed, bt_handle x, bt_handle residual, bt_handle *y) {
    const struct layer *l = &layers[i];
    if (use_packed) return bt_packed_run(packed[i], x, residual, y);
    TRY(bt_call("conv2d", BT_ARGS(bt_t("x", x), bt_t("weights", l->weight), bt_i("stride", l->stride), bt_i("padding", l->padding)), y, 1, NULL));
    TRY(bt_call("batch_norm", BT_ARGS(bt_t("x", *y), bt_t("mean", l->mean), bt_t("var", l->var), bt_t("weight", l->gamma), bt_t("bias", l->beta)), y, 1, NULL));
    if (residual) TRY(bt_call("add", BT_ARGS(bt_t("a", *y), bt_t("b", residual)), y, 1, NULL));
    return bt_call("relu", BT_ARGS(bt_t("x", *y)), y, 1, NULL);
}

static bt_status convolutions(void *use_packed) {
    const bool p = use_packed != NULL;
    bt_handle t, pooled;
    TRY(run_layer(0, p, image, 0, &t));
    TRY(bt_call("max_pool2d", BT_ARGS(bt_t("x", t), BT_INTS("kernel", 3, 3), bt_i("stride", 2), bt_i("padding", 1)), &pooled, 1, NULL));
    TRY(run_layer(1, p, pooled, 0, &t));
    TRY(run_layer(2, p, t, pooled, &t));
    return bt_call("global_avg_pool", BT_ARGS(bt_t("x", t)), &features, 1, NULL);
}

/* The whole network. With packed weights the convolutions reorder nothing: it would be an error. */
static bt_status run(bool use_packed, float *scores) {
    const int64_t row[2] = {1, -1};
    bt_handle t;
    TRY(use_packed ? bt_deny_reorders(convolutions, packed) : convolutions(NULL));
    TRY(bt_to_strided(features, NULL, &t));
    TRY(bt_reshape(t, 2, row, &t));
    if (use_packed) TRY(bt_packed_run(packed[FC], t, 0, &t));
    else TRY(bt_call("linear", BT_ARGS(bt_t("x", t), bt_t("weights", fc_weight), bt_t("bias", fc_bias)), &t, 1, NULL));
    return bt_tensor_read(t, scores, CLASSES * sizeof *scores);
}

/* Saves the packed weights, and replaces them with those of the mapped file. */
static bt_status save_and_map(const char *path) {
    bt_handle writer, file;
    TRY(bt_packed_writer_new(false, &writer));
    for (int i = 0; i < CONVS; i++) TRY(bt_packed_writer_add(writer, layers[i].conv, packed[i]));
    TRY(bt_packed_writer_add(writer, "fc", packed[FC]));
    TRY(bt_packed_writer_save(writer, path));
    TRY(bt_packed_file_map(path, false, &file));
    for (int i = 0; i < CONVS; i++) TRY(bt_packed_file_get(file, layers[i].conv, &packed[i]));
    return bt_packed_file_get(file, "fc", &packed[FC]);
}

/* Everything that is made in here is freed by the scope around it, also where a call fails. */
static bt_status network(void *context) {
    static float pixels[3 * 32 * 32];
    const int64_t dims[4] = {1, 3, 32, 32};
    float plain[CLASSES], fast[CLASSES], mapped[CLASSES];
    double apart = 0, size = 0;
    char **paths = context;
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) pixels[i] = (float)(i * 7919 % 255) / 127 - 1;
    TRY(bt_tensor_from_data(BT_F32, 4, dims, NULL, pixels, sizeof pixels, &image));
    TRY(load(paths[1])); TRY(pack()); TRY(run(false, plain)); TRY(run(true, fast));
    TRY(save_and_map(paths[2])); TRY(run(true, mapped));
    printf("packed and unpacked scores:");
    for (int i = 0; i < CLASSES; i++) {
        printf(" %.5f/%.5f", fast[i], plain[i]);
        apart += pow((double)fast[i] - plain[i], 2);
        size += pow(plain[i], 2);
    }
    printf("\nrelative distance: %.3g\n", sqrt(apart / size));
    if (memcmp(fast, mapped, sizeof fast) == 0) return 0;
    printf("the mapped weights gave other scores\n");
    return -1;
}

int main(int argc, char **argv) {
    if (argc != 3) { printf("usage: cnn weights.safetensors file-to-write.packed\n"); return 2; }
    if (!bt_get_api(BT_ABI_VERSION, sizeof(bt_api))) { printf("%s\n", bt_last_error_message()); return 1; }
    const bt_status status = bt_scope(network, argv);
    if (status != 0) printf("%s\n", bt_last_error_message());
    printf("live handles: %zu\n", bt_live_handles());
    return status != 0 || bt_live_handles() != 0;
}
