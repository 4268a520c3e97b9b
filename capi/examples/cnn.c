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
enum { CLASSES = 10, CONVS = 3 };

struct layer { const char *conv, *norm, *post_ops; int64_t stride, padding; bt_handle weight, mean, var, gamma, beta; };

struct net {
    struct layer layers[CONVS];                     /* stem, and the two convolutions of a residual block */
    bt_handle fc_weight, fc_bias, image, packed[CONVS], fc, features;
    const char *weights_path, *packed_path;
};

static bt_status take(bt_handle dict, const char *module, const char *part, bt_handle *out) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", module, part);
    return bt_dict_take(dict, name, out);
}

static bt_status load(struct net *n) {
    bt_handle dict;
    TRY(bt_dict_load(n->weights_path, &dict));
    for (struct layer *l = n->layers; l < n->layers + CONVS; l++) {
        TRY(take(dict, l->conv, "weight", &l->weight));
        TRY(take(dict, l->norm, "running_mean", &l->mean)); TRY(take(dict, l->norm, "running_var", &l->var));
        TRY(take(dict, l->norm, "weight", &l->gamma)); TRY(take(dict, l->norm, "bias", &l->beta));
    }
    TRY(take(dict, "fc", "weight", &n->fc_weight));
    return take(dict, "fc", "bias", &n->fc_bias);
}

/* Packs for descriptions: no activation exists yet. The stem reads the strided image and writes a blocked result. */
static bt_status pack(struct net *n) {
    const int64_t image[4] = {1, 3, 32, 32}, hidden[4] = {1, 16, 8, 8};
    bt_handle strided, blocked;
    TRY(bt_desc_new(BT_F32, 4, image, "contiguous", &strided));
    TRY(bt_desc_new(BT_F32, 4, hidden, "blocked", &blocked));
    for (int i = 0; i < CONVS; i++) {
        const struct layer *l = &n->layers[i];
        const bt_arg params[] = {bt_i("stride", l->stride), bt_i("padding", l->padding), bt_s("post_ops", l->post_ops),
                                 bt_t("norm_mean", l->mean), bt_t("norm_var", l->var), bt_t("norm_weight", l->gamma),
                                 bt_t("norm_bias", l->beta)};
        if (i == 0) TRY(bt_pack_stem(l->weight, 0, params, 7, strided, NULL, &n->packed[i]));
        else TRY(bt_pack_conv(l->weight, 0, params, 7, blocked, &n->packed[i]));
    }
    return bt_pack_linear(n->fc_weight, n->fc_bias, 1, &n->fc);
}

static bt_status max_pool(bt_handle x, bt_handle *y) {
    return bt_call("max_pool2d", BT_ARGS(bt_t("x", x), BT_INTS("kernel", 3, 3), bt_i("stride", 2), bt_i("padding", 1)), y, 1, NULL);
}

/* The convolutions of the packed network: nothing is reordered. */
static bt_status convolutions(void *context) {
    struct net *n = context;
    bt_handle t, pooled;
    TRY(bt_packed_run(n->packed[0], n->image, 0, &t));
    TRY(max_pool(t, &pooled));
    TRY(bt_packed_run(n->packed[1], pooled, 0, &t));
    TRY(bt_packed_run(n->packed[2], t, pooled, &t));
    return bt_call("global_avg_pool", BT_ARGS(bt_t("x", t)), &n->features, 1, NULL);
}

static bt_status run_packed(struct net *n, float *scores) {
    const int64_t row[2] = {1, -1};
    bt_handle t;
    TRY(bt_deny_reorders(convolutions, n));
    TRY(bt_to_strided(n->features, NULL, &t));
    TRY(bt_reshape(t, 2, row, &t));
    TRY(bt_packed_run(n->fc, t, 0, &t));
    return bt_tensor_read(t, scores, CLASSES * sizeof *scores);
}

/* Convolution, batch norm, sum and relu as ops of their own. */
static bt_status run_layer(const struct layer *l, bt_handle x, bt_handle residual, bt_handle *y) {
    TRY(bt_call("conv2d", BT_ARGS(bt_t("x", x), bt_t("weights", l->weight), bt_i("stride", l->stride), bt_i("padding", l->padding)), y, 1, NULL));
    TRY(bt_call("batch_norm", BT_ARGS(bt_t("x", *y), bt_t("mean", l->mean), bt_t("var", l->var), bt_t("weight", l->gamma), bt_t("bias", l->beta)), y, 1, NULL));
    if (residual) TRY(bt_call("add", BT_ARGS(bt_t("a", *y), bt_t("b", residual)), y, 1, NULL));
    return bt_call("relu", BT_ARGS(bt_t("x", *y)), y, 1, NULL);
}

/* The same network on strided tensors and plain weights. */
static bt_status run_plain(const struct net *n, float *scores) {
    const int64_t row[2] = {1, -1};
    bt_handle t, pooled;
    TRY(run_layer(&n->layers[0], n->image, 0, &t));
    TRY(max_pool(t, &pooled));
    TRY(run_layer(&n->layers[1], pooled, 0, &t));
    TRY(run_layer(&n->layers[2], t, pooled, &t));
    TRY(bt_call("global_avg_pool", BT_ARGS(bt_t("x", t)), &t, 1, NULL));
    TRY(bt_reshape(t, 2, row, &t));
    TRY(bt_call("linear", BT_ARGS(bt_t("x", t), bt_t("weights", n->fc_weight), bt_t("bias", n->fc_bias)), &t, 1, NULL));
    return bt_tensor_read(t, scores, CLASSES * sizeof *scores);
}

/* Saves the packed weights, and replaces them with those of the mapped file. */
static bt_status save_and_map(struct net *n) {
    bt_handle writer, file;
    TRY(bt_packed_writer_new(false, &writer));
    for (int i = 0; i < CONVS; i++) TRY(bt_packed_writer_add(writer, n->layers[i].conv, n->packed[i]));
    TRY(bt_packed_writer_add(writer, "fc", n->fc));
    TRY(bt_packed_writer_save(writer, n->packed_path));
    TRY(bt_packed_file_map(n->packed_path, false, &file));
    for (int i = 0; i < CONVS; i++) TRY(bt_packed_file_get(file, n->layers[i].conv, &n->packed[i]));
    return bt_packed_file_get(file, "fc", &n->fc);
}

/* Everything that is made in here is freed by the scope around it, also where a call fails. */
static bt_status network(void *context) {
    struct net *n = context;
    static float pixels[3 * 32 * 32];
    const int64_t dims[4] = {1, 3, 32, 32};
    float plain[CLASSES], packed[CLASSES], mapped[CLASSES];
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) pixels[i] = (float)(i * 7919 % 255) / 127 - 1;
    TRY(bt_tensor_from_data(BT_F32, 4, dims, NULL, pixels, sizeof pixels, &n->image));
    TRY(load(n)); TRY(pack(n));
    TRY(run_plain(n, plain)); TRY(run_packed(n, packed));
    TRY(save_and_map(n)); TRY(run_packed(n, mapped));
    double apart = 0, size = 0;
    printf("packed and unpacked scores:");
    for (int i = 0; i < CLASSES; i++) {
        printf(" %.5f/%.5f", packed[i], plain[i]);
        apart += pow((double)packed[i] - plain[i], 2);
        size += pow(plain[i], 2);
    }
    printf("\nrelative distance: %.3g\n", sqrt(apart / size));
    if (memcmp(packed, mapped, sizeof packed) == 0) return 0;
    printf("the mapped weights gave other scores\n");
    return -1;
}

int main(int argc, char **argv) {
    if (argc != 3) { printf("usage: cnn weights.safetensors file-to-write.packed\n"); return 2; }
    if (!bt_get_api(BT_ABI_VERSION, sizeof(bt_api))) { printf("%s\n", bt_last_error_message()); return 1; }
    struct net n = {.weights_path = argv[1], .packed_path = argv[2]};
    n.layers[0] = (struct layer){.conv = "conv1", .norm = "bn1", .post_ops = "relu", .stride = 2, .padding = 3};
    n.layers[1] = (struct layer){.conv = "layer1.conv1", .norm = "layer1.bn1", .post_ops = "relu", .stride = 1, .padding = 1};
    n.layers[2] = (struct layer){.conv = "layer1.conv2", .norm = "layer1.bn2", .post_ops = "residual,relu", .stride = 1, .padding = 1};
    const bt_status status = bt_scope(network, &n);
    if (status != 0) printf("%s\n", bt_last_error_message());
    printf("live handles: %zu\n", bt_live_handles());
    return status != 0 || bt_live_handles() != 0;
}
